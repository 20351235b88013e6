"""Starts, resumes and pools the fibers of one reactor.

A turn resumes a bounded number of ready fibers, in the order in which they
became ready.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.fiber_switch import (
    StackContext,
    arrive_on_stack,
    emit_switch,
    prefetch_stack,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.memory import (
    PAGE_OCTETS,
    give_pages_back,
    map_stack,
    prefetch_lines,
    unmap,
)
from flare.sys.stack import set_running_stack
from flare.sys.thread_cell import thread_word

from .fiber import (
    NO_DEADLINE,
    Fiber,
    FiberFunction,
    FiberPhase,
    FiberState,
)
from .fiber_family import TRACKS_FAMILIES, FiberFamily
from .reactor import Reactor, ReactorConfig

comptime RESUMED_PER_TURN_MAX = 32
"""The most fibers that one turn resumes."""
# Of a request: all that the rest of it touches.
comptime _TASK_LINES = 13
# A call of the kernel for each: more at a time would hold the loop.
comptime _TRIMMED_MAX = 512
# The octets at the top of an idle fiber's stack, which its next run touches
# first.
comptime _KEPT_STACK_OCTETS = 2 * PAGE_OCTETS


@fieldwise_init
struct FiberBounds(TrivialRegisterPassable):
    """The bounds on the fibers of a reactor."""

    var stack_octets: Int
    """The address space of a stack."""
    var guard_octets: Int
    """The guard at the end of a stack, which ends the process when touched."""
    var fibers_max: Int
    """The most fibers that may exist."""


struct FiberQueueState(Movable):
    """The fibers of a reactor. Only `FiberQueue` uses it."""

    var bounds: FiberBounds
    """The bounds."""
    var all: List[Fiber]
    """Every fiber with a stack."""
    var idle_first: Optional[PointerTo[FiberState]]
    """The fiber that was the last to become idle; the others follow it."""
    var idle_count: Int
    """The number of idle fibers."""
    var cold_first: Optional[PointerTo[FiberState]]
    """The first idle fiber whose stack has no pages; the others follow it.
    They are started last.
    """
    var cold_count: Int
    """The number of idle fibers without pages."""
    var current: Optional[PointerTo[FiberState]]
    """The fiber that runs now."""
    var ready_first: Optional[PointerTo[FiberState]]
    """The fiber that has been ready for longest."""
    var ready_last: Optional[PointerTo[FiberState]]
    """The fiber that became ready last."""
    var main_is_ready: Bool
    """Whether the thread's main context continues after the present turn."""
    var leaked: Int
    """Fibers that ignored being cancelled."""
    var ending_family: Optional[FiberFamily]
    """The family of the fiber that has just ended."""
    var thread_words: PointerTo[Int]
    """The words of the thread that turns the loop."""

    def __init__(out self, config: ReactorConfig):
        """Creates a queue without fibers.

        Args:
            config: The bounds.
        """
        self.bounds = FiberBounds(
            config.stack_octets, config.guard_octets, config.fibers_max
        )
        self.all = List[Fiber]()
        self.idle_first = None
        self.idle_count = 0
        self.cold_first = None
        self.cold_count = 0
        self.current = None
        self.ready_first = None
        self.ready_last = None
        self.main_is_ready = False
        self.leaked = 0
        self.ending_family = None
        self.thread_words = thread_word()


