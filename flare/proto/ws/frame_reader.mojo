"""Turns received octets into the events of a WebSocket connection.

A data frame is reported in pieces as it arrives, so that a long frame needs no
long window. A control frame is reported when it is whole: it has at most 125
octets. The functions change the payload in the window, and no other octet.
"""

from std.sys.intrinsics import unlikely

from flare.core import (
    Buffer,
    PointerTo,
    copy_short_xored,
    turned_key,
    xor_octets,
)

from .codes import WsCloseCode, WsOpcode
from .frame_event import WsEvent
from .frame_header import (
    FrameHeader,
    read_frame_header,
    short_data_header,
)
from .frame_state import (
    FrameKind,
    FrameProgress,
    WsStage,
    WsState,
    next_stage,
)
from .text import is_utf8
from .violation import WsProtocolError, WsRule

comptime EMPTY_FRAMES_MAX = 1024
"""The most frames without data in one message. They cost no memory, but each
costs its sender less than its recipient."""


def next_frame_event(
    state: PointerTo[WsState], window: Span[mut=True, UInt8, _]
) raises WsProtocolError -> WsEvent:
    """Returns the next event.

    Args:
        state: The state of the connection.
        window: The unconsumed octets, contiguous.

    Returns:
        One event.

    Raises:
        WsProtocolError: If the peer breaks a rule.
    """
    ref s = state[]
    var at = 0
    while True:
        if unlikely(s.receiving >= WsStage.CLOSE_RECEIVED):
            return WsEvent.waiting(len(window))
        if not s.frame.is_open:
            var header = read_frame_header(s, window, at)
            if header.octets == 0:
                return WsEvent.waiting(at)
            if WsOpcode.is_control(header.opcode()):
                var end = at + header.octets + Int(header.length)
                if end > len(window):
                    return WsEvent.waiting(at)
                if _drops(s.receiving, header):
                    at = end
                    continue
                return _control_event(state, window, at, header)
            _begin_frame(state, header)
            at += header.octets
        if unlikely(s.receiving == WsStage.CLOSE_SENT):
            at += _drop(state, len(window) - at)
            if s.frame.is_open:
                return WsEvent.waiting(at)
            continue
        if at == len(window) and s.frame.left > 0:
            return WsEvent.waiting(at)
        return _data_event(state, window, at)


@always_inline
def take_short_message(
    state: PointerTo[WsState],
    window: Span[UInt8, _],
    output: PointerTo[Buffer],
) -> Int:
    """Takes a message that lies whole in front of the window, in one short
    frame.

    It raises no error: every frame of another kind or in another state is left
    to `next_frame_event`. A message that it takes leaves the state as it was,
    because the next one begins anew.

    Args:
        state: The state of the connection.
        window: The unconsumed octets, contiguous. They stay as they are.
        output: The content is appended there.

    Returns:
        The length of the frame; 0 if another function must read it.
    """
    ref s = state[]
    if unlikely(s.receiving != WsStage.OPEN or s.frame.is_open):
        return 0
    var header = short_data_header(s, window)
    var count = Int(header.length)
    if unlikely(header.octets == 0 or header.length > s.check.octets_max):
        return 0
    var target = output[].reserve(count)
    var is_ascii = copy_short_xored(
        target,
        window.unsafe_ptr().unsafe_offset(header.octets),
        count,
        header.key,
    )
    if unlikely(
        not is_ascii
        and header.opcode() == WsOpcode.TEXT
        and not is_utf8(Span(unsafe_ptr=target, length=count))
    ):
        return 0
    output[].advance(count)
    return header.octets + count


def has_control_frame(
    state: PointerTo[WsState], window: Span[UInt8, _]
) -> Bool:
    """Returns whether a control frame is in front.

    Args:
        state: The state of the connection.
        window: The unconsumed octets, contiguous.

    Returns:
        True if it has arrived whole, or its header breaks a rule.
    """
    ref s = state[]
    if s.frame.is_open or s.receiving >= WsStage.CLOSE_SENT:
        return False
    try:
        var header = read_frame_header(s, window, 0)
        return (
            header.octets > 0
            and WsOpcode.is_control(header.opcode())
            and header.octets + Int(header.length) <= len(window)
        )
    except:
        return True


@always_inline
def _drops(stage: UInt8, header: FrameHeader) -> Bool:
    # After its own Close, an endpoint waits only for that of the peer.
    return stage == WsStage.CLOSE_SENT and header.opcode() != WsOpcode.CLOSE


def _drop(state: PointerTo[WsState], available: Int) -> Int:
    ref frame = state[].frame
    var count = available
    if UInt64(available) > frame.left:
        count = Int(frame.left)
    frame.left -= UInt64(count)
    frame.is_open = frame.left > 0
    return count


