"""Holds what one worker of a server consists of."""

from flare.core import Buffer, Erased, PointerTo, Slab, SlotHandle, heap_destroy
from flare.http.exchange import (
    Carrier,
    CarrierFunctions,
    Exchange,
    ExchangeState,
)
from flare.message import HTTP_DATE_OCTETS, write_http_date
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.fiber import FiberFunction
from flare.runtime.operation import OperationKind, OperationState
from flare.runtime.reactor import LARGE_BUFFER_OCTETS, Reactor
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry
from flare.tls import TlsContext

from ..config import ServerConfig
from ..records.access_queue import AccessRing
from ..records.statistics import WorkerStatistics
from .connection_state import ConnectionState
from .octet_budget import OctetBudget

comptime OUTPUT_OCTETS = 16384
"""The size that output buffers begin with."""
comptime SLOW_TURN_LOG_MS = 1000
"""The shortest time between two lines about slow turns."""
comptime HANDSHAKE_STEPS_MAX = 16
"""Steps of TLS handshakes in one turn of the loop. Each may take a third of a
millisecond, in which no other request is served.
"""
comptime _OUTPUTS_MAX = 16_384
comptime _LARGE_OUTPUTS_MAX = 4096
# Shorter buffers stay in place when they grow.
comptime _SHORT_OCTETS = 4096
# The unread octets when receiving pauses, and those that the kernel may have
# received before it learns of the pause: rarely more than 300 KiB.
comptime _BURST_OCTETS = LARGE_BUFFER_OCTETS + 512 * 1024
# Announced content does not take its memory at once: a peer may announce what
# it never sends.
comptime _CONTENT_GROWTH = 4
# In mixed traffic, every exchange gets a long content some day; if each kept
# its memory, it would add up.
comptime SPARE_CONTENT_OCTETS_MAX = 16 * 1024
"""The most content memory that an unused exchange keeps."""


@fieldwise_init
struct ExchangeFunctions(TrivialRegisterPassable):
    """The functions that an exchange and its fiber call."""

    var carrier: CarrierFunctions
    """The carrier functions of exchanges."""
    var finished: FiberFunction
    """Called when the handler has returned."""
    var lost: FiberFunction
    """Called when a cancelled handler continues to wait for too long."""
    var content_due: def(Erased) thin -> None
    """Called with an exchange when its timer fires."""


struct ListenerState(Movable):
    """A worker's interest in one listening socket."""

    var accept: OperationState
    """The multishot accept."""
    var worker: Erased
    """The worker."""
    var is_shared: Bool
    """Whether other workers accept from the socket too."""
    var is_lent: Bool
    """Whether another process keeps the socket open: new clients are then not
    held back, and waiting ones are left to that process.
    """
    var is_drained: Bool
    """Whether no client was waiting when the stopping worker last looked."""
    var tls: Optional[TlsContext]
    """The TLS context of its connections, if they are encrypted."""

    def __init__(
        out self,
        descriptor: Int32,
        worker: Erased,
        is_shared: Bool,
        var tls: Optional[TlsContext] = None,
    ):
        """Describes a socket before the first accept.

        Args:
            descriptor: The listening socket.
            worker: The worker.
            is_shared: Whether other workers accept from it too.
            tls: The TLS context of its connections, if they are encrypted.
        """
        self.accept = OperationState(OperationKind.ACCEPT)
        self.accept.descriptor = descriptor
        self.accept.multishot = True
        # A worker that was informed of a connection then comes after the other
        # workers.
        self.accept.transient = is_shared
        self.worker = worker
        self.is_shared = is_shared
        self.is_lent = False
        self.is_drained = False
        self.tls = tls^


@fieldwise_init
struct Accepted(Copyable, Movable):
    """An accepted socket for which there is no slot yet."""

    var descriptor: Int32
    """The socket."""
    var listener: PointerTo[ListenerState]
    """The listener that accepted it."""


