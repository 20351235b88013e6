"""Reads DATA frames piece by piece (RFC 9113 section 6.1)."""

from flare.core import Buffer, PointerTo

from .flow_control import return_credit, return_stream_credit
from .frame import H2Flag, H2FrameHeader, payload_of
from .h2_error import H2Code, H2Error
from .h2_event import H2Event
from .h2_state import H2State, Reading
from .stream_ends import break_stream, count_glitch
from .stream_lookup import state_of_stream
from .stream_state import FrameVerdict, H2StreamState, frame_verdict
from .stream_table import NO_SLOT
from .token_bucket import TokenBucket

# A frame with fewer octets proves no good will.
comptime _USEFUL_OCTETS = 256
# 65,536 frames of content that is dropped, by default.
comptime _DROPPED_PER_GLITCH = 16


def begin_content(
    reading: Reading, header: H2FrameHeader, payload: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    """Begins a frame of content.

    Args:
        reading: The connection, the time and the output.
        header: The header of the frame.
        payload: The front of the payload: one octet, if the frame is padded.

    Returns:
        `RESET` if the stream ends, otherwise `NEED_OCTETS`. It has consumed the
        length of the padding.

    Raises:
        H2Error: If the connection has to end.
    """
    ref s = reading.state[]
    var verdict = frame_verdict(
        state_of_stream(reading.state, header.stream_id), header.kind
    )
    if verdict == FrameVerdict.VIOLATION:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "DATA for a stream that is idle"
        )
    if verdict == FrameVerdict.CLOSED_CONNECTION:
        raise H2Error.connection(
            H2Code.STREAM_CLOSED, "DATA for a stream that is closed"
        )
    var content = payload_of(header, payload)
    # Padding counts too (section 6.9.1).
    s.window.receive -= header.length
    s.window.probe.octets += header.length
    if s.window.receive < 0:
        raise H2Error.connection(
            H2Code.FLOW_CONTROL_ERROR, "the connection's window is exceeded"
        )
    if verdict == FrameVerdict.DROP:
        # It is paid back at once, so that only this meter bounds it. A client
        # that was refused still uses its window up, in frames of any length.
        var parts = TokenBucket.WHOLE
        if content.length >= _USEFUL_OCTETS:
            parts = TokenBucket.WHOLE // _DROPPED_PER_GLITCH
        count_glitch(reading.state, reading.now_ms, parts)
    elif content.length >= _USEFUL_OCTETS:
        s.meters.glitches.give(1)
    elif content.length == 0 and not header.has(H2Flag.END_STREAM):
        count_glitch(reading.state, reading.now_ms)
    var padding = header.length - content.start - content.length
    s.input.data.is_open = True
    s.input.data.slot = NO_SLOT
    s.input.data.left = content.length
    s.input.data.padding_left = padding
    s.input.data.ends = header.has(H2Flag.END_STREAM)
    var event = H2Event.of(H2Event.NEED_OCTETS)
    if verdict != FrameVerdict.DROP:
        var slot = s.streams.find(header.stream_id)
        s.input.data.slot = slot
        var code = H2Code.NO_ERROR
        if verdict == FrameVerdict.CLOSED_STREAM:
            code = H2Code.STREAM_CLOSED
        elif s.is_client and not s.streams[slot].response.is_answered:
            # Content before its head.
            code = H2Code.PROTOCOL_ERROR
        else:
            s.streams[slot].receiving.window -= Int32(header.length)
            if s.streams[slot].receiving.window < 0:
                code = H2Code.FLOW_CONTROL_ERROR
        if code != H2Code.NO_ERROR:
            event = break_stream(reading, slot, code)
    # Padding is taken at once.
    _drop(reading.state, content.start + padding, reading.output)
    event.consumed = content.start
    return event


def next_content(
    reading: Reading, window: Span[mut=False, UInt8, _], at: Int
) raises H2Error -> H2Event:
    """Continues the frame of content.

    Args:
        reading: The connection, the time and the output.
        window: The unconsumed octets.
        at: The offset of its next octet.

    Returns:
        `DATA`, `RESET`, or `NEED_OCTETS` if there is nothing to report. The
        frame may have ended.

    Raises:
        H2Error: If the connection has to end.
    """
    ref s = reading.state[]
    var count = min(s.input.data.left, len(window) - at)
    var end = at + count
    s.input.data.left -= count
    if s.input.data.left == 0:
        var padding = min(s.input.data.padding_left, len(window) - end)
        s.input.data.padding_left -= padding
        end += padding
    s.input.data.is_open = (
        s.input.data.left > 0 or s.input.data.padding_left > 0
    )
    var ends = s.input.data.ends and not s.input.data.is_open
    var event = H2Event.of(H2Event.NEED_OCTETS)
    if s.input.data.slot == NO_SLOT:
        _drop(reading.state, count, reading.output)
    elif count > 0 or ends:
        event = _take_content(reading, count, ends)
        event.start = at
    event.consumed = end
    return event


def _take_content(
    reading: Reading, count: Int, ends: Bool
) raises H2Error -> H2Event:
    ref s = reading.state[]
    var slot = s.input.data.slot
    ref stream = s.streams[slot]
    stream.receiving.held += Int32(count)
    if stream.content_left >= 0:
        stream.content_left -= count
        # The announced length must be that of all frames (section 8.1.1).
        if stream.content_left < 0 or (ends and stream.content_left > 0):
            return break_stream(reading, slot, H2Code.PROTOCOL_ERROR)
    if ends:
        end_receiving(reading.state, slot)
    var event = H2Event.of_stream(H2Event.DATA, slot, Int(stream.id), ends)
    event.length = count
    return event


def end_receiving(state: PointerTo[H2State], slot: Int):
    """Ends the peer's side of a stream.

    Args:
        state: The connection.
        slot: The slot of the stream.
    """
    ref stream = state[].streams[slot]
    if stream.state == H2StreamState.OPEN:
        stream.state = H2StreamState.HALF_CLOSED_REMOTE
    else:
        stream.state = H2StreamState.CLOSED


def _drop(state: PointerTo[H2State], octets: Int, output: PointerTo[Buffer]):
    if octets == 0:
        return
    if state[].input.data.slot == NO_SLOT:
        return_credit(state, octets, output)
    else:
        return_stream_credit(state, state[].input.data.slot, octets, output)
