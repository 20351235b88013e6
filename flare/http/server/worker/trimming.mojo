"""Returns memory that a worker no longer needs.

Blocks and buffers are kept for later requests. Without trimming, the largest
crowd ever would decide how many. So a while after requests were served, half
of the unused ones are released, repeatedly until few are left. Mapped memory
(buffers, stacks) loses its pages and keeps its place. Allocated memory is
freed, and finally libc returns its free pages. An idle worker has no timer:
activity arms it.
"""

from flare.core import Erased, PointerTo
from flare.runtime.timer_wheel import TimerEntry
from flare.sys.heap import give_free_memory_back
from flare.sys.memory import give_pages_back
from flare.sys.thread_cell import thread_recycler

from ..receiving.protocol_input import trim_streams
from ..transport.worker_state import WorkerState

comptime _PERIOD_MS = 1000
# A small crowd finds all it needs.
comptime _KEPT = 32
# A buffer of 64 KiB is rarely needed.
comptime _LARGE_KEPT = 4


def begin_trimming(w: PointerTo[WorkerState]):
    """Binds the trimming timer to the worker.

    Args:
        w: The worker, which begins.
    """
    w[].trimming.task.owner = w.unsafe_bitcast[NoneType]()
    w[].trimming.task.fire = _on_timer
    w[].trimming.timer.owner = (
        Pointer(to=w[].trimming.task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )


@always_inline
def arm_trimming(w: PointerTo[WorkerState]):
    """Arms the trimming timer if the worker has served requests since the last
    trimming.

    Args:
        w: The worker, whose timer is not armed.
    """
    if (
        w[].next_request_id != w[].trimming.request_id or w[].trimming.has_freed
    ) and not w[].stopping:
        _arm(w)


def end_trimming(w: PointerTo[WorkerState]):
    """Ends trimming, because the worker stops.

    Args:
        w: The worker.
    """
    if w[].trimming.timer.is_armed():
        w[].reactor.timers().cancel(_timer(w))


def trim(w: PointerTo[WorkerState]) -> Bool:
    """Releases half of the unused memory.

    Args:
        w: The worker.

    Returns:
        True if another call would release more.
    """
    var goes_on = w[].trim_exchanges(_KEPT)
    goes_on = w[].outputs.usual.trim(_KEPT) or goes_on
    goes_on = w[].outputs.large.trim(_LARGE_KEPT) or goes_on
    goes_on = w[].reactor.buffers().trim(_KEPT) or goes_on
    goes_on = w[].reactor.large_buffers().trim(_LARGE_KEPT) or goes_on
    goes_on = w[].reactor.state[].fibers.trim(_KEPT) or goes_on
    var recycler = thread_recycler()
    if recycler:
        goes_on = recycler.value().trim(_KEPT) or goes_on
    for slot in w[].connections.handles():
        var c = w[].connections.find(slot)
        if c:
            trim_streams(c.value())
    w[].connections.visit_idle_chunks(_release)
    w[].exchanges.slab.visit_idle_chunks(_release)
    return goes_on


def _on_timer(owner: Erased):
    var w = owner.unsafe_bitcast[WorkerState]()
    w[].trimming.request_id = w[].next_request_id
    if trim(w):
        # Connections may have ended in one of the ticks before the last.
        _arm(w)
    elif w[].trimming.has_freed:
        w[].trimming.has_freed = False
        give_free_memory_back()


def _release(address: Int, octets: Int):
    _ = give_pages_back(address, octets)


@no_inline
def _arm(w: PointerTo[WorkerState]):
    w[].reactor.timers().arm(_timer(w), w[].reactor.now_ms() + _PERIOD_MS)


@always_inline
def _timer(w: PointerTo[WorkerState]) -> PointerTo[TimerEntry]:
    return Pointer(to=w[].trimming.timer).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
