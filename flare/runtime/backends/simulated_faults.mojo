"""Defines the faults of a simulated network, and how often they occur.

One SplitMix64 stream makes every decision, so a seed repeats a whole run on
any machine.
"""

comptime DROUGHT_BUFFERS_MAX = 256
"""The largest pool of buffers that a drought empties."""
comptime _GAMMA: UInt64 = 0x9E3779B97F4A7C15


struct SimulatedFaults(Copyable, Movable):
    """How often each fault strikes, per 1,000 chances."""

    var short_receives: Int
    """A receive carries less than has arrived."""
    var short_sends: Int
    """A send carries less than there is room for."""
    var delays: Int
    """Completions that are delayed by up to `delay_ms_max`."""
    var reordered: Int
    """Turns in which completions come in any order, and not all of them."""
    var resets: Int
    """The connection of a receive or a send breaks."""
    var missing_buffers: Int
    """A receive finds no buffer."""
    var droughts: Int
    """At a receive all buffers that are left are taken away for up to
    `delay_ms_max`; only of a pool of at most `DROUGHT_BUFFERS_MAX`."""
    var accept_errors: Int
    """Accepting fails because descriptors or memory have run out."""
    var late_cancels: Int
    """A cancellation comes after the result that it was to prevent."""
    var stale_completions: Int
    """A submission is followed by the answer to the one before it."""
    var early_finals: Int
    """A multishot operation completes for the last time with a result after
    which it could continue.
    """
    var delay_ms_max: Int
    """How long a delay may last, in milliseconds; at least 1."""

    def __init__(
        out self,
        *,
        short_receives: Int = 0,
        short_sends: Int = 0,
        delays: Int = 0,
        reordered: Int = 0,
        resets: Int = 0,
        missing_buffers: Int = 0,
        droughts: Int = 0,
        accept_errors: Int = 0,
        late_cancels: Int = 0,
        stale_completions: Int = 0,
        early_finals: Int = 0,
        delay_ms_max: Int = 20,
    ):
        """Creates faults; those that are omitted do not occur.

        Args:
            short_receives: Receives that carry less.
            short_sends: Sends that carry less.
            delays: Completions that take longer.
            reordered: Turns whose completions arrive in any order.
            resets: Connections that break.
            missing_buffers: Receives that find no buffer.
            droughts: Receives at which the pool of buffers runs dry.
            accept_errors: Accepts that fail.
            late_cancels: Cancellations that arrive too late.
            stale_completions: Answers to earlier submissions.
            early_finals: Multishot operations that end although they could
                continue.
            delay_ms_max: How long a delay may last.
        """
        self.short_receives = short_receives
        self.short_sends = short_sends
        self.delays = delays
        self.reordered = reordered
        self.resets = resets
        self.missing_buffers = missing_buffers
        self.droughts = droughts
        self.accept_errors = accept_errors
        self.late_cancels = late_cancels
        self.stale_completions = stale_completions
        self.early_finals = early_finals
        self.delay_ms_max = delay_ms_max

    @staticmethod
    def frequent(*, resets: Int = 0) -> Self:
        """Returns faults that all occur often.

        Args:
            resets: Connections that break; none by default, because the
                answers of a broken connection allow few checks.

        Returns:
            The faults.
        """
        return Self(
            short_receives=400,
            short_sends=400,
            delays=200,
            reordered=500,
            resets=resets,
            missing_buffers=50,
            droughts=30,
            accept_errors=120,
            late_cancels=500,
            stale_completions=200,
            early_finals=50,
        )


@fieldwise_init
struct FaultCount(ImplicitlyCopyable):
    """How often one kind of fault occurred."""

    var name: StaticString
    """The kind."""
    var count: Int
    """The number of times that the fault occurred."""


@fieldwise_init
struct FailedAcceptCounts(ImplicitlyCopyable):
    """Counts the accepts that failed, by reason."""

    var emfile: Int
    """The process has too many descriptors."""
    var enfile: Int
    """The system has too many descriptors."""
    var enomem: Int
    """The kernel has no memory."""

    def total(self) -> Int:
        """Returns the sum.

        Returns:
            The number of accepts that failed.
        """
        return self.emfile + self.enfile + self.enomem


@fieldwise_init
struct SimulatedFaultCounts(ImplicitlyCopyable):
    """Counts the faults that struck."""

    var short_receives: Int
    """Receives that carried less than had arrived."""
    var short_sends: Int
    """Sends that carried less than there was room for."""
    var delays: Int
    """Completions that took longer."""
    var reordered: Int
    """Turns whose completions came in any order."""
    var resets: Int
    """Connections that broke."""
    var missing_buffers: Int
    """Receives that found no buffer."""
    var droughts: Int
    """Times at which the pool of buffers ran dry."""
    var failed_accepts: FailedAcceptCounts
    """Accepts that failed."""
    var cancels: Int
    """Operations in flight that were cancelled."""
    var late_cancels: Int
    """Cancellations that came too late."""
    var stale_completions: Int
    """Answers to earlier submissions."""
    var stale_to_new_users: Int
    """Such answers to an operation whose block was used again."""
    var early_finals: Int
    """Multishot operations that ended though they could have gone on."""
    var at_once: Int
    """Receives without an operation that got octets."""

    def __init__(out self):
        """Creates counters at zero."""
        var accepts = FailedAcceptCounts(0, 0, 0)
        self = Self(0, 0, 0, 0, 0, 0, 0, accepts, 0, 0, 0, 0, 0, 0)

    def rows(self) -> List[FaultCount]:
        """Returns the counts.

        Returns:
            A name and a count for each fault.
        """
        return [
            FaultCount("short receives", self.short_receives),
            FaultCount("short sends", self.short_sends),
            FaultCount("delays", self.delays),
            FaultCount("reordered", self.reordered),
            FaultCount("resets", self.resets),
            FaultCount("missing buffers", self.missing_buffers),
            FaultCount("droughts", self.droughts),
            FaultCount("accepts emfile", self.failed_accepts.emfile),
            FaultCount("accepts enfile", self.failed_accepts.enfile),
            FaultCount("accepts enomem", self.failed_accepts.enomem),
            FaultCount("cancels", self.cancels),
            FaultCount("late cancels", self.late_cancels),
            FaultCount("stale completions", self.stale_completions),
            FaultCount("stale to new users", self.stale_to_new_users),
            FaultCount("early finals", self.early_finals),
            FaultCount("received at once", self.at_once),
        ]


struct Draws(Copyable, Movable):
    """A stream of random numbers (SplitMix64)."""

    var state: UInt64
    """All that the stream remembers."""

    def __init__(out self, seed: Int):
        """Creates a stream of numbers.

        Args:
            seed: Any number; the same one gives the same draws.
        """
        self.state = _mix(UInt64(seed) + _GAMMA)

    def below(mut self, bound: Int) -> Int:
        """Returns the next random number.

        Args:
            bound: One more than the largest; at least 1.

        Returns:
            A number from 0 to `bound - 1`.
        """
        self.state += _GAMMA
        return Int(_mix(self.state) % UInt64(bound))

    def strikes(mut self, per_thousand: Int) -> Bool:
        """Draws whether an event happens.

        Args:
            per_thousand: How often, from 0 (never) to 1,000 (always).

        Returns:
            True in `per_thousand` of 1,000 draws.
        """
        return per_thousand > 0 and self.below(1000) < per_thousand


def _mix(value: UInt64) -> UInt64:
    var z = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)
