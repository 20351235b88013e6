"""Gives memory back that a worker has needed once and needs no more.

Blocks and buffers are kept for the next request. How many are kept would be
told by the largest crowd that ever came: so a while after requests were served
half of what nobody uses is let go of, again and again until few are left. What
is mapped (buffers, stacks) loses its pages and keeps its place; what comes from
an allocator is freed, and in the end what libc has kept goes back. An idle worker has no timer: it is armed by what happens.
"""

from flare.core import Erased, PointerTo
from flare.runtime.timer_wheel import TimerEntry
from flare.sys.heap import give_free_memory_back
from flare.sys.memory import give_pages_back
from flare.sys.thread_cell import thread_recycler

from ..transport.worker_state import WorkerState

comptime _PERIOD_MS = 1000
# A small crowd finds all it needs.
comptime _KEPT = 32
# A buffer of 64 KiB is rarely needed.
comptime _LARGE_KEPT = 4


def begin_trimming(w: PointerTo[WorkerState]):
    """Joins the timer to the worker.

    Args:
        w: The worker, which begins.
    """
    w[].trim_task.owner = w.unsafe_bitcast[NoneType]()
    w[].trim_task.fire = _on_timer
    w[].trim_timer.owner = (
        Pointer(to=w[].trim_task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )


@always_inline
def arm_trimming(w: PointerTo[WorkerState]):
    """Lets memory be given back soon, if something was served since.

    Args:
        w: The worker, whose timer is not armed.
    """
    if (
        w[].next_request_id != w[].trimmed_request_id or w[].has_freed
    ) and not w[].stopping:
        _arm(w)


def end_trimming(w: PointerTo[WorkerState]):
    """Gives nothing back any more: the worker stops.

    Args:
        w: The worker.
    """
    if w[].trim_timer.is_armed():
        w[].reactor.timers().cancel(_timer(w))


def trim(w: PointerTo[WorkerState]) -> Bool:
    """Gives half of what nobody uses back.

    Args:
        w: The worker.

    Returns:
        True if another call would give more back.
    """
    var goes_on = w[].trim_exchanges(_KEPT)
    goes_on = w[].outputs.trim(_KEPT) or goes_on
    goes_on = w[].large_outputs.trim(_LARGE_KEPT) or goes_on
    goes_on = w[].reactor.buffers().trim(_KEPT) or goes_on
    goes_on = w[].reactor.large_buffers().trim(_LARGE_KEPT) or goes_on
    goes_on = w[].reactor.state[].fibers.trim(_KEPT) or goes_on
    var recycler = thread_recycler()
    if recycler:
        goes_on = recycler.value().trim(_KEPT) or goes_on
    w[].connections.visit_idle_chunks(_release)
    w[].exchanges.visit_idle_chunks(_release)
    return goes_on


def _on_timer(owner: Erased):
    var w = owner.unsafe_bitcast[WorkerState]()
    w[].trimmed_request_id = w[].next_request_id
    if trim(w):
        # Connections may have ended in one of the ticks before the last.
        _arm(w)
    elif w[].has_freed:
        w[].has_freed = False
        give_free_memory_back()


def _release(address: Int, octets: Int):
    _ = give_pages_back(address, octets)


@no_inline
def _arm(w: PointerTo[WorkerState]):
    w[].reactor.timers().arm(_timer(w), w[].reactor.now_ms() + _PERIOD_MS)


@always_inline
def _timer(w: PointerTo[WorkerState]) -> PointerTo[TimerEntry]:
    return Pointer(to=w[].trim_timer).unsafe_origin_cast[MutUntrackedOrigin]()
