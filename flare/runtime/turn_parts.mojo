"""The parts of a reactor that belong to its turns and to its thread."""

from flare.core import Erased

from .line_ring import LineRing


@fieldwise_init
struct SlowTurnWatch(Movable):
    """Measures how long fibers keep the loop from waiting."""

    var busy_since_ms: Int
    """When the reactor last waited."""
    var owner: Erased
    """The first argument of the function."""
    var function: def(Erased, Int) thin -> None
    """Called with the duration of a slow turn."""


@fieldwise_init
struct TurnTimes(TrivialRegisterPassable):
    """The clocks as read in a turn."""

    var now_ns: Int
    """The backend's clock before the latest round of completions was
    dispatched."""
    var wall_seconds: Int
    """The wall clock."""


@fieldwise_init
struct OutletEnd(ImplicitlyCopyable):
    """A function that is called when a thread has no more to report. Its owner
    keeps it in place.
    """

    var call: def(Erased) thin -> None
    """The function."""
    var argument: Erased
    """Its argument."""
    var next: Optional[Erased]
    """The next one of the thread."""


struct ThreadOutlets(Movable):
    """The destinations of log lines and counts of a thread."""

    var lines: Optional[LineRing]
    """Buffers log lines, if another thread writes them."""
    var metrics_place: Optional[Erased]
    """The place in the metrics that belongs to the thread, if any."""
    var first_end: Optional[Erased]
    """The first of the functions to call at the end of a worker."""

    def __init__(out self):
        """Creates no destinations."""
        self.lines = None
        self.metrics_place = None
        self.first_end = None

    def end(mut self):
        """Calls the functions, each once."""
        while self.first_end:
            var end = self.first_end.unsafe_value().unsafe_bitcast[OutletEnd]()
            self.first_end = end[].next
            end[].call(end[].argument)
