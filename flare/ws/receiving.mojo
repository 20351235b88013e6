"""Receives messages, and answers control frames on the way."""

from std.sys.intrinsics import likely, unlikely

from flare.core import Buffer, PointerTo
from flare.http.exchange import MutOctets, STOPPING
from flare.http.server.records.statistics import count
from flare.http.upgraded_stream import UpgradedStream
from flare.net import NetError
from flare.proto.ws import (
    WsCloseCode,
    WsEvent,
    WsOpcode,
    WsProtocolError,
    WsRule,
)
from flare.runtime.fiber import remove_fiber
from flare.runtime.wait import sleep, waiting_fiber

from .deflating import inflate_kept, inflate_piece, yield_after_inflating
from .error import WsError
from .message import WsMessageState
from .sending import write_close, write_ping, write_pong
from .socket_state import (
    Socket,
    closed_error,
    fresh_now_ms,
    lose,
    machine_of,
    note_life,
    note_peer_close,
    note_pong,
    note_unit_end,
    now_ms,
    open_socket,
    socket_of,
)
from .statistics import count_received

comptime _CONTROL_OCTETS_MAX = 125
comptime _GRAIN_SHIFT = 7


@fieldwise_init
struct FrameEnd(TrivialRegisterPassable):
    """The kind of a frame whose payload was received."""

    var opcode: UInt8
    """The kind, one of `WsOpcode`."""
    var fin: Bool
    """Whether it is the last frame of its message."""


def receive_message(
    stream: UpgradedStream, message: PointerTo[WsMessageState]
) raises:
    """Receives one message.

    Args:
        stream: The stream of the WebSocket.
        message: Receives the octets.

    Raises:
        An error `ws.closed` at the end of the connection. If the peer is at
        fault, `ws.protocol`, `ws.too_large` or `ws.timeout`, after the Close was
        sent. `ws.busy` if another fiber receives.
    """
    _ = _receive_whole[False](stream, message)


def receive_frame(
    stream: UpgradedStream, message: PointerTo[WsMessageState]
) raises -> FrameEnd:
    """Receives one data frame.

    Args:
        stream: The stream of the WebSocket.
        message: Receives the octets of the frame.

    Returns:
        The kind of the frame.

    Raises:
        The errors of `receive_message`.
    """
    return _receive_whole[True](stream, message)


def await_peer_close(stream: UpgradedStream) -> Bool:
    """Waits for the Close of the peer, after that of this endpoint was sent;
    drops earlier data.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        True if the Close has arrived. False if the connection was lost, or the
        time is up.
    """
    try:
        _await_receiver(stream)
        socket_of(stream)[].receiving.is_busy = True
    except:
        return False
    try:
        var more_than = 0
        while not machine_of(socket_of(stream)).has_received_close():
            more_than = _drop_event(stream, more_than)
    except:
        _end_receiving(stream)
        return False
    _end_receiving(stream)
    return True


def _await_receiver(stream: UpgradedStream) raises:
    """Waits until no other fiber receives: that fiber may get the Close."""
    var s = socket_of(stream)
    while s[].receiving.is_busy:
        var left_ms = s[].closing.due_ms - fresh_now_ms()
        var fiber = waiting_fiber("close")
        s[].closing.waiters.append(fiber)
        var result = fiber.wait(max(left_ms, 1))
        s = socket_of(stream)
        remove_fiber(s[].closing.waiters, fiber)
        if result < 0:
            raise Error(NetError.from_errno("close", result))


@no_inline
def _end_receiving(stream: UpgradedStream):
    var s = open_socket(stream)
    if s:
        s.value()[].receiving.is_busy = False
        if s.value()[].closing.code != 0:
            s.value()[].closing.wake_all()


def _receive_whole[
    by_frame: Bool
](
    stream: UpgradedStream, message: PointerTo[WsMessageState]
) raises -> FrameEnd:
    message[].octets.clear()
    var end = _take_received(stream, message)
    if likely(Bool(end)):
        return end.unsafe_value()
    _begin_receiving(stream, message)
    try:
        var end = _receive[by_frame](stream, message)
        _end_receiving(stream)
        return end
    except e:
        _end_receiving(stream)
        _keep(stream, message)
        raise e


# Functions on the stack of a fiber that waits call these and do not contain
# them: each idle WebSocket has such a stack.
@no_inline
def _take_received(
    stream: UpgradedStream, message: PointerTo[WsMessageState]
) raises -> Optional[FrameEnd]:
    """Takes a short message that has been received, without a wait.

    Returns:
        `None` if there is no such message in front, or it is not its turn.
    """
    var s = socket_of(stream)
    if unlikely(
        s[].receiving.is_busy
        or s[].closing.code != 0
        or len(s[].receiving.partial) > 0
    ):
        return None
    return _take_short(stream, stream.unsafe_received(), message)


