"""Passes the spans of a worker to the thread that reports them.

Only the worker fills its ring, and only that thread empties it. So a worker
never waits; if the ring is full, the span is dropped and counted.
"""

from std.atomic import Atomic, Ordering
from std.sys import size_of

from flare.core import Erased, OctetPointer, PointerTo, copy_octets
from flare.runtime.octet_ring import OctetRing, OctetRingState
from flare.runtime.turn_parts import OutletEnd
from flare.sys.thread import Lock

from .span_facts import SpanFacts

comptime RING_OCTETS = 512 * 1024
"""How many octets of one worker's spans may wait: about 2,500 spans."""
comptime FACTS_OCTETS = size_of[SpanFacts]()
"""The length of the facts, before the texts."""
comptime ROUTE_OCTETS_MAX = 256
"""The most octets of a route's pattern that a span keeps."""
comptime _FULL_OCTETS = RING_OCTETS // 4


struct SpanFeedState(Movable):
    """The spans of one worker. Only `SpanFeed` and the exporter use it."""

    var entries: OctetRingState
    """The spans."""
    var dropped: Int64
    """How many spans found no room; only the worker changes it."""
    var is_open: Bool
    """Whether a worker uses it; guarded by the lock."""
    var opening: Int
    """How often it was opened, so that none closes it for the next one."""
    var is_asleep: PointerTo[UInt32]
    """1 while the thread sleeps; atomic."""
    var lock: Lock
    """The thread sleeps on it."""
    var exporter: Erased
    """The state of the exporter."""
    var end: OutletEnd
    """Closes the feed at the end of its worker."""

    def __init__(
        out self, is_asleep: PointerTo[UInt32], lock: Lock, exporter: Erased
    ):
        """Creates an empty ring with all its memory.

        Args:
            is_asleep: 1 while the thread sleeps.
            lock: The thread sleeps on it.
            exporter: The state of the exporter.
        """
        self.entries = OctetRingState(RING_OCTETS)
        self.dropped = 0
        self.is_open = False
        self.opening = 0
        self.is_asleep = is_asleep
        self.lock = lock
        self.exporter = exporter
        self.end = OutletEnd(_nothing, exporter, None)


@fieldwise_init
struct SpanFeed(TrivialRegisterPassable):
    """A handle to the spans of one worker."""

    var state: PointerTo[SpanFeedState]
    """The state, which is never freed."""

    @always_inline
    def entries(self) -> OctetRing:
        """Returns the ring.

        Returns:
            The handle.
        """
        return OctetRing(
            Pointer(to=self.state[].entries).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def put(
        self,
        var facts: SpanFacts,
        path: Span[UInt8, _],
        route: Span[UInt8, _],
        trace_state: Span[UInt8, _],
    ):
        """Adds a span, or counts it as dropped. Call it on the worker's thread.

        Args:
            facts: The facts.
            path: The path of the request target.
            route: The pattern of the route.
            trace_state: The field `tracestate`.
        """
        ref texts = facts.texts
        texts.path = UInt16(len(path))
        texts.route = UInt16(min(len(route), ROUTE_OCTETS_MAX))
        texts.trace_state = UInt16(len(trace_state))
        var ring = self.entries()
        var entry = ring.reserve(FACTS_OCTETS + texts.total())
        if not entry:
            Atomic[Int64].store[ordering=Ordering.RELAXED](
                Pointer(to=self.state[].dropped), self.state[].dropped + 1
            )
            return
        var to = entry.unsafe_value()
        to.unsafe_bitcast[SpanFacts]()[] = facts
        to = _copy(to.unsafe_offset(FACTS_OCTETS), path, texts.path)
        to = _copy(to, route, texts.route)
        _ = _copy(to, trace_state, texts.trace_state)
        ring.publish()
        if ring.seems_fuller_than(_FULL_OCTETS):
            self._wake()

    def dropped(self) -> Int:
        """Returns how many spans found no room. Callable on any thread.

        Returns:
            The number.
        """
        return Int(
            Atomic[Int64].load[ordering=Ordering.RELAXED](
                Pointer(to=self.state[].dropped)
            )
        )

    @no_inline
    def _wake(self):
        # A thread that is about to sleep may be missed: it looks again soon.
        var asleep = self.state[].is_asleep
        if Atomic[UInt32].load[ordering=Ordering.ACQUIRE](asleep) == 1:
            # Until the thread runs, the next spans need not wake it again.
            Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 0)
            self.state[].lock.acquire()
            self.state[].lock.wake_all()
            self.state[].lock.release()


def _nothing(argument: Erased):
    pass


@always_inline
def _copy(
    to: OctetPointer, octets: Span[UInt8, _], count: UInt16
) -> OctetPointer:
    if count > 0:
        copy_octets(to, octets.unsafe_ptr(), Int(count))
    return to.unsafe_offset(Int(count))
