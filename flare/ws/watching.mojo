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
    _continue(s)


def _on_time(owner: Erased):
    var s = owner.unsafe_bitcast[WsSocketState]()
    try:
        _look(s)
    except:
        # The connection was lost: the handler was cancelled, or soon is.
        lose(s)


def _continue(s: Socket):
    var interval_ms = s[].limits.ping_interval_ms
    if interval_ms != Int.MAX:
        s[].watch.arm(now_ms() + silence_ms((interval_ms + 1) // 2, now_ms()))


def _look(s: Socket) raises:
    if machine_of(s).has_sent_close():
        _look_at_close(s)
    elif s[].closing.code != 0:
        # It was lost.
        return
    elif s[].receiving.is_busy:
        _continue(s)
    elif s[].receiving.silent_since_ms == 0:
        s[].receiving.silent_since_ms = now_ms()
        _continue(s)
    elif s[].receiving.awaits_pong:
        _look_for_pong(s)
    else:
        _look_for_life(s)


def _look_at_close(s: Socket) raises:
    if s[].receiving.is_busy or machine_of(s).has_received_close():
        return
    if now_ms() < s[].closing.due_ms:
        s[].watch.arm(s[].closing.due_ms)
        return
    lose(s)
    s[].stream.unsafe_abort()


def _look_for_life(s: Socket) raises:
    var interval_ms = s[].limits.ping_interval_ms
    var left_ms = s[].receiving.silent_since_ms + interval_ms - now_ms()
    if left_ms > 0:
        s[].watch.arm(now_ms() + left_ms)
        return
    # The time limit of the send ends a peer that takes no octets.
    if s[].stream.unsent_octets() > 0 or not write_ping(s[].stream):
        _continue(s)
        return
    s[].receiving.silent_since_ms = now_ms()
    s[].receiving.awaits_pong = True
    s[].watch.arm(now_ms() + s[].limits.pong_timeout_ms)


def _look_for_pong(s: Socket) raises:
    if s[].stream.is_held_back():
        # Octets that the handler has not read may hide the pong.
        note_life(s)
        _continue(s)
        return
    var since_ms = s[].receiving.silent_since_ms
    var left_ms = since_ms + s[].limits.pong_timeout_ms - now_ms()
    if left_ms > 0:
        s[].watch.arm(now_ms() + left_ms)
        return
    if s[].broadcast.worker:
        count(s[].broadcast.worker.value().statistics()[].pings_lost)
    write_close(s[].stream, WsCloseCode.INTERNAL_ERROR, "")
