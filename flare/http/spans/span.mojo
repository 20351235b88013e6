"""Holds the span of a request until its response is sent."""

from flare.core import (
    BlockKind,
    Erased,
    PointerTo,
    copy_octets,
    heap_create,
    heap_destroy,
)
from flare.http.exchange import Exchange
from flare.runtime.current import current_fiber, current_reactor
from flare.runtime.fiber import Fiber
from flare.runtime.fiber_local import FiberLocal, FiberLocalState
from flare.sys.clock import monotonic_ns
from flare.sys.thread_cell import thread_recycler

from .span_facts import SpanFacts
from .span_feed import SpanFeed

comptime PATH_OCTETS_MAX = 256
"""The most octets of a path that a span keeps: nearly all paths are shorter."""


struct SpanState(Movable):
    """The block of a span. Only `RequestSpan` uses it."""

    var local: FiberLocalState
    """Counts who holds the block; its first field."""
    var facts: SpanFacts
    """The facts so far."""
    var exchange: Exchange
    """The request."""
    var feed: Optional[SpanFeed]
    """Where the span is reported; `None` if it is not."""
    var path: Array[UInt8, PATH_OCTETS_MAX]
    """The path of the request target."""
    var trace_state: String
    """The field `tracestate`, for the requests that the handler sends."""

    def __init__(out self, facts: SpanFacts, exchange: Exchange):
        """Creates the block of a span that has no texts.

        Args:
            facts: The facts of the span.
            exchange: The request.
        """
        self.local = FiberLocalState(_free)
        self.facts = facts
        self.exchange = exchange
        self.feed = None
        self.path = Array[UInt8, PATH_OCTETS_MAX](uninitialized=True)
        self.trace_state = String()


@fieldwise_init
struct RequestSpan(TrivialRegisterPassable):
    """A handle to the span of a request."""

    var state: PointerTo[SpanState]
    """The block, which fibers and the request hold."""

    @staticmethod
    def begin(facts: SpanFacts, exchange: Exchange) -> Self:
        """Takes a block for a span.

        Args:
            facts: The facts of the span.
            exchange: The request.

        Returns:
            The handle, which the caller holds.
        """
        var recycler = thread_recycler()
        if recycler:
            var block = recycler.value().take(BlockKind.SPAN)
            if block:
                var state = block.value().unsafe_bitcast[SpanState]()
                state[].local.holders = 1
                state[].facts = facts
                state[].exchange = exchange
                state[].feed = None
                return Self(state)
        return Self(heap_create(SpanState(facts, exchange)))

    @staticmethod
    def current() -> Optional[Self]:
        """Returns the span of the request for which the caller works.

        Returns:
            The span; `None` without one. It may be over: then the caller is a
            fiber that outlived its request.
        """
        var fiber = _present_fiber()
        if not fiber or not fiber.value().state[].kin.local:
            return None
        var local = fiber.value().state[].kin.local.value()
        return Self(local.state.unsafe_bitcast[SpanState]())

    def make_current(self):
        """Makes the calling fiber hold the block, so that `current` finds it
        there.
        """
        # Outside of a server, the thread itself answers requests.
        var fiber = current_fiber()
        if fiber:
            fiber.value().leave_local()
            fiber.value().state[].kin.local = self.local().hold()

    @always_inline
    def local(self) -> FiberLocal:
        """Returns the block as fibers hold it.

        Returns:
            The handle.
        """
        return FiberLocal(
            Pointer(to=self.state[].local).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    @always_inline
    def set_path(self, path: Span[UInt8, _]):
        """Copies the path of the request target, cut off at 256 octets.

        Args:
            path: The path.
        """
        var count = min(len(path), PATH_OCTETS_MAX)
        copy_octets(self.state[].path.unsafe_ptr(), path.unsafe_ptr(), count)
        self.state[].facts.texts.path = UInt16(count)

    def end(self):
        """Reports the span, if it is to be reported, and lets go of the block.
        Call it on the worker's thread when the response was sent.
        """
        ref s = self.state[]
        if s.feed:
            s.facts.ended_ns = now_ns()
            s.feed.unsafe_value().put(
                s.facts,
                Span(s.path)[: Int(s.facts.texts.path)],
                s.exchange[].route.as_bytes(),
                s.trace_state.as_bytes(),
            )
        # The main context of a thread does not end with the request.
        var fiber = _present_fiber()
        if fiber and fiber.value().state[].kin.local:
            if (
                fiber.value().state[].kin.local.value().state
                == self.local().state
            ):
                fiber.value().leave_local()
        self.local().release()


struct OpenSpan(Movable):
    """Ends the span of a request when the values of the request are destroyed:
    after its response was sent.
    """

    var span: RequestSpan
    """The span."""

    def __init__(out self, span: RequestSpan):
        """Creates a value that ends a span.

        Args:
            span: The span.
        """
        self.span = span

    def __init__(out self, *, deinit move: Self):
        """Moves the value.

        Args:
            move: The value to move.
        """
        self.span = move.span

    def __deinit__(deinit self):
        """Ends the span."""
        self.span.end()


def _present_fiber() -> Optional[Fiber]:
    # Without a loop there is none, and none is made.
    var reactor = current_reactor()
    return reactor.value().state[].fibers.current() if reactor else None


def now_ns() -> Int:
    """Returns the time by the clock of the calling thread's loop, as
    `started_ns` of a request.

    Returns:
        Nanoseconds.
    """
    var reactor = current_reactor()
    return reactor.value().clock_ns() if reactor else monotonic_ns()


def _free(block: Erased):
    var state = block.unsafe_bitcast[SpanState]()
    if state[].trace_state.byte_length() > 0:
        state[].trace_state = String()
    var recycler = thread_recycler()
    if recycler and recycler.value().give(BlockKind.SPAN, block, _destroy):
        return
    _destroy(block)


def _destroy(block: Erased):
    heap_destroy(block.unsafe_bitcast[SpanState]())
