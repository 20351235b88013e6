"""Watches a WebSocket while no fiber receives, on the loop.

A fiber that receives wakes when a ping is due, and when the pong or the peer's
Close is late. But a handler may wait for something else for hours. Then a timer
of the socket takes the place of its waits. It fires twice per ping interval
even while a fiber receives: so receiving touches no timer.
"""

from flare.core import Erased
from flare.http.server.records.statistics import count
from flare.proto.ws import WsCloseCode
from flare.runtime.current import current_reactor
from flare.runtime.timer_task import TimerTask

from .receiving import silence_ms
from .sending import write_close, write_ping
from .socket_state import (
    Socket,
    WsSocketState,
    arm_watch,
    lose,
    machine_of,
    note_life,
    now_ms,
)


def begin_watch(s: Socket):
    """Begins to watch a socket; called on the loop's thread.

    Args:
        s: The state.
    """
    var reactor = current_reactor()
    if not reactor:
        return
    s[].watch.timers = reactor.value().timers()
    s[].watch.task = TimerTask(s.unsafe_bitcast[NoneType](), _on_time)
    s[].watch.timer.owner = (
        Pointer(to=s[].watch.task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )
    _look_later(s, now_ms())


def _on_time(owner: Erased):
    var s = owner.unsafe_bitcast[WsSocketState]()
    # A handler may have computed since octets were last collected. That time
    # does not count as the peer's.
    var now = s[].watch.timers.value().now_ms()
    try:
        if machine_of(s).has_sent_close():
            _look_for_close(s, now)
        elif s[].closing.code == 0:
            _look(s, now)
    except:
        # The connection was lost: the handler was cancelled, or soon is.
        lose(s)


def _look_later(s: Socket, now: Int, *, left_ms: Int = Int.MAX):
    """Sets the next look at the end of half an interval, or of a wait that ends
    before."""
    var interval_ms = s[].limits.ping_interval_ms
    if interval_ms != Int.MAX:
        var half_ms = silence_ms((interval_ms + 1) // 2, now)
        arm_watch(s, now + min(left_ms, half_ms))


def _look(s: Socket, now: Int) raises:
    if s[].receiving.is_busy:
        _look_later(s, now)
        return
    if s[].receiving.silent_since_ms == 0:
        s[].receiving.silent_since_ms = now
    var silent_ms = now - s[].receiving.silent_since_ms
    if s[].receiving.awaits_pong:
        _look_for_pong(s, now, s[].limits.pong_timeout_ms - silent_ms)
        return
    var left_ms = s[].limits.ping_interval_ms - silent_ms
    if left_ms > 0:
        _look_later(s, now, left_ms=left_ms)
        return
    # The time limit of the send ends a peer that takes no octets.
    if s[].stream.unsent_octets() == 0 and write_ping(s[].stream):
        s[].receiving.silent_since_ms = now
        s[].receiving.awaits_pong = True
        left_ms = s[].limits.pong_timeout_ms
    else:
        left_ms = Int.MAX
    _look_later(s, now, left_ms=left_ms)


def _look_for_pong(s: Socket, now: Int, left_ms: Int) raises:
    if s[].stream.is_held_back():
        # Octets that the handler has not read may hide the pong.
        note_life(s)
        _look_later(s, now)
    elif left_ms > 0:
        _look_later(s, now, left_ms=left_ms)
    else:
        if s[].broadcast.worker:
            count(s[].broadcast.worker.value().statistics()[].pings_lost)
        write_close(s[].stream, WsCloseCode.INTERNAL_ERROR, "")


def _look_for_close(s: Socket, now: Int) raises:
    """Ends the connection under a handler that does not know of the Close. One
    that knows it, or that the server has told to stop, ends by itself."""
    if (
        machine_of(s).has_received_close()
        or s[].closing.is_known
        or s[].stream.is_stopping()
    ):
        return
    if now < s[].closing.due_ms:
        arm_watch(s, s[].closing.due_ms)
    elif s[].receiving.is_busy or (
        s[].stream.unsent_octets() > 0
        and s[].closing.code != WsCloseCode.TRY_AGAIN_LATER
    ):
        # The receiver ends, and the limit of the send ends a peer that takes
        # nothing. The wait for an answer begins when all is sent.
        arm_watch(s, now + s[].limits.close_timeout_ms)
    else:
        lose(s)
        s[].stream.unsafe_abort()
