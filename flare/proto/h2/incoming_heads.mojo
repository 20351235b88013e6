"""Reads HEADERS and CONTINUATION frames (RFC 9113 sections 6.2 and 6.10)."""

from flare.core import Buffer, PointerTo
from flare.message import Method

from ..head import BodyKind
from .flow_control import early_window
from .frame import H2Flag, H2FrameHeader, payload_of, read_uint32
from .h2_error import H2Code, H2Error
from .h2_event import H2Event
from .h2_state import H2State, Reading
from .head_limits import H2HeadFault
from .incoming_content import end_receiving
from .incoming_responses import slot_awaiting_response, take_response
from .priorities import take_early_priority
from .settings import WINDOW_MAX
from .stream_ends import break_stream, count_glitch, refuse_stream
from .stream_lookup import state_of_stream
from .stream_state import FrameVerdict, H2StreamState, frame_verdict
from .stream_table import NO_SLOT, StreamReceiving
from .trailer_reader import decode_for_table

# A request makes up for a few frames without a use, such as windows for a
# stream that has just ended.
comptime _FORGIVEN = 4


def take_headers(
    reading: Reading, header: H2FrameHeader, payload: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    """Takes a HEADERS frame.

    Args:
        reading: The connection, the time and the output.
        header: The header of the frame.
        payload: The whole payload.

    Returns:
        The event; `NEED_OCTETS` if there is none.

    Raises:
        H2Error: If the connection has to end.
    """
    var part = payload_of(header, payload)
    var depends_on_itself = False
    if header.has(H2Flag.PRIORITY):
        var dependency = read_uint32(payload, part.start - 5)
        depends_on_itself = (
            Int(dependency & UInt32(WINDOW_MAX)) == header.stream_id
        )
    var octets = payload[part.start : part.start + part.length]
    if header.has(H2Flag.END_HEADERS):
        return _take_block(reading, header, depends_on_itself, octets)
    ref block = reading.state[].input.block
    # Its state is checked now, because the block may never end.
    _ = _verdict(reading.state, header)
    block.stream_id = header.stream_id
    block.flags = header.flags
    block.depends_on_itself = depends_on_itself
    block.continuations = 0
    block.octets.append(octets)
    return H2Event.of(H2Event.NEED_OCTETS)


def take_continuation(
    reading: Reading, header: H2FrameHeader, payload: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    """Takes a CONTINUATION frame.

    Args:
        reading: The connection, the time and the output.
        header: The header of the frame.
        payload: The whole payload.

    Returns:
        The event; `NEED_OCTETS` if there is none.

    Raises:
        H2Error: If the connection has to end.
    """
    ref block = reading.state[].input.block
    if block.stream_id == 0:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "CONTINUATION of no field block"
        )
    block.continuations += 1
    if (
        block.continuations > reading.state[].limits.continuations_max
        or len(block.octets) + len(payload)
        > reading.state[].limits.block_octets_max()
    ):
        raise H2Error.connection(
            H2Code.ENHANCE_YOUR_CALM, "a field block is too long"
        )
    block.octets.append(payload)
    if not header.has(H2Flag.END_HEADERS):
        return H2Event.of(H2Event.NEED_OCTETS)
    var first = H2FrameHeader(
        len(block.octets), 1, block.flags, block.stream_id
    )
    var octets = Buffer()
    swap(octets, block.octets)
    block.stream_id = 0
    return _take_block(reading, first, block.depends_on_itself, octets.span())


def _verdict(
    state: PointerTo[H2State], header: H2FrameHeader
) raises H2Error -> UInt8:
    var id = header.stream_id
    var verdict = frame_verdict(state_of_stream(state, id), header.kind)
    if (
        verdict == FrameVerdict.VIOLATION
        or id & 1 == 0
        or (state[].is_client and id > state[].ids.last_begun)
    ):
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "HEADERS without a stream of a client"
        )
    if verdict == FrameVerdict.CLOSED_CONNECTION:
        if id < state[].ids.last_begun:
            # It may have been skipped (section 5.1.1).
            raise H2Error.connection(
                H2Code.PROTOCOL_ERROR, "a stream is lower than one before it"
            )
        raise H2Error.connection(
            H2Code.STREAM_CLOSED, "HEADERS for a stream that is closed"
        )
    return verdict


