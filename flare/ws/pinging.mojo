"""Measures how long a peer takes to answer a ping."""

from flare.http.upgraded_stream import UpgradedStream
from flare.net import NetError
from flare.proto.ws import WsRole
from flare.runtime.fiber import Fiber
from flare.runtime.operation import TIMED_OUT
from flare.runtime.wait import waiting_fiber
from flare.sys.clock import monotonic_ns

from .between_reads import answer_control_frames
from .error import WsError
from .sending import await_room, begin_sending, encode_ping, end_sending
from .socket_state import (
    closed_error,
    fresh_now_ms,
    lose,
    note_life,
    open_socket,
    socket_of,
)

comptime _SLICE_MS = 5
comptime _UNREAD_OCTETS_MAX = 64 * 1024


def ping(stream: UpgradedStream) raises -> Int:
    """Sends a ping, and waits for its pong.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The round trip in microseconds.

    Raises:
        An error `ws.timeout` if there is no pong within `pong_timeout_ms`;
        `ws.busy` if another fiber waits for one; `ws.closed` if the connection
        is closed. `net.…` if the fiber's deadline passes first, or it is
        cancelled.
    """
    var s = begin_sending(stream)
    var number: UInt64
    try:
        if s[].sending.pinger:
            raise Error(WsError(WsError.BUSY, "another fiber awaits a pong"))
        var room = await_room(stream, 16)
        s = socket_of(stream)
        number = encode_ping(s, room.output)
        stream.announce_output()
    except e:
        end_sending(stream)
        raise e
    var began_ns = monotonic_ns()
    var fiber = waiting_fiber("wait")
    s[].sending.awaited_pong = number
    s[].sending.pinger = fiber
    end_sending(stream)
    s = socket_of(stream)
    var end_ms = fresh_now_ms() + s[].limits.pong_timeout_ms
    while s[].sending.awaited_pong == number:
        var result = 0
        if s[].closing.code == 0:
            result = _wait(stream, fiber, end_ms)
            s = socket_of(stream)
        if s[].closing.code != 0:
            s[].sending.forget_pinger()
            raise closed_error(s)
        if result < 0:
            s[].sending.forget_pinger()
            raise _failure(result, fresh_now_ms() < end_ms)
    s[].sending.pinger = None
    return (monotonic_ns() - began_ns) // 1000


@no_inline
def _failure(result: Int, has_time_left: Bool) -> Error:
    # The fiber was cancelled, or has a deadline of its own.
    if has_time_left:
        return Error(NetError.from_errno("wait", result))
    return Error(WsError(WsError.TIMEOUT, "no pong has arrived in time"))


def _wait(stream: UpgradedStream, fiber: Fiber, end_ms: Int) raises -> Int:
    """Waits until the pong may have arrived.

    Returns:
        0, or a negated errno if the time is up.
    """
    var s = socket_of(stream)
    var left_ms = max(end_ms - fresh_now_ms(), 0)
    if s[].machine.role == WsRole.SERVER:
        return fiber.wait(left_ms)
    # No loop receives for a client. Another fiber may begin to, or stop, at
    # any time.
    var result = 0
    var slice_ms = min(left_ms, _SLICE_MS)
    # Messages in front of the pong hide it, and are not received here.
    if (
        s[].receiving.is_busy
        or s[].receiving.is_wanted
        or len(stream.unsafe_received()) >= _UNREAD_OCTETS_MAX
    ):
        result = fiber.wait(slice_ms)
    else:
        s[].receiving.is_busy = True
        s[].receiving.is_probing = True
        try:
            _probe(stream, slice_ms)
        except e:
            _end_probe(stream)
            _check_probe(stream, e)
            result = TIMED_OUT
        _end_probe(stream)
    var now_ms = fresh_now_ms()
    if result == TIMED_OUT and now_ms < min(end_ms, fiber.state[].deadline_ms):
        return 0
    return result


def _probe(stream: UpgradedStream, timeout_ms: Int) raises:
    # Another fiber may have left the pong in front of the received octets.
    var s = socket_of(stream)
    answer_control_frames(s)
    if s[].sending.awaited_pong == 0 or s[].closing.code != 0:
        return
    var count = len(stream.unsafe_received())
    stream.set_read_timeout_ms(timeout_ms)
    if len(stream.unsafe_await_octets(more_than=count)) <= count:
        lose(socket_of(stream))
        return
    s = socket_of(stream)
    note_life(s)
    answer_control_frames(s)


@no_inline
def _check_probe(stream: UpgradedStream, error: Error) raises:
    """Acts on the error of a probe, and returns if its time was up."""
    var net = NetError.of(error)
    if net and net.value().kind == NetError.TIMEOUT:
        return
    if WsError.of(error) or (net and net.value().kind == NetError.CANCELLED):
        raise Error(error)
    var s = socket_of(stream)
    lose(s)
    raise closed_error(s)


def _end_probe(stream: UpgradedStream):
    var s = open_socket(stream)
    if s:
        s.value()[].receiving.is_busy = False
        s.value()[].receiving.is_probing = False