@no_inline
def _begin_receiving(
    stream: UpgradedStream, message: PointerTo[WsMessageState]
) raises:
    if socket_of(stream)[].receiving.is_busy:
        _await_probe(stream)
    var s = socket_of(stream)
    s[].receiving.is_busy = True
    s[].receiving.is_held_back = False
    if len(s[].receiving.partial) > 0:
        swap(message[].octets, s[].receiving.partial)
        s[].receiving.partial = Buffer()


@no_inline
def _await_probe(stream: UpgradedStream) raises:
    socket_of(stream)[].receiving.is_wanted = True
    try:
        while socket_of(stream)[].receiving.is_probing:
            sleep(1)
    finally:
        var s = open_socket(stream)
        if s:
            s.value()[].receiving.is_wanted = False
    if socket_of(stream)[].receiving.is_busy:
        raise Error(WsError(WsError.BUSY, "another fiber receives"))


@always_inline
def _take_short(
    stream: UpgradedStream,
    octets: MutOctets,
    message: PointerTo[WsMessageState],
) raises -> Optional[FrameEnd]:
    """Takes a message that lies whole and short in front of the octets.

    Returns:
        `None` if any other event is in front.
    """
    var s = socket_of(stream)
    var consumed = machine_of(s).take_short_message(
        octets,
        Pointer(to=message[].octets).unsafe_origin_cast[MutUntrackedOrigin](),
    )
    if consumed == 0:
        return None
    var opcode = octets.unsafe_get(0) & 15
    message[].is_text = opcode == WsOpcode.TEXT
    note_life(s)
    stream.consume_octets(consumed)
    note_unit_end(s)
    _count(s, message, True)
    return FrameEnd(opcode, True)


@always_inline
def _count(s: Socket, message: PointerTo[WsMessageState], is_end: Bool):
    if s[].broadcast.worker:
        count_received(
            s[].broadcast.worker.unsafe_value().statistics(),
            len(message[].octets),
            is_end,
        )


@no_inline
def _keep(stream: UpgradedStream, message: PointerTo[WsMessageState]):
    # If only the fiber's own deadline has passed, the rest of the message can
    # still be received.
    var s = open_socket(stream)
    if s and s.value()[].closing.code == 0 and len(message[].octets) > 0:
        swap(message[].octets, s.value()[].receiving.partial)


def _receive[
    by_frame: Bool
](
    stream: UpgradedStream, message: PointerTo[WsMessageState]
) raises -> FrameEnd:
    var more_than = 0
    while True:
        _check_open(stream)
        var step = _take_event[by_frame](
            stream, _await_octets(stream, more_than), message
        )
        if step.end:
            return step.end.unsafe_value()
        more_than = step.more_than


@no_inline
def _check_open(stream: UpgradedStream) raises:
    var s = socket_of(stream)
    if s[].closing.code == 0:
        return
    if s[].receiving.violation:
        s[].closing.is_known = True
        raise _failure(s[].receiving.violation.take())
    raise closed_error(s)


@fieldwise_init
struct _Step(Movable):
    # The end of a frame or a message; `None` if there is none yet.
    var end: Optional[FrameEnd]
    # The number of octets that do not suffice for the next event.
    var more_than: Int


@no_inline
def _take_event[
    by_frame: Bool
](
    stream: UpgradedStream,
    octets: MutOctets,
    message: PointerTo[WsMessageState],
) raises -> _Step:
    if len(message[].octets) == 0:
        var end = _take_short(stream, octets, message)
        if end:
            return _Step(end, 0)
    var s = socket_of(stream)
    var event = _event_in(stream, octets)
    if event.kind == WsEvent.NEED_OCTETS:
        return _Step(None, _drop_consumed(stream, octets, event))
    if event.kind != WsEvent.DATA:
        _handle(stream, octets, event)
        return _Step(None, 0)
    if s[].receiving.is_unfinished:
        _credit(s, event.consumed, 0)
    message[].is_text = event.opcode == WsOpcode.TEXT
    if event.is_compressed:
        _inflate(stream, octets, event, message)
        if not event.ends:
            return _Step(None, 0)
        _count(socket_of(stream), message, True)
        return _Step(FrameEnd(event.opcode, True), 0)
    message[].octets.append(
        octets.unsafe_subspan(offset=event.start, length=event.length)
    )
    stream.consume_octets(event.consumed)
    if event.starts:
        s[].receiving.opcode = event.opcode
    if event.ends:
        note_unit_end(s)
    if not event.ends and not (by_frame and event.ends_frame):
        return _Step(None, 0)
    var opcode = s[].receiving.opcode
    s[].receiving.opcode = WsOpcode.CONTINUATION
    _count(s, message, event.fin)
    return _Step(FrameEnd(opcode, event.fin), 0)


