"""Writes request heads (RFC 9112 section 3).

Host is the first field line, whatever the caller's order. RFC 9110 section 7.2
recommends it, and some servers refuse a late one.
"""

from flare.core import Buffer, CR, LF, OctetPointer, PointerTo, is_token
from flare.message import (
    FieldLine,
    FieldName,
    HeaderMap,
    Method,
    known_field,
    valid_host,
)

from ..head import BodyKind
from .body_length import BodyLength
from .connection import H1State, Role
from .error import H1Error
from .grammar import ConnectionOption
from .head_writer import (
    FRAMING_OCTETS_MAX,
    put,
    put_framing,
    put_octets,
)
from .limits import H1Limits
from .scan import not_visible, scan, window_of
from .send_plan import SendPlan
from .state import SideInput


def write_request_head(
    state: PointerTo[H1State],
    method: Span[UInt8, _],
    target: Span[UInt8, _],
    fields: HeaderMap,
    body: BodyLength,
    output: PointerTo[Buffer],
) raises H1Error:
    """Writes a request head, and sets how its body ends.

    Args:
        state: A client's connection between two exchanges.
        method: The method.
        target: The request target, in the form for the method.
        fields: The fields of the caller, with one Host.
        body: The length of the body.
        output: The destination.

    Raises:
        H1Error: If no request may be sent now, or a part would be invalid.
    """
    ref s = state[]
    if (
        s.role != Role.CLIENT
        or s.has_ended
        or not s.allows(SideInput.REQUEST_HEAD, SideInput.REQUEST_HEAD)
    ):
        raise H1Error.local("no request may be sent now")
    if not is_token(method) or len(method) > H1Limits.METHOD_OCTETS_MAX:
        raise H1Error.local("method is not a token")
    if len(target) == 0 or scan[not_visible](
        window_of(target), 0, len(target)
    ) != len(target):
        raise H1Error.local("request target holds a forbidden octet")
    var host = _find_host(fields)
    var plan = SendPlan.of(fields, body)
    var id = Method.from_octets(method)
    _settle_body(id, plan)
    s.method = id
    s.informational = 0
    s.keep_alive = not s.is_last and plan.options & ConnectionOption.CLOSE == 0
    s.wants_upgrade = (
        plan.options & ConnectionOption.UPGRADE != 0
        and fields.has_known(FieldName.UPGRADE)
    )
    s.send_body = plan.body
    s.send_left = plan.content_length
    s.stream_id += 1
    s.advance_request(SideInput.REQUEST_HEAD)
    s.advance_response(SideInput.REQUEST_HEAD)
    var room = len(method) + len(target) + len(fields.wire())
    var octets = output[].reserve(FRAMING_OCTETS_MAX + room)
    var at = put_octets(octets, 0, method)
    at = put[" "](octets, at)
    at = put_octets(octets, at, target)
    at = put[" HTTP/1.1\r\n"](octets, at)
    at = put_octets(octets, at, _wire_of(fields, host))
    at = put_framing(octets, at, plan)
    if not s.keep_alive and plan.options & ConnectionOption.CLOSE == 0:
        at = put["Connection: close\r\n"](octets, at)
    at = _put_others(octets, at, fields, host, plan)
    octets[unsafe_offset=at] = CR
    octets[unsafe_offset=at + 1] = LF
    output[].advance(at + 2)


def _find_host(fields: HeaderMap) raises H1Error -> Int:
    # RFC 9112 section 3.2: exactly one, in every request.
    var section = fields.view()
    var host = section.find("host")
    if host == len(section) or section.find("host", host + 1) != len(section):
        raise H1Error.local("a request needs one Host")
    if not valid_host(section.value(host).as_bytes()):
        raise H1Error.local("Host is not valid")
    return host


@always_inline
def _wire_of(fields: HeaderMap, index: Int) -> Span[UInt8, origin_of(fields)]:
    ref line = fields.view().lines[index]
    return fields.wire()[Int(line.name_start) : _end_of(line)]


@always_inline
def _end_of(line: FieldLine) -> Int:
    # Including the CR LF after the value.
    return Int(line.value_start + line.value_octets) + 2


def _put_others(
    octets: OctetPointer,
    start: Int,
    fields: HeaderMap,
    host: Int,
    plan: SendPlan,
) -> Int:
    var at = start
    if not plan.filters_fields:
        ref line = fields.view().lines[host]
        at = put_octets(octets, at, fields.wire()[: Int(line.name_start)])
        return put_octets(octets, at, fields.wire()[_end_of(line) :])
    for i in range(len(fields)):
        var name = fields.name(i).as_bytes()
        if i != host and known_field(name) != FieldName.CONTENT_LENGTH:
            at = put_octets(octets, at, _wire_of(fields, i))
    return at


def _settle_body(method: Method, mut plan: SendPlan) raises H1Error:
    if plan.body != BodyKind.NONE:
        return
    if plan.content_length > 0:
        raise H1Error.local("Content-Length without a body")
    # RFC 9110 section 8.6: said where the method expects a body.
    if method == Method.POST or method == Method.PUT or method == Method.PATCH:
        plan.content_length = 0