@fieldwise_init
struct FiberQueue(TrivialRegisterPassable):
    """Starts, resumes and pools the fibers of one reactor."""

    var state: PointerTo[FiberQueueState]
    """The heap state."""

    @staticmethod
    def create(config: ReactorConfig) -> Self:
        """Creates a queue without fibers.

        Args:
            config: The bounds.

        Returns:
            A handle.
        """
        emit_switch()
        return Self(heap_create(FiberQueueState(config)))

    def destroy(self):
        """Unmaps all stacks. Objects on leaked stacks are lost."""
        for fiber in self.state[].all:
            if fiber.state[].phase != FiberPhase.IDLE:
                fiber.report_lost()
                fiber.leave_local()
                if fiber.state[].kin.family:
                    fiber.state[].kin.family.value().leave()
        for fiber in self.state[].all:
            _ = unmap(fiber.state[].context.base, fiber.state[].context.octets)
            heap_destroy(fiber.state)
        heap_destroy(self.state)

    @always_inline
    def start(
        self,
        reactor: Reactor,
        run: FiberFunction,
        task: Erased,
        finished: FiberFunction = _nothing,
        deadline_ms: Int = NO_DEADLINE,
        lost: FiberFunction = _nothing,
    ) -> Optional[Fiber]:
        """Returns a fiber that is ready to run a function; `resume` starts it.

        Args:
            reactor: The reactor that runs the fiber.
            run: The function.
            task: Its argument.
            finished: Called by the loop with `task` when `run` has returned.
            deadline_ms: The deadline of every wait of the fiber.
            lost: Called with `task` if `run` can never return.

        Returns:
            The fiber; `None` at the limit or if memory runs out.
        """
        if not self.state[].idle_first and not self._grow(reactor):
            return None
        var fiber = Fiber(self.state[].idle_first.unsafe_value())
        ref f = fiber.state[]
        self.state[].idle_first = f.next
        self.state[].idle_count -= 1
        f.run = run
        f.task = task
        f.finished = finished
        f.lost = lost
        f.deadline_ms = deadline_ms
        f.run_deadline_ms = deadline_ms
        f.scope_deadline_ms = NO_DEADLINE
        f.phase = FiberPhase.READY
        f.cancelled = False
        f.generation += 1
        f.cancelled_waits = 0
        comptime if TRACKS_FAMILIES:
            f.kin.family = None
        return fiber

    @always_inline
    def resume(self, fiber: Fiber):
        """Runs a fiber until it waits or returns.

        Args:
            fiber: A fiber that was started or is parked; or the thread's main
                context, which continues after the present turn.

        Safety:
            The caller is the loop, not a fiber.
        """
        if fiber.state[].is_main:
            fiber.state[].phase = FiberPhase.READY
            self.state[].main_is_ready = True
            return
        # A script may turn its loop itself: it is current again afterwards.
        var before = self.state[].current
        fiber.state[].phase = FiberPhase.RUNNING
        self.state[].current = fiber.state
        var words = self.state[].thread_words
        var stack = set_running_stack(words, Int(fiber.context()))
        resume_stack(fiber.context())
        _ = set_running_stack(words, stack)
        self.state[].current = before
        if fiber.state[].phase == FiberPhase.IDLE:
            var finished = fiber.state[].finished
            var task = fiber.state[].task
            fiber.leave_local()
            comptime if TRACKS_FAMILIES:
                self._end_in_family(fiber)
            else:
                self._add_idle(fiber)
                finished(task)

    def _end_in_family(self, fiber: Fiber):
        var finished = fiber.state[].finished
        var task = fiber.state[].task
        var family = fiber.state[].kin.family
        var before = self.state[].ending_family
        fiber.state[].kin.family = None
        self._add_idle(fiber)
        self.state[].ending_family = family
        finished(task)
        self.state[].ending_family = before
        if family:
            family.value().leave()

    def ending_family(self) -> Optional[FiberFamily]:
        """Returns the family of the fiber that has just ended.

        Returns:
            The family. `None` if the fiber spawned no other, outside the
            function that it calls at its end, and in builds without
            assertions.
        """
        return self.state[].ending_family

    def append_ready(self, fiber: Fiber):
        """Makes a fiber ready for the next turn.

        Args:
            fiber: A fiber that was started, is parked or yields.
        """
        fiber.state[].phase = FiberPhase.READY
        if fiber.state[].is_main:
            self.state[].main_is_ready = True
            return
        # The memory that `_prefetch` reads has left the caches too.
        prefetch_lines[1](Int(fiber.context()))
        fiber.state[].next = None
        if self.state[].ready_last:
            self.state[].ready_last.value()[].next = fiber.state
        else:
            self.state[].ready_first = fiber.state
        self.state[].ready_last = fiber.state

    def run_ready(self):
        """Resumes up to 32 fibers that are ready now.

        Further ones, and those that become ready meanwhile, continue in the
        next turn. So fibers that only yield cannot keep the loop from the
        kernel. And if a thousand sleeps end at once, the first answers are
        sent while the last are written.
        """
        var last = self.state[].ready_last
        for _ in range(RESUMED_PER_TURN_MAX):
            if not self.state[].ready_first:
                return
            var fiber = Fiber(self.state[].ready_first.value())
            self.state[].ready_first = fiber.state[].next
            if fiber.state[].next:
                _prefetch(Fiber(fiber.state[].next.value()))
            else:
                self.state[].ready_last = None
            self.resume(fiber)
            if fiber.state == last.unsafe_value():
                return

    def begin_turn(self):
        """Finds the words of the calling thread, on which fibers are resumed
        until the turn ends.
        """
        self.state[].thread_words = thread_word()

    @always_inline
    def has_ready(self) -> Bool:
        """Returns whether a fiber is ready.

        Returns:
            True if the next turn should not wait.
        """
        return Bool(self.state[].ready_first) or self.state[].main_is_ready

    @always_inline
    def current(self) -> Optional[Fiber]:
        """Returns the fiber that is running.

        Returns:
            The fiber; `None` inside the loop itself.
        """
        if not self.state[].current:
            return None
        return Fiber(self.state[].current.unsafe_value())

    def set_current(self, fiber: Optional[Fiber]):
        """Sets the fiber that is running.

        Args:
            fiber: The thread's main context; `None` while it turns the loop.
        """
        self.state[].current = None
        if fiber:
            self.state[].current = fiber.value().state

    def cancel_all(self):
        """Cancels every fiber."""
        for i in range(len(self.state[].all)):
            var fiber = self.state[].all[i]
            if fiber.state[].phase != FiberPhase.IDLE:
                fiber.cancel()

    def count_leaked(self):
        """Counts a fiber that ignored its cancellation for too long."""
        self.state[].leaked += 1

    def leaked(self) -> Int:
        """Returns how many fibers ignored their cancellation for too long.

        Returns:
            The number; their stacks are never reused.
        """
        return self.state[].leaked

    def busy(self) -> Int:
        """Returns the number of fibers in use.

        Returns:
            The number.
        """
        ref s = self.state[]
        return len(s.all) - s.idle_count - s.cold_count

    def trim(self, kept: Int) -> Bool:
        """Returns memory of idle stacks to the kernel: all pages of the longest
        idle stacks, and the deep pages of the others.

        Args:
            kept: How many idle fibers may keep memory; at least 1.

        Returns:
            True if another call would return more.
        """
        ref s = self.state[]
        var stays = max(kept, s.idle_count // 2)
        stays = max(stays, s.idle_count - _TRIMMED_MAX)
        var next = s.idle_first
        var last = next
        for i in range(min(stays, s.idle_count)):
            last = next
            if i < kept:
                self._release(Fiber(last.value()), _KEPT_STACK_OCTETS)
            next = last.value()[].next
        if not next:
            return False
        last.value()[].next = None
        while next:
            var fiber = Fiber(next.value())
            next = fiber.state[].next
            self._release(fiber, 0)
            fiber.state[].next = s.cold_first
            s.cold_first = fiber.state
            s.cold_count += 1
            s.idle_count -= 1
        return s.idle_count > kept

    def _release(self, fiber: Fiber, kept_octets: Int):
        var begin = (
            fiber.state[].context.base + fiber.state[].context.guard_octets
        )
        var end = fiber.state[].context.base + fiber.state[].context.octets
        _ = give_pages_back(begin, end - begin - kept_octets)

    def _take_cold(self):
        var fiber = Fiber(self.state[].cold_first.value())
        self.state[].cold_first = fiber.state[].next
        self.state[].cold_count -= 1
        # The stack that it used is gone.
        prepare_stack(fiber.context(), _entry, Int(fiber.state))
        self._add_idle(fiber)

    @always_inline
    def _add_idle(self, fiber: Fiber):
        fiber.state[].next = self.state[].idle_first
        self.state[].idle_first = fiber.state
        self.state[].idle_count += 1

    @no_inline
    def _grow(self, reactor: Reactor) -> Bool:
        ref s = self.state[]
        if s.cold_first:
            self._take_cold()
            return True
        if len(s.all) >= s.bounds.fibers_max:
            return False
        var base = map_stack(s.bounds.stack_octets, s.bounds.guard_octets)
        if base < 0:
            return False
        var fiber = Fiber(
            heap_create(
                FiberState(
                    reactor,
                    base,
                    s.bounds.stack_octets,
                    s.bounds.guard_octets,
                )
            )
        )
        prepare_stack(fiber.context(), _entry, Int(fiber.state))
        s.all.append(fiber)
        self._add_idle(fiber)
        return True


@always_inline
def _prefetch(fiber: Fiber):
    # A fiber that was parked for long has left the caches: it is fetched while
    # the fiber before it runs.
    prefetch_stack(fiber.context())
    prefetch_lines[_TASK_LINES](Int(fiber.state[].task))


def _entry(stack: Int) abi("C"):
    var context = PointerTo[StackContext](unsafe_from_address=stack)
    var fiber = Fiber(
        PointerTo[FiberState](unsafe_from_address=context[].argument)
    )
    arrive_on_stack(fiber.context())
    while True:
        fiber.state[].run(fiber.state[].task)
        fiber.state[].phase = FiberPhase.IDLE
        suspend_stack(fiber.context())


def _nothing(task: Erased):
    pass
