"""Dispatches requests by method and path.

The most specific pattern wins; `flare.http.routing` has the rules. A request
without a route gets 404; 405 with Allow; 501 if the method is unknown; or 400
if servers disagree about its path. HEAD uses the route of GET. OPTIONS is
answered from the table of routes (RFC 9110 sections 9.3.2 and 9.3.7).
"""

from flare.core import PointerTo, find_octet, heap_create, heap_destroy
from flare.message import Method, RequestTarget

from .builders import (
    bad_request,
    method_not_allowed,
    no_content,
    not_found,
    not_implemented,
)
from .endpoint import Endpoint
from .exchange import Exchange
from .extract import Extractor
from .function_endpoint import endpoint_of
from .handler import Handler
from .into_response import CanAnswer
from .request import Request
from .response import Response
from .route_method import RouteMethod, RouterState
from .routing import Captures, MatchKind, RouteMatch
from .state import ExpectsState, NoState

comptime _ASTERISK: StaticString = "*"
comptime _SLASH: StaticString = "/"


struct Router[S: AnyType = NoState](ExpectsState, Handler, Sized):
    """Passes each request to the handler for its method and path.

    `router.get("/users/:id", handler)` takes a function or any `Handler`. So
    do `post`, `put`, `patch`, `delete`, `head` and `options`. A function's
    parameters may be extractors: `Path[T]`, `Query[name, T]`, `State[T]`,
    `Request`. Changing a copy does not change the original.

    Parameters:
        S: The state type for `State[S]` parameters of functions.
    """

    comptime ExpectedState: AnyType = Self.S
    """The state type that an `App` around the router must have."""

    # Behind a pointer so that `get` and its like can refer to it.
    var _state: PointerTo[RouterState]

    def __init__(out self):
        """Creates a router without routes, which answers 404."""
        self._state = heap_create(RouterState())

    def __init__(out self, *, copy: Self):
        """Copies a router; the routes are shared, the handlers copied.

        Args:
            copy: The router to copy.
        """
        self._state = heap_create(copy._state[].copy())

    def __init__(out self, *, deinit move: Self):
        """Moves a router.

        Args:
            move: The router to move.
        """
        self._state = move._state

    def __deinit__(deinit self):
        """Frees the routes and handlers."""
        heap_destroy(self._state)

    def __getattr__(
        mut self, member: type_of("get")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for GET.

        Args:
            member: The name `get`.

        Returns:
            The registration to call: `router.get("/path", handler)`.
        """
        return self._method("GET")

    def __getattr__(
        mut self, member: type_of("post")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for POST.

        Args:
            member: The name `post`.

        Returns:
            The registration to call: `router.post("/path", handler)`.
        """
        return self._method("POST")

    def __getattr__(
        mut self, member: type_of("put")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for PUT.

        Args:
            member: The name `put`.

        Returns:
            The registration to call: `router.put("/path", handler)`.
        """
        return self._method("PUT")

    def __getattr__(
        mut self, member: type_of("patch")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for PATCH.

        Args:
            member: The name `patch`.

        Returns:
            The registration to call: `router.patch("/path", handler)`.
        """
        return self._method("PATCH")

    def __getattr__(
        mut self, member: type_of("delete")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for DELETE.

        Args:
            member: The name `delete`.

        Returns:
            The registration to call: `router.delete("/path", handler)`.
        """
        return self._method("DELETE")

    def __getattr__(
        mut self, member: type_of("head")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for HEAD. Without one, the handler of GET
        answers.

        Args:
            member: The name `head`.

        Returns:
            The registration to call: `router.head("/path", handler)`.
        """
        return self._method("HEAD")

    def __getattr__(
        mut self, member: type_of("options")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for OPTIONS. The pattern `*` is the server
        itself.

        Args:
            member: The name `options`.

        Returns:
            The registration to call: `router.options("/path", handler)`.
        """
        return self._method("OPTIONS")

    @unavailable(
        "a router has get, post, put, patch, delete, head and options;"
        ' route("PURGE", pattern, handler) takes any method, and'
        " mount(prefix, other) the routes of another router"
    )
    def __getattr__[T: AnyType](mut self, member: T):
        """Fails the build for a member that no router has.

        Parameters:
            T: The type of the name.

        Args:
            member: The name.
        """
        ...

    def route[
        H: Handler
    ](
        mut self, method: StringSlice, pattern: StringSlice, var handler: H
    ) raises:
        """Registers a handler for any method, including extension methods.

        Parameters:
            H: The type of the handler.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern of the path.
            handler: The handler.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._state[].add(method, pattern, Endpoint(handler^), 0)

    def route[
        A: Extractor, R: Deinitable & Movable, //
    ](
        mut self,
        method: StringSlice,
        pattern: StringSlice,
        function: def(A) raises thin -> R,
    ) raises where CanAnswer[R]:
        """Registers a function for any method, including extension methods.

        Parameters:
            A: The type of the parameter, such as `Request`.
            R: The type of the result.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._state[].add(
            method,
            pattern,
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
        )

    def mount(mut self, prefix: StringSlice, other: Self) raises:
        """Adds all routes of another router under a prefix.

        The other router's pattern `/` becomes the prefix itself. Its functions
        count `Path` parameters from the start of the joined pattern.

        Args:
            prefix: A pattern without `*`, such as `/api`.
            other: The router; its handlers are copied.

        Raises:
            Error: `http.bad_route` with the reason. The routes before the
                refused one are then added.
        """
        ref state = self._state[]
        state.own_table()
        var first_endpoint = len(state.endpoints)
        for endpoint in other._state[].endpoints:
            state.endpoints.append(endpoint.copy())
        state.table[].mount(prefix, other._state[].table[], first_endpoint)

    def __len__(self) -> Int:
        """Returns the number of routes.

        Returns:
            The number.
        """
        return len(self._state[].table[])

    def _method(
        mut self, method: StaticString
    ) -> RouteMethod[Self.S, origin_of(self)]:
        return RouteMethod[Self.S, origin_of(self)](
            self._state.unsafe_origin_cast[origin_of(self)](), method
        )

    def serve(self, req: Request) raises -> Response:
        """Answers a request through the handler of its route.

        Args:
            req: The request.

        Returns:
            The handler's response, or the router's own.

        Raises:
            The error of the handler.
        """
        return _serve(self._state, req.unsafe_exchange())


@always_inline
def _serve(
    state: PointerTo[RouterState], exchange: Exchange
) raises -> Response:
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
