"""Takes the heads of responses, at a client (RFC 9113 section 8.1)."""

from flare.core import PointerTo
from flare.message import Status, allows_content

from ..head import BodyKind
from .frame import H2Flag, H2FrameHeader, H2FrameType
from .h2_error import H2Code, H2Error
from .h2_event import H2Event
from .h2_state import H2State, Reading
from .head_limits import H2HeadFault
from .incoming_content import end_receiving
from .response_head import read_response_head
from .stream_ends import break_stream, count_glitch
from .stream_state import FrameVerdict, frame_verdict
from .stream_table import NO_SLOT

# A response makes up for a few frames without a use, such as windows for a
# stream that has just ended.
comptime _FORGIVEN = 4


def slot_awaiting_response(state: PointerTo[H2State], id: Int) -> Int:
    """Returns the slot of a stream whose final head is due.

    Args:
        state: A client's connection.
        id: The number of a stream.

    Returns:
        The slot; `NO_SLOT` also if the stream has ended or was reset.
    """
    var slot = state[].streams.find(id)
    if slot == NO_SLOT:
        return NO_SLOT
    ref stream = state[].streams[slot]
    var verdict = frame_verdict(stream.state, H2FrameType.HEADERS)
    if stream.response.is_answered or verdict != FrameVerdict.TAKE:
        return NO_SLOT
    return slot


def take_response(
    reading: Reading,
    slot: Int,
    header: H2FrameHeader,
    octets: Span[mut=False, UInt8, _],
) raises H2Error -> H2Event:
    """Takes a head, interim or final.

    Args:
        reading: A client's connection, the time and the output.
        slot: The slot of its stream, whose final head is due.
        header: The header of its first frame.
        octets: The field block.

    Returns:
        The event.

    Raises:
        H2Error: If the connection has to end.
    """
    ref s = reading.state[]
    ref stream = s.streams[slot]
    var fault: H2HeadFault
    try:
        fault = read_response_head(s.input, s.limits.head, octets)
    except e:
        raise H2Error.compression(e)
    ref head = s.input.heads.head
    var ends = header.has(H2Flag.END_STREAM)
    var is_final = head.status >= 200
    if stream.response.is_tunnel and 200 <= head.status < 300:
        # It has no meaning there (RFC 9110 section 9.3.6).
        head.content_length = -1
    var has_content = (
        not ends
        and not stream.response.is_head_request
        and (
            allows_content(head.status)
            or (stream.response.is_tunnel and head.status < 300)
        )
    )
    if not fault:
        if not is_final and ends:
            fault = H2HeadFault.malformed("an interim response ends the stream")
        elif (
            ends
            and head.content_length > 0
            and not stream.response.is_head_request
            and head.status != Status.NOT_MODIFIED
        ):
            fault = H2HeadFault.malformed("the frame contradicts its head")
    if fault:
        var event = break_stream(reading, slot, H2Code.PROTOCOL_ERROR)
        event.status = fault.status
        return event
    if not is_final:
        count_glitch(reading.state, reading.now_ms)
        return H2Event.of_stream(
            H2Event.INFORMATIONAL_HEAD, slot, header.stream_id, False
        )
    s.meters.glitches.give(_FORGIVEN)
    stream.response.is_answered = True
    # Content that may not be there exceeds this.
    stream.content_left = head.content_length if has_content else 0
    if not has_content or head.content_length == 0:
        head.body = BodyKind.NONE
    elif head.content_length > 0:
        head.body = BodyKind.LENGTH
    else:
        head.body = BodyKind.FRAMES
    if ends:
        end_receiving(reading.state, slot)
    return H2Event.of_stream(
        H2Event.RESPONSE_HEAD, slot, header.stream_id, ends
    )
