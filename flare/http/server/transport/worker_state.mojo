"""Holds the state of one worker of a server."""

from flare.core import Buffer, Erased, PointerTo, Slab, heap_destroy
from flare.http.exchange import (
    CarrierFunctions,
    Exchange,
    ExchangeState,
)
from flare.message import write_http_date
from flare.runtime.fiber import FiberFunction
from flare.runtime.reactor import LARGE_BUFFER_OCTETS, Reactor
from flare.runtime.timer_task import TimerTask

from ..config import ServerConfig
from ..records.statistics import WorkerStatistics
from .connection_state import ConnectionState
from .octet_budget import OctetBudget
from .worker_parts import (
    Accepting,
    DateField,
    ExchangePool,
    ListenerState,
    OUTPUT_OCTETS,
    OutputPools,
    ReportRate,
    RequestRecords,
    Trimming,
    TurnEnd,
)

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


# Each head of HTTP/2 needs some.
comptime _SPARE_HEAD_OCTETS_MAX = 2048


@fieldwise_init
struct ExchangeFunctions(TrivialRegisterPassable):
    """The functions that an exchange and its fiber call."""

    var carrier: CarrierFunctions
    """The carrier functions of exchanges."""
    var finished: FiberFunction
    """Called when the handler has returned."""
    var lost: FiberFunction
    """Called when a cancelled handler keeps waiting for too long."""
    var content_due: def(Erased) thin -> None
    """Called with an exchange when its timer fires."""


