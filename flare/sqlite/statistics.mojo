"""Defines the counters of a database."""


@fieldwise_init
struct DatabaseStatistics(ImplicitlyCopyable):
    """The counters of one worker's `Database`."""

    var open_connections: Int
    """Connections that are open."""
    var busy_connections: Int
    """Those that run a statement, or are taken by a transaction."""
    var waiting: Int
    """Statements that wait for a thread."""
    var statements: Int
    """Statements that were answered, with or without an error."""
    var errors: Int
    """Statements that SQLite refused."""
    var timeouts: Int
    """Statements whose deadline passed."""
    var acquire_timeouts: Int
    """Statements that found no thread in time."""
    var inline_reads: Int
    """Queries that ran on the calling thread."""
    var commits: Int
    """Commits of changes outside of transactions."""
    var grouped: Int
    """Changes that shared a commit with others."""

    def __init__(out self):
        """Creates counters of zero."""
        self = Self(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
