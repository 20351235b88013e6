"""Counts the activity of a worker, readable by other threads."""

from std.atomic import Atomic, Ordering
from std.sys import size_of

from flare.core import PointerTo
from flare.proto.h1 import H1Rule


struct RuleCounts(ImplicitlyCopyable, Writable):
    """How often peers broke each rule of HTTP/1.1."""

    var counts: Array[Int64, H1Rule.COUNT]
    """The count of each rule, in the order of `H1Rule.index`."""

    def __init__(out self):
        """Creates counters at zero."""
        self.counts = Array[Int64, H1Rule.COUNT](fill=0)

    def __init__(out self, *, copy: Self):
        """Copies all counts.

        Args:
            copy: The counts to copy.
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


@always_inline
def count(mut counter: Int64, change: Int = 1):
    """Changes a counter that only the calling thread changes, and others read.

    Args:
        counter: The counter.
        change: The number to add.
    """
    set_counter(counter, Int(counter) + change)


@always_inline
def add_counter(mut sum: Int64, mut counter: Int64):
    """Adds a counter that another thread may be changing.

    Args:
        sum: The number to add to.
        counter: The counter.
    """
    sum += Atomic[Int64].load[ordering=Ordering.RELAXED](Pointer(to=counter))


@always_inline
def set_counter(mut counter: Int64, value: Int):
    """Sets a counter, so that another thread may read it.

    Args:
        counter: The counter.
        value: Its new value.
    """
    Atomic[Int64].store[ordering=Ordering.RELAXED](
        Pointer(to=counter), Int64(value)
    )


@fieldwise_init
struct WorkerStatistics(ImplicitlyCopyable):
    """The counters of one worker.

    Only the worker changes them; other threads read them with `snapshot`.
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
    """Since the start: requests that broke the protocol or a limit, failed TLS
    handshakes, and connections that were turned away unread.
    """
    var connections_shed: Int64
    """Since the start: connections that were closed to free memory. They held
    much of it and were slow, while the worker's buffers were full or other
    requests waited for room.
    """
    var fibers: Int64
    """Fibers in use now."""
    var receive_buffers: Int64
    """Receive buffers in use now, without those that the kernel may choose
    from.
    """
    var buffered_octets: Int64
    """The present use of `max_buffered_octets` by connections."""
    var timers: Int64
    """Timers armed now."""
    var access_records_dropped: Int64
    """Since the start: request records that were dropped because the access
    log was full.
    """
    var slow_turns: Int64
    """Since the start: turns of the loop that took 100 ms or longer. Code that
    runs without waiting delays all other requests of the worker.
    """
    var handlers_lost: Int64
    """Since the start: handlers that ignored their cancellation. Each keeps
    its stack and its request until the worker ends.
    """
    var handshakes: Int64
    """TLS handshakes that were completed, since the start."""
    var handshakes_resumed: Int64
    """Those of them that resumed an earlier session."""
    var log_lines_dropped: Int64
    """Since the start: log lines that were dropped, because peers caused more
    than 100 in a second or because the sink was too slow.
    """
    var broken_rules: RuleCounts
    """How often peers broke which rule of HTTP/1.1, since the start."""

    def __init__(out self):
        """Creates counters at zero."""
        self = Self(
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, RuleCounts()
        )

    def add(mut self, other: Self, factor: Int64 = 1):
        """Adds the counters of another worker.

        Args:
            other: A snapshot of them.
            factor: -1 to subtract.
        """
        var ours = Pointer(to=self).unsafe_bitcast[Int64]()
        var theirs = Pointer(to=other).unsafe_bitcast[Int64]()
        for i in range(size_of[Self]() // size_of[Int64]()):
            ours[unsafe_offset=i] += factor * theirs[unsafe_offset=i]

    @staticmethod
    def count_rule(counters: PointerTo[Self], rule: H1Rule):
        """Counts the violation of a rule.

        Args:
            counters: The worker's counters; call it on the worker's thread.
            rule: The rule; `H1Rule.NONE` is not counted.
        """
        var index = Int(rule.index)
        if index < H1Rule.COUNT:
            count(counters[].broken_rules.counts[index])

    @staticmethod
    def forget_present(counters: PointerTo[Self]):
        """Resets the counters of present values, after a worker has ended.

        Args:
            counters: The worker's counters; no thread may change them any
                more.
        """
        set_counter(counters[].connections, 0)
        set_counter(counters[].requests_in_flight, 0)
        set_counter(counters[].streams, 0)
        set_counter(counters[].fibers, 0)
        set_counter(counters[].receive_buffers, 0)
        set_counter(counters[].buffered_octets, 0)
        set_counter(counters[].timers, 0)

    @staticmethod
    def snapshot(source: PointerTo[Self]) -> Self:
        """Returns a copy of all counters. Callable on any thread.

        Args:
            source: The counters of a worker.

        Returns:
            Each counter's value at some moment during the call.
        """
        var copy = Self()
        var from_counter = source.unsafe_bitcast[Int64]()
        var to_counter = Pointer(to=copy).unsafe_bitcast[Int64]()
        for i in range(size_of[Self]() // size_of[Int64]()):
            to_counter[unsafe_offset=i] = Atomic[Int64].load[
                ordering=Ordering.RELAXED
            ](from_counter.unsafe_offset(i))
        return copy
