"""Decides how long a connection may wait for what it waits for.

A connection has one timer. A deadline that moves to later, as the idle deadline
does at each request, leaves the timer alone: it looks again when it fires.
"""

from flare.core import PointerTo
from flare.runtime.timer_wheel import TimerEntry

from .connection_state import ConnectionState, Wait
from .output import send_operation, worker_of


@always_inline
def choose_deadline(c: PointerTo[ConnectionState]):
    """Sets the deadline for what an open connection waits for now.

    A wait that goes on keeps its deadline, so that octets which dribble in do
    not prolong it.

    Args:
        c: The connection.
    """
    ref config = worker_of(c)[].config
    if not send_operation(c).is_idle():
        if c[].wait != Wait.PEER_READS:
            set_deadline(c, Wait.PEER_READS, config.write_timeout_ms)
    elif c[].running:
        if not c[].exchange.value()[].waiter:
            c[].wait = Wait.NOTHING
        elif c[].wait != Wait.CONTENT:
            set_deadline(c, Wait.CONTENT, config.body_timeout_ms)
    elif c[].exchange:
        if c[].wait != Wait.HEAD:
            set_deadline(c, Wait.HEAD, config.head_timeout_ms)
    elif c[].wait != Wait.NEXT_REQUEST:
        set_deadline(c, Wait.NEXT_REQUEST, config.idle_timeout_ms)


@always_inline
def set_deadline(c: PointerTo[ConnectionState], wait: UInt8, timeout_ms: Int):
    """Begins a wait.

    Args:
        c: The connection.
        wait: What for, one of `Wait`.
        timeout_ms: How long it may last.
    """
    c[].wait = wait
    c[].deadline_ms = worker_of(c)[].reactor.now_ms() + timeout_ms
    if not c[].timer.is_armed() or c[].timer.deadline_ms > c[].deadline_ms:
        arm_timer(c)


def arm_timer(c: PointerTo[ConnectionState]):
    """Lets the timer fire at the deadline.

    Args:
        c: The connection.
    """
    worker_of(c)[].reactor.timers().arm(_timer(c), c[].deadline_ms)


def forget_deadline(c: PointerTo[ConnectionState]):
    """Disarms the timer of a connection that ends.

    Args:
        c: The connection.
    """
    if c[].timer.is_armed():
        worker_of(c)[].reactor.timers().cancel(_timer(c))


@always_inline
def _timer(c: PointerTo[ConnectionState]) -> PointerTo[TimerEntry]:
    return Pointer(to=c[].timer).unsafe_origin_cast[MutUntrackedOrigin]()
