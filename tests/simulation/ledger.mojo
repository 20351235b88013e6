"""Counts what the handlers of a simulated run did."""

from flare.core import PointerTo
from flare.runtime.backends.simulated_network import SimulatedNetwork
from flare.runtime.cancel import Cancel
from flare.runtime.current import current_reactor
from flare.runtime.wait import sleep


@fieldwise_init
struct Activity(Equatable, ImplicitlyCopyable, Movable):
    """Says what handlers of streams may be at."""

    var value: Int
    """Tells activities apart."""

    comptime ANY = Self(0)
    """Something or nothing."""
    comptime READS = Self(1)
    """Content is read bit by bit."""
    comptime WRITES = Self(2)
    """An answer is written bit by bit."""
    comptime SPEAKS = Self(3)
    """A connection speaks another protocol."""


struct Ledger(Movable):
    """Holds the counts; on the heap, because handlers of all fibers write."""

    var runs: List[Int]
    """How often one began, for each number."""
    var ended: List[Int]
    """How often one ended, for each number."""
    var cut_off: Int
    """Handlers that were cancelled while they waited."""
    var went_on: Int
    """Waits that succeeded in a handler that had been cancelled."""
    var waits: Int
    """Waits that were longer than nothing."""
    var lacked_fiber: List[Bool]
    """For each number whether its handler could not spawn a task."""
    var without_large_buffers: Int
    """Long contents that came while there was no large buffer."""
    var uploads: Int
    """Contents that are being read bit by bit now."""
    var downloads: Int
    """Contents that are being written bit by bit now."""
    var upgrades: Int
    """Connections that speak another protocol now."""
    var network: Optional[SimulatedNetwork]
    """Where to leave a trace."""

    def __init__(out self, count: Int):
        """Begins before the first request.

        Args:
            count: How many requests there are.
        """
        self.runs = List[Int](length=count, fill=0)
        self.ended = List[Int](length=count, fill=0)
        self.cut_off = 0
        self.went_on = 0
        self.waits = 0
        self.lacked_fiber = List[Bool](length=count, fill=False)
        self.without_large_buffers = 0
        self.uploads = 0
        self.downloads = 0
        self.upgrades = 0
        self.network = None

    def is_going_on(self, activity: Activity) -> Bool:
        """Tells whether some handler is at something.

        Args:
            activity: At what; `ANY` always is.

        Returns:
            True if so.
        """
        if activity == Activity.READS:
            return self.uploads > 0
        if activity == Activity.WRITES:
            return self.downloads > 0
        if activity == Activity.SPEAKS:
            return self.upgrades > 0
        return True

    def note_content(mut self, octets: Int, octets_unless_large: Int):
        """Counts content for which a large buffer was wanted and not there.

        Args:
            octets: How much content there was.
            octets_unless_large: How much of it needs no large buffer.
        """
        var large = current_reactor().value().large_buffers()
        if octets > octets_unless_large and large.is_exhausted():
            self.without_large_buffers += 1

    def note(self, what: StaticString, number: Int):
        """Leaves a trace.

        Args:
            what: What happened.
            number: To which request.
        """
        if self.network:
            self.network.value().note(what, "", -1, number)


def pause(ledger: PointerTo[Ledger], wait_ms: Int) raises:
    """Sleeps, and notes if that succeeds where it must not.

    Args:
        ledger: The ledger.
        wait_ms: How long; 0 does nothing.

    Raises:
        Error: If the wait fails.
    """
    if wait_ms == 0:
        return
    ledger[].waits += 1
    var was_cancelled = Cancel.current().is_cancelled()
    sleep(wait_ms)
    if was_cancelled:
        ledger[].went_on += 1
