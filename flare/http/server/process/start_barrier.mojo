"""Delays accepting until all workers have their resources.

A worker opens its own descriptors. If one accepted too early, its connections
could leave none for the others.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.thread import Lock


struct _BarrierState(Movable):
    var lock: Lock
    # How many workers have not arrived.
    var awaited: Int
    var problem: Int

    def __init__(out self, count: Int):
        self.lock = Lock.create()
        self.awaited = count
        self.problem = 0


@fieldwise_init
struct StartBarrier(TrivialRegisterPassable):
    """The point where workers wait for one another before they serve."""

    var _state: PointerTo[_BarrierState]

    @staticmethod
    def create(count: Int) -> Self:
        """Creates a barrier.

        Args:
            count: The number of workers.

        Returns:
            A handle; call `destroy` when every worker has passed.
        """
        return Self(heap_create(_BarrierState(count)))

    def destroy(self):
        """Frees the barrier."""
        self._state[].lock.destroy()
        heap_destroy(self._state)

    def arrive(self, problem: Int) -> Int:
        """Reports the result of a worker, and waits for the results of all.

        Args:
            problem: The negated errno if it cannot serve, or 0.

        Returns:
            A negated errno if no worker is to serve, or 0.
        """
        var b = self._state
        b[].lock.acquire()
        if b[].problem == 0:
            b[].problem = problem
        b[].awaited -= 1
        if b[].awaited == 0:
            b[].lock.wake_all()
        while b[].awaited > 0:
            b[].lock.wait()
        var first = b[].problem
        b[].lock.release()
        return first
