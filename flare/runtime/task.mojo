"""Runs closures on fibers of their own, and returns their results.

The closure, its result and its waiter share one heap block with two owners,
the fiber and the handle; the last one frees it. A handle belongs to the thread
that spawned. On another thread, it can only return the result of a fiber that
has ended.
"""

from std.atomic import Atomic, Ordering
from std.reflection import reflect

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import NetError

from .current import current_fiber, current_reactor
from .deadline import set_scope_deadline
from .fiber import NO_DEADLINE, Fiber
from .fiber_family import TRACKS_FAMILIES, FiberFamily
from .operation import CANCELLED
from .reactor import Reactor
from .wait import wait_without_deadline, waiting_fiber

comptime _DEADLOCK = -35
comptime _NO_MEMORY = -12

comptime _BORROWS: StaticString = (
    "the closure captures a view or a reference, and its fiber may outlive the"
    " memory: capture a copy, such as String(req.path)"
)

# Each owner sets its bit when it leaves; the second one frees the block.
comptime _FIBER_ENDED: UInt32 = 1
comptime _HANDLE_GONE: UInt32 = 2


struct TaskOutcome[T: Movable & Deinitable](Movable):
    """The state shared by a fiber and its handle. Only the runtime uses it.

    Parameters:
        T: The type of the result.
    """

    var gone: UInt32
    """The owners that have left; atomic, for a handle on another thread."""
    var result: Optional[Self.T]
    """The result of the body."""
    var error: Optional[Error]
    """The error of the body."""
    var reactor: Optional[Reactor]
    """The loop of the fiber; only compared, because it may end earlier."""
    var fiber: Optional[Fiber]
    """The fiber that runs the body."""
    var joiner: Optional[Fiber]
    """The fiber that waits for the end."""
    var task: Optional[Erased]
    """The whole block."""
    var destroy: def(Erased) thin -> None
    """Frees the whole block."""

    def __init__(out self, destroy: def(Erased) thin -> None):
        """Creates the state for a body that has not begun.

        Args:
            destroy: Frees the whole block.
        """
        self.gone = 0
        self.result = None
        self.error = None
        self.reactor = None
        self.fiber = None
        self.joiner = None
        self.task = None
        self.destroy = destroy


struct JoinHandle[T: Movable & Deinitable](Movable):
    """Owns a spawned fiber. Dropping the handle cancels the fiber.

    Parameters:
        T: The type of the body's result.
    """

    var _outcome: PointerTo[TaskOutcome[Self.T]]

    def __init__(out self, *, unsafe_outcome: PointerTo[TaskOutcome[Self.T]]):
        """Takes ownership of a spawned fiber.

        Args:
            unsafe_outcome: The state shared with the fiber.

        Safety:
            No other handle owns it.
        """
        self._outcome = unsafe_outcome

    def __deinit__(deinit self):
        """Cancels the fiber if it is still running.

        Its present wait is cancelled, and the fiber unwinds. On another thread,
        dropping the handle detaches the fiber instead.
        """
        self.cancel()
        _leave(self._outcome, _HANDLE_GONE)

    def join(var self) raises -> Self.T:
        """Parks until the body has ended. Deadlines do not apply.

        Returns:
            The result of the body.

        Raises:
            NetError: If the caller is cancelled (which cancels the body), is
                the body itself, or is neither a fiber nor a script.

            The text of the body's error.

            An error `net.cancelled` if the body was cancelled before it began,
            or `runtime.lost` if it ignored its cancellation or its reactor
            ended first.

            An error `runtime.wrong_thread` on a thread other than that of the
            task.
        """
        var outcome = self._outcome
        if not _has_ended(outcome):
            if not _is_here(outcome):
                raise Error("runtime.wrong_thread join")
            _wait_for_end(outcome)
        var error = Optional[Error](None)
        var result = Optional[Self.T](None)
        swap(error, outcome[].error)
        swap(result, outcome[].result)
        # The block must live until both are out of it.
        _ = self^
        if error:
            raise error.take()
        if not result:
            raise Error("runtime.lost join")
        return result.take()

    def detach(deinit self):
        """Keeps the fiber running to its end, even if its caller ends first.

        The fiber's result or error is lost. If failures matter, the body must
        catch and log them. The same holds after the handle was dropped.
        """
        _leave(self._outcome, _HANDLE_GONE)

    def cancel(self):
        """Cancels the fiber: its present wait and later ones fail.

        A body that has not begun never begins. The call has no effect if the
        fiber has ended, or on another thread than its own.
        """
        if not _has_ended(self._outcome) and _is_here(self._outcome):
            self._outcome[].fiber.value().cancel()

    def is_done(self) -> Bool:
        """Returns whether the body has ended. Callable on any thread.

        Returns:
            True if `join` would not wait.
        """
        return _has_ended(self._outcome)


