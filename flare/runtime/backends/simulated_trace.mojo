"""Records the last events of a simulated network, to explain a failure.

Every event goes into a digest too, so that two runs can be compared whole.
"""

from flare.runtime.operation import OperationKind

comptime TRACE_EVENTS_MAX = 200
"""How many events a trace remembers."""
comptime _DIGEST_FACTOR: UInt64 = 0x100000001B3


@fieldwise_init
struct TraceEvent(ImplicitlyCopyable, Writable):
    """One event at a socket."""

    var now_ms: Int
    """When."""
    var what: StaticString
    """The event."""
    var which: StaticString
    """The kind of operation; may be empty."""
    var socket: Int
    """To which socket, or -1."""
    var value: Int
    """A count, a result or a number."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line.

        Args:
            writer: The destination.
        """
        writer.write(self.now_ms, " ms  ", self.what)
        if self.which.byte_length() > 0:
            writer.write(" ", self.which)
        if self.socket >= 0:
            writer.write(", socket ", self.socket)
        writer.write(": ", self.value)


struct Trace(Movable):
    """The last events, if tracing is on."""

    var is_on: Bool
    """Whether events are recorded."""
    var is_printed: Bool
    """Whether each event is printed at once, for a run that ends the process.
    """
    var events: List[TraceEvent]
    """The last events; `count` says where the ring begins."""
    var count: Int
    """How many events there were."""
    var digest: UInt64
    """Depends on every event."""

    def __init__(out self):
        """Creates a trace that stores no lines."""
        self.is_on = False
        self.is_printed = False
        self.events = []
        self.count = 0
        self.digest = 0

    def note(mut self, event: TraceEvent):
        """Records an event.

        Args:
            event: The event.
        """
        if self.count < TRACE_EVENTS_MAX:
            self.events.append(event)
        else:
            self.events[self.count % TRACE_EVENTS_MAX] = event
        self.count += 1
        self._mix(event.now_ms)
        self._mix(event.what.byte_length())
        self._mix(event.which.byte_length())
        self._mix(event.socket)
        self._mix(event.value)
        if self.is_printed:
            print("   ", event, flush=True)

    def text(self) -> String:
        """Returns the stored lines, the oldest first.

        Returns:
            A line per event.
        """
        var text = String()
        var first = max(self.count - TRACE_EVENTS_MAX, 0)
        for i in range(first, self.count):
            text += String("    ", self.events[i % TRACE_EVENTS_MAX], "\n")
        return text^

    def _mix(mut self, value: Int):
        self.digest = (self.digest ^ UInt64(value)) * _DIGEST_FACTOR
        self.digest ^= self.digest >> 29


def kind_name(kind: OperationKind) -> StaticString:
    """Returns the name of a kind of operation.

    Args:
        kind: The kind.

    Returns:
        The name.
    """
    if kind == OperationKind.RECEIVE:
        return "receive"
    if kind == OperationKind.READ:
        return "read"
    if kind == OperationKind.SEND:
        return "send"
    if kind == OperationKind.ACCEPT:
        return "accept"
    if kind == OperationKind.CONNECT:
        return "connect"
    if kind == OperationKind.POLL:
        return "poll"
    return "operation"
