"""Counts what a worker does, for other threads to read."""

from std.atomic import Atomic, Ordering
from std.sys import size_of

from flare.core import PointerTo
from flare.proto.h1 import H1Rule


struct RuleCounts(ImplicitlyCopyable, Writable):
    """Counts for each rule of HTTP/1.1 how often peers broke it."""

    var counts: Array[Int64, H1Rule.COUNT]
    """The count of each rule, in the order of `H1Rule.index`."""

    def __init__(out self):
        """Counts from zero."""
        self.counts = Array[Int64, H1Rule.COUNT](fill=0)

    def __init__(out self, *, copy: Self):
        """Copies all counts.

        Args:
            copy: What to copy.
        """
        self.counts = copy.counts.copy()

    def of(self, rule: H1Rule) -> Int:
        """Returns how often a rule was broken.

        Args:
            rule: The rule.

        Returns:
            The count; 0 for `H1Rule.NONE`.
        """
        if Int(rule.index) >= H1Rule.COUNT:
            return 0
        return Int(self.counts[Int(rule.index)])

    def write_to(self, mut writer: Some[Writer]):
        """Writes a line for each rule that was broken: count and phrase.

        Args:
            writer: The destination.
        """
        for i in range(H1Rule.COUNT):
            if self.counts[i] > 0:
                writer.write(self.counts[i], " ", H1Rule(UInt8(i)).phrase())
                writer.write("\n")


@fieldwise_init
struct WorkerStatistics(ImplicitlyCopyable):
    """Counts what one worker has done and holds.

    Only the worker writes; others read through `snapshot`.
    """

    var connections_accepted: Int64
    """Connections since the start."""
    var connections: Int64
    """Connections open now."""
    var requests: Int64
    """Requests whose head was complete, since the start."""
    var requests_in_flight: Int64
    """Requests that are being answered now, without those whose stream has
    begun."""
    var streams: Int64
    """Streamed responses and upgraded connections that are open now."""
    var handler_errors: Int64
    """Handlers that raised, since the start."""
    var refused: Int64
    """Requests that broke the protocol or a limit, of the request or of the
    worker, handshakes of TLS that failed, and connections that were turned
    away unread, since the start."""
    var connections_shed: Int64
    """Connections that were ended because they held much and were slow, while
    the worker had buffered all that it may or others waited for room, since the
    start."""
    var fibers: Int64
    """Fibers that run something now."""
    var receive_buffers: Int64
    """Receive buffers in use now; those that the kernel may pick from are not."""
    var buffered_octets: Int64
    """What connections hold of `max_buffered_octets` now."""
    var timers: Int64
    """Timers armed now."""
    var access_records_dropped: Int64
    """Records of requests that found the access log full, since the start."""
    var slow_turns: Int64
    """Turns of the loop that took 100 ms or longer, since the start: what runs
    without waiting keeps all other requests of the worker waiting."""
    var handlers_lost: Int64
    """Handlers that ignored being cancelled, since the start: each keeps its
    stack and what it was handed until the worker ends."""
    var handshakes: Int64
    """Handshakes of TLS that were completed, since the start."""
    var handshakes_resumed: Int64
    """Those of them that went on with an earlier session."""
    var log_lines_dropped: Int64
    """Lines of the log that came faster than 100 in a second, if a peer can
    cause them, or than the sink writes them, since the start."""
    var broken_rules: RuleCounts
    """How often peers broke which rule of HTTP/1.1, since the start."""

    def __init__(out self):
        """Counts from zero."""
        self = Self(
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, RuleCounts()
        )

    @staticmethod
    @always_inline
    def set(counter: Pointer[mut=True, Int64, _], value: Int):
        """Writes a counter so that another thread may read it.

        Args:
            counter: The counter.
            value: Its new value.
        """
        Atomic[Int64].store[ordering=Ordering.RELAXED](counter, Int64(value))

    @staticmethod
    @always_inline
    def add(counter: Pointer[mut=True, Int64, _], change: Int):
        """Changes a counter that only the calling thread writes.

        Args:
            counter: The counter.
            change: What to add.
        """
        Atomic[Int64].store[ordering=Ordering.RELAXED](
            counter,
            Atomic[Int64].load[ordering=Ordering.RELAXED](counter)
            + Int64(change),
        )

    @staticmethod
    def count_rule(counters: PointerTo[Self], rule: H1Rule):
        """Notes that a peer broke a rule.

        Args:
            counters: The worker's counters; called on its thread.
            rule: The rule; nothing is counted for `H1Rule.NONE`.
        """
        var index = Int(rule.index)
        if index < H1Rule.COUNT:
            Self.add(Pointer(to=counters[].broken_rules.counts[index]), 1)

    @staticmethod
    def forget_present(counters: PointerTo[Self]):
        """Notes that a worker is gone, and with it all that it held.

        Args:
            counters: The worker's counters; nobody else writes them any more.
        """
        Self.set(Pointer(to=counters[].connections), 0)
        Self.set(Pointer(to=counters[].requests_in_flight), 0)
        Self.set(Pointer(to=counters[].streams), 0)
        Self.set(Pointer(to=counters[].fibers), 0)
        Self.set(Pointer(to=counters[].receive_buffers), 0)
        Self.set(Pointer(to=counters[].buffered_octets), 0)
        Self.set(Pointer(to=counters[].timers), 0)

    @staticmethod
    def snapshot(source: PointerTo[Self]) -> Self:
        """Reads all counters; from any thread.

        Args:
            source: The counters of a worker.

        Returns:
            Each as it was at some moment during the call.
        """
        var copy = Self()
        var from_counter = source.unsafe_bitcast[Int64]()
        var to_counter = Pointer(to=copy).unsafe_bitcast[Int64]()
        for i in range(size_of[Self]() // size_of[Int64]()):
            to_counter[unsafe_offset=i] = Atomic[Int64].load[
                ordering=Ordering.RELAXED
            ](from_counter.unsafe_offset(i))
        return copy
