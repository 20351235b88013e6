"""Runs functions on small stacks of their own, and parks them while they wait.

A fiber is a heap block and a stack, pooled by its reactor. It starts with a
function and an argument, runs until it waits or returns, and continues when
its wait is over. The thread's main context has the same form (`is_main`): it
"parks" by turning the loop. So a call that waits is the same code in a script
and in a server.

Cancelling never resumes a fiber early. The operation in flight is cancelled,
and its final completion resumes the fiber. Until then, stack, block and
buffers stay alive.
"""

from flare.core import Erased, PointerTo
from flare.sys.fiber_switch import StackContext, suspend_stack

from .fiber_family import FiberFamily
from .fiber_local import FiberLocal
from .operation import CANCELLED, TIMED_OUT, Operation, OperationState
from .reactor import NO_DEADLINE, NS_PER_MS, Reactor
from .timer_task import TIMER_OF_FIBER
from .timer_wheel import TimerEntry

comptime FiberFunction = def(Erased) thin -> None
"""The function that a fiber runs. It must return, never raise."""

comptime _CANCELLED_WAITS_MAX = 1000


struct FiberPhase:
    """The phases of a fiber."""

    comptime IDLE: UInt8 = 0
    """The fiber is unused."""
    comptime READY: UInt8 = 1
    """The fiber continues in a coming turn."""
    comptime RUNNING: UInt8 = 2
    """The fiber is running."""
    comptime PARKED: UInt8 = 3
    """The fiber is waiting."""
    comptime LEAKED: UInt8 = 4
    """The fiber ignored its cancellation and is never resumed."""


@fieldwise_init
struct FiberKin(ImplicitlyCopyable, Movable):
    """The connections of a fiber to other fibers."""

    var local: Optional[FiberLocal]
    """The block that the fiber shares with the fibers that it spawns; `None`
    when it ends.
    """
    var family: Optional[FiberFamily]
    """The family, for a fiber that has or is a descendant; only in builds with
    assertions.
    """


@fieldwise_init
struct PresentWait(TrivialRegisterPassable):
    """How one wait of a fiber began and ended."""

    var begun_part_ns: Int
    """How far into its millisecond it began. Its timer is early until the
    millisecond of the deadline has got as far."""
    var expired: Bool
    """Whether the timer ended the present wait."""
    var came_first: Bool
    """Whether the fiber's operation completed before the one beside it."""


struct FiberState(Movable):
    """The state of one fiber. Only the runtime uses it."""

    var operation: OperationState
    """The kernel operation for which the fiber waits."""
    var context: StackContext
    """Its stack; empty for the thread's main context."""
    var reactor: Reactor
    """The loop it runs on."""
    var timer: TimerEntry
    """Its deadline, or the end of its sleep."""
    var run: FiberFunction
    """The function that it runs."""
    var task: Erased
    """The argument of `run`."""
    var finished: FiberFunction
    """Called by the loop with `task` when `run` has returned."""
    var lost: FiberFunction
    """Called with `task` if `run` can never return, because the fiber leaked
    or its reactor was destroyed.
    """
    var next: Optional[PointerTo[FiberState]]
    """The next fiber in the list of ready or of idle fibers."""
    var deadline_ms: Int
    """The deadline of every wait: the earlier of the next two fields, unless
    the present wait is exempt.
    """
    var run_deadline_ms: Int
    """The deadline of the whole run; `NO_DEADLINE` for none."""
    var scope_deadline_ms: Int
    """The deadline of the enclosing blocks; `NO_DEADLINE` for none."""
    var phase: UInt8
    """The present phase, one of `FiberPhase`."""
    var is_main: Bool
    """Whether this is the thread's main context, which has no stack here."""
    var cancelled: Bool
    """Whether the next wait reports `CANCELLED`."""
    var present: PresentWait
    """The present wait, or the last one."""
    var generation: UInt32
    """Increases each time the block is reused."""
    var cancelled_waits: Int
    """How many waits were tried since the cancellation."""
    var kin: FiberKin
    """The connections to other fibers."""
    var beside: OperationState
    """The second operation for which the fiber waits. It lies here because the
    loop may read a cancelled operation until its turn ends.
    """

    def __init__(
        out self, reactor: Reactor, base: Int, octets: Int, guard_octets: Int
    ):
        """Creates an idle fiber.

        Args:
            reactor: The loop it runs on.
            base: The lowest address of its stack, or 0.
            octets: The length of its stack, or 0.
            guard_octets: The length of the guard at its low end.
        """
        self.operation = OperationState()
        self.context = StackContext(base, octets, guard_octets)
        self.reactor = reactor
        self.timer = TimerEntry(None, TIMER_OF_FIBER)
        self.run = _nothing
        self.task = reactor.state.unsafe_bitcast[NoneType]()
        self.finished = _nothing
        self.lost = _nothing
        self.next = None
        self.deadline_ms = NO_DEADLINE
        self.run_deadline_ms = NO_DEADLINE
        self.scope_deadline_ms = NO_DEADLINE
        self.phase = FiberPhase.IDLE
        self.is_main = octets == 0
        self.cancelled = False
        self.present = PresentWait(0, False, False)
        self.generation = 0
        self.cancelled_waits = 0
        self.kin = FiberKin(None, None)
        self.beside = OperationState()


