"""Writes the usual response in one step: a head and its whole content."""

from flare.core import Buffer, PointerTo
from flare.message import FieldName, HeaderMap, allows_content

from .flow_control import may_send
from .frame import H2Flag, H2FrameType, append_frame_header
from .h2_state import H2State
from .outgoing_content import DATA_OCTETS_MAX, end_sending
from .outgoing_heads import ResponseStart, append_head

comptime _NEEDS_THOUGHT = (
    FieldName.bit(FieldName.CONTENT_LENGTH)
    | FieldName.bit(FieldName.DATE)
    | FieldName.bit(FieldName.TRANSFER_ENCODING)
)


def send_plain_response(
    state: PointerTo[H2State],
    start: ResponseStart,
    fields: HeaderMap,
    octets: Span[UInt8, _],
    output: PointerTo[Buffer],
) -> Bool:
    """Writes a whole response if it is a plain one, as most are.

    Args:
        state: A server's connection.
        start: Stream, status and date. The length is that of the octets.
        fields: The fields of the response.
        octets: The whole content.
        output: The destination.

    Returns:
        True if the response was sent. Otherwise nothing was written: send head
        and content one by one.
    """
    ref s = state[]
    var slot = start.slot
    var status = start.status
    ref stream = s.streams[slot]
    var count = len(octets)
    if (
        count == 0
        or count > DATA_OCTETS_MAX
        or count > Int(stream.send_window)
        or count > s.window.send
        or not s.schedule.is_empty()
        or stream.response.is_head_request
        or stream.response.is_answered
        or not may_send(stream)
        or not allows_content(status)
        or fields.known() & _NEEDS_THOUGHT != 0
        or status < 200
        or status > 599
    ):
        return False
    append_head(
        state,
        ResponseStart(slot, status, count, start.date),
        False,
        fields,
        output,
    )
    append_frame_header(
        count, H2FrameType.DATA, H2Flag.END_STREAM, Int(stream.id), output
    )
    output[].append(octets)
    s.window.send -= count
    s.meters.note_sent(count)
    stream.send_window -= Int32(count)
    stream.response.is_answered = True
    end_sending(state, slot)
    return True
