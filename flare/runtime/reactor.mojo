"""Runs the one loop of a thread: submit, wait, collect, dispatch.

A reactor is a handle to heap state and belongs to one thread; other threads
may call only `post`. One turn passes the submit list to the backend, waits,
dispatches the completions, fires the due timers and resumes the ready fibers.
Completions are collected first and dispatched afterwards, so no callback runs
during a submission.
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
from .mailbox import Mailbox
from .operation import Completion, Operation, OperationState
from .reactor_config import ReactorConfig
from .timer_wheel import TimerWheel
from .turn import run_turn
from .turn_parts import SlowTurnWatch, ThreadOutlets, TurnTimes

comptime RECEIVE_BUFFER_OCTETS = 4096
"""The size of the buffers for receiving. Most heads fit, and an entry of the
kernel's ring needs one page.
"""

comptime LARGE_BUFFER_OCTETS = 65536
"""The size of the buffers for large reads."""

# More than a fiber may refuse to end for before it counts as leaked.
comptime _ENDING_TURNS_MAX = 4000

comptime NS_PER_MS = 1_000_000
"""Nanoseconds per millisecond: the backend's clock counts the former, the
reactor's the latter.
"""

comptime NO_DEADLINE = Int.MAX
"""The deadline of a wait that lasts until it is ended."""

comptime SLOW_TURN_MS = 100
"""The duration from which a turn counts as slow. All other fibers wait for it.
"""


@fieldwise_init
struct ReactorState(Movable):
    """The parts of a reactor. Only the runtime uses it."""

    var config: ReactorConfig
    """The bounds."""
    var backend_kind: BackendKind
    """The kind of the backend."""
    var backend: Erased
    """The backend; the functions below know its type."""
    var turn_once: def(Reactor, Int) thin -> None
    """Runs one turn."""
    var functions: BackendFunctions
    """The backend's functions for calls outside a turn."""
    var submit_first: Optional[PointerTo[OperationState]]
    """The oldest operation that is queued."""
    var submit_last: Optional[PointerTo[OperationState]]
    """The newest operation that is queued."""
    var cancels: List[Operation]
    """Operations in flight that are to be cancelled."""
    var completions: List[Completion]
    """Completions that were collected and not dispatched yet."""
    var timers: TimerWheel
    """The deadlines of fibers and of other waiters."""
    var now_ms: Int
    """The backend's clock as last read."""
    var slow_turns: SlowTurnWatch
    """Notices turns that take long."""
    var has_work_after_turn: Bool
    """Whether the owner of the loop has work for the end of the turn, which
    therefore does not wait.
    """
    var times: TurnTimes
    """The clocks as read in this turn."""
    var buffers: BufferPool
    """The buffers for receiving."""
    var large_buffers: BufferPool
    """The buffers for large reads."""
    var fibers: FiberQueue
    """The fibers that are ready, idle or running."""
    var mailbox: Mailbox
    """Work that other threads have posted."""
    var recycler: Recycler
    """The blocks that this thread recycles."""
    var outlets: ThreadOutlets
    """The destinations of log lines and counts of this thread."""
    var helpers: Optional[Erased]
    """The threads for `blocking`, once there are some."""
    var name_helpers: Optional[Erased]
    """The threads for look-ups of names, once there are some."""
    var end_helpers: def(Erased) thin -> None
    """Ends these threads."""
    var in_flight: Int
    """The number of operations that the backend holds."""
    var turns: Int
    """The number of turns so far."""
    var is_closed: Bool
    """Whether the reactor was closed and all fibers have ended."""