def _drop_consumed(
    stream: UpgradedStream, octets: MutOctets, event: WsEvent
) raises -> Int:
    """Drops the octets of an event that needs more of them.

    Returns:
        The number of octets that do not suffice.
    """
    stream.consume_octets(event.consumed)
    var rest = len(octets) - event.consumed
    if rest > 0:
        socket_of(stream)[].receiving.is_unfinished = True
    return rest


def _drop_event(stream: UpgradedStream, more_than: Int) raises -> Int:
    var octets = _await_octets(stream, more_than)
    var event = _event_in(stream, octets)
    if event.kind == WsEvent.NEED_OCTETS:
        return _drop_consumed(stream, octets, event)
    if event.kind == WsEvent.DATA:
        stream.consume_octets(event.consumed)
    else:
        _handle(stream, octets, event)
    return 0


def _event_in(stream: UpgradedStream, octets: MutOctets) raises -> WsEvent:
    var machine = machine_of(socket_of(stream))
    try:
        return machine.next_event(octets)
    except e:
        var failure = _refuse(stream, e)
        raise failure^


@no_inline
def _inflate(
    stream: UpgradedStream,
    octets: MutOctets,
    event: WsEvent,
    message: PointerTo[WsMessageState],
) raises:
    var content = Pointer(to=message[].octets).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    var s = socket_of(stream)
    var is_inflated: Bool
    try:
        is_inflated = inflate_piece(
            s,
            octets.unsafe_subspan(offset=event.start, length=event.length),
            event,
            content,
        )
    except e:
        var failure = _refuse(stream, e)
        raise failure^
    stream.consume_octets(event.consumed)
    if event.ends:
        note_unit_end(s)
    if is_inflated:
        yield_after_inflating(s)
    elif event.ends:
        try:
            inflate_kept(stream, content)
        except e:
            var failure = _refuse(stream, e)
            raise failure^


@no_inline
def _refuse(stream: UpgradedStream, error: WsProtocolError) raises -> Error:
    # Sends the Close that answers a violation by the peer.
    var s = socket_of(stream)
    machine_of(s).stop_receiving()
    s[].closing.is_known = True
    write_close(stream, error.close_code(), "")
    return _failure(error)


@no_inline
def _failure(error: WsProtocolError) -> Error:
    return Error(
        WsError(
            WsError.TOO_LARGE if error.rule
            == WsRule.MESSAGE_SIZE else WsError.PROTOCOL,
            String(error.reason),
            code=error.close_code(),
        )
    )


@no_inline
def _handle(stream: UpgradedStream, octets: MutOctets, event: WsEvent) raises:
    # A call that waits invalidates the octets.
    var payload = Array[UInt8, _CONTROL_OCTETS_MAX](fill=0)
    for i in range(event.length):
        payload[i] = octets[event.start + i]
    var content = Span(payload)[: event.length]
    stream.consume_octets(event.consumed)
    var s = socket_of(stream)
    if not machine_of(s).is_receiving_message():
        note_unit_end(s)
    if event.kind == WsEvent.PING:
        write_pong(stream, content)
    elif event.kind == WsEvent.PONG:
        note_pong(s, content)
    elif event.kind == WsEvent.CLOSE:
        note_peer_close(s, event.close_code, content)
        write_close(stream, event.close_code, "")
        raise closed_error(socket_of(stream))


def _await_octets(stream: UpgradedStream, more_than: Int) raises -> MutOctets:
    var was_open = socket_of(stream)[].closing.code == 0
    while True:
        var began_ms = _begin_wait(stream, more_than)
        try:
            var octets = stream.unsafe_await_octets(more_than=more_than)
            _end_wait(stream, len(octets) - more_than, began_ms)
            return octets
        except e:
            _recover(stream, e, began_ms)
        if was_open:
            _check_open(stream)


@no_inline
def _begin_wait(stream: UpgradedStream, more_than: Int) raises -> Int:
    """Sets the time limit of a wait, and returns when it begins."""
    var s = socket_of(stream)
    if machine_of(s).is_receiving_message():
        s[].receiving.is_unfinished = True
    if machine_of(s).has_sent_close():
        # Each octet of a peer would begin the wait anew.
        _check_close_time(stream, more_than)
    # The program may have computed for long since the loop last turned, and
    # that time does not count as the peer's.
    var began_ms = fresh_now_ms() if s[].receiving.is_unfinished else now_ms()
    if s[].receiving.silent_since_ms == 0:
        s[].receiving.silent_since_ms = began_ms
    stream.set_read_timeout_ms(_timeout_ms(s, began_ms))
    return began_ms


