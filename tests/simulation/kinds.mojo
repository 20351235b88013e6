"""Names each kind of event that simulated runs count."""


@fieldwise_init
struct Kind(ImplicitlyCopyable, Movable):
    """Names one kind of event."""

    var name: StaticString
    """What the counts call it."""

    comptime RUNS = Self("runs")
    """Servers."""
    comptime REQUESTS = Self("requests")
    """Requests that were planned."""
    comptime ANSWERS = Self("answers")
    """Final answers that arrived whole."""

    comptime SHORT_RECEIVES = Self("short receives")
    """Receives of a part of what had arrived."""
    comptime SHORT_SENDS = Self("short sends")
    """Sends of a part of what there was room for."""
    comptime DELAYS = Self("delays")
    """Completions that took longer."""
    comptime REORDERED = Self("reordered")
    """Turns whose completions came in any order."""
    comptime RESETS = Self("resets")
    """Connections that chance broke."""
    comptime MISSING_BUFFERS = Self("missing buffers")
    """Receives that found no buffer."""
    comptime DROUGHTS = Self("droughts")
    """Times at which the pool of receive buffers ran dry."""
    comptime ACCEPTS_EMFILE = Self("accepts emfile")
    """Accepts that failed: the process has too many descriptors."""
    comptime ACCEPTS_ENFILE = Self("accepts enfile")
    """Accepts that failed: the system has too many descriptors."""
    comptime ACCEPTS_ENOMEM = Self("accepts enomem")
    """Accepts that failed: the kernel has no memory."""
    comptime CANCELS = Self("cancels")
    """Operations in flight that were cancelled."""
    comptime LATE_CANCELS = Self("late cancels")
    """Cancellations that came after a result."""
    comptime STALE_COMPLETIONS = Self("stale completions")
    """Answers to an earlier submission."""
    comptime STALE_TO_NEW_USERS = Self("stale to new users")
    """Such answers to an operation whose block was used again."""
    comptime EARLY_FINALS = Self("early finals")
    """Multishot operations that ended though they could have gone on."""

    comptime SLOTS_USED_AGAIN = Self("slots used again")
    """Connections in a slot that another one had before."""
    comptime WAITS_FOR_SLOT = Self("connections that waited for a slot")
    """Connections that were accepted while no slot was free."""
    comptime REQUESTS_OVER_LIMIT = Self("503, too many requests")
    """Requests that met as many as may be in flight."""
    comptime REQUESTS_WITHOUT_FIBER = Self("503, no fiber was left")
    """Requests that met the limit of fibers."""
    comptime NO_ROOM = Self("503, no room for octets")
    """Requests that met the limit of what is buffered."""
    comptime TURNED_AWAY = Self("503, nobody could be accepted")
    """Connections that were answered without being accepted."""
    comptime TASKS_WITHOUT_FIBER = Self("tasks without a fiber")
    """Calls of `spawn` that met the limit of fibers."""
    comptime NO_LARGE_BUFFERS = Self("contents without a large buffer")
    """Long contents that were received while the pool had no large buffer."""
    comptime REFUSED_REQUESTS = Self("refused requests")
    """Requests that break the protocol."""
    comptime CONTENT_OVER_LIMIT = Self("413")
    """Requests with more content than their handler takes."""
    comptime TIMED_OUT = Self("408")
    """Requests that did not come in time."""

    comptime HANDLER_WAITS = Self("handlers that waited")
    """Sleeps of handlers."""
    comptime HANDLERS_CUT_OFF = Self("handlers cut off")
    """Handlers that were cancelled."""
    comptime HANDLERS_OUT_OF_TIME = Self("500 after a deadline")
    """Requests whose handler took too long."""

    comptime PIPELINED = Self("requests sent before the last answer")
    """Requests that were whole before their client had the answer to an
    earlier one."""
    comptime CLIENT_RESETS = Self("clients that reset")
    """Clients that broke a connection which was open."""
    comptime CLIENT_CLOSES = Self("clients that closed")
    """Clients that closed a connection which was open, without all answers."""
    comptime EARLY_ENDS = Self("clients that ended early")
    """Clients that ended their side before they had all answers."""
    comptime STALLS = Self("clients that stalled")
    """Clients that fell silent on a connection which was open."""
    comptime UNREAD_ANSWERS = Self("clients that never read")
    """Clients that let what had arrived lie."""
    comptime CLOSED_EARLY = Self("connections closed early")
    """Connections that ended before all answers had come."""

    comptime RECEIVED_AT_ONCE = Self("received at once")
    """Receives of content into the memory of its handler."""
    comptime READ_IN_PIECES = Self("contents read in pieces")
    """Contents that a handler read bit by bit."""
    comptime READ_WITH_TRAILERS = Self("contents read with trailers")
    """Contents that were read bit by bit, and the trailers behind them."""
    comptime WRITTEN_IN_CHUNKS = Self("answers written in chunks")
    """Streamed answers of unknown length."""
    comptime WRITTEN_OF_LENGTH = Self("answers written of known length")
    """Streamed answers that say their length first."""
    comptime WRITTEN_WITH_TRAILERS = Self("answers written with trailers")
    """Streamed answers with a trailer section."""
    comptime WRITTEN_WHILE_READING = Self("answers written while reading")
    """Streams both ways at once."""
    comptime BROKEN_OFF = Self("answers broken off")
    """Streamed answers whose function failed midway."""
    comptime UPGRADED = Self("upgraded connections")
    """Connections that spoke another protocol to its end."""

    comptime STOPS = Self("stops in the middle")
    """Stops of a server that had connections."""
    comptime STOPS_DURING_READ = Self("stops during a read in pieces")
    """Stops while a handler read bit by bit."""
    comptime STOPS_DURING_ANSWER = Self("stops during a streamed answer")
    """Stops while a handler wrote bit by bit."""
    comptime STOPS_DURING_UPGRADE = Self("stops during an upgrade")
    """Stops while a connection spoke another protocol."""
    comptime ABORTS = Self("ends that cut everything off")
    """Ends of a server that had connections, without waiting for them."""


