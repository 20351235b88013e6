"""Ends streams before their time, and meters the peers that cause it."""

from flare.core import Buffer, PointerTo

from .flow_control import return_credit
from .frame import H2FrameType, append_frame_header, append_uint32
from .h2_error import H2Code, H2Error
from .h2_event import H2Event
from .h2_state import H2Phase, H2State, Reading
from .stream_state import H2StreamState
from .stream_table import NO_SLOT
from .token_bucket import TokenBucket

# Enough for one of 64 octets each, of all content that a large window holds.
comptime _ANSWERS_MAX = 1 << 20


def count_glitch(
    state: PointerTo[H2State], now_ms: Int, parts: Int = TokenBucket.WHOLE
) raises H2Error:
    """Counts a frame that serves no request.

    Args:
        state: The connection.
        now_ms: The time.
        parts: How much it counts, times `TokenBucket.WHOLE`.

    Raises:
        H2Error: If there were too many.
    """
    if not state[].meters.glitches.take(parts, now_ms):
        raise H2Error.connection(
            H2Code.ENHANCE_YOUR_CALM, "too many frames without a use"
        )


def count_answer(state: PointerTo[H2State], now_ms: Int) raises H2Error:
    """Counts a frame that a peer may send because of content that it has got.

    Args:
        state: The connection.
        now_ms: The time.

    Raises:
        H2Error: If there were too many that no content explains.
    """
    ref meters = state[].meters
    if meters.answers == 0:
        return count_glitch(state, now_ms)
    meters.answers = min(meters.answers, _ANSWERS_MAX) - 1


def count_reset(state: PointerTo[H2State], now_ms: Int) raises H2Error:
    """Counts a stream that ends before its response, because of the peer.

    Args:
        state: The connection.
        now_ms: The time.

    Raises:
        H2Error: If there were too many.
    """
    if not state[].meters.resets.take(TokenBucket.WHOLE, now_ms):
        raise H2Error.connection(
            H2Code.ENHANCE_YOUR_CALM, "too many streams were reset"
        )


def append_reset(id: Int, code: UInt32, output: PointerTo[Buffer]):
    """Writes a frame that ends a stream.

    Args:
        id: The number of the stream.
        code: One of `H2Code`.
        output: The destination.
    """
    append_frame_header(4, H2FrameType.RST_STREAM, 0, id, output)
    append_uint32(code, output)


def refuse_stream(reading: Reading, id: Int, code: UInt32) raises H2Error:
    """Ends a stream that has no slot.

    Args:
        reading: The connection, the time and the output.
        id: The number of the stream.
        code: One of `H2Code`.

    Raises:
        H2Error: If there were too many.
    """
    append_reset(id, code, reading.output)
    reading.state[].meters.recent_resets.note(id)
    count_reset(reading.state, reading.now_ms)


def break_stream(
    reading: Reading, slot: Int, code: UInt32
) raises H2Error -> H2Event:
    """Ends a stream whose peer has violated the protocol.

    Args:
        reading: The connection, the time and the output.
        slot: The slot of the stream.
        code: One of `H2Code`.

    Returns:
        The event for its owner.

    Raises:
        H2Error: If there were too many.
    """
    var id = Int(reading.state[].streams[slot].id)
    reset_stream(reading.state, slot, code, reading.output)
    count_reset(reading.state, reading.now_ms)
    var event = H2Event.of_stream(H2Event.RESET, slot, id, True)
    event.code = code
    return event


def reset_stream(
    state: PointerTo[H2State],
    slot: Int,
    code: UInt32,
    output: PointerTo[Buffer],
):
    """Ends a stream.

    Args:
        state: The connection.
        slot: The slot of the stream.
        code: One of `H2Code`.
        output: The destination of the frame.
    """
    append_reset(Int(state[].streams[slot].id), code, output)
    _end(state, slot, H2StreamState.RESET)


def end_by_peer(state: PointerTo[H2State], slot: Int, code: UInt32) -> H2Event:
    """Ends a stream that the peer has reset.

    Args:
        state: The connection.
        slot: The slot of the stream.
        code: The code of the peer.

    Returns:
        The event for its owner.
    """
    var id = Int(state[].streams[slot].id)
    _end(state, slot, H2StreamState.CLOSED)
    var event = H2Event.of_stream(H2Event.RESET, slot, id, True)
    event.code = code
    return event


def _end(state: PointerTo[H2State], slot: Int, to: UInt8):
    ref s = state[]
    s.streams[slot].state = to
    s.streams[slot].queued_octets = 0
    s.schedule.remove(s.streams, slot)
    if s.input.data.slot == slot:
        s.input.data.slot = NO_SLOT


def forget_stream(
    state: PointerTo[H2State], slot: Int, output: PointerTo[Buffer]
):
    """Frees the slot of a stream, whose owner is done with it. If the peer may
    still send, it learns that this is of no use (RFC 9113 section 8.1).

    Args:
        state: The connection.
        slot: The slot of the stream.
        output: The destination of frames.
    """
    ref s = state[]
    var state_before = s.streams[slot].state
    if s.input.phase == H2Phase.FAILED:
        # The GOAWAY was the last frame.
        s.schedule.remove(s.streams, slot)
        s.streams.remove(slot)
        return
    if state_before < H2StreamState.RESET:
        var code = H2Code.INTERNAL_ERROR
        if s.is_client:
            code = H2Code.CANCEL
        elif state_before == H2StreamState.HALF_CLOSED_LOCAL:
            code = H2Code.NO_ERROR
        reset_stream(state, slot, code, output)
    if s.streams[slot].state == H2StreamState.RESET:
        s.meters.recent_resets.note(Int(s.streams[slot].id))
    if s.streams[slot].receiving.held > 0:
        return_credit(state, Int(s.streams[slot].receiving.held), output)
    s.streams.remove(slot)
