"""Reads frames, and turns them into events (RFC 9113 sections 4 to 6)."""

from flare.core import PointerTo, equals

from .flow_control import reschedule, shrink_early_streams, widen_streams
from .frame import (
    FRAME_HEADER_OCTETS,
    FRAME_OCTETS_MAX,
    H2Flag,
    H2FrameHeader,
    H2FrameType,
    append_frame_header,
    read_frame_header,
    read_uint32,
)
from .h2_error import H2Code, H2Error
from .h2_event import H2Event
from .h2_state import H2Phase, H2State, Reading
from .incoming_content import begin_content, next_content
from .incoming_heads import take_continuation, take_headers
from .preface import PREFACE
from .priorities import take_priority, take_priority_update
from .settings import WINDOW_MAX, append_settings_ack, updated_settings
from .stream_ends import (
    break_stream,
    count_answer,
    count_glitch,
    count_reset,
    end_by_peer,
)
from .stream_lookup import state_of_stream
from .stream_state import FRAME_TYPES, FrameVerdict, frame_verdict
from .window_growth import PROBE, end_probe

comptime _PING_OCTETS = 8
comptime _GOAWAY_OCTETS_MIN = 8


def next_event(
    reading: Reading, window: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    """Returns the next event.

    Args:
        reading: The connection, the time and the output.
        window: The unconsumed octets, contiguous.

    Returns:
        The event.

    Raises:
        H2Error: If the connection has to end.
    """
    ref s = reading.state[]
    if s.input.phase == H2Phase.FAILED:
        return _waiting(len(window))
    var at = 0
    if s.input.phase == H2Phase.PREFACE:
        if not _has_preface(window):
            return _waiting(0)
        at = PREFACE.byte_length()
        s.input.phase = H2Phase.SETTINGS
    while True:
        if s.input.skipped_left > 0:
            var count = min(s.input.skipped_left, len(window) - at)
            s.input.skipped_left -= count
            at += count
        if s.input.data.is_open:
            var event = next_content(reading, window, at)
            at = event.consumed
            if event.kind != H2Event.NEED_OCTETS:
                return event
            if s.input.data.is_open:
                return _waiting(at)
        if len(window) - at < FRAME_HEADER_OCTETS:
            return _waiting(at)
        var header = read_frame_header(window, at)
        if header.length > FRAME_OCTETS_MAX:
            raise H2Error.connection(
                H2Code.FRAME_SIZE_ERROR, "a frame exceeds the limit"
            )
        _check_order(reading.state, header)
        var start = at + FRAME_HEADER_OCTETS
        if header.kind == H2FrameType.DATA:
            # The length of the padding comes first.
            if header.has(H2Flag.PADDED) and len(window) <= start:
                if header.length > 0:
                    return _waiting(at)
            var event = begin_content(reading, header, window[start:])
            at = start + event.consumed
            if event.kind != H2Event.NEED_OCTETS:
                event.consumed = at
                return event
            continue
        if (
            header.kind >= UInt8(FRAME_TYPES)
            and header.kind != H2FrameType.PRIORITY_UPDATE
        ):
            count_glitch(reading.state, reading.now_ms)
            s.input.skipped_left = header.length
            at = start
            continue
        if len(window) - start < header.length:
            return _waiting(at)
        at = start + header.length
        var event = _take_frame(reading, header, window[start:at])
        if event.kind != H2Event.NEED_OCTETS:
            event.consumed = at
            return event


@always_inline
def _waiting(consumed: Int) -> H2Event:
    var event = H2Event.of(H2Event.NEED_OCTETS)
    event.consumed = consumed
    return event


def _has_preface(window: Span[UInt8, _]) raises H2Error -> Bool:
    var preface = PREFACE.as_bytes()
    for i in range(min(len(preface), len(window))):
        if window.unsafe_get(i) != preface.unsafe_get(i):
            raise H2Error.connection(
                H2Code.PROTOCOL_ERROR, "the connection has no preface"
            )
    return len(window) >= len(preface)


@always_inline
def _check_order(
    state: PointerTo[H2State], header: H2FrameHeader
) raises H2Error:
    ref s = state[]
    if s.input.block.stream_id != 0 and (
        header.kind != H2FrameType.CONTINUATION
        or header.stream_id != s.input.block.stream_id
    ):
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "a field block is interrupted"
        )
    if s.input.phase == H2Phase.SETTINGS:
        if header.kind != H2FrameType.SETTINGS or header.has(H2Flag.ACK):
            raise H2Error.connection(
                H2Code.PROTOCOL_ERROR, "the first frame has no settings"
            )


@always_inline
def _take_frame(
    reading: Reading, header: H2FrameHeader, payload: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    if header.kind == H2FrameType.HEADERS:
        return take_headers(reading, header, payload)
    if header.kind == H2FrameType.WINDOW_UPDATE:
        return _take_window_update(reading, header, payload)
    return _take_rare_frame(reading, header, payload)


@no_inline
def _take_rare_frame(
    reading: Reading, header: H2FrameHeader, payload: Span[mut=False, UInt8, _]
) raises H2Error -> H2Event:
    if header.kind == H2FrameType.PRIORITY_UPDATE:
        take_priority_update(reading, header, payload)
        return H2Event.of(H2Event.NEED_OCTETS)
    if header.kind == H2FrameType.CONTINUATION:
        return take_continuation(reading, header, payload)
    if header.kind == H2FrameType.RST_STREAM:
        return _take_reset(reading.state, header, payload, reading.now_ms)
    var verdict = frame_verdict(
        state_of_stream(reading.state, header.stream_id), header.kind
    )
    if verdict == FrameVerdict.VIOLATION:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "a frame that may not come here"
        )
    if header.kind == H2FrameType.SETTINGS:
        _take_settings(reading, header, payload)
    elif header.kind == H2FrameType.PING:
        return _take_ping(reading, header, payload)
    elif header.kind == H2FrameType.GOAWAY:
        count_glitch(reading.state, reading.now_ms)
        return _take_goaway(payload)
    else:
        take_priority(reading.state, header, payload, reading.now_ms)
    return H2Event.of(H2Event.NEED_OCTETS)