struct WorkerState(Movable):
    """The state of one worker. Only `Worker` and its connections touch it."""

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
    var exchanges: ExchangePool
    """The blocks of requests."""
    var outputs: OutputPools
    """Output buffers."""
    var budget: OctetBudget
    """The memory budget of the connections."""
    var turn_end: TurnEnd
    """The connections that it continues after each turn."""
    var in_flight: Int
    """Requests that are being answered, without those whose stream has
    begun."""
    var streams: Int
    """Streamed responses and upgraded connections that are open."""
    var next_request_id: Int
    """The number of the next request."""
    var date: DateField
    """The value of Date."""
    var stopping: Bool
    """Whether the worker finishes its requests and ends."""
    var stop_deadline_ms: Int
    """When the worker resets the remaining connections."""
    var accepting: Accepting
    """How it accepts connections."""
    var trimming: Trimming
    """When it gives memory back."""
    var reports: ReportRate
    """How often it reports."""
    var statistics: PointerTo[WorkerStatistics]
    """Counters that other threads may read."""
    var records: RequestRecords
    """The destinations of answered requests."""

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
        """Creates a worker that has not begun, from its parts.

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
        self.exchanges = ExchangePool(config.log.write)
        self.outputs = OutputPools()
        self.budget = OctetBudget(config.max_buffered_octets)
        self.turn_end = TurnEnd()
        self.in_flight = 0
        self.streams = 0
        self.next_request_id = 1
        self.date = DateField()
        self.stopping = False
        self.stop_deadline_ms = 0
        var any = reactor.state.unsafe_bitcast[NoneType]()
        self.accepting = Accepting(any)
        self.trimming = Trimming()
        self.reports = ReportRate()
        self.statistics = statistics
        self.records = RequestRecords()

    def take_exchange(mut self, connection: Erased) -> Exchange:
        """Lends a block for a request.

        Args:
            connection: The connection of the request.

        Returns:
            The block, ready for a new head.
        """
        var exchange: Exchange
        self.exchanges.lent += 1
        if len(self.exchanges.spare) > 0:
            exchange = self.exchanges.spare.pop()
        else:
            exchange = self._make_exchange()
        exchange[].begin()
        exchange[].carrier = connection
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
        if exchange[].gathered.capacity() > _SPARE_HEAD_OCTETS_MAX:
            exchange[].gathered = Buffer()
            self.trimming.has_freed = True
        else:
            exchange[].gathered.clear()
        if exchange[].content.trailers.capacity() > 0:
            exchange[].content.trailers = Buffer()
            self.trimming.has_freed = True
        if exchange[].head.has_mended_target:
            exchange[].head.forget_mended()

    @no_inline
    def _free_content(mut self, exchange: Exchange):
        exchange[].content.octets = Buffer()
        self.trimming.has_freed = True

    def give_exchange(mut self, exchange: Exchange):
        """Returns a block to the list of unused ones.

        Args:
            exchange: The result of `take_exchange`.
        """
        self.exchanges.lent -= 1
        self.end_exchange(exchange)
        exchange[].carrier = None
        self.exchanges.spare.append(exchange)

    def lose_exchange(mut self, exchange: Exchange):
        """Keeps the block of a lost fiber, whose stack refers to it.

        Args:
            exchange: The result of `take_exchange`.
        """
        exchange[].end()
        self._cancel_timer(exchange)
        exchange[].carrier = None
        if not (exchange[].content.is_whole and exchange[].content.is_complete):
            exchange[].content.octets = Buffer()
        self.exchanges.lost.append(exchange)

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
        self.outputs.lent += 1
        var buffer = self.outputs.usual.take_growing()
        if buffer.capacity() == 0:
            return Buffer(capacity=OUTPUT_OCTETS)
        return buffer^

    @always_inline
    def make_room(mut self, mut buffer: Buffer, count: Int):
        """Moves a long output to a large buffer. Growing in steps would
        fragment the allocator's memory.

        Args:
            buffer: The buffer.
            count: The number of octets to append.
        """
        var needed = len(buffer) + count
        if needed > max(buffer.capacity(), _SHORT_OCTETS):
            self._lengthen(buffer, needed, _BURST_OCTETS)

    @always_inline
    def make_content_room(mut self, x: Exchange, count: Int):
        """Moves the content of a request to larger memory: a few times its
        present length, up to the content limit.

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
                    min(
                        _CONTENT_GROWTH * needed,
                        x[].content.octets_bound(x[].head.content_length),
                    ),
                ),
            )

    @no_inline
    def _lengthen(mut self, mut buffer: Buffer, needed: Int, capacity: Int):
        if needed > capacity:
            return
        var longer: Buffer
        if needed <= OUTPUT_OCTETS:
            longer = self.outputs.usual.take_growing()
        elif needed <= LARGE_BUFFER_OCTETS:
            longer = self.reactor.large_buffers().take_growing()
            if longer.capacity() == 0:
                longer = self.outputs.large.take_growing()
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
            buffer: The buffer; if it has grown, it is freed, otherwise it
                returns to the pool.
        """
        self.outputs.lent -= 1
        if buffer.capacity() > LARGE_BUFFER_OCTETS:
            self.trimming.has_freed = True
        _ = buffer^

    @always_inline
    def refresh_date(mut self):
        """Updates `date` to the second of the present turn."""
        var seconds = self.reactor.wall_seconds()
        if seconds != self.date.second:
            self.date.second = seconds
            write_http_date(seconds, Span(self.date.octets))

    def free_lost(mut self):
        """Frees the memory of lost fibers, after their stacks were unmapped."""
        while len(self.exchanges.lost) > 0:
            _ = self.exchanges.slab.give(self.exchanges.lost.pop()[].host.slot)

    def free_spares(mut self):
        """Frees all unused blocks."""
        while len(self.exchanges.spare) > 0:
            _ = self.exchanges.slab.give(self.exchanges.spare.pop()[].host.slot)
        while len(self.listeners) > 0:
            heap_destroy(self.listeners.pop())

    @no_inline
    def _make_exchange(mut self) -> Exchange:
        var slot = self.exchanges.slab.take(ExchangeState()).value()
        var exchange = self.exchanges.slab.find(slot).value()
        ref host = exchange[].host
        host.slot = slot
        host.worker = self.index
        host.stopping_place = Int(Pointer(to=self.stopping))
        host.jobs_place = Int(Pointer(to=self.exchanges.later))
        host.handler = self.handler
        host.functions = Pointer(to=self.functions.carrier).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
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

        The blocks themselves stay, because a fiber that outlived its request
        reads the request number there, and finds 0.

        Args:
            kept: The number of blocks that keep their memory.

        Returns:
            True if another call would free more.
        """
        var stays = max(kept, len(self.exchanges.spare) // 2)
        while len(self.exchanges.spare) > stays:
            _ = self.exchanges.slab.give(self.exchanges.spare.pop()[].host.slot)
        return len(self.exchanges.spare) > kept


@no_inline
def turn_again(w: PointerTo[WorkerState]):
    """Makes the next turn of a worker begin without a wait.

    Args:
        w: The worker.
    """
    w[].reactor.post(_nothing, w.unsafe_bitcast[NoneType]())


@always_inline
def worker_of(c: PointerTo[ConnectionState]) -> PointerTo[WorkerState]:
    """Returns the worker of a connection.

    Args:
        c: The connection.

    Returns:
        The worker's state.
    """
    return c[].worker.unsafe_bitcast[WorkerState]()


def _nothing(owner: Erased):
    pass
