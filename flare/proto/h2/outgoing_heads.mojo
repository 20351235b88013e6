"""Writes heads of responses, and trailers (RFC 9113 sections 6.2 and 8.3.2)."""

from flare.core import Buffer, PointerTo
from flare.message import (
    FieldName,
    HeaderMap,
    Status,
    allows_content,
)

from ..trailer_fields import may_be_trailers
from .flow_control import may_send
from .frame import H2Flag
from .h2_error import H2Error
from .h2_state import H2State
from .outgoing_blocks import append_fields, begin_block, finish_block
from .outgoing_content import end_sending
from .priorities import set_priority
from .priority_field import H2Priority, parse_priority
from .content_length import stated_length

# Lines of one connection of HTTP/1.1, and those that this module writes itself.
comptime _DROPPED = (
    FieldName.bit(FieldName.CONNECTION)
    | FieldName.bit(FieldName.KEEP_ALIVE)
    | FieldName.bit(FieldName.PROXY_CONNECTION)
    | FieldName.bit(FieldName.UPGRADE)
    | FieldName.bit(FieldName.CONTENT_LENGTH)
)


@fieldwise_init
struct ResponseStart(TrivialRegisterPassable):
    """The parts of a response besides its fields and its content."""

    var slot: Int
    """The slot of the stream."""
    var status: Int
    """The status."""
    var content_octets: Int
    """The length of the content; -1 if it is not known."""
    var date: Span[UInt8, ImmUntrackedOrigin]
    """The value of Date; empty for no such line. A Date field takes
    precedence."""


def send_response_head(
    state: PointerTo[H2State],
    start: ResponseStart,
    fields: HeaderMap,
    output: PointerTo[Buffer],
) raises H2Error:
    """Writes a final response head. If it may have no content, it ends the
    stream.

    Args:
        state: A server's connection.
        start: Stream, status and length. The status is 200 to 599.
        fields: The fields of the caller.
        output: The destination.

    Raises:
        H2Error: If the response may not be sent now, or the fields contradict
            the content.
    """
    var slot = start.slot
    var status = start.status
    var length = start.content_octets
    ref stream = state[].streams[slot]
    if status < 200 or status > 599:
        raise H2Error.local("not a final status")
    if not may_send(stream) or stream.response.is_answered:
        raise H2Error.local("no response is awaited")
    if fields.has_known(FieldName.TRANSFER_ENCODING):
        raise H2Error.local("Transfer-Encoding among the fields")
    var stated = stated_length(fields, length)
    var is_bodiless = stream.response.is_head_request or not allows_content(
        status
    )
    if status == Status.NO_CONTENT:
        stated = -1
    elif is_bodiless and length == 0 and not _states_length(fields):
        # That no content is sent does not show how much GET would get.
        stated = -1
    stream.response.is_answered = True
    _prioritize(state, slot, fields)
    stream.response.is_bodiless = is_bodiless
    stream.send_left = stated
    var ends = is_bodiless or stated == 0
    append_head(
        state,
        ResponseStart(slot, status, stated, start.date),
        ends,
        fields,
        output,
    )
    if ends:
        end_sending(state, slot)


@always_inline
def append_head(
    state: PointerTo[H2State],
    head: ResponseStart,
    ends: Bool,
    fields: HeaderMap,
    output: PointerTo[Buffer],
):
    """Writes the frame of a response head, without any check.

    Args:
        state: A server's connection.
        head: Stream, status, the value of Content-Length, and Date.
        ends: Whether the response has no content.
        fields: The fields of the caller.
        output: The destination.
    """
    var start = begin_block(output)
    var encoder = state[].encoder
    encoder.begin_block(output)
    encoder.append_status(head.status, output)
    if len(head.date) > 0 and not fields.has_known(FieldName.DATE):
        encoder.append_date(head.date, output)
    if head.content_octets >= 0:
        encoder.append_length(head.content_octets, output)
    append_fields[_DROPPED](state, fields, output)
    finish_block(
        state, head.slot, start, H2Flag.END_STREAM if ends else 0, output
    )


def send_informational(
    state: PointerTo[H2State],
    slot: Int,
    status: Int,
    fields: HeaderMap,
    output: PointerTo[Buffer],
) raises H2Error:
    """Writes a 1xx response.

    Args:
        state: A server's connection.
        slot: The slot of the stream.
        status: 100 or 102 to 199.
        fields: The fields, such as Link.
        output: The destination.

    Raises:
        H2Error: If the response may not be sent now, or the fields contain
            framing.
    """
    ref stream = state[].streams[slot]
    if status < 100 or status > 199 or status == 101:
        raise H2Error.local("not an informational status")
    if not may_send(stream) or stream.response.is_answered:
        raise H2Error.local("no response is awaited")
    if fields.has_known(FieldName.TRANSFER_ENCODING) or _states_length(fields):
        raise H2Error.local("framing fields in an informational response")
    var start = begin_block(output)
    state[].encoder.begin_block(output)
    state[].encoder.append_status(status, output)
    append_fields[_DROPPED](state, fields, output)
    finish_block(state, slot, start, 0, output)


def check_trailers(fields: HeaderMap) raises H2Error:
    """Checks the fields of a program before they become trailers.

    Args:
        fields: The fields.

    Raises:
        H2Error: If one of them belongs to the header section.
    """
    if not may_be_trailers(fields):
        raise H2Error.local("a field that may not be a trailer")


def send_trailers(
    state: PointerTo[H2State],
    slot: Int,
    fields: HeaderMap,
    output: PointerTo[Buffer],
):
    """Writes trailers, which end the stream. All content must have been sent.

    Args:
        state: The connection.
        slot: The slot of the stream.
        fields: The trailers, which `check_trailers` has accepted.
        output: The destination.
    """
    debug_assert(state[].streams[slot].queued_octets == 0, "content is queued")
    var start = begin_block(output)
    state[].encoder.begin_block(output)
    append_fields[_DROPPED](state, fields, output)
    finish_block(state, slot, start, H2Flag.END_STREAM, output)
    end_sending(state, slot)


def _states_length(fields: HeaderMap) -> Bool:
    return fields.has_known(FieldName.CONTENT_LENGTH)


def _prioritize(state: PointerTo[H2State], slot: Int, fields: HeaderMap):
    """Applies a Priority field of the response, which comes before that of the
    request (RFC 9218 section 8)."""
    if not fields.has_known(FieldName.PRIORITY):
        return
    for value in fields.values("priority"):
        ref turn = state[].streams[slot].turn
        set_priority(
            state,
            slot,
            parse_priority(
                value.as_bytes(),
                H2Priority(turn.urgency, turn.is_incremental),
            ),
        )