@no_inline
def _end_wait(stream: UpgradedStream, count: Int, began_ms: Int) raises:
    """Notes that octets have arrived, or that there will be none."""
    var s = socket_of(stream)
    if count <= 0:
        lose(s)
        raise closed_error(s)
    note_life(s)
    if s[].receiving.is_unfinished:
        _credit(s, 0, now_ms() - began_ms)


@no_inline
def _check_close_time(stream: UpgradedStream, more_than: Int) raises:
    # Its Close may be among the octets that have arrived.
    if len(stream.unsafe_received()) > more_than:
        return
    var s = socket_of(stream)
    if fresh_now_ms() >= s[].closing.due_ms:
        lose(s)
        raise closed_error(s)


def _credit(s: Socket, octets: Int, waited_ms: Int):
    # Control frames earn no time: their peer could send pings, and never the
    # rest of its message.
    s[].receiving.budget.credit(
        octets,
        waited_ms,
        s[].limits.octets_per_second_min,
        s[].limits.message_timeout_ms,
    )


def _timeout_ms(s: Socket, now: Int) -> Int:
    if machine_of(s).has_sent_close():
        return max(s[].closing.due_ms - now, 1)
    if s[].receiving.is_unfinished:
        return max(s[].receiving.budget.left_ms, 1)
    # The wait may continue one that a deadline of the program has ended.
    var since_ms = s[].receiving.silent_since_ms
    if s[].receiving.awaits_pong:
        return max(since_ms + s[].limits.pong_timeout_ms - now, 1)
    var interval_ms = s[].limits.ping_interval_ms
    if interval_ms == Int.MAX:
        return interval_ms
    return max(since_ms + silence_ms(interval_ms, since_ms) - now, 1)


def silence_ms(interval_ms: Int, now: Int) -> Int:
    """Returns the wait for the peer's next octet before a ping.

    It is up to one part in 128 longer, and ends together with the waits of other
    sockets. Their pings then leave in one turn of the loop.

    Args:
        interval_ms: The configured interval.
        now: The time in milliseconds.

    Returns:
        The wait, at least the interval.
    """
    var grain_ms = interval_ms >> _GRAIN_SHIFT
    if grain_ms == 0 or interval_ms == Int.MAX:
        return interval_ms
    return interval_ms + grain_ms - 1 - (now + interval_ms - 1) % grain_ms


@no_inline
def _recover(stream: UpgradedStream, error: Error, began_ms: Int) raises:
    """Acts on the error of a read, and returns if another read may follow."""
    var s = socket_of(stream)
    if String(error).startswith(STOPPING):
        write_close(stream, WsCloseCode.GOING_AWAY, "")
        return
    var net = NetError.of(error)
    if not net or net.value().kind != NetError.TIMEOUT:
        if WsError.of(error):
            raise Error(error)
        lose(s)
        raise closed_error(s)
    var waited_ms = now_ms() - began_ms
    if waited_ms < _timeout_ms(s, began_ms):
        # A deadline that the program has set. Or the time was up just as
        # another fiber sent the Close, and more is left now.
        if _has_deadline_passed():
            if s[].receiving.is_unfinished:
                _credit(s, 0, waited_ms)
            raise Error(error)
        return
    if machine_of(s).has_sent_close():
        lose(s)
        raise closed_error(s)
    if s[].receiving.is_unfinished:
        _give_up(
            stream,
            "a message was not completed in time",
            WsCloseCode.POLICY_VIOLATION,
        )
    # The windows of a shared connection may hold the pong back.
    if s[].receiving.awaits_pong and not stream.is_held_back():
        if s[].broadcast.worker:
            count(s[].broadcast.worker.value().statistics()[].pings_lost)
        _give_up(stream, "the peer answers no ping", WsCloseCode.INTERNAL_ERROR)
    # Without a ping, there is no pong to wait for. A peer that takes no octets
    # of the frame is noticed by the time limit of the send.
    s[].receiving.awaits_pong = write_ping(stream)
    s[].receiving.silent_since_ms = now_ms()


@no_inline
def _has_deadline_passed() raises -> Bool:
    return waiting_fiber("read").state[].deadline_ms <= fresh_now_ms()


@no_inline
def _give_up(stream: UpgradedStream, reason: StaticString, code: UInt16) raises:
    write_close(stream, code, "")
    socket_of(stream)[].closing.is_known = True
    raise Error(WsError(WsError.TIMEOUT, String(reason), code=code))
