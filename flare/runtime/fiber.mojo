"""Runs functions on small stacks of their own, and parks them while they wait.

A fiber is a heap block and a stack, pooled by its reactor. It is started with
a function and an argument, runs until it waits or returns, and goes on when
what it waits for has come. The thread's main context stands in the same shape
(`is_main`): it "parks" by turning the loop, so that a call which waits is the
same code in a script and in a server.

Cancelling never resumes a fiber early: the operation in flight is cancelled,
and its final completion resumes the fiber. Until then stack, block and buffers
stay alive.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.fiber_switch import (
    StackContext,
    arrive_on_stack,
    emit_switch,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.memory import map_stack, unmap

from .operation import (
    CANCELLED,
    TIMED_OUT,
    Operation,
    OperationKind,
    OperationState,
)
from .reactor import TIMER_OF_FIBER, Reactor, ReactorConfig
from .timer_wheel import TimerEntry

comptime NO_DEADLINE = Int.MAX
"""The deadline of a wait that may last for ever."""

comptime FiberFunction = def(Erased) thin -> None
"""What a fiber runs; nothing may leave it but a return."""

comptime _IDLE: UInt8 = 0
comptime _READY: UInt8 = 1
comptime _RUNNING: UInt8 = 2
comptime _PARKED: UInt8 = 3
comptime _LEAKED: UInt8 = 4

comptime _CANCELLED_WAITS_MAX = 1000


struct FiberState(Movable):
    """Holds one fiber. Only the runtime touches it."""

    var operation: OperationState
    """What the fiber waits for when it waits for the kernel."""
    var context: StackContext
    """Its stack; without octets for the thread's main context."""
    var reactor: Reactor
    """The loop it runs on."""
    var timer: TimerEntry
    """Its deadline or its sleep."""
    var run: FiberFunction
    """What it runs."""
    var task: Erased
    """The argument of `run`."""
    var finished: FiberFunction
    """Called by the loop with `task` when `run` has returned."""
    var lost: FiberFunction
    """Called with `task` if `run` can never return: the fiber leaked, or its
    reactor was destroyed."""
    var next: Optional[PointerTo[FiberState]]
    """The next fiber in the ready list."""
    var deadline_ms: Int
    """No wait of the fiber lasts longer: the earlier of the next two, unless
    the present wait is exempt."""
    var run_deadline_ms: Int
    """The deadline of the whole run; `NO_DEADLINE` if there is none."""
    var scope_deadline_ms: Int
    """The deadline of the blocks it is in; `NO_DEADLINE` if there is none."""
    var phase: UInt8
    """Whether it is idle, ready, running or parked."""
    var is_main: Bool
    """True for the thread's main context, which has no stack here."""
    var cancelled: Bool
    """Its next wait reports `CANCELLED`."""
    var expired: Bool
    """The timer ended the present wait."""
    var generation: UInt32
    """Grows each time the block is used again."""
    var cancelled_waits: Int
    """Waits tried since it was cancelled."""

    def __init__(out self, reactor: Reactor, base: Int, octets: Int):
        """Makes an idle fiber.

        Args:
            reactor: The loop it runs on.
            base: The lowest address of its stack, or 0.
            octets: The length of its stack, or 0.
        """
        self.operation = OperationState()
        self.context = StackContext(base, octets)
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
        self.phase = _IDLE
        self.is_main = octets == 0
        self.cancelled = False
        self.expired = False
        self.generation = 0
        self.cancelled_waits = 0


def _nothing(task: Erased):
    pass