def _take_window_update(
    reading: Reading, header: H2FrameHeader, payload: Span[UInt8, _]
) raises H2Error -> H2Event:
    ref s = reading.state[]
    if header.length != 4:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "WINDOW_UPDATE has another length"
        )
    var verdict = frame_verdict(
        state_of_stream(reading.state, header.stream_id), header.kind
    )
    if verdict == FrameVerdict.VIOLATION:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "WINDOW_UPDATE for a stream that is idle"
        )
    var increment = Int(read_uint32(payload, 0) & UInt32(WINDOW_MAX))
    if header.stream_id == 0:
        if increment == 0:
            raise H2Error.connection(
                H2Code.PROTOCOL_ERROR, "WINDOW_UPDATE by 0"
            )
        if s.window.send + increment > WINDOW_MAX:
            raise H2Error.connection(
                H2Code.FLOW_CONTROL_ERROR, "a window exceeds 2^31-1"
            )
        count_answer(reading.state, reading.now_ms)
        s.window.send += increment
        return H2Event.of(H2Event.NEED_OCTETS)
    count_answer(reading.state, reading.now_ms)
    if verdict == FrameVerdict.DROP:
        return H2Event.of(H2Event.NEED_OCTETS)
    var slot = s.streams.find(header.stream_id)
    ref stream = s.streams[slot]
    if increment == 0:
        return break_stream(reading, slot, H2Code.PROTOCOL_ERROR)
    var window = Int(stream.send_window) + increment
    if window > WINDOW_MAX:
        return break_stream(reading, slot, H2Code.FLOW_CONTROL_ERROR)
    stream.send_window = Int32(window)
    reschedule(reading.state, slot)
    return H2Event.of(H2Event.NEED_OCTETS)


def _take_settings(
    reading: Reading, header: H2FrameHeader, payload: Span[UInt8, _]
) raises H2Error:
    ref s = reading.state[]
    if header.has(H2Flag.ACK):
        if header.length != 0:
            raise H2Error.connection(
                H2Code.FRAME_SIZE_ERROR, "an acknowledgement has settings"
            )
        if not s.has_unacknowledged_settings:
            count_glitch(reading.state, reading.now_ms)
        elif not s.is_client:
            shrink_early_streams(reading.state)
        s.has_unacknowledged_settings = False
        return
    if s.input.phase == H2Phase.OPEN:
        count_glitch(reading.state, reading.now_ms)
    s.input.phase = H2Phase.OPEN
    var settings = updated_settings(s.peer, payload)
    if s.is_client and settings.may_push:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "a server sends ENABLE_PUSH"
        )
    var change = settings.window_octets - s.peer.window_octets
    s.peer = settings
    if change != 0:
        widen_streams(reading.state, change)
    s.encoder.limit(settings.header_table_octets)
    append_settings_ack(reading.output)


def _take_ping(
    reading: Reading, header: H2FrameHeader, payload: Span[UInt8, _]
) raises H2Error -> H2Event:
    if header.length != _PING_OCTETS:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "PING has another length"
        )
    # An answer counts too: a peer may send it without a question.
    count_answer(reading.state, reading.now_ms)
    if header.has(H2Flag.ACK):
        if not equals(payload, PROBE.as_bytes()):
            return H2Event.of(H2Event.PONG)
        return H2Event.of(
            H2Event.WINDOW_SMALL if end_probe(
                reading.state
            ) else H2Event.NEED_OCTETS
        )
    append_frame_header(
        _PING_OCTETS, H2FrameType.PING, H2Flag.ACK, 0, reading.output
    )
    reading.output[].append(payload)
    return H2Event.of(H2Event.NEED_OCTETS)


def _take_goaway(payload: Span[UInt8, _]) raises H2Error -> H2Event:
    if len(payload) < _GOAWAY_OCTETS_MIN:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "GOAWAY is incomplete"
        )
    var event = H2Event.of(H2Event.GOING_AWAY)
    event.stream_id = Int(read_uint32(payload, 0) & UInt32(WINDOW_MAX))
    event.code = read_uint32(payload, 4)
    return event


def _take_reset(
    state: PointerTo[H2State],
    header: H2FrameHeader,
    payload: Span[UInt8, _],
    now_ms: Int,
) raises H2Error -> H2Event:
    if header.length != 4:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "RST_STREAM has another length"
        )
    var verdict = frame_verdict(
        state_of_stream(state, header.stream_id), header.kind
    )
    if verdict == FrameVerdict.VIOLATION:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "RST_STREAM for a stream that is idle"
        )
    if verdict == FrameVerdict.DROP:
        count_glitch(state, now_ms)
        return H2Event.of(H2Event.NEED_OCTETS)
    var slot = state[].streams.find(header.stream_id)
    if not state[].is_client:
        # It may have caused work for nothing.
        count_reset(state, now_ms)
    return end_by_peer(state, slot, read_uint32(payload, 0))