@always_inline
def _take_block(
    reading: Reading,
    header: H2FrameHeader,
    depends_on_itself: Bool,
    octets: Span[mut=False, UInt8, _],
) raises H2Error -> H2Event:
    if (
        header.stream_id > reading.state[].ids.last_begun
        and not reading.state[].is_client
    ):
        return _take_request(reading, header, depends_on_itself, octets)
    if reading.state[].is_client:
        var slot = slot_awaiting_response(reading.state, header.stream_id)
        if slot != NO_SLOT:
            return take_response(reading, slot, header, octets)
    return _take_later_block(reading, header, octets)


@always_inline
def _take_request(
    reading: Reading,
    header: H2FrameHeader,
    depends_on_itself: Bool,
    octets: Span[mut=False, UInt8, _],
) raises H2Error -> H2Event:
    ref s = reading.state[]
    var id = header.stream_id
    var nothing = H2Event.of(H2Event.NEED_OCTETS)
    _ = _verdict(reading.state, header)
    s.ids.last_begun = id
    var fault: H2HeadFault
    try:
        fault = s.input.heads.read(s.input.decoder, octets)
    except e:
        raise H2Error.compression(e)
    var ends = header.has(H2Flag.END_STREAM)
    ref head = s.input.heads.head
    if depends_on_itself or (ends and head.content_length > 0):
        fault = H2HeadFault.malformed("the frame contradicts its head")
    if id > s.ids.last_allowed:
        # The peer knows, or soon learns, that it gets no answer.
        count_glitch(reading.state, reading.now_ms)
        s.meters.recent_resets.note(id)
        return nothing
    if fault and fault.status == 0:
        refuse_stream(reading, id, H2Code.PROTOCOL_ERROR)
        return nothing
    if s.streams.is_full():
        refuse_stream(reading, id, H2Code.REFUSED_STREAM)
        return nothing
    s.meters.glitches.give(_FORGIVEN)
    s.ids.last_taken = id
    var slot = s.streams.insert(id)
    ref stream = s.streams[slot]
    stream.state = (
        H2StreamState.HALF_CLOSED_REMOTE if ends else H2StreamState.OPEN
    )
    stream.send_window = Int32(s.peer.window_octets)
    stream.receiving = StreamReceiving(s.limits.stream_window_octets)
    if s.has_unacknowledged_settings:
        stream.receiving.window = Int32(early_window(reading.state))
    stream.content_left = head.content_length
    if not ends and head.content_length < 0 and not head.wants_upgrade:
        head.body = BodyKind.FRAMES
    stream.turn.urgency = s.input.heads.priority.urgency
    stream.turn.is_incremental = s.input.heads.priority.is_incremental
    if s.early_priority.stream_id != 0:
        take_early_priority(reading.state, slot)
    stream.response.is_head_request = head.method == Method.HEAD
    var event = H2Event.of_stream(H2Event.REQUEST_HEAD, slot, id, ends)
    event.status = fault.status
    return event


@no_inline
def _take_later_block(
    reading: Reading, header: H2FrameHeader, octets: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    """Takes trailers, or a block for a stream that has ended."""
    ref s = reading.state[]
    var verdict = _verdict(reading.state, header)
    var fault = H2HeadFault.NONE
    try:
        if verdict == FrameVerdict.TAKE:
            fault = s.input.trailers.read(s.input.decoder, octets)
        else:
            decode_for_table(s.input.decoder, octets)
    except e:
        raise H2Error.compression(e)
    if verdict == FrameVerdict.DROP:
        count_glitch(reading.state, reading.now_ms)
        return H2Event.of(H2Event.NEED_OCTETS)
    var slot = s.streams.find(header.stream_id)
    if verdict == FrameVerdict.CLOSED_STREAM:
        return break_stream(reading, slot, H2Code.STREAM_CLOSED)
    if (
        fault
        or not header.has(H2Flag.END_STREAM)
        or s.streams[slot].content_left > 0
    ):
        return break_stream(reading, slot, H2Code.PROTOCOL_ERROR)
    end_receiving(reading.state, slot)
    return H2Event.of_stream(H2Event.TRAILERS, slot, header.stream_id, True)