def _nothing(task: Erased):
    pass


@fieldwise_init
struct Fiber(Equatable, TrivialRegisterPassable):
    """A handle to a fiber of a reactor."""

    var state: PointerTo[FiberState]
    """The heap state."""

    @staticmethod
    def from_timer(entry: PointerTo[TimerEntry]) -> Self:
        """Returns the fiber of a timer.

        Args:
            entry: A timer tagged `TIMER_OF_FIBER`.

        Returns:
            The fiber.
        """
        return Self(entry[].owner.value().unsafe_bitcast[FiberState]())

    @always_inline
    def reactor(self) -> Reactor:
        """Returns the loop on which the fiber runs.

        Returns:
            The reactor.
        """
        return self.state[].reactor

    @always_inline
    def operation(self) -> Operation:
        """Returns the operation for which the fiber waits.

        Returns:
            The operation. Set its fields, then call `perform`.
        """
        return Operation(
            Pointer(to=self.state[].operation).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    @always_inline
    def is_cancelled(self) -> Bool:
        """Returns whether the fiber was cancelled.

        Returns:
            True from the call of `cancel` on.
        """
        return self.state[].cancelled

    def perform(self, timeout_ms: Int = NO_DEADLINE) -> Int:
        """Submits the fiber's operation, and parks until it completes.

        Args:
            timeout_ms: The longest wait; the fiber's own deadline applies too.

        Returns:
            The result of the operation, or `TIMED_OUT`, or `CANCELLED`.
        """
        if self.state[].cancelled:
            self._refuse_to_wait()
            return CANCELLED
        if not self._arm(timeout_ms):
            self.yield_turn()
            return TIMED_OUT
        var operation = self.operation()
        operation.state[].owner = self.state.unsafe_bitcast[NoneType]()
        operation.state[].complete = _on_complete
        operation.state[].transient = True
        self.reactor().submit(operation)
        while not operation.is_idle():
            self.suspend()
        self._disarm()
        var result = operation.result()
        if result == CANCELLED and self.state[].present.expired:
            return TIMED_OUT
        return result

    @always_inline
    def beside(self) -> Operation:
        """Returns the second operation for which the fiber waits.

        Returns:
            The operation. Set its fields, then call `perform_both`.
        """
        return Operation(
            Pointer(to=self.state[].beside).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def perform_both(self, timeout_ms: Int = NO_DEADLINE) -> Int:
        """Submits the fiber's operation and then the one beside it, and parks
        until both complete.

        If the second one ends incomplete, the first is cancelled; if the first
        completes, the second is cancelled.

        Args:
            timeout_ms: The longest wait; the fiber's own deadline applies too.

        Returns:
            The result of the fiber's operation, or `TIMED_OUT`, or
            `CANCELLED`.
        """
        var other = self.beside()
        other.state[].result = Int32(CANCELLED)
        self.state[].present.came_first = False
        if self.state[].cancelled:
            self._refuse_to_wait()
            return CANCELLED
        if not self._arm(timeout_ms):
            self.yield_turn()
            return TIMED_OUT
        var operation = self.operation()
        operation.state[].owner = self.state.unsafe_bitcast[NoneType]()
        operation.state[].complete = _on_complete
        operation.state[].transient = True
        other.state[].owner = self.state.unsafe_bitcast[NoneType]()
        other.state[].complete = _on_beside_complete
        other.state[].transient = True
        self.reactor().submit(operation)
        self.reactor().submit(other)
        while not operation.is_idle():
            self.suspend()
        while not other.is_idle():
            self.reactor().cancel(other)
            self.suspend()
        self._disarm()
        var result = operation.result()
        if result == CANCELLED and self.state[].present.expired:
            return TIMED_OUT
        return result

    def wait(self, timeout_ms: Int = NO_DEADLINE) -> Int:
        """Parks until `wake` is called.

        Args:
            timeout_ms: The longest wait; the fiber's own deadline applies too.

        Returns:
            0, or `TIMED_OUT`, or `CANCELLED`.
        """
        if self.state[].cancelled:
            self._refuse_to_wait()
            return CANCELLED
        if not self._arm(timeout_ms):
            self.yield_turn()
            return TIMED_OUT
        self.suspend()
        self._disarm()
        if self.state[].cancelled:
            return CANCELLED
        return TIMED_OUT if self.state[].present.expired else 0

    def yield_turn(self):
        """Parks until all other ready fibers have run."""
        self.reactor().state[].fibers.append_ready(self)
        self._leave()

    def wake(self):
        """Makes a parked fiber ready. In other phases, it has no effect."""
        if self.state[].phase == FiberPhase.PARKED:
            self.reactor().state[].fibers.append_ready(self)

    def begin_as_main(self):
        """Marks a thread's main context as running, as it always is."""
        self.state[].phase = FiberPhase.RUNNING

    def cancel(self):
        """Cancels the fiber: its present wait and later ones fail.

        Call it on the fiber's own thread.
        """
        if self.state[].cancelled:
            return
        self.state[].cancelled = True
        self.end_wait()

    def expire(self):
        """Ends the present wait because its time is over.

        A fiber that was woken in the same turn has not timed out.
        """
        if self.state[].phase == FiberPhase.PARKED:
            self.state[].present.expired = True
            self.end_wait()

    def end_wait(self):
        """Ends the present wait, whatever it is for. A wait for an operation
        ends with `CANCELLED`, and that for `wake` as if it had been called.
        """
        if self.state[].phase != FiberPhase.PARKED:
            return
        var operation = self.operation()
        if operation.is_idle():
            self.wake()
        else:
            self.reactor().cancel(operation)

    def suspend(self):
        """Parks until other code makes the fiber ready.

        Safety:
            The caller is this fiber, and the code that wakes it has its
            handle.
        """
        self.state[].phase = FiberPhase.PARKED
        self._leave()

    def _leave(self):
        var fibers = self.reactor().state[].fibers
        if self.state[].is_main:
            fibers.set_current(None)
            # A yield gives everything else one turn that does not wait.
            while True:
                self.reactor().turn(
                    0 if self.state[].phase == FiberPhase.READY else -1
                )
                if self.state[].phase == FiberPhase.READY:
                    break
            self.state[].phase = FiberPhase.RUNNING
            fibers.state[].main_is_ready = False
            fibers.set_current(self)
        else:
            suspend_stack(self.context())

    @always_inline
    def context(self) -> PointerTo[StackContext]:
        """Returns the stack context, which is resumed and suspended.

        Returns:
            The context.
        """
        return Pointer(to=self.state[].context).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def _timer(self) -> PointerTo[TimerEntry]:
        return Pointer(to=self.state[].timer).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def _arm(self, timeout_ms: Int) -> Bool:
        # Where it is too late already the caller yields: a body that tries
        # again and again must not keep the loop from everything else.
        self.state[].present.expired = False
        var deadline = self.state[].deadline_ms
        if timeout_ms == NO_DEADLINE and deadline == NO_DEADLINE:
            return True
        var now_ns = self.reactor().refresh_now_ns()
        var now = self.reactor().now_ms()
        self.state[].present.begun_part_ns = 0
        if deadline > now and timeout_ms < deadline - now:
            deadline = now + timeout_ms
            self.state[].present.begun_part_ns = now_ns - now * NS_PER_MS
        if deadline <= now:
            return False
        self.state[].timer.owner = self.state.unsafe_bitcast[NoneType]()
        self.reactor().timers().arm(self._timer(), deadline)
        return True

    @always_inline
    def _disarm(self):
        if self.state[].timer.is_armed():
            self.reactor().timers().cancel(self._timer())

    @always_inline
    def leave_local(self):
        """Releases the block that the fiber shares with others."""
        if self.state[].kin.local:
            self._leave_local()

    @no_inline
    def _leave_local(self):
        var local = self.state[].kin.local.unsafe_value()
        self.state[].kin.local = None
        local.release()

    def report_lost(self):
        """Informs the creator of a fiber that the fiber never returns."""
        var lost = self.state[].lost
        self.state[].lost = _nothing
        lost(self.state[].task)

    def _refuse_to_wait(self):
        # One turn of the loop per refused wait: a body that swallows the error
        # cannot hold the worker. One that never gives up is left parked.
        self.state[].cancelled_waits += 1
        if (
            self.state[].cancelled_waits > _CANCELLED_WAITS_MAX
            and not self.state[].is_main
        ):
            self.state[].phase = FiberPhase.LEAKED
            self.reactor().state[].fibers.count_leaked()
            self.report_lost()
            suspend_stack(self.context())
        self.yield_turn()


def _on_complete(operation: Operation):
    if operation.is_idle():
        var fiber = Fiber(
            operation.state[].owner.value().unsafe_bitcast[FiberState]()
        )
        # A fiber that was woken meanwhile stands in the ready list: resumed
        # here, it could end and then be resumed from the list once more.
        if fiber.state[].phase == FiberPhase.PARKED:
            fiber.reactor().state[].fibers.resume(fiber)


def _on_beside_complete(operation: Operation):
    if not operation.is_idle():
        return
    var fiber = Fiber(
        operation.state[].owner.value().unsafe_bitcast[FiberState]()
    )
    var own = fiber.operation()
    # An operation that may have completed first counts as first.
    if own.is_idle() or own.state[].tried_again:
        fiber.state[].present.came_first = True
    if own.is_idle():
        if fiber.state[].phase == FiberPhase.PARKED:
            fiber.reactor().state[].fibers.resume(fiber)
    elif operation.result() < operation.state[].length:
        fiber.reactor().cancel(own)


def remove_fiber(mut fibers: List[Fiber], fiber: Fiber):
    """Removes a fiber from those that wait for something.

    Args:
        fibers: The fibers that wait.
        fiber: The fiber; it may be absent.
    """
    for i in range(len(fibers)):
        if fibers[i] == fiber:
            _ = fibers.pop(i)
            return