def all_kinds() -> List[Kind]:
    """Lists each kind of event that must strike.

    Returns:
        The kinds, each once.
    """
    return [
        Kind.RUNS,
        Kind.REQUESTS,
        Kind.ANSWERS,
        Kind.SHORT_RECEIVES,
        Kind.SHORT_SENDS,
        Kind.DELAYS,
        Kind.REORDERED,
        Kind.RESETS,
        Kind.MISSING_BUFFERS,
        Kind.DROUGHTS,
        Kind.ACCEPTS_EMFILE,
        Kind.ACCEPTS_ENFILE,
        Kind.ACCEPTS_ENOMEM,
        Kind.CANCELS,
        Kind.LATE_CANCELS,
        Kind.STALE_COMPLETIONS,
        Kind.STALE_TO_NEW_USERS,
        Kind.EARLY_FINALS,
        Kind.SLOTS_USED_AGAIN,
        Kind.WAITS_FOR_SLOT,
        Kind.REQUESTS_OVER_LIMIT,
        Kind.REQUESTS_WITHOUT_FIBER,
        Kind.NO_ROOM,
        Kind.TURNED_AWAY,
        Kind.TASKS_WITHOUT_FIBER,
        Kind.NO_LARGE_BUFFERS,
        Kind.REFUSED_REQUESTS,
        Kind.CONTENT_OVER_LIMIT,
        Kind.TIMED_OUT,
        Kind.HANDLER_WAITS,
        Kind.HANDLERS_CUT_OFF,
        Kind.HANDLERS_OUT_OF_TIME,
        Kind.PIPELINED,
        Kind.CLIENT_RESETS,
        Kind.CLIENT_CLOSES,
        Kind.EARLY_ENDS,
        Kind.STALLS,
        Kind.UNREAD_ANSWERS,
        Kind.CLOSED_EARLY,
        Kind.RECEIVED_AT_ONCE,
        Kind.READ_IN_PIECES,
        Kind.READ_WITH_TRAILERS,
        Kind.WRITTEN_IN_CHUNKS,
        Kind.WRITTEN_OF_LENGTH,
        Kind.WRITTEN_WITH_TRAILERS,
        Kind.WRITTEN_WHILE_READING,
        Kind.BROKEN_OFF,
        Kind.UPGRADED,
        Kind.STOPS,
        Kind.STOPS_DURING_READ,
        Kind.STOPS_DURING_ANSWER,
        Kind.STOPS_DURING_UPGRADE,
        Kind.ABORTS,
    ]