@fieldwise_init
struct Reactor(Equatable, TrivialRegisterPassable):
    """A handle to the loop of one thread."""

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
        """Creates a reactor on a backend.

        Parameters:
            B: The type of the backend.

        Args:
            backend: The kernel interface; the reactor frees it.
            kind: The backend's kind.
            config: The bounds.
            buffers: The pool from which the backend takes buffers; the reactor
                frees it.

        Returns:
            A handle. Call `destroy` after all waits have ended. Other threads
            can wake the reactor once its mailbox listens.
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
                    slow_turns=SlowTurnWatch(
                        now_ms, Erased(unsafe_from_address=64), _no_watch
                    ),
                    has_work_after_turn=False,
                    times=TurnTimes(now_ms * NS_PER_MS, backend.wall_seconds()),
                    buffers=buffers,
                    large_buffers=BufferPool.create(
                        LARGE_BUFFER_OCTETS, config.large_buffers_max
                    ),
                    fibers=FiberQueue.create(config),
                    mailbox=Mailbox.create(),
                    recycler=Recycler.create(),
                    outlets=ThreadOutlets(),
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
        """Frees the reactor, after closing it if needed."""
        self.close()
        self.state[].buffers.destroy()
        self.state[].large_buffers.destroy()
        self.state[].recycler.destroy()
        heap_destroy(self.state)

    def close(self):
        """Ends all fibers and threads. Memory that the reactor lent may still
        be returned.

        Running fibers are cancelled and may unwind. Helper threads end after
        their last job. Work that other threads have posted is still done.
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
        """Cancels running fibers, and turns until they have unwound or ignored
        it for long.

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
            operation: The operation, idle. Its block stays in place until the
                final completion.
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
        """Passes an operation to the backend before the turn has finished.

        With a readiness kernel, the octets of a long send are still in the
        caches, and the peer can start to read. On io_uring it is the same as
        `submit`.

        Args:
            operation: As for `submit`; a later round dispatches its
                completion.
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
        """Cancels an operation; its final completion still arrives.

        Args:
            operation: The operation; the call has no effect on an idle one.
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
        """Closes a descriptor that no operation uses, and resets the
        connection.

        Args:
            descriptor: A connected socket.
        """
        self.state[].functions.reset(self.state[].backend, descriptor)

    def end_sending(self, descriptor: Int32):
        """Ends the stream to the peer (half-close); receiving continues.

        Args:
            descriptor: A connected socket without a send in flight.
        """
        self.state[].functions.end_sending(self.state[].backend, descriptor)

    def peer_address(
        self, descriptor: Int32, mut address: SocketAddressStorage
    ) -> Int:
        """Returns the address of the peer.

        Args:
            descriptor: A connected socket.
            address: Set to the address.

        Returns:
            0, or a negated errno.
        """
        return self.state[].functions.peer_address(
            self.state[].backend, descriptor, address
        )

    def open_socket(self, family: Int) -> Int:
        """Opens a stream socket that is to be connected.

        Args:
            family: `AF_INET` or `AF_INET6`.

        Returns:
            The descriptor, or a negated errno.
        """
        return self.state[].functions.calls.open_socket(
            self.state[].backend, family
        )

    def is_silent(self, descriptor: Int32) -> Bool:
        """Returns whether the peer has sent neither unreceived octets nor an end.

        Args:
            descriptor: A connected socket.

        Returns:
            True if a receive would wait.
        """
        return self.state[].functions.calls.is_silent(
            self.state[].backend, descriptor
        )

    def send_at_once(self, descriptor: Int32, octets: Span[UInt8, _]) -> Int:
        """Sends as many octets as there is room for, without waiting.

        Args:
            descriptor: A connected socket without a send in flight.
            octets: The octets.

        Returns:
            The number of octets taken; EAGAIN without room, or another negated
            errno.
        """
        return self.state[].functions.calls.send_at_once(
            self.state[].backend,
            descriptor,
            Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=octets.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUntrackedOrigin](),
                length=len(octets),
            ),
        )

    def receive_at_once(
        self, descriptor: Int32, into: Span[UInt8, MutUntrackedOrigin]
    ) -> Int:
        """Receives octets that have arrived, without waiting.

        Args:
            descriptor: A connected socket without a receive in flight.
            into: The destination, not empty.

        Returns:
            The number of octets; 0 at the end of the peer's stream; EAGAIN if
            none has arrived, or another negated errno.
        """
        return self.state[].functions.calls.receive_at_once(
            self.state[].backend, descriptor, into
        )

    def accept_now(self, listener: Int32) -> Int:
        """Accepts a connection that is already waiting; never waits for one.

        Args:
            listener: A listening socket that no operation uses.

        Returns:
            The descriptor; EAGAIN if no client is waiting, even if no
            descriptor is left; or another negated errno.
        """
        return self.state[].functions.calls.accept_now(
            self.state[].backend, listener
        )

    def hold_back(self, listener: Int32, held: Bool):
        """Sets whether new connections may enter a listen queue.

        Args:
            listener: A listening socket.
            held: Whether to hold new connections back.
        """
        self.state[].functions.hold_back(self.state[].backend, listener, held)

    def turn_away(
        self,
        listener: Int32,
        mut spare: Int32,
        answer: Span[UInt8, ImmStaticOrigin],
    ) -> Int:
        """Accepts a connection, sends a short answer and closes at once.

        Args:
            listener: A listening socket that no operation uses.
            spare: A reserved descriptor to close and reopen if no other is
                left; -1 for none.
            answer: The answer.

        Returns:
            0 if a client was answered, EAGAIN if none is waiting, or another
            negated errno.
        """
        return self.state[].functions.turn_away(
            self.state[].backend, listener, spare, answer
        )

    def turn(self, wait_ms: Int = -1):
        """Runs one turn of the loop.

        Args:
            wait_ms: The longest wait for an event; -1 waits without limit.
        """
        self.state[].turn_once(self, wait_ms)

    @always_inline
    def note_work_after_turn(self):
        """Ends the present turn without a wait. Before a turn waits, it
        completes operations that the kernel does at once. Fibers that run then
        may leave work that the owner of the loop does when the turn has ended.
        """
        self.state[].has_work_after_turn = True

    def refresh_now_ms(self) -> Int:
        """Reads the clock and returns the time.

        Returns:
            The time in milliseconds, of a clock that never goes back.
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

        Timers fire at whole milliseconds. The timeout counts from the end of
        the current millisecond, so that no wait is shorter than its timeout.

        Args:
            timeout_ms: The timeout.

        Returns:
            The first millisecond at which all of the timeout has passed. It is
            the present one if the timeout is 0 or less, and `NO_DEADLINE` if it
            exceeds the numbers.
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
        """Returns the time at which the present turn started to dispatch.

        Returns:
            The time in milliseconds, of a clock that never goes back.
        """
        return self.state[].now_ms

    @always_inline
    def now_ns(self) -> Int:
        """Returns when the present completions began to be dispatched.

        Returns:
            Nanoseconds of a clock that never goes back.
        """
        return self.state[].times.now_ns

    @always_inline
    def clock_ns(self) -> Int:
        """Returns the present time. The times of the turn stay as they are.

        Returns:
            Nanoseconds of the same clock.
        """
        return self.state[].functions.now_ns(self.state[].backend)

    @always_inline
    def wall_seconds(self) -> Int:
        """Returns the wall clock, as read in the present turn.

        Returns:
            Seconds since 1970-01-01 00:00:00 UTC.
        """
        return self.state[].times.wall_seconds

    @always_inline
    def timers(self) -> TimerWheel:
        """Returns the timer wheel of this reactor.

        Returns:
            The wheel; entries are tagged `TIMER_OF_TASK`.
        """
        return self.state[].timers

    @always_inline
    def buffers(self) -> BufferPool:
        """Returns the pool of buffers for receiving.

        Returns:
            The pool.
        """
        return self.state[].buffers

    @always_inline
    def large_buffers(self) -> BufferPool:
        """Returns the pool of buffers for large reads.

        Returns:
            The pool; its memory is mapped when a buffer is first taken.
        """
        return self.state[].large_buffers

    def backend_kind(self) -> BackendKind:
        """Returns the kind of kernel interface in use.

        Returns:
            The kind, never `AUTOMATIC`.
        """
        return self.state[].backend_kind

    def post(self, function: def(Erased) thin -> None, argument: Erased):
        """Makes the reactor's thread call a function. Callable on any thread.

        Args:
            function: The function; it is called in one of the next turns,
                never on a fiber.
            argument: Its argument.
        """
        self.state[].mailbox.post(function, argument)

    def watch_slow_turns(
        self, function: def(Erased, Int) thin -> None, owner: Erased
    ):
        """Registers a function for turns that take `SLOW_TURN_MS` or longer.

        Args:
            function: Called with `owner` and the duration in milliseconds, on
                the reactor's thread, never on a fiber.
            owner: Its first argument.
        """
        self.state[].slow_turns.function = function
        self.state[].slow_turns.owner = owner


def _no_helpers(helpers: Erased):
    pass


def _no_watch(owner: Erased, busy_ms: Int):
    pass
