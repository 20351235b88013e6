"""Measures how long a peer takes to answer a ping."""

from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.wait import waiting_fiber
from flare.sys.clock import monotonic_ns

from .error import WsError
from .sending import await_room, begin_sending, encode_ping, end_sending
from .socket_state import closed_error, socket_of


def ping(stream: UpgradedStream) raises -> Int:
    """Sends a ping, and waits for its pong.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The round trip in microseconds.

    Raises:
        An error `ws.timeout` if there is no pong within `pong_timeout_ms`;
        `ws.busy` if another fiber waits for one; `ws.closed` if the connection
        is closed.
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
    var fiber = waiting_fiber("ws.ping")
    s[].sending.awaited_pong = number
    s[].sending.pinger = fiber
    end_sending(stream)
    s = socket_of(stream)
    while s[].sending.awaited_pong == number:
        var result = 0
        if s[].closing.code == 0:
            result = fiber.wait(s[].limits.pong_timeout_ms)
            s = socket_of(stream)
        if s[].closing.code != 0:
            s[].sending.forget_pinger()
            raise closed_error(s)
        if result < 0:
            s[].sending.forget_pinger()
            raise Error(WsError(WsError.TIMEOUT, "no pong has arrived in time"))
    s[].sending.pinger = None
    return (monotonic_ns() - began_ns) // 1000