@fieldwise_init
struct Fiber(Equatable, TrivialRegisterPassable):
    """Names a fiber in its reactor."""

    var state: PointerTo[FiberState]
    """The heap state."""

    @staticmethod
    def from_timer(entry: PointerTo[TimerEntry]) -> Self:
        """Finds the fiber of a timer.

        Args:
            entry: A timer tagged `TIMER_OF_FIBER`.

        Returns:
            The fiber.
        """
        return Self(entry[].owner.value().unsafe_bitcast[FiberState]())

    @always_inline
    def reactor(self) -> Reactor:
        """Tells which loop the fiber runs on.

        Returns:
            The reactor.
        """
        return self.state[].reactor

    @always_inline
    def operation(self) -> Operation:
        """Names the operation that the fiber waits for.

        Returns:
            The operation; set its fields, then call `perform`.
        """
        return Operation(
            Pointer(to=self.state[].operation).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    @always_inline
    def is_cancelled(self) -> Bool:
        """Tells whether the fiber was asked to end.

        Returns:
            True from the moment of asking.
        """
        return self.state[].cancelled

    def perform(self, timeout_ms: Int = NO_DEADLINE) -> Int:
        """Submits the fiber's operation and parks until it is complete.

        Args:
            timeout_ms: The longest wait; the fiber's own deadline counts too.

        Returns:
            What the operation reported, or `TIMED_OUT`, or `CANCELLED`.
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
        if result == CANCELLED and self.state[].expired:
            return TIMED_OUT
        return result

    def wait(self, timeout_ms: Int = NO_DEADLINE) -> Int:
        """Parks until `wake` is called.

        Args:
            timeout_ms: The longest wait; the fiber's own deadline counts too.

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
        return TIMED_OUT if self.state[].expired else 0

    def yield_turn(self):
        """Lets everything else that is ready run first."""
        self.reactor().state[].fibers.append_ready(self)
        self._leave()

    def wake(self):
        """Makes a parked fiber ready; nothing happens in any other phase."""
        if self.state[].phase == _PARKED:
            self.reactor().state[].fibers.append_ready(self)

    def begin_as_main(self):
        """Notes that a thread's main context runs, as it always does."""
        self.state[].phase = _RUNNING

    def cancel(self):
        """Asks the fiber to end: its present and its next waits fail.

        Called on the fiber's own thread.
        """
        if self.state[].cancelled:
            return
        self.state[].cancelled = True
        self._end_wait()

    def expire(self):
        """Ends the present wait because its time is over.

        A fiber that was woken in the same turn has not waited too long.
        """
        if self.state[].phase == _PARKED:
            self.state[].expired = True
            self._end_wait()

    def suspend(self):
        """Parks until somebody makes the fiber ready.

        Safety:
            The caller is this fiber, and whatever shall wake it knows it.
        """
        self.state[].phase = _PARKED
        self._leave()

    def _leave(self):
        var fibers = self.reactor().state[].fibers
        if self.state[].is_main:
            fibers.set_current(None)
            # A yield gives everything else one turn that does not wait.
            while True:
                self.reactor().turn(0 if self.state[].phase == _READY else -1)
                if self.state[].phase == _READY:
                    break
            self.state[].phase = _RUNNING
            fibers.state[].main_is_ready = False
            fibers.set_current(self)
        else:
            suspend_stack(self._context())

    @always_inline
    def _context(self) -> PointerTo[StackContext]:
        return Pointer(to=self.state[].context).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def _timer(self) -> PointerTo[TimerEntry]:
        return Pointer(to=self.state[].timer).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def _end_wait(self):
        if self.state[].phase != _PARKED:
            return
        var operation = self.operation()
        if operation.is_idle():
            self.wake()
        else:
            self.reactor().cancel(operation)

    def _arm(self, timeout_ms: Int) -> Bool:
        # Where it is too late already the caller yields: a body that tries
        # again and again must not keep the loop from everything else.
        self.state[].expired = False
        var deadline = self.state[].deadline_ms
        if timeout_ms == NO_DEADLINE and deadline == NO_DEADLINE:
            return True
        var now = self.reactor().refresh_now_ms()
        if timeout_ms < NO_DEADLINE - now:
            deadline = min(deadline, now + timeout_ms)
        if deadline <= now:
            return False
        self.state[].timer.owner = self.state.unsafe_bitcast[NoneType]()
        self.reactor().timers().arm(self._timer(), deadline)
        return True

    @always_inline
    def _disarm(self):
        if self.state[].timer.is_armed():
            self.reactor().timers().cancel(self._timer())

    def _report_lost(self):
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
            self.state[].phase = _LEAKED
            self.reactor().state[].fibers.count_leaked()
            self._report_lost()
            suspend_stack(self._context())
        self.yield_turn()


def _on_complete(operation: Operation):
    if operation.is_idle():
        var fiber = Fiber(
            operation.state[].owner.value().unsafe_bitcast[FiberState]()
        )
        # A fiber that was woken meanwhile stands in the ready list: resumed
        # here, it could end and then be resumed from the list once more.
        if fiber.state[].phase == _PARKED:
            fiber.reactor().state[].fibers.resume(fiber)


def _entry(argument: Int) abi("C"):
    var fiber = Fiber(PointerTo[FiberState](unsafe_from_address=argument))
    arrive_on_stack(fiber._context())
    while True:
        fiber.state[].run(fiber.state[].task)
        fiber.state[].phase = _IDLE
        suspend_stack(fiber._context())


struct FiberQueueState(Movable):
    """Holds a reactor's fibers. Only `FiberQueue` touches it."""

    var stack_octets: Int
    """The address space of a stack."""
    var guard_octets: Int
    """The part of it that must not be touched."""
    var fibers_max: Int
    """How many fibers may exist."""
    var all: List[Fiber]
    """Every fiber with a stack."""
    var idle: List[Fiber]
    """Fibers that run nothing."""
    var current: Optional[Fiber]
    """The fiber that runs now."""
    var ready_first: Optional[PointerTo[FiberState]]
    """The fiber that waits longest to go on."""
    var ready_last: Optional[PointerTo[FiberState]]
    """The fiber that became ready last."""
    var main_is_ready: Bool
    """The thread's main context goes on after the present turn."""
    var leaked: Int
    """Fibers that ignored being cancelled."""

    def __init__(out self, config: ReactorConfig):
        """Makes a set without fibers.

        Args:
            config: The bounds.
        """
        self.stack_octets = config.stack_octets
        self.guard_octets = config.guard_octets
        self.fibers_max = config.fibers_max
        self.all = List[Fiber]()
        self.idle = List[Fiber]()
        self.current = None
        self.ready_first = None
        self.ready_last = None
        self.main_is_ready = False
        self.leaked = 0


@fieldwise_init
struct FiberQueue(TrivialRegisterPassable):
    """Starts, resumes and pools the fibers of one reactor."""

    var state: PointerTo[FiberQueueState]
    """The heap state."""

    @staticmethod
    def create(config: ReactorConfig) -> Self:
        """Makes a set without fibers.

        Args:
            config: The bounds.

        Returns:
            A handle.
        """
        emit_switch()
        return Self(heap_create(FiberQueueState(config)))

    def destroy(self):
        """Unmaps every stack; what leaked on them is lost with them."""
        for fiber in self.state[].all:
            if fiber.state[].phase != _IDLE:
                fiber._report_lost()
        for fiber in self.state[].all:
            _ = unmap(fiber.state[].context.base, fiber.state[].context.octets)
            heap_destroy(fiber.state)
        heap_destroy(self.state)

    def start(
        self,
        reactor: Reactor,
        run: FiberFunction,
        task: Erased,
        finished: FiberFunction = _nothing,
        deadline_ms: Int = NO_DEADLINE,
    ) -> Optional[Fiber]:
        """Takes a fiber that will run a function; `resume` begins it.

        Args:
            reactor: The reactor this set belongs to.
            run: The function.
            task: Its argument.
            finished: Called by the loop with `task` when `run` has returned.
            deadline_ms: No wait of the fiber lasts longer.

        Returns:
            The fiber, or none at the limit or when memory has run out.
        """
        if len(self.state[].idle) == 0 and not self._grow(reactor):
            return None
        var fiber = self.state[].idle.pop()
        ref f = fiber.state[]
        f.run = run
        f.task = task
        f.finished = finished
        f.lost = _nothing
        f.deadline_ms = deadline_ms
        f.run_deadline_ms = deadline_ms
        f.scope_deadline_ms = NO_DEADLINE
        f.phase = _READY
        f.cancelled = False
        f.generation += 1
        f.cancelled_waits = 0
        return fiber

    @always_inline
    def resume(self, fiber: Fiber):
        """Runs a fiber until it waits or returns.

        Args:
            fiber: A fiber that was started or is parked, or the thread's main
                context, which goes on after the present turn.

        Safety:
            The caller is the loop, not a fiber.
        """
        if fiber.state[].is_main:
            fiber.state[].phase = _READY
            self.state[].main_is_ready = True
            return
        # A script may turn its loop itself: it is current again afterwards.
        var before = self.state[].current
        fiber.state[].phase = _RUNNING
        self.state[].current = fiber
        resume_stack(fiber._context(), Int(fiber.state))
        self.state[].current = before
        if fiber.state[].phase == _IDLE:
            var finished = fiber.state[].finished
            var task = fiber.state[].task
            self.state[].idle.append(fiber)
            finished(task)

    def append_ready(self, fiber: Fiber):
        """Lets a fiber go on in the next turn.

        Args:
            fiber: A fiber that was started, is parked or yields.
        """
        fiber.state[].phase = _READY
        if fiber.state[].is_main:
            self.state[].main_is_ready = True
            return
        fiber.state[].next = None
        if self.state[].ready_last:
            self.state[].ready_last.value()[].next = fiber.state
        else:
            self.state[].ready_first = fiber.state
        self.state[].ready_last = fiber.state

    def run_ready(self):
        """Resumes the fibers that are ready now.

        Those that become ready meanwhile wait for the next turn, so that
        fibers which only yield cannot keep the loop from the kernel.
        """
        var next = self.state[].ready_first
        self.state[].ready_first = None
        self.state[].ready_last = None
        while next:
            var fiber = Fiber(next.value())
            next = fiber.state[].next
            self.resume(fiber)

    @always_inline
    def has_ready(self) -> Bool:
        """Tells whether a fiber can go on.

        Returns:
            True if the next turn should not wait.
        """
        return Bool(self.state[].ready_first) or self.state[].main_is_ready

    @always_inline
    def current(self) -> Optional[Fiber]:
        """Tells which fiber runs now.

        Returns:
            The fiber, or none inside the loop itself.
        """
        return self.state[].current

    def set_current(self, fiber: Optional[Fiber]):
        """Says which fiber runs now.

        Args:
            fiber: The thread's main context, or none while it turns the loop.
        """
        self.state[].current = fiber

    def cancel_all(self):
        """Asks every fiber to end."""
        for i in range(len(self.state[].all)):
            var fiber = self.state[].all[i]
            if fiber.state[].phase != _IDLE:
                fiber.cancel()

    def count_leaked(self):
        """Counts a fiber that ignored being cancelled for too long."""
        self.state[].leaked += 1

    def leaked(self) -> Int:
        """Counts the fibers that ignored being cancelled for too long.

        Returns:
            The count; their stacks are never used again.
        """
        return self.state[].leaked

    def busy(self) -> Int:
        """Counts the fibers that run something.

        Returns:
            The count.
        """
        return len(self.state[].all) - len(self.state[].idle)

    @no_inline
    def _grow(self, reactor: Reactor) -> Bool:
        ref s = self.state[]
        if len(s.all) >= s.fibers_max:
            return False
        var base = map_stack(s.stack_octets, s.guard_octets)
        if base < 0:
            return False
        var fiber = Fiber(
            heap_create(FiberState(reactor, base, s.stack_octets))
        )
        prepare_stack(fiber._context(), _entry)
        s.all.append(fiber)
        # Giving a fiber back never allocates.
        s.idle.reserve(s.all.capacity())
        s.idle.append(fiber)
        return True