@always_inline
def _begin_frame(
    state: PointerTo[WsState], header: FrameHeader
) raises WsProtocolError:
    ref s = state[]
    var next = next_stage(
        s.receiving, FrameKind.of(header.opcode(), header.is_final())
    )
    if unlikely(next == WsStage.ILLEGAL):
        raise WsProtocolError.peer(
            WsRule.NO_MESSAGE if header.opcode()
            == WsOpcode.CONTINUATION else WsRule.MESSAGE_IN_MESSAGE
        )
    if header.opcode() != WsOpcode.CONTINUATION:
        s.opcode = header.opcode()
        s.is_compressed = header.has_rsv1()
        s.is_unreported = True
        s.empty_frames = 0
        s.check.begin(is_text=s.opcode == WsOpcode.TEXT and not s.is_compressed)
    if next != WsStage.CLOSE_SENT:
        _check_length(state, header.length)
    s.receiving = next
    s.frame = FrameProgress(header.length, header.key, True, header.is_final())


@always_inline
def _check_length(
    state: PointerTo[WsState], length: UInt64
) raises WsProtocolError:
    ref s = state[]
    if unlikely(s.is_compressed):
        # Octets that do not compress take a little more room than plain ones.
        # The exact limit is that of the inflated message.
        var most = s.check.octets_max + s.check.octets_max // 8 + 256
        if length > most - s.check.octets:
            raise WsProtocolError.peer(WsRule.MESSAGE_SIZE)
    else:
        s.check.announce(length)
    if unlikely(length == 0):
        s.empty_frames += 1
        if Int(s.empty_frames) > EMPTY_FRAMES_MAX:
            raise WsProtocolError.peer(WsRule.EMPTY_FRAMES)


@always_inline
def _data_event(
    state: PointerTo[WsState], window: Span[mut=True, UInt8, _], start: Int
) raises WsProtocolError -> WsEvent:
    ref s = state[]
    var count = len(window) - start
    if UInt64(count) > s.frame.left:
        count = Int(s.frame.left)
    var piece = window.unsafe_subspan(offset=start, length=count)
    # The key of a server is zero.
    if s.frame.key != 0:
        xor_octets(piece.unsafe_ptr(), count, s.frame.key, 0)
        s.frame.key = turned_key(s.frame.key, count)
    s.frame.left -= UInt64(count)
    var ends_frame = s.frame.left == 0
    var ends = ends_frame and s.frame.is_final
    if unlikely(s.is_compressed):
        s.check.octets += UInt64(count)
    else:
        s.check.take(piece)
        if ends:
            s.check.end()
    var starts = s.is_unreported
    s.is_unreported = False
    s.frame.is_open = not ends_frame
    return WsEvent(
        WsEvent.DATA,
        s.opcode,
        s.frame.is_final,
        starts,
        ends,
        ends_frame,
        s.is_compressed,
        0,
        start,
        count,
        start + count,
    )


@no_inline
def _control_event(
    state: PointerTo[WsState],
    window: Span[mut=True, UInt8, _],
    at: Int,
    header: FrameHeader,
) raises WsProtocolError -> WsEvent:
    ref s = state[]
    var opcode = header.opcode()
    var start = at + header.octets
    var count = Int(header.length)
    var payload = window.unsafe_subspan(offset=start, length=count)
    if header.key != 0:
        xor_octets(payload.unsafe_ptr(), count, header.key, 0)
    var kind = WsEvent.PING
    var code: UInt16 = 0
    var end = start + count
    if opcode == WsOpcode.PONG:
        kind = WsEvent.PONG
    elif opcode == WsOpcode.CLOSE:
        kind = WsEvent.CLOSE
        code = _close_code(payload)
        # The reason follows the code.
        start += min(count, 2)
        count -= min(count, 2)
    s.receiving = next_stage(s.receiving, FrameKind.of(opcode, True))
    return WsEvent(
        kind, opcode, True, False, False, True, False, code, start, count, end
    )


def _close_code(
    payload: Span[mut=True, UInt8, _]
) raises WsProtocolError -> UInt16:
    if len(payload) == 0:
        return WsCloseCode.NO_STATUS
    if len(payload) == 1:
        raise WsProtocolError.peer(WsRule.SHORT_CLOSE)
    var code = UInt16(payload[0]) << 8 | UInt16(payload[1])
    if not WsCloseCode.is_valid(code):
        raise WsProtocolError.peer(WsRule.CLOSE_CODE)
    if not is_utf8(payload[2:]):
        raise WsProtocolError.peer(WsRule.CLOSE_REASON)
    return code
