"""Finds the route of a request, and answers it through the handler."""

from flare.core import PointerTo, find_octet
from flare.message import Method, RequestTarget

from .builders import (
    bad_request,
    method_not_allowed,
    no_content,
    not_found,
    not_implemented,
)
from .exchange import Exchange
from .response import Response
from .router_state import RouterState
from .routing import Captures, MatchKind, RouteMatch

comptime _ASTERISK: StaticString = "*"
comptime _SLASH: StaticString = "/"


@always_inline
def answer_routed(
    state: PointerTo[RouterState], exchange: Exchange
) raises -> Response:
    """Answers a request through the handler of its route.

    Args:
        state: The router.
        exchange: The exchange of the request.

    Returns:
        The handler's response, or the router's own.

    Raises:
        The error of the handler.
    """
    ref x = exchange[]
    x.parameters.clear()
    var plain = state[].table[].find_plain(x.head.method, _path(exchange))
    if plain.endpoint < 0:
        return _serve_found(state, exchange)
    x.route = plain.pattern
    return state[].endpoints.unsafe_get(plain.endpoint).serve(exchange)


@no_inline
def _serve_found(
    state: PointerTo[RouterState], exchange: Exchange
) raises -> Response:
    ref x = exchange[]
    var path = _path(exchange)
    if len(path) == 0:
        path = _path_of_nothing(x.head.target, x.head.method)
    ref table = state[].table[]
    var found = table.search(
        x.head.method,
        x.head.method_text(x.window()).as_bytes(),
        path,
        _captures(exchange),
    )
    if found.kind != MatchKind.FOUND:
        return _answer_without_route(state, found)
    for i in range(len(x.parameters.captures)):
        var place = x.parameters.captures[i]
        var value = path[Int(place.start) : Int(place.start + place.octets)]
        var name = table.parameter_name(found.route, i).as_bytes()
        if find_octet(value, 37) < len(value):
            x.parameters.append_decoded(name, value, len(path))
        else:
            x.parameters.append(name, value)
    x.route = _lent(table.pattern(found.route))
    return state[].endpoints.unsafe_get(found.endpoint).serve(exchange)


@always_inline
def _path(exchange: Exchange) -> Span[UInt8, ImmUntrackedOrigin]:
    # The machine that reported the head has found the target in the window,
    # and the path in the target.
    return exchange[].head.path(exchange[].window())


@no_inline
def _path_of_nothing(
    target: RequestTarget, method: Method
) -> Span[UInt8, ImmUntrackedOrigin]:
    # An absolute form may end at the host; with OPTIONS it then means the
    # server itself (RFC 9112 section 3.2.4).
    if target.form == RequestTarget.ASTERISK_FORM:
        return _constant(_ASTERISK)
    if method == Method.OPTIONS and not target.has_query():
        return _constant(_ASTERISK)
    return _constant(_SLASH)


def _constant(text: StaticString) -> Span[UInt8, ImmUntrackedOrigin]:
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=text.unsafe_ptr().unsafe_origin_cast[ImmUntrackedOrigin](),
        length=text.byte_length(),
    )


@no_inline
def _answer_without_route(
    state: PointerTo[RouterState], found: RouteMatch
) raises -> Response:
    if found.kind == MatchKind.NOT_FOUND:
        return not_found()
    if found.kind == MatchKind.METHOD_NOT_IMPLEMENTED:
        return not_implemented()
    if found.kind == MatchKind.BAD_PATH:
        return bad_request("bad path")
    var allow = String()
    state[].table[].write_allow(found.allowed, allow)
    if found.kind == MatchKind.METHOD_NOT_ALLOWED:
        return method_not_allowed(allow)
    var response = no_content()
    response.headers.set("Allow", allow)
    return response^


@always_inline
def _captures(exchange: Exchange) -> PointerTo[Captures]:
    return Pointer(to=exchange[].parameters.captures).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


@always_inline
def _lent(text: StringSlice) -> StaticString:
    # The table lives as long as the router, and so longer than the request.
    return StaticString(
        unsafe_from_utf8=Span[UInt8, ImmStaticOrigin](
            unsafe_ptr=text.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmStaticOrigin](),
            length=text.byte_length(),
        )
    )
