"""Writes the usual form of a response: a head without framing fields of the
caller, followed by the whole content unless that is long.

The output is the same as that of the general code, which handles all other
responses.
"""

from flare.core import Buffer, OctetPointer, PointerTo
from flare.message import (
    FieldName,
    HeaderMap,
    Status,
    allows_content,
    status_line,
)

from ..head import BodyKind
from .connection import H1State
from .head_writer import FRAMING_OCTETS_MAX, put, put_decimal, put_octets
from .state import SideInput, SideState, next_state

comptime _DATE_OCTETS = 29
comptime _NEEDS_THOUGHT = (
    FieldName.bit(FieldName.CONNECTION)
    | FieldName.bit(FieldName.CONTENT_LENGTH)
    | FieldName.bit(FieldName.DATE)
    | FieldName.bit(FieldName.TRANSFER_ENCODING)
)


@always_inline
def write_plain_response(
    state: PointerTo[H1State],
    status: Int,
    fields: HeaderMap,
    octets: Span[UInt8, _],
    date: Span[UInt8, _],
    output: PointerTo[Buffer],
    copies: Bool,
) -> Bool:
    """Writes a whole response to a complete HTTP/1.1 request on a connection
    that persists.

    Args:
        state: A server's connection.
        status: Any number.
        fields: The fields of the caller.
        octets: The whole content.
        date: The value of Date.
        output: The destination, if it has room.
        copies: Whether to copy the content. Otherwise the caller sends it,
            after the output.

    Returns:
        True if the response was written and the exchange is over. Otherwise
        the state is unchanged.
    """
    comptime assert _is_over_at_once(), "the tables say otherwise"
    ref s = state[]
    var section = fields.wire_section()
    var wire = section.octets
    if not s.owes_plain_response() or section.known & _NEEDS_THOUGHT != 0:
        return False
    var copied = len(octets) if copies else 0
    if (
        output[].room() < FRAMING_OCTETS_MAX + len(wire) + copied
        or len(date) != _DATE_OCTETS
    ):
        return False
    var target = output[].unsafe_end()
    var at: Int
    if status == Status.OK:
        at = put["HTTP/1.1 200 OK\r\nDate: "](target, 0)
    else:
        var line = _line_of(status)
        if line.byte_length() == 0:
            return False
        at = put_octets(target, 0, line.as_bytes())
        at = put["Date: "](target, at)
    _put_date(target.unsafe_offset(at), date)
    at = put["\r\nContent-Length: "](target, at + _DATE_OCTETS)
    at = put_decimal(target, at, len(octets))
    at = put["\r\n"](target, at)
    at = put_octets(target, at, wire)
    at = put["\r\n"](target, at)
    at = put_octets(target, at, octets[:copied])
    output[].advance(at)
    s.send_body = BodyKind.LENGTH
    s.send_left = 0
    s.request = SideState.IDLE
    s.response = SideState.IDLE
    return True


@always_inline
def _line_of(status: Int) -> StaticString:
    # Of those whose responses have content, the ones that are registered.
    return status_line(status) if allows_content(status) else ""


@always_inline
def _put_date(target: OctetPointer, date: Span[UInt8, _]):
    # Two vectors that overlap.
    comptime LAST = _DATE_OCTETS - 16
    var p = date.unsafe_ptr()
    target.unsafe_store(0, p.unsafe_load[width=16](0))
    target.unsafe_store(LAST, p.unsafe_load[width=16](LAST))


def _is_over_at_once() -> Bool:
    var response = SideState.AWAITED
    for input in [SideInput.RESPONSE_HEAD, SideInput.END, SideInput.NEXT]:
        response = next_state[False](response, input)
    return (
        response == SideState.IDLE
        and next_state[True](SideState.DONE, SideInput.NEXT) == SideState.IDLE
    )
