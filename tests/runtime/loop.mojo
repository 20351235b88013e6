"""Gives tests a loop that they turn themselves, as a server's worker does."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.current import current_reactor, set_current_reactor
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.runtime.start import open_reactor


struct Loop(Movable):
    """Makes a reactor the thread's current one until `close`.

    A test that fails before leaves the reactor behind, for its fibers may still
    need it, but not as the loop of the tests after it.
    """

    var reactor: Reactor
    """The reactor."""
    var before: Optional[Reactor]
    """The thread's loop around it."""
    var is_open: Bool
    """Whether `close` is still to come."""

    def __init__(out self, config: ReactorConfig) raises:
        """Opens the reactor.

        Args:
            config: The bounds and the backend.

        Raises:
            An error if the backend cannot be opened.
        """
        var opened = open_reactor(config)
        if not opened[1]:
            raise Error("no reactor: errno ", -opened[0])
        self.reactor = opened[1].value()
        self.before = current_reactor()
        self.is_open = True
        set_current_reactor(self.reactor)

    def __deinit__(deinit self):
        """Makes the loop around it current if a test has failed."""
        if self.is_open:
            set_current_reactor(self.before)

    def turn(self, wait_ms: Int = 100):
        """Runs one turn.

        Args:
            wait_ms: The longest wait.
        """
        self.reactor.turn(wait_ms)

    def leaked(self) -> Int:
        """Counts the fibers that ignored being cancelled.

        Returns:
            The count.
        """
        return self.reactor.state[].fibers.leaked()

    def busy(self) -> Int:
        """Counts the fibers that run something.

        Returns:
            The count.
        """
        return self.reactor.state[].fibers.busy()

    def leave(self):
        """Makes the loop around it current again."""
        set_current_reactor(self.before)

    def enter(self):
        """Makes the reactor current again."""
        set_current_reactor(self.reactor)

    def close(mut self):
        """Destroys the reactor."""
        self.is_open = False
        set_current_reactor(self.before)
        self.reactor.destroy()


@fieldwise_init
struct Log(ImplicitlyCopyable):
    """Collects lines from fibers: on the heap, because fibers share it."""

    var lines: PointerTo[List[String]]
    """The lines."""

    def __init__(out self):
        """Makes an empty log."""
        self.lines = heap_create(List[String]())

    def add(self, line: String):
        """Appends a line.

        Args:
            line: The line.
        """
        self.lines[].append(line)

    def read(self) -> List[String]:
        """Copies the lines.

        Returns:
            The lines.
        """
        return self.lines[].copy()

    def take(self) -> List[String]:
        """Ends the log.

        Returns:
            The lines.
        """
        var lines = self.lines[].copy()
        heap_destroy(self.lines)
        return lines^


@fieldwise_init
struct Noisy(Movable):
    """Logs its destruction: nothing may be destroyed twice or never."""

    var name: String
    """What is logged, after a tilde."""
    var log: Log
    """Where."""

    def __deinit__(deinit self):
        """Logs the end."""
        self.log.add("~" + self.name)