struct WorkerState(Movable):
    """The state of one worker. Only `Worker` and its connections use it."""

    var reactor: Reactor
    """The worker's loop."""
    var config: ServerConfig
    """The limits."""
    var index: Int
    """The worker's number, from 0."""
    var listeners: List[PointerTo[ListenerState]]
    """The listening sockets, which others open and close."""
    var connections: Slab[ConnectionState]
    """The connections."""
    var run: FiberFunction
    """Runs the handler of an exchange on a fiber."""
    var handler: Erased
    """The worker's own handler; `run` knows its type."""
    var functions: ExchangeFunctions
    """The functions that exchanges call back."""
    var exchanges: Slab[ExchangeState]
    """The blocks of requests."""
    var spare_exchanges: List[Exchange]
    """The unused exchanges."""
    var lost_exchanges: List[Exchange]
    """Exchanges to which the stacks of lost fibers refer."""
    var outputs: BufferPool
    """The output buffers; other growing buffers start in them, too."""
    var large_outputs: BufferPool
    """Buffers of 64 KiB for what has grown, where those for large reads are in
    use."""
    var lent_exchanges: Int
    """The exchanges in use, including those that never return."""
    var lent_outputs: Int
    """Output buffers in use."""
    var budget: OctetBudget
    """The memory budget of the connections."""
    var starved: List[SlotHandle]
    """Connections that found no free receive buffer."""
    var handshakes: List[SlotHandle]
    """Connections whose handshakes continue in the next turns, in this order.
    """
    var handshake_steps_left: Int
    """How many steps of handshakes may still be taken in this turn."""
    var in_flight: Int
    """Requests that are being answered, without those whose stream has
    begun."""
    var streams: Int
    """Streamed responses and upgraded connections that are open."""
    var next_request_id: Int
    """The number of the next request."""
    var date: List[UInt8]
    """The 29 octets of Date, as of `date_seconds`."""
    var date_seconds: Int
    """The second that `date` says."""
    var stopping: Bool
    """Whether the worker finishes its requests and ends."""
    var stop_deadline_ms: Int
    """When what is in flight is cut off."""
    var waiting: List[Accepted]
    """Accepted sockets for which there is no slot yet."""
    var slot_freed: def(Erased) thin -> None
    """Called with the worker when a connection has ended."""
    var accept_paused: Bool
    """Whether accepting is paused."""
    var accept_timer: TimerEntry
    """Armed while waiting clients cannot be accepted."""
    var accept_task: TimerTask
    """The function that the timer calls."""
    var accepting_ended: Bool
    """Whether accepting has ended, even for waiting clients."""
    var stuck_since_ms: Int
    """The time since which no waiting client could be accepted, or -1."""
    var ask_for_room: def(Erased, Erased) thin -> None
    """Called with `peers` and the worker when connections of other workers hold
    what this one needs to accept."""
    var peers: Erased
    """The other workers."""
    var spare_descriptor: Int32
    """Used to answer a client when no other descriptor is left, or -1."""
    var trim_timer: TimerEntry
    """Armed while memory may be returned."""
    var trim_task: TimerTask
    """The function that the timer calls."""
    var trimmed_request_id: Int
    """The number of the next request when memory was last given back."""
    var has_freed: Bool
    """Whether connections have ended, or long buffers were freed, since."""
    var slow_turn_logged_ms: Int
    """When a slow turn was logged last."""
    var report_second: Int
    """The second in which connections were reported last."""
    var reports: Int
    """How many were in that second."""
    var statistics: PointerTo[WorkerStatistics]
    """Counters that other threads may read."""
    var access_ring: Optional[AccessRing]
    """The destination of request records, if any."""

    def __init__(
        out self,
        reactor: Reactor,
        config: ServerConfig,
        index: Int,
        statistics: PointerTo[WorkerStatistics],
        run: FiberFunction,
        handler: Erased,
        functions: ExchangeFunctions,
    ):
        """Joins the parts of a worker that has not begun.

        Args:
            reactor: Its loop.
            config: The limits.
            index: Its number.
            statistics: Its counters.
            run: Runs the handler of an exchange.
            handler: The handler.
            functions: The functions that exchanges call back.
        """
        self.reactor = reactor
        self.config = config.copy()
        self.index = index
        self.listeners = List[PointerTo[ListenerState]]()
        self.connections = Slab[ConnectionState].create(config.max_connections)
        self.run = run
        self.handler = handler
        self.functions = functions
        self.exchanges = Slab[ExchangeState].create(Int.MAX)
        self.spare_exchanges = List[Exchange]()
        self.lost_exchanges = List[Exchange]()
        self.outputs = BufferPool.create(OUTPUT_OCTETS, _OUTPUTS_MAX)
        self.large_outputs = BufferPool.create(
            LARGE_BUFFER_OCTETS, _LARGE_OUTPUTS_MAX
        )
        self.lent_exchanges = 0
        self.lent_outputs = 0
        self.budget = OctetBudget(config.max_buffered_octets, handler)
        self.starved = List[SlotHandle]()
        self.handshakes = List[SlotHandle]()
        self.handshake_steps_left = HANDSHAKE_STEPS_MAX
        self.in_flight = 0
        self.streams = 0
        self.next_request_id = 1
        self.date = List[UInt8](length=HTTP_DATE_OCTETS, fill=0)
        self.date_seconds = -1
        self.stopping = False
        self.stop_deadline_ms = 0
        self.waiting = List[Accepted]()
        self.slot_freed = _nothing
        self.accept_paused = False
        self.accept_timer = TimerEntry(None, TIMER_OF_TASK)
        self.accept_task = TimerTask(
            reactor.state.unsafe_bitcast[NoneType](), _nothing
        )
        self.accepting_ended = False
        self.stuck_since_ms = -1
        self.ask_for_room = _ask_nobody
        self.peers = handler
        self.spare_descriptor = -1
        self.trim_timer = TimerEntry(None, TIMER_OF_TASK)
        self.trim_task = TimerTask(
            reactor.state.unsafe_bitcast[NoneType](), _nothing
        )
        self.trimmed_request_id = 1
        self.has_freed = False
        self.slow_turn_logged_ms = -SLOW_TURN_LOG_MS
        self.report_second = -1
        self.reports = 0
        self.statistics = statistics
        self.access_ring = None

    def take_exchange(mut self, connection: Erased) -> Exchange:
        """Lends a block for a request.

        Args:
            connection: The connection that it will come on.

        Returns:
            The block, ready for a new head.
        """
        var exchange: Exchange
        self.lent_exchanges += 1
        if len(self.spare_exchanges) > 0:
            exchange = self.spare_exchanges.pop()
        else:
            exchange = self._make_exchange()
        exchange[].begin()
        exchange[].carrier = Carrier(
            connection,
            Pointer(to=self.functions.carrier).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )
        return exchange

    @always_inline
    def end_exchange(mut self, exchange: Exchange):
        """Ends the request in a block, and frees memory that is rarely needed.

        Args:
            exchange: The result of `take_exchange`.
        """
        exchange[].end()
        self._cancel_timer(exchange)
        if exchange[].content.octets.capacity() > SPARE_CONTENT_OCTETS_MAX:
            self._free_content(exchange)
        if exchange[].gathered.capacity() > 0:
            exchange[].gathered = Buffer()
            self.has_freed = True
        if exchange[].content.trailers.capacity() > 0:
            exchange[].content.trailers = Buffer()
            self.has_freed = True
        if exchange[].head.has_mended_target:
            exchange[].head.forget_mended()

    @no_inline
    def _free_content(mut self, exchange: Exchange):
        exchange[].content.octets = Buffer()
        self.has_freed = True

    def give_exchange(mut self, exchange: Exchange):
        """Returns a block to the list of unused ones.

        Args:
            exchange: The result of `take_exchange`.
        """
        self.lent_exchanges -= 1
        self.end_exchange(exchange)
        exchange[].carrier = None
        self.spare_exchanges.append(exchange)

    def lose_exchange(mut self, exchange: Exchange):
        """Keeps a block to which the stack of a lost fiber refers.

        Args:
            exchange: The result of `take_exchange`.
        """
        exchange[].end()
        self._cancel_timer(exchange)
        exchange[].carrier = None
        if not (exchange[].content.is_whole and exchange[].content.is_complete):
            exchange[].content.octets = Buffer()
        self.lost_exchanges.append(exchange)

    @always_inline
    def _cancel_timer(mut self, exchange: Exchange):
        if exchange[].content_wait.timer.is_armed():
            self.reactor.timers().cancel(
                Pointer(to=exchange[].content_wait.timer).unsafe_origin_cast[
                    MutUntrackedOrigin
                ]()
            )

    @always_inline
    def take_output(mut self) -> Buffer:
        """Lends an output buffer.

        Returns:
            An empty buffer with memory.
        """
        self.lent_outputs += 1
        var buffer = self.outputs.take_growing()
        if buffer.capacity() == 0:
            return Buffer(capacity=OUTPUT_OCTETS)
        return buffer^

    @always_inline
    def make_room(mut self, mut buffer: Buffer, count: Int):
        """Moves a buffer that becomes long to one of the large ones, if there
        is one, or to one for a burst. Growing step by step would leave pieces
        in the allocator.

        Args:
            buffer: The buffer.
            count: The number of octets to append.
        """
        var needed = len(buffer) + count
        if needed > max(buffer.capacity(), _SHORT_OCTETS):
            self._lengthen(buffer, needed, _BURST_OCTETS)

    @always_inline
    def make_content_room(mut self, x: Exchange, count: Int):
        """Moves the content of a request to longer memory. Its length is
        bounded: it gets a few times as much memory as the octets so far, but
        not more than the content may have.

        Args:
            x: The request.
            count: The number of octets to append.
        """
        var needed = len(x[].content.octets) + count
        if needed > max(x[].content.octets.capacity(), _SHORT_OCTETS):
            self._lengthen(
                x[].content.octets,
                needed,
                max(
                    needed,
                    min(_CONTENT_GROWTH * needed, x[].content_octets_bound()),
                ),
            )

    @no_inline
    def _lengthen(mut self, mut buffer: Buffer, needed: Int, capacity: Int):
        if needed > capacity:
            return
        var longer: Buffer
        if needed <= OUTPUT_OCTETS:
            longer = self.outputs.take_growing()
        elif needed <= LARGE_BUFFER_OCTETS:
            longer = self.reactor.large_buffers().take_growing()
            if longer.capacity() == 0:
                longer = self.large_outputs.take_growing()
        else:
            longer = Buffer(capacity=capacity)
        if longer.capacity() == 0:
            return
        longer.append(buffer.span())
        swap(longer, buffer)

    @always_inline
    def give_output(mut self, var buffer: Buffer):
        """Takes an output buffer back.

        Args:
            buffer: The buffer; one that has grown is freed, the others go back
                to the pool.
        """
        self.lent_outputs -= 1
        if buffer.capacity() > LARGE_BUFFER_OCTETS:
            self.has_freed = True
        _ = buffer^

    @always_inline
    def refresh_date(mut self):
        """Makes `date` say the second of the present turn."""
        var seconds = self.reactor.wall_seconds()
        if seconds != self.date_seconds:
            self.date_seconds = seconds
            write_http_date(seconds, Span(self.date))

    def free_lost(mut self):
        """Frees what lost fibers used; their stacks are gone."""
        while len(self.lost_exchanges) > 0:
            _ = self.exchanges.give(self.lost_exchanges.pop()[].slot)

    def free_spares(mut self):
        """Frees all unused blocks."""
        while len(self.spare_exchanges) > 0:
            _ = self.exchanges.give(self.spare_exchanges.pop()[].slot)
        while len(self.listeners) > 0:
            heap_destroy(self.listeners.pop())

    @no_inline
    def _make_exchange(mut self) -> Exchange:
        var slot = self.exchanges.take(ExchangeState()).value()
        var exchange = self.exchanges.find(slot).value()
        exchange[].slot = slot
        exchange[].worker = self.index
        exchange[].handler = self.handler
        exchange[].content_wait.task = TimerTask(
            exchange.unsafe_bitcast[NoneType](), self.functions.content_due
        )
        exchange[].content_wait.timer.owner = (
            Pointer(to=exchange[].content_wait.task)
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        return exchange

    def trim_exchanges(mut self, kept: Int) -> Bool:
        """Frees the memory of half of the unused request blocks.

        The blocks themselves stay: a fiber that outlived its request checks
        there whether it is over, and finds the number 0.

        Args:
            kept: How many keep their memory.

        Returns:
            True if another call would free more.
        """
        var stays = max(kept, len(self.spare_exchanges) // 2)
        while len(self.spare_exchanges) > stays:
            _ = self.exchanges.give(self.spare_exchanges.pop()[].slot)
        return len(self.spare_exchanges) > kept


def _nothing(owner: Erased):
    pass


def _ask_nobody(peers: Erased, worker: Erased):
    pass


@always_inline
def worker_of(c: PointerTo[ConnectionState]) -> PointerTo[WorkerState]:
    """Returns the worker of a connection.

    Args:
        c: The connection.

    Returns:
        The worker's state.
    """
    return c[].worker.unsafe_bitcast[WorkerState]()