def spawn[
    T: Movable & Deinitable,
    //,
    F: def() raises -> T,
    *,
    unsafe_borrows: Bool = False,
](var body: F) raises -> JoinHandle[T]:
    """Starts a fiber that runs a closure in the next turn of the loop.

    The fiber inherits the caller's deadline. The closure owns its captures:
    `{var x^}`. A closure that captures a view, such as `req.path`, or a
    reference does not build, because the fiber may outlive the memory. In Mojo
    1.2, a function cannot spawn a closure that calls the function again.

    Parameters:
        T: The type of the closure's result.
        F: The type of the closure.
        unsafe_borrows: Whether the closure may capture views and references.

    Args:
        body: The closure.

    Returns:
        The owner of the fiber: `join`, `detach` or drop it.

    Raises:
        NetError: If the reactor's `fibers_max` is reached, if memory runs out
            (`NO_MEMORY`), or if no loop can be created.

    Safety:
        With `unsafe_borrows`, the captured memory must outlive the fiber: the
        caller joins it on every path, even when cancelled. Or the captured
        object refuses use after its end, as a `RequestBody` does.
    """
    comptime assert unsafe_borrows or not captures_a_view[F](), _BORROWS
    # A script gets its loop here.
    var parent = current_fiber()
    if not current_reactor():
        parent = waiting_fiber("spawn")
    var reactor = current_reactor()
    var task = heap_create(_Task[T, F](body^))
    var block = task.unsafe_bitcast[NoneType]()
    var started = (
        reactor.value()
        .state[]
        .fibers.start(
            reactor.value(),
            _run[_Task[T, F]],
            block,
            _finish[_Task[T, F]],
            parent.value().state[].run_deadline_ms if parent else NO_DEADLINE,
        )
    )
    if not started:
        heap_destroy(task)
        raise Error(NetError.from_errno("spawn", _NO_MEMORY))
    var fiber = started.value()
    if parent:
        set_scope_deadline(fiber, parent.value().state[].scope_deadline_ms)
        if parent.value().state[].kin.local:
            fiber.state[].kin.local = (
                parent.value().state[].kin.local.value().hold()
            )
    var outcome = _outcome_of(task)
    outcome[].task = block
    outcome[].destroy = _destroy[_Task[T, F]]
    outcome[].reactor = reactor
    outcome[].fiber = fiber
    fiber.state[].lost = _lose[_Task[T, F]]
    comptime if TRACKS_FAMILIES:
        _join_family(parent, fiber)
    reactor.value().state[].fibers.append_ready(fiber)
    return JoinHandle[T](unsafe_outcome=outcome)


def spawn[
    F: def() raises -> None, *, unsafe_borrows: Bool = False
](var body: F) raises -> JoinHandle[NoneType]:
    """Starts a fiber that runs a closure without a result.

    Parameters:
        F: The type of the closure.
        unsafe_borrows: As for a closure with a result.

    Args:
        body: The closure, which owns its captures.

    Returns:
        The owner of the fiber: `join`, `detach` or drop it.

    Raises:
        NetError: As for a closure with a result.

    Safety:
        As for a closure with a result.
    """
    comptime assert unsafe_borrows or not captures_a_view[F](), _BORROWS

    def with_result() raises {var body^} -> NoneType:
        body()
        return NoneType()

    return spawn[unsafe_borrows=True](with_result^)


