"""Accepts the connections of a worker: as many as it has room for, and at the
end those that wait.

If slots, descriptors or memory run out, accepting pauses until a connection
has ended. While clients wait, the worker makes room. Responses announce that
they are the last on their connections. Connections that have been idle for a
second are closed, the longest idle first. A worker without idle ones asks its
peers. If no client can be accepted for `overload_timeout_ms` even so, waiting
clients are answered 503 with a descriptor that is kept for it.

A worker that stops holds new connections back and answers those that wait.
"""

from flare.core import Erased, PointerTo
from flare.runtime.operation import CANCELLED, Operation
from flare.runtime.timer_wheel import TimerEntry
from flare.sys.errno import (
    EAGAIN,
    ECONNABORTED,
    ECONNRESET,
    EHOSTDOWN,
    EHOSTUNREACH,
    EINTR,
    ENETDOWN,
    ENETUNREACH,
    ENOPROTOOPT,
    EPERM,
    EPROTO,
    ETIMEDOUT,
)
from flare.sys.file import close_descriptor, open_event_descriptor

from ..driver.connection import Connection
from ..driver.operations import begin_connection
from ..driver.tls_connection import begin_tls
from ..receiving.protocol_input import go_away, limit_protocols
from ..records.statistics import count, set_counter
from ..transport.connection_state import ConnectionState, Stage, Wait
from ..transport.proxy_header import is_welcome
from ..transport.worker_parts import Accepted, ListenerState
from ..transport.worker_state import WorkerState, turn_again

comptime _PAUSE_MS = 100
# A client that sends one request after another is not taken for idle.
comptime _IDLE_MS_MIN = 1000
comptime _ENDED_MAX = 16
comptime _TURNED_AWAY_MAX = 64
comptime _ACCEPTS_MAX = 1024
# A multishot accept takes all waiting clients before it can be stopped.
comptime _AMPLE_ROOM_MIN = 1024
# The result of `_accept_waiting` if no slot is free.
comptime _NO_SLOT = 1
comptime _ANSWER: StaticString = (
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Retry-After: 1\r\n"
    "Content-Length: 0\r\n"
    "Connection: close\r\n\r\n"
)
# A fatal alert: internal_error (RFC 8446 section 6). No other says "not now".
comptime _TLS_ANSWER: StaticString = "\x15\x03\x03\x00\x02\x02\x50"


