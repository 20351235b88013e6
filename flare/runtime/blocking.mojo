"""Runs code that blocks its thread, without blocking the loop.

Use it for calls of foreign libraries, file access and long computations: the
closure runs on a helper thread while the fiber is parked.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import NetError

from .fiber import Fiber
from .job_threads import JobThreads, Job
from .operation import CANCELLED
from .wait import waiting_fiber


def blocking[
    T: Movable & Deinitable, //, F: def() raises -> T
](var body: F) raises -> T:
    """Runs a closure on a helper thread, and parks until it has returned.

    The closure must not use values that other fibers of the caller's thread
    use. It cannot be interrupted: if the fiber is cancelled, the call waits for
    the closure to return and then raises. Deadlines do not end it. To stop
    early, a closure checks a `Cancel` token of the calling fiber.

    Parameters:
        T: The type of the closure's result.
        F: The type of the closure.

    Args:
        body: The closure.

    Returns:
        The closure's result.

    Raises:
        NetError: If the fiber is cancelled, if 1,024 closures wait already, if
            no thread can be started, or if the caller may not wait.

        The text of the closure's error.
    """
    var fiber = waiting_fiber("blocking")
    if fiber.is_cancelled():
        raise Error(NetError.from_errno("blocking", fiber.wait()))
    var work = heap_create(_Work[T, F](body^, fiber))
    var queued = JobThreads.of(fiber.reactor()).submit(
        Job(
            _run[_Work[T, F]],
            _done[_Work[T, F]],
            work.unsafe_bitcast[NoneType](),
        )
    )
    if queued < 0:
        heap_destroy(work)
        raise Error(NetError.from_errno("blocking", queued))
    # Not `wait`: being cancelled would end it, and the job still uses its block.
    while not work[].is_done:
        fiber.suspend()
    var error = Optional[Error](None)
    var result = Optional[T](None)
    swap(error, work[].error)
    swap(result, work[].result)
    heap_destroy(work)
    if fiber.is_cancelled():
        raise Error(NetError.from_errno("blocking", CANCELLED))
    if error:
        raise error.take()
    return result.take()


def blocking[F: def() raises -> None](var body: F) raises:
    """Runs a closure without a result on a helper thread.

    Parameters:
        F: The type of the closure.

    Args:
        body: The closure; see the form with a result.

    Raises:
        NetError: As for a closure with a result.

        The text of the closure's error.
    """

    def with_result() raises {var body^} -> NoneType:
        body()
        return NoneType()

    _ = blocking(with_result^)


trait _Workable(Deinitable, Movable):
    @staticmethod
    def run(work: PointerTo[Self]) capturing:
        ...

    @staticmethod
    def end(work: PointerTo[Self]) capturing:
        ...


struct _Work[T: Movable & Deinitable, F: def() raises -> T](_Workable):
    var body: Optional[Self.F]
    var result: Optional[Self.T]
    var error: Optional[Error]
    var fiber: Fiber
    # Written and read on the reactor's thread only.
    var is_done: Bool

    def __init__(out self, var body: Self.F, fiber: Fiber):
        self.body = body^
        self.result = None
        self.error = None
        self.fiber = fiber
        self.is_done = False

    @staticmethod
    def run(work: PointerTo[Self]) capturing:
        try:
            work[].result = work[].body.value()()
        except e:
            work[].error = e^
        # Objects that the closure created on the helper thread are destroyed
        # there.
        work[].body = None

    @staticmethod
    def end(work: PointerTo[Self]) capturing:
        work[].is_done = True
        work[].fiber.wake()


def _run[W: _Workable](argument: Erased):
    W.run(argument.unsafe_bitcast[W]())


def _done[W: _Workable](argument: Erased):
    W.end(argument.unsafe_bitcast[W]())
