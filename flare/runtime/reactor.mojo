"""Runs the one loop of a thread: submit, wait, collect, dispatch.

A reactor is a handle to heap state and belongs to one thread; only `post` may
be called from others. One turn carries the submit list to the backend, waits,
dispatches the completions, fires the timers that are due and resumes the
fibers that are ready. Completions are collected first and dispatched
afterwards, so nothing is called back inside a submission.
"""

from flare.core import (
    Erased,
    PointerTo,
    Recycler,
    heap_create,
    heap_destroy,
)
from flare.sys.socket_address import SocketAddressStorage
from flare.sys.thread_cell import thread_word

from .backend import Backend, BackendKind
from .backend_functions import BackendFunctions
from .buffer_pool import BufferPool
from .fiber_queue import FiberQueue
from .line_ring import LineRing
from .mailbox import Mailbox
from .operation import Completion, Operation, OperationState
from .reactor_config import ReactorConfig
from .timer_wheel import TimerWheel
from .turn import run_turn

comptime RECEIVE_BUFFER_OCTETS = 4096
"""The size of the buffers that receives are completed in: most heads fit, and
an entry of the kernel's ring costs one page."""

comptime LARGE_BUFFER_OCTETS = 65536
"""The size of the buffers that large reads are completed in."""

# More than a fiber may refuse to end for before it counts as leaked.
comptime _ENDING_TURNS_MAX = 4000

comptime NS_PER_MS = 1_000_000
"""How many nanoseconds of a backend's clock make one of the reactor's."""

comptime NO_DEADLINE = Int.MAX
"""The deadline of a wait that lasts until it is ended."""

comptime SLOW_TURN_MS = 100
"""A turn that takes so long keeps everybody else waiting: nothing it runs may."""


@fieldwise_init
struct ReactorState(Movable):
    """Holds what a reactor consists of. Only the runtime touches it."""

    var config: ReactorConfig
    """The bounds."""
    var backend_kind: BackendKind
    """Which backend runs."""
    var backend: Erased
    """The backend; the functions below know its type."""
    var turn_once: def(Reactor, Int) thin -> None
    """Runs one turn."""
    var functions: BackendFunctions
    """What is called on the backend outside of a turn."""
    var submit_first: Optional[PointerTo[OperationState]]
    """The oldest operation that is queued."""
    var submit_last: Optional[PointerTo[OperationState]]
    """The newest operation that is queued."""
    var cancels: List[Operation]
    """Operations in flight that shall end."""
    var completions: List[Completion]
    """What was collected and is not yet dispatched."""
    var timers: TimerWheel
    """The deadlines of fibers and of other waiters."""
    var now_ms: Int
    """The backend's clock as last read."""
    var busy_since_ms: Int
    """When the reactor waited last."""
    var slow_turn_owner: Erased
    """Handed to the function below."""
    var on_slow_turn: def(Erased, Int) thin -> None
    """Called with the duration of a turn that was slow."""
    var wall_seconds: Int
    """The wall clock as read in this turn."""
    var buffers: BufferPool
    """The buffers that receives are completed in."""
    var large_buffers: BufferPool
    """The buffers that large reads are completed in."""
    var fibers: FiberQueue
    """The fibers that are ready, idle or running."""
    var mailbox: Mailbox
    """What other threads asked this one to do."""
    var recycler: Recycler
    """The blocks that this thread uses again and again."""
    var lines: Optional[LineRing]
    """Takes the log lines of this thread, if another one writes them."""
    var helpers: Optional[Erased]
    """The threads that `blocking` uses, once there are some."""
    var name_helpers: Optional[Erased]
    """The threads that look names up, once there are some."""
    var end_helpers: def(Erased) thin -> None
    """Ends the helpers."""
    var in_flight: Int
    """Operations that the backend holds."""
    var turns: Int
    """How many turns there were."""
    var is_closed: Bool
    """Everything that ran has ended."""


