"""Writes log lines on a separate thread, so that no loop waits for a reader.

The reader of standard error may be slow or stop; a write to it then blocks the
thread. Each loop puts its lines into a ring (`line_ring.mojo`). One thread
empties all rings. Lines without room are dropped and counted.
"""

from std.atomic import Atomic, Ordering, fence

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.clock import monotonic_ms
from flare.sys.process import block_signals
from flare.sys.signal import SIGPIPE
from flare.sys.thread import join_thread_within, start_thread

from .current import current_reactor
from .line_ring import Bell, LineFunction, LineRing, LineRingState

comptime LAST_LINES_MS = 1000
"""How long the end of a queue waits for its last lines to be written."""

# A burst of dropped lines is told of once: so long after it began.
comptime _REPORT_MS = 1000


struct LineQueueState(Movable):
    """All rings of a server. Only `LineQueue` uses it."""

    var rings: List[LineRing]
    """One ring for each loop."""
    var names: List[String]
    """The owner of each ring, as named in lines."""
    var report: LineFunction
    """Writes the thread's own messages."""
    var noticed_ms: Int
    """When the thread noticed dropped lines that it has not reported yet, or
    -1.
    """
    var bell: PointerTo[Bell]
    """Wakes the thread."""
    var thread: UInt64
    """The writing thread."""

    def __init__(out self, report: LineFunction, var names: List[String]):
        """Creates a ring for each name.

        Args:
            report: Writes the thread's own messages.
            names: The owner of each ring, as named in lines.
        """
        self.bell = heap_create(Bell())
        self.rings = List[LineRing]()
        for _ in range(len(names)):
            self.rings.append(LineRing(heap_create(LineRingState(self.bell))))
        self.names = names^
        self.report = report
        self.noticed_ms = -1
        self.thread = 0


@fieldwise_init
struct LineQueue(TrivialRegisterPassable):
    """Runs the thread that writes the log lines of several loops."""

    var state: PointerTo[LineQueueState]
    """The heap state."""

    @staticmethod
    def begin(report: LineFunction, var names: List[String]) -> Optional[Self]:
        """Starts the writing thread.

        Args:
            report: Writes the thread's own messages.
            names: The owner of each ring, as named in lines.

        Returns:
            The queue; `None` if no thread could be started.
        """
        var queue = Self(heap_create(LineQueueState(report, names^)))
        var started = start_thread(
            _write_lines, queue.state.unsafe_bitcast[NoneType]()
        )
        if started[0] < 0:
            queue._destroy()
            return None
        queue.state[].thread = started[1]
        return queue

    def ring(self, index: Int) -> LineRing:
        """Returns one of the rings.

        Args:
            index: Its index in the names given to `begin`.

        Returns:
            The ring.
        """
        return self.state[].rings[index]

    def end(self):
        """Writes the last lines and ends the thread. No loop may use the queue
        afterwards.

        If the thread is stuck in a write for a second, the server abandons it
        and leaks its memory. If the reader continues before the process ends,
        the thread still writes the waiting lines.
        """
        ref bell = self.state[].bell[]
        bell.lock.acquire()
        bell.is_ending = True
        bell.lock.wake_all()
        bell.lock.release()
        if join_thread_within(self.state[].thread, LAST_LINES_MS):
            self._destroy()

    def _destroy(self):
        for ring in self.state[].rings:
            heap_destroy(ring.state)
        self.state[].bell[].lock.destroy()
        heap_destroy(self.state[].bell)
        heap_destroy(self.state)


def write_line(write: LineFunction, line: StringSlice):
    """Writes a line; on a loop's thread, through its ring.

    Args:
        write: Writes the line. If the calling thread runs no loop, or its loop
            has no ring, `write_line` calls it at once.
        line: The line without its end.
    """
    var reactor = current_reactor()
    if reactor and reactor.value().state[].outlets.lines:
        _ = reactor.value().state[].outlets.lines.value().put(write, line)
    else:
        write(rebind[StringSlice[ImmUntrackedOrigin]](line))


def write_line_of_peer(write: LineFunction, line: StringSlice):
    """Writes a line that a peer can cause; on a loop's thread, through its
    ring, at most 100 per second.

    Args:
        write: Writes the line, as for `write_line`.
        line: The line without its end.
    """
    var reactor = current_reactor()
    if reactor and reactor.value().state[].outlets.lines:
        _ = (
            reactor.value()
            .state[]
            .outlets.lines.value()
            .put_of_peer(write, line, reactor.value().now_ms())
        )
    else:
        write(rebind[StringSlice[ImmUntrackedOrigin]](line))


def _write_lines(argument: Erased) abi("C") -> Optional[Erased]:
    var s = argument.unsafe_bitcast[LineQueueState]()
    # A reader that has gone makes a write fail; it does not end the process.
    _ = block_signals(SIGPIPE)
    var is_ending = False
    while not is_ending:
        is_ending = _sleep(s)
        for ring in s[].rings:
            ring.write_all()
        _report_when_due(s, is_ending)
    return None


def _sleep(s: PointerTo[LineQueueState]) -> Bool:
    ref bell = s[].bell[]
    bell.lock.acquire()
    if not bell.is_ending:
        var asleep = Pointer(to=bell.is_asleep)
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 1)
        fence[ordering=Ordering.SEQUENTIAL]()
        if not _has_lines(s):
            if _has_unreported(s):
                bell.lock.wait_for(_REPORT_MS)
            else:
                bell.lock.wait()
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 0)
    var is_ending = bell.is_ending
    bell.lock.release()
    return is_ending


def _has_lines(s: PointerTo[LineQueueState]) -> Bool:
    for ring in s[].rings:
        if ring.has_lines():
            return True
    return False


def _has_unreported(s: PointerTo[LineQueueState]) -> Bool:
    for ring in s[].rings:
        if UInt64(ring.dropped()) != ring.state[].reported:
            return True
    return False


def _report_when_due(s: PointerTo[LineQueueState], is_ending: Bool):
    if not _has_unreported(s):
        return
    var now_ms = monotonic_ms()
    if s[].noticed_ms < 0:
        s[].noticed_ms = now_ms
    if not is_ending and now_ms < s[].noticed_ms + _REPORT_MS:
        return
    s[].noticed_ms = -1
    for i in range(len(s[].rings)):
        var ring = s[].rings[i]
        var dropped = UInt64(ring.dropped())
        if dropped == ring.state[].reported:
            continue
        var line = String(
            "flare: ",
            s[].names[i],
            " dropped ",
            dropped - ring.state[].reported,
            " log lines, which came faster than they are taken or written",
        )
        ring.state[].reported = dropped
        s[].report(rebind[StringSlice[ImmUntrackedOrigin]](StringSlice(line)))
        _ = line^