def captures_a_view[F: Movable]() -> Bool:
    """Returns whether a closure captures a view or a reference.

    The compiler gives the type of such a closure a set of origins. The name of
    the type shows them as `{}` among the parameters of its captures.

    Parameters:
        F: The type of the closure.

    Returns:
        False if the closure owns all its captures.
    """
    var name = String(reflect[F].name())
    var captures = name.find("__storage[")
    return captures >= 0 and name.find("{}", captures) >= 0


def _join_family(parent: Optional[Fiber], fiber: Fiber):
    if not parent or parent.value().state[].is_main:
        return
    ref family = parent.value().state[].kin.family
    if not family:
        family = FiberFamily.create()
    family.value().join()
    fiber.state[].kin.family = family


trait _Runnable(Deinitable, Movable):
    @staticmethod
    def run(task: PointerTo[Self]) capturing:
        ...

    @staticmethod
    def end(task: PointerTo[Self]) capturing:
        ...


struct _Task[T: Movable & Deinitable, F: def() raises -> T](_Runnable):
    var outcome: TaskOutcome[Self.T]
    var body: Optional[Self.F]

    def __init__(out self, var body: Self.F):
        self.outcome = TaskOutcome[Self.T](_keep)
        self.body = body^

    @staticmethod
    def run(task: PointerTo[Self]) capturing:
        ref outcome = task[].outcome
        if outcome.fiber.value().is_cancelled():
            outcome.error = Error(NetError.from_errno("wait", CANCELLED))
        else:
            try:
                outcome.result = task[].body.value()()
            except e:
                outcome.error = e^
        # Captures, and a result that was not taken, are destroyed on the
        # fiber: their destructors may wait.
        task[].body = None
        if _owners_gone(_outcome_of(task)) & _HANDLE_GONE != 0:
            task[].outcome.result = None

    @staticmethod
    def end(task: PointerTo[Self]) capturing:
        var joiner = task[].outcome.joiner
        task[].outcome.joiner = None
        _leave(_outcome_of(task), _FIBER_ENDED)
        if joiner:
            joiner.value().wake()


def _run[R: _Runnable](task: Erased):
    R.run(task.unsafe_bitcast[R]())


def _finish[R: _Runnable](task: Erased):
    R.end(task.unsafe_bitcast[R]())


def _lose[R: _Runnable](task: Erased):
    R.end(task.unsafe_bitcast[R]())


def _destroy[R: _Runnable](task: Erased):
    heap_destroy(task.unsafe_bitcast[R]())


def _keep(task: Erased):
    pass


def _outcome_of[
    T: Movable & Deinitable, F: def() raises -> T
](task: PointerTo[_Task[T, F]]) -> PointerTo[TaskOutcome[T]]:
    return Pointer(to=task[].outcome).unsafe_origin_cast[MutUntrackedOrigin]()


def _owners_gone[
    T: Movable & Deinitable
](outcome: PointerTo[TaskOutcome[T]]) -> UInt32:
    return Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
        Pointer(to=outcome[].gone)
    )


def _has_ended[
    T: Movable & Deinitable
](outcome: PointerTo[TaskOutcome[T]]) -> Bool:
    return _owners_gone(outcome) & _FIBER_ENDED != 0


def _leave[
    T: Movable & Deinitable
](outcome: PointerTo[TaskOutcome[T]], owner: UInt32):
    var gone = Atomic[UInt32].fetch_add[ordering=Ordering.ACQUIRE_RELEASE](
        Pointer(to=outcome[].gone), owner
    )
    if gone != 0:
        outcome[].destroy(outcome[].task.value())


def _is_here[
    T: Movable & Deinitable
](outcome: PointerTo[TaskOutcome[T]]) -> Bool:
    var reactor = current_reactor()
    return Bool(reactor) and reactor.value() == outcome[].reactor.value()


def _wait_for_end[
    T: Movable & Deinitable
](outcome: PointerTo[TaskOutcome[T]]) raises:
    var fiber = waiting_fiber("join")
    if fiber == outcome[].fiber.value():
        raise Error(NetError.from_errno("join", _DEADLOCK))
    while not _has_ended(outcome):
        outcome[].joiner = fiber
        var result = wait_without_deadline(fiber)
        outcome[].joiner = None
        if result == CANCELLED and not _has_ended(outcome):
            raise Error(NetError.from_errno("join", CANCELLED))