@fieldwise_init
struct Reactor(Equatable, TrivialRegisterPassable):
    """Names the loop of one thread."""

    var state: PointerTo[ReactorState]
    """The heap state."""

    @staticmethod
    def over[
        B: Backend
    ](
        backend: B,
        kind: BackendKind,
        config: ReactorConfig,
        buffers: BufferPool,
    ) -> Self:
        """Makes a reactor that drives a backend.

        Parameters:
            B: The type of the backend.

        Args:
            backend: The kernel interface; the reactor frees it.
            kind: Its name.
            config: The bounds.
            buffers: Where the backend takes buffers from; the reactor frees it.

        Returns:
            A handle; call `destroy` when nothing waits any more. Other threads
            wake it once its mailbox listens.
        """
        var now_ms = backend.now_ns() // NS_PER_MS
        return Self(
            heap_create(
                ReactorState(
                    config=config.copy(),
                    backend_kind=kind,
                    backend=heap_create(backend).unsafe_bitcast[NoneType](),
                    turn_once=run_turn[B],
                    functions=BackendFunctions.of[B](),
                    submit_first=None,
                    submit_last=None,
                    cancels=List[Operation](capacity=64),
                    completions=List[Completion](capacity=1024),
                    timers=TimerWheel.create(now_ms),
                    now_ms=now_ms,
                    busy_since_ms=now_ms,
                    slow_turn_owner=Erased(unsafe_from_address=64),
                    on_slow_turn=_no_watch,
                    wall_seconds=backend.wall_seconds(),
                    buffers=buffers,
                    large_buffers=BufferPool.create(
                        LARGE_BUFFER_OCTETS, config.large_buffers_max
                    ),
                    fibers=FiberQueue.create(config),
                    mailbox=Mailbox.create(),
                    recycler=Recycler.create(),
                    lines=None,
                    helpers=None,
                    name_helpers=None,
                    end_helpers=_no_helpers,
                    in_flight=0,
                    turns=0,
                    is_closed=False,
                )
            )
        )

    def destroy(self):
        """Frees the reactor, closed before if it was not."""
        self.close()
        self.state[].buffers.destroy()
        self.state[].large_buffers.destroy()
        self.state[].recycler.destroy()
        heap_destroy(self.state)

    def close(self):
        """Ends all that runs; the memory it lent may still be given back.

        Fibers that still run are cancelled and may unwind, helper threads end
        after their last job, and what other threads posted last is still done.
        Operations of other owners must have ended.
        """
        if self.state[].is_closed:
            return
        self.state[].is_closed = True
        self.end_fibers()
        if self.state[].helpers:
            self.state[].end_helpers(self.state[].helpers.value())
        if self.state[].name_helpers:
            self.state[].end_helpers(self.state[].name_helpers.value())
        self.state[].mailbox.close(self)
        self.state[].fibers.destroy()
        self.state[].timers.destroy()
        self.state[].functions.destroy(self.state[].backend)

    def end_fibers(self):
        """Cancels the fibers that still run, and turns until they have unwound
        or ignored it for long.

        Operations of other owners must have ended.
        """
        var fibers = self.state[].fibers
        if fibers.busy() == fibers.leaked():
            return
        # Unwinding finds its loop by the thread's word; the thread may be the
        # main context of another loop.
        var word = thread_word()
        var before = word[]
        word[] = Int(self.state)
        fibers.set_current(None)
        fibers.cancel_all()
        var turns = 0
        while fibers.busy() > fibers.leaked() and turns < _ENDING_TURNS_MAX:
            self.turn(10)
            turns += 1
        word[] = before

    @always_inline
    def submit(self, operation: Operation):
        """Queues an operation for the next turn.

        Args:
            operation: Idle; its block stays where it is until the final
                completion.
        """
        debug_assert(operation.is_idle(), "submitted twice")
        operation.mark_queued()
        operation.state[].next = None
        if self.state[].submit_last:
            self.state[].submit_last.value()[].next = operation.state
        else:
            self.state[].submit_first = operation.state
        self.state[].submit_last = operation.state

    def submit_at_once(self, operation: Operation):
        """Hands an operation to the backend before the turn has done the rest.

        A readiness kernel finds the octets of a long send in the caches now,
        and its peer can begin to read. On io_uring it is `submit`.

        Args:
            operation: As for `submit`; a later round dispatches what it gives.
        """
        if self.state[].backend_kind == BackendKind.IO_URING:
            self.submit(operation)
            return
        debug_assert(operation.is_idle(), "submitted twice")
        operation.mark_queued()
        operation.mark_in_flight()
        self.state[].in_flight += 1
        self.state[].functions.submit(
            self.state[].backend,
            operation,
            Pointer(to=self.state[].completions).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )

    def cancel(self, operation: Operation):
        """Asks for the end of an operation; its final completion still comes.

        Args:
            operation: The operation; nothing happens if it is idle.
        """
        if operation.is_idle() or operation.state[].cancel_requested:
            return
        operation.state[].cancel_requested = True
        if operation.is_in_flight():
            self.state[].cancels.append(operation)

    def close(self, descriptor: Int32):
        """Closes a descriptor that no operation uses.

        Args:
            descriptor: The descriptor.
        """
        self.state[].functions.close(self.state[].backend, descriptor)

    def reset(self, descriptor: Int32):
        """Closes a descriptor that no operation uses with a reset.

        Args:
            descriptor: A connected socket.
        """
        self.state[].functions.reset(self.state[].backend, descriptor)

    def end_sending(self, descriptor: Int32):
        """Tells the peer that nothing more is sent; receiving goes on.

        Args:
            descriptor: A connected socket without a send in flight.
        """
        self.state[].functions.end_sending(self.state[].backend, descriptor)

    def peer_address(
        self, descriptor: Int32, mut address: SocketAddressStorage
    ) -> Int:
        """Reads the address of the peer.

        Args:
            descriptor: A connected socket.
            address: Set to the address.

        Returns:
            0, or a negated errno.
        """
        return self.state[].functions.peer_address(
            self.state[].backend, descriptor, address
        )

    def accept_now(self, listener: Int32) -> Int:
        """Accepts one connection that waits already; never waits for one.

        Args:
            listener: A listening socket that no operation uses.

        Returns:
            The descriptor; EAGAIN if nobody waits, however few descriptors are
            left, or another negated errno.
        """
        return self.state[].functions.accept_now(self.state[].backend, listener)

    def hold_back(self, listener: Int32, held: Bool):
        """Decides whether new connections may enter a listen queue.

        Args:
            listener: A listening socket.
            held: True to keep new connections off, False to let them come.
        """
        self.state[].functions.hold_back(self.state[].backend, listener, held)

    def turn_away(
        self,
        listener: Int32,
        mut spare: Int32,
        answer: Span[UInt8, ImmStaticOrigin],
    ) -> Int:
        """Accepts one connection, sends a short answer and closes it at once.

        Args:
            listener: A listening socket that no operation uses.
            spare: A descriptor to close and open again for it, because no other
                may be left; -1 where there is none.
            answer: All that the peer gets.

        Returns:
            0 if somebody was answered, EAGAIN if nobody waits, or another
            negated errno.
        """
        return self.state[].functions.turn_away(
            self.state[].backend, listener, spare, answer
        )

    def turn(self, wait_ms: Int = -1):
        """Runs one turn of the loop.

        Args:
            wait_ms: The longest wait for something to do; -1 waits for ever.
        """
        self.state[].turn_once(self, wait_ms)

    def refresh_now_ms(self) -> Int:
        """Reads the clock.

        Returns:
            Milliseconds of a clock that never goes back.
        """
        _ = self.refresh_now_ns()
        return self.state[].now_ms

    @always_inline
    def refresh_now_ns(self) -> Int:
        """Reads the clock, also for `now_ms`.

        Returns:
            Nanoseconds of a clock that never goes back.
        """
        var now_ns = self.state[].functions.now_ns(self.state[].backend)
        self.state[].now_ms = now_ns // NS_PER_MS
        return now_ns

    def deadline_after(self, timeout_ms: Int) -> Int:
        """Reads the clock and returns when a wait that begins now is over.

        Timers fire at whole milliseconds. The present one counts only from its
        end, so that no wait is shorter than its timeout.

        Args:
            timeout_ms: The timeout.

        Returns:
            The first millisecond at which all of the timeout has passed. It is
            the present one if the timeout is 0 or less, and `NO_DEADLINE` if no
            number can say it.
        """
        var now_ns = self.refresh_now_ns()
        if timeout_ms <= 0:
            return self.state[].now_ms
        var begun_ms = (now_ns + (NS_PER_MS - 1)) // NS_PER_MS
        if timeout_ms >= NO_DEADLINE - begun_ms:
            return NO_DEADLINE
        return begun_ms + timeout_ms

    @always_inline
    def now_ms(self) -> Int:
        """Tells the time at which the present turn began to dispatch.

        Returns:
            Milliseconds of a clock that never goes back.
        """
        return self.state[].now_ms

    @always_inline
    def wall_seconds(self) -> Int:
        """Tells the wall clock as read in the present turn.

        Returns:
            Seconds since 1970-01-01 00:00:00 UTC.
        """
        return self.state[].wall_seconds

    @always_inline
    def timers(self) -> TimerWheel:
        """Returns the wheel that keeps this reactor's deadlines.

        Returns:
            The wheel; entries are tagged `TIMER_OF_TASK`.
        """
        return self.state[].timers

    @always_inline
    def buffers(self) -> BufferPool:
        """Returns the pool that received octets come in.

        Returns:
            The pool.
        """
        return self.state[].buffers

    @always_inline
    def large_buffers(self) -> BufferPool:
        """Returns the pool that large reads are completed in.

        Returns:
            The pool; its memory is mapped when a buffer is first asked for.
        """
        return self.state[].large_buffers

    def backend_kind(self) -> BackendKind:
        """Tells which kernel interface runs.

        Returns:
            Its name, never `AUTOMATIC`.
        """
        return self.state[].backend_kind

    def post(self, function: def(Erased) thin -> None, argument: Erased):
        """Asks the reactor's thread to call a function; from any thread.

        Args:
            function: Called in one of the next turns, never on a fiber.
            argument: Handed to it.
        """
        self.state[].mailbox.post(function, argument)

    def watch_slow_turns(
        self, function: def(Erased, Int) thin -> None, owner: Erased
    ):
        """Lets a function know of turns that take `SLOW_TURN_MS` or longer.

        Args:
            function: Called with `owner` and the duration in milliseconds, on
                the reactor's thread and not on a fiber.
            owner: Handed to it.
        """
        self.state[].on_slow_turn = function
        self.state[].slow_turn_owner = owner

    def has_work(self) -> Bool:
        """Returns whether anything is queued, in flight, armed or ready.

        Returns:
            False if a turn without a time limit might never end.
        """
        return (
            Bool(self.state[].submit_first)
            or self.state[].in_flight > 0
            or self.state[].timers.armed_count() > 0
            or self.state[].fibers.has_ready()
        )


def _no_helpers(helpers: Erased):
    pass


def _no_watch(owner: Erased, busy_ms: Int):
    pass
