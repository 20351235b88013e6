"""Counts the buffered octets of a connection, and charges them to its worker.

A connection is counted as a whole after the driver has looked at it. That is
one sum of a few fields, and no place where a buffer grows or is freed can be
forgotten. Most connections then hold only an output buffer of the usual size,
which the worker counts when it lends it.
"""

from flare.core import Buffer, PointerTo
from flare.runtime.reactor import LARGE_BUFFER_OCTETS
from flare.runtime.timer_wheel import TimerEntry

from .connection_state import ConnectionState
from .worker_parts import OUTPUT_OCTETS
from .worker_state import WorkerState, worker_of

comptime TICK_MS = 100
"""How often it is looked whether who waits for room has waited too long."""
# The worker gives the pages of such contents back. Shorter ones are soon used
# again, and each call of the kernel costs time.
comptime _LONG_MS = 1000
comptime _LONG_OCTETS = 256 * 1024
comptime _MUCH_OCTETS = 4 * 1024 * 1024

# More comes from a pool, and goes back there.
comptime _KEPT_OCTETS_MAX = 4096


@always_inline
def recount(c: PointerTo[ConnectionState], held_by_exchanges: Int):
    """Replaces the memory charged for a connection by its present memory.

    Args:
        c: The connection.
        held_by_exchanges: The memory of its requests.
    """
    if held_by_exchanges == 0 and _holds_only_outputs(c):
        return
    _recount(c, held_by_exchanges)


@no_inline
def _recount(c: PointerTo[ConnectionState], held_by_exchanges: Int):
    var held = _held_octets(c) + held_by_exchanges
    if (
        held > 0
        and c[].window.gathered.capacity() > 0
        and len(c[].window.gathered) == 0
        and not _uses_gathered_again(c)
    ):
        # After an upgrade, no end of a request frees it.
        c[].window.gathered = Buffer()
        worker_of(c)[].trimming.has_freed = True
        held = _held_octets(c) + held_by_exchanges
    if held != c[].share.charged:
        worker_of(c)[].budget.charged += held - c[].share.charged
        c[].share.charged = held


@always_inline
def _uses_gathered_again(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a connection keeps memory for octets of the next frame
    that arrives in pieces. A busy connection of HTTP/2 receives them all the
    time, and an idle one is trimmed."""
    return Bool(c[].h2) and c[].window.gathered.capacity() <= _KEPT_OCTETS_MAX


@always_inline
def buffered_octets(w: PointerTo[WorkerState]) -> Int:
    """Returns how many octets the connections of a worker hold.

    Args:
        w: The worker.

    Returns:
        The number of octets.
    """
    return w[].budget.charged + w[].outputs.lent * OUTPUT_OCTETS


@always_inline
def is_short_of_room(w: PointerTo[WorkerState]) -> Bool:
    """Returns whether request content must wait for room in the budget.

    Args:
        w: The worker.

    Returns:
        True if three quarters of the budget are in use.
    """
    return buffered_octets(w) > w[].budget.contents_max()


@always_inline
def is_full(w: PointerTo[WorkerState]) -> Bool:
    """Returns whether the budget is used up, so that the worker begins no long
    answer.

    Args:
        w: The worker.

    Returns:
        True if the budget is used up.
    """
    return buffered_octets(w) > w[].budget.octets_max


@always_inline
def is_overfull(w: PointerTo[WorkerState]) -> Bool:
    """Returns whether the worker refuses every new request. Short answers may use
    a quarter more than the budget.

    Args:
        w: The worker.

    Returns:
        True if a quarter more than the budget is used up.
    """
    return buffered_octets(w) > w[].budget.overfull_octets


@always_inline
def has_usual_output(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether the buffer of the output is one that the worker lends and
    counts.

    Args:
        c: The connection.

    Returns:
        False once the output has outgrown it.
    """
    return c[].outbox.output.capacity() <= OUTPUT_OCTETS


@no_inline
def drop_large(c: PointerTo[ConnectionState]):
    """Frees content that was sent without a copy, if there is any.

    Args:
        c: The connection.
    """
    if not c[].outbox.large:
        return
    var octets = len(c[].outbox.large.value())
    ref w = worker_of(c)[]
    if octets >= LARGE_BUFFER_OCTETS and (
        w.reactor.now_ms() - c[].outbox.large_since_ms >= _LONG_MS
        or (octets >= _LONG_OCTETS and w.budget.charged >= _MUCH_OCTETS)
    ):
        c[].outbox.large.value().unsafe_give_pages_back()
    c[].outbox.large = None
    w.trimming.has_freed = True


def await_room(c: PointerTo[ConnectionState]):
    """Queues a connection until others have freed memory.

    Args:
        c: The connection; it receives no octets meanwhile.
    """
    if c[].share.awaits_room:
        return
    c[].share.awaits_room = True
    var w = worker_of(c)
    if len(w[].budget.waiting) == 0:
        w[].budget.stuck_since_ms = w[].reactor.now_ms()
    if not c[].share.stands_in_line:
        c[].share.stands_in_line = True
        w[].budget.waiting.append(c[].slot)
    arm_tick(w)


def arm_tick(w: PointerTo[WorkerState]):
    """Arms the check of connections that wait for room.

    Args:
        w: The worker.
    """
    if not w[].budget.timer.is_armed():
        w[].reactor.timers().arm(tick_timer(w), w[].reactor.now_ms() + TICK_MS)


def stop_tick(w: PointerTo[WorkerState]):
    """Disarms the timer of `arm_tick`, because no connection waits for room.

    Args:
        w: The worker.
    """
    if w[].budget.timer.is_armed():
        w[].reactor.timers().cancel(tick_timer(w))


def tick_timer(w: PointerTo[WorkerState]) -> PointerTo[TimerEntry]:
    """Returns the timer of connections that wait for room.

    Args:
        w: The worker.

    Returns:
        The timer.
    """
    return Pointer(to=w[].budget.timer).unsafe_origin_cast[MutUntrackedOrigin]()


@always_inline
def _holds_only_outputs(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a connection holds at most output buffers of the usual
    size, as most do, and is charged for no others."""
    return (
        c[].share.charged == 0
        and c[].window.gathered.capacity() == 0
        and not c[].outbox.large
        and not c[].tls
        and has_usual_output(c)
        and c[].outbox.sending.capacity() <= OUTPUT_OCTETS
    )


@always_inline
def _held_octets(c: PointerTo[ConnectionState]) -> Int:
    var held = (
        _over(c[].outbox.output)
        + _over(c[].outbox.sending)
        + c[].window.gathered.capacity()
    )
    if c[].outbox.large or c[].tls:
        held += _held_by_few(c)
    return held


@no_inline
def _held_by_few(c: PointerTo[ConnectionState]) -> Int:
    var held = 0
    # Sealed content belongs to the program, and many answers share it.
    if c[].outbox.large and not c[].outbox.large.value().is_sealed():
        held += len(c[].outbox.large.value())
    if c[].tls:
        ref transport = c[].tls.unsafe_value()[]
        held += transport.waiting.capacity()
        if transport.machine:
            held += max(
                transport.machine.value().output_capacity() - OUTPUT_OCTETS, 0
            )
    return held


@always_inline
def _over(buffer: Buffer) -> Int:
    return max(buffer.capacity() - OUTPUT_OCTETS, 0)