def begin_accepting(w: PointerTo[WorkerState]):
    """Starts to accept, unless the worker was stopped already.

    Args:
        w: The worker.
    """
    w[].accepting.task.owner = w.unsafe_bitcast[NoneType]()
    w[].accepting.task.fire = _on_timer
    w[].accepting.slot_freed = _on_slot_freed
    w[].accepting.timer.owner = (
        Pointer(to=w[].accepting.task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )
    if w[].stopping:
        return
    for listener in w[].listeners:
        listener[].accept.complete = _on_accept
        if not listener[].is_lent:
            w[].reactor.hold_back(listener[].accept.descriptor, False)
    _resume(w)


def admit(
    w: PointerTo[WorkerState],
    descriptor: Int32,
    listener: Optional[PointerTo[ListenerState]] = None,
) -> Bool:
    """Starts a connection on an accepted socket, or closes a socket that the
    server does not accept.

    Args:
        w: The worker.
        descriptor: The socket; owned by the worker if a slot is free.
        listener: The listener that accepted it, if known.

    Returns:
        False if no slot is free.
    """
    if not is_welcome(w, descriptor):
        w[].reactor.close(descriptor)
        return True
    var begun = begin_connection(w, descriptor)
    if not begun:
        return False
    if listener and listener.value()[].tls:
        begin_tls(begun.value(), listener.value()[].tls.value())
    elif listener:
        limit_protocols(begun.value().state, listener.value()[].protocols)
    w[].accepting.stuck_since_ms = -1
    count(w[].statistics[].connections_accepted)
    set_counter(w[].statistics[].connections, w[].connections.lent())
    return True


def end_accepting(w: PointerTo[WorkerState]):
    """Holds back new connections, and accepts those in the listen queue as the
    last ones.

    Args:
        w: The worker, which has begun to stop.
    """
    for listener in w[].listeners:
        if not listener[].is_lent:
            w[].reactor.hold_back(listener[].accept.descriptor, True)
    _cancel_accepts(w)
    _cancel_timer(w)
    _accept_last(w)


def give_up_accepting(w: PointerTo[WorkerState]):
    """Stops accepting at once, because the worker's time is over.

    Args:
        w: The worker, which stops.
    """
    w[].accepting.has_ended = True
    while len(w[].accepting.waiting) > 0:
        w[].reactor.close(w[].accepting.waiting.pop().descriptor)
    _cancel_timer(w)


def worker_has_ended(w: PointerTo[WorkerState]) -> Bool:
    """Returns whether a worker has stopped and has no connection left.

    Args:
        w: The worker.

    Returns:
        True if no connection is open, none waits to be accepted, and no job
        is left.
    """
    if (
        not w[].stopping
        or w[].connections.lent() > 0
        or len(w[].accepting.waiting) > 0
        or w[].exchanges.later.keep_worker()
    ):
        return False
    for listener in w[].listeners:
        if not _accept_of(listener).is_idle():
            return False
        if not listener[].is_drained and not w[].accepting.has_ended:
            return False
    return True


def keep_spare(w: PointerTo[WorkerState]) -> Int:
    """Opens the descriptor that is kept for answers, if there is none.

    Args:
        w: The worker.

    Returns:
        0, or the negated errno.
    """
    if w[].accepting.spare_descriptor >= 0:
        return 0
    var opened = open_event_descriptor()
    w[].accepting.spare_descriptor = Int32(max(opened, -1))
    return min(opened, 0)


def shed_connections(w: PointerTo[WorkerState]) -> Bool:
    """Closes connections, now or after their next response.

    Args:
        w: The worker.

    Returns:
        True if at least one connection ends now.
    """
    if w[].stopping:
        # They end anyhow, and may still ask within their time.
        return False
    var slots = w[].connections.handles()
    var idle = List[Int]()
    for i in range(len(slots)):
        var c = w[].connections.find(slots[i]).value()
        if _has_idled(w, c):
            # Sorts by time, and still tells which one it is.
            idle.append((c[].deadline.at_ms << 24) | i)
        elif c[].stage == Stage.OPEN:
            go_away(c)
    sort(idle)
    for i in range(min(len(idle), _ENDED_MAX)):
        var slot = slots[idle[i] & 0xFFFFFF]
        Connection(w[].connections.find(slot).value()).end_idle()
    return len(idle) > 0


def close_spare(w: PointerTo[WorkerState]):
    """Closes the descriptor that is kept for answers.

    Args:
        w: The worker.
    """
    if w[].accepting.spare_descriptor >= 0:
        _ = close_descriptor(w[].accepting.spare_descriptor)
    w[].accepting.spare_descriptor = -1


def _resume(w: PointerTo[WorkerState]):
    w[].accepting.is_paused = False
    for listener in w[].listeners:
        if _accept_of(listener).is_idle():
            _accept_next(w, listener)


def _accept_next(w: PointerTo[WorkerState], listener: PointerTo[ListenerState]):
    # If room is scarce, connections are accepted one at a time: those that
    # stay in the listen queue may be accepted by another process. A multishot
    # accept would be informed of every connection to a shared socket.
    listener[].accept.multishot = not listener[].is_shared and _has_ample_room(
        w
    )
    w[].reactor.submit(_accept_of(listener))


def _has_ample_room(w: PointerTo[WorkerState]) -> Bool:
    ref config = w[].config
    var room = config.max_connections - w[].connections.lent()
    return room >= max(_AMPLE_ROOM_MIN, config.listen_backlog)


def _pause(w: PointerTo[WorkerState]):
    w[].accepting.is_paused = True
    _cancel_accepts(w)
    _arm_timer(w)


def _cancel_accepts(w: PointerTo[WorkerState]):
    for listener in w[].listeners:
        w[].reactor.cancel(_accept_of(listener))


def _on_accept(operation: Operation):
    var listener = (
        operation.state[].owner.value().unsafe_bitcast[ListenerState]()
    )
    var w = listener[].worker.unsafe_bitcast[WorkerState]()
    var result = operation.result()
    if result >= 0:
        if not admit(w, Int32(result), listener):
            # Sockets that were accepted already are served when a slot is
            # free; later ones stay in the listen queue.
            w[].accepting.waiting.append(Accepted(Int32(result), listener))
            _pause(w)
        elif (
            not operation.state[].multishot
            and not listener[].is_shared
            and not w[].stopping
        ):
            _accept_more(w, listener)
    elif result != CANCELLED and not _peer_gave_up(result):
        _pause(w)
    if w[].stopping:
        _go_on_ending(w)
    elif not operation.is_idle():
        if not _has_ample_room(w):
            w[].reactor.cancel(operation)
    elif not w[].accepting.is_paused:
        _accept_next(w, listener)


def _accept_more(w: PointerTo[WorkerState], listener: PointerTo[ListenerState]):
    """Accepts the clients that wait after one that was accepted alone."""
    var result = _accept_waiting(w, listener)
    if result < 0 and result != -EAGAIN and result != -EINTR:
        _pause(w)


def _on_slot_freed(owner: Erased):
    var w = owner.unsafe_bitcast[WorkerState]()
    if len(w[].accepting.waiting) > 0:
        ref first = w[].accepting.waiting[0]
        if admit(w, first.descriptor, first.listener):
            _ = w[].accepting.waiting.pop(0)
        if len(w[].accepting.waiting) == 0 and not w[].stopping:
            # The next client is then noticed.
            _resume(w)
    elif w[].stopping:
        if w[].connections.lent() == 0:
            # Handshakes that had begun may have ended since.
            for listener in w[].listeners:
                listener[].is_drained = listener[].is_lent
        _go_on_ending(w)
    elif w[].accepting.is_paused:
        _resume(w)


def _on_timer(owner: Erased):
    var w = owner.unsafe_bitcast[WorkerState]()
    if w[].stopping:
        _go_on_ending(w)
    elif len(w[].accepting.waiting) > 0:
        _ = shed_connections(w)
        _arm_timer(w)
    elif w[].accepting.is_paused:
        _try_again(w)


def _try_again(w: PointerTo[WorkerState]):
    """Accepts who waits, and makes room if that fails still."""
    for listener in w[].listeners:
        if not _accept_of(listener).is_idle():
            _arm_timer(w)
            return
        var result = _accept_waiting(w, listener)
        if result == _NO_SLOT:
            # The next client is then noticed.
            _resume(w)
            return
        if result == -EINTR:
            _arm_timer(w)
            return
        if result == -EAGAIN:
            continue
        if w[].accepting.stuck_since_ms < 0:
            w[].accepting.stuck_since_ms = w[].reactor.now_ms()
        if not shed_connections(w):
            w[].accepting.ask_for_room(
                w[].accepting.peers, w.unsafe_bitcast[NoneType]()
            )
            _turn_away(w, listener)
        _arm_timer(w)
        return
    # No client waits, even if resources are exhausted.
    w[].accepting.stuck_since_ms = -1
    _resume(w)


def _go_on_ending(w: PointerTo[WorkerState]):
    _accept_last(w)
    if worker_has_ended(w):
        # There may be no further event, so the present turn must not wait.
        turn_again(w)


def _accept_last(w: PointerTo[WorkerState]):
    if w[].accepting.has_ended:
        return
    for listener in w[].listeners:
        if listener[].is_drained or not _accept_of(listener).is_idle():
            continue
        var result = _accept_waiting(w, listener)
        if result == -EAGAIN or listener[].is_lent:
            listener[].is_drained = True
        elif result != _NO_SLOT:
            _arm_timer(w)
            return
    _cancel_timer(w)


def _accept_waiting(
    w: PointerTo[WorkerState], listener: PointerTo[ListenerState]
) -> Int:
    """Accepts waiting clients, as far as there is room.

    Returns:
        EAGAIN if no more clients wait, `_NO_SLOT`, or the negated errno of an
        exhausted resource.
    """
    for _ in range(_ACCEPTS_MAX):
        if (
            len(w[].accepting.waiting) > 0
            or w[].connections.lent() >= w[].config.max_connections
        ):
            return _NO_SLOT
        var result = w[].reactor.accept_now(listener[].accept.descriptor)
        if result >= 0:
            _ = admit(w, Int32(result), listener)
        elif not _peer_gave_up(result):
            return result
    return -EINTR


def _has_idled(
    w: PointerTo[WorkerState], c: PointerTo[ConnectionState]
) -> Bool:
    var since_ms = c[].deadline.at_ms
    if c[].stage == Stage.SHAKING_HANDS:
        since_ms -= c[].tls.value()[].handshake_timeout_ms
    elif c[].stage == Stage.OPEN and c[].deadline.wait == Wait.NEXT_REQUEST:
        since_ms -= w[].config.idle_timeout_ms
    else:
        return False
    return w[].reactor.now_ms() - since_ms >= _IDLE_MS_MIN


def _turn_away(w: PointerTo[WorkerState], listener: PointerTo[ListenerState]):
    """Answers waiting clients with the reserved descriptor."""
    var stuck_ms = w[].reactor.now_ms() - w[].accepting.stuck_since_ms
    if stuck_ms < w[].config.overload_timeout_ms:
        return
    for _ in range(_TURNED_AWAY_MAX):
        var result = w[].reactor.turn_away(
            listener[].accept.descriptor,
            w[].accepting.spare_descriptor,
            _TLS_ANSWER.as_bytes() if listener[].tls else _ANSWER.as_bytes(),
        )
        if result < 0:
            return
        count(w[].statistics[].refused)


def _peer_gave_up(result: Int) -> Bool:
    """Returns whether an error concerns one connection that is gone
    (accept(2)).
    """
    return (
        result == -ECONNABORTED
        or result == -EPROTO
        or result == -ECONNRESET
        or result == -ETIMEDOUT
        or result == -ENETDOWN
        or result == -ENETUNREACH
        or result == -EHOSTDOWN
        or result == -EHOSTUNREACH
        or result == -ENOPROTOOPT
        or result == -EPERM
        or result == -EINTR
    )


def _arm_timer(w: PointerTo[WorkerState]):
    if not w[].accepting.timer.is_armed() and not w[].accepting.has_ended:
        w[].reactor.timers().arm(_timer_of(w), w[].reactor.now_ms() + _PAUSE_MS)


def _cancel_timer(w: PointerTo[WorkerState]):
    if w[].accepting.timer.is_armed():
        w[].reactor.timers().cancel(_timer_of(w))


@always_inline
def _timer_of(w: PointerTo[WorkerState]) -> PointerTo[TimerEntry]:
    return Pointer(to=w[].accepting.timer).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


@always_inline
def _accept_of(listener: PointerTo[ListenerState]) -> Operation:
    return Operation(
        Pointer(to=listener[].accept).unsafe_origin_cast[MutUntrackedOrigin]()
    )
