"""Defines the counters of a database."""


@fieldwise_init
struct DatabaseStatistics(ImplicitlyCopyable):
    """The counters of one worker's `Database`."""

    var open_connections: Int
    """Connections that are open."""
    var busy_connections: Int
    """Those with a statement in flight, or taken by a transaction."""
    var waiting: Int
    """Fibers that wait for a connection."""
    var statements: Int
    """Statements that were answered, with or without an error."""
    var errors: Int
    """Statements that the server refused."""
    var lost: Int
    """Statements whose connection ended before the answer."""
    var timeouts: Int
    """Statements whose deadline passed."""
    var acquire_timeouts: Int
    """Statements that found no connection in time."""
    var repeated: Int
    """Statements that were sent once more, because they had no effect: the
    server had forgotten a plan, or a cancel was meant for another one."""
    var connects: Int
    """Connections that were opened."""
    var connect_failures: Int
    """Attempts to connect that failed."""

    def __init__(out self):
        """Creates counters of zero."""
        self = Self(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
