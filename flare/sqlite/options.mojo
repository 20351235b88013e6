"""Defines the bounds of a database."""

from .error import SqliteError

comptime _INT_MAX = 0x7FFFFFFF


@fieldwise_init
struct Synchronous(Equatable, ImplicitlyCopyable):
    """When a commit waits for the disk."""

    comptime NORMAL = Self(1)
    """At checkpoints. If the power fails, the last commits may be lost, but
    the file stays whole. A process that is killed loses none."""
    comptime FULL = Self(2)
    """At each commit, so that none is lost."""

    var value: UInt8
    """The number that SQLite uses."""


struct DatabaseOptions(Copyable, Movable):
    """The bounds of a `Database`."""

    var reader_threads: Int
    """Threads for queries, 1 to 64; 2 by default, because most queries find
    their pages in memory. One more thread writes.
    """
    var acquire_timeout_ms: Int
    """The longest wait for a thread; 2 s by default."""
    var query_timeout_ms: Int
    """The longest wait for the answer to a statement; 5 s by default. A
    deadline of the fiber that is earlier applies.
    """
    var transaction_timeout_ms: Int
    """The longest time that a transaction may stay open; 5 s by default. It is
    then rolled back, because no other fiber can write meanwhile.
    """
    var busy_timeout_ms: Int
    """The longest wait for a lock of another process; 2 s by default."""
    var synchronous: Synchronous
    """When a commit waits for the disk; `NORMAL` by default."""
    var result_octets_max: Int
    """The most memory of one result, in octets; 64 MiB by default."""
    var waiting_max: Int
    """The most statements that wait for the writer, and as many for the
    readers; 1,024 by default."""
    var cached_statements: Int
    """Prepared statements of each connection, 1 to 10,000; 256 by default."""
    var inline_reads: Bool
    """Whether short queries run on the calling thread; False by default. A
    query that takes longer than 2 ms is moved to a reader."""
    var read_only: Bool
    """Whether the file is opened for reading only; False by default."""

    def __init__(
        out self,
        *,
        reader_threads: Int = 2,
        acquire_timeout_ms: Int = 2_000,
        query_timeout_ms: Int = 5_000,
        transaction_timeout_ms: Int = 5_000,
        busy_timeout_ms: Int = 2_000,
        synchronous: Synchronous = Synchronous.NORMAL,
        result_octets_max: Int = 64 * 1024 * 1024,
        waiting_max: Int = 1_024,
        cached_statements: Int = 256,
        inline_reads: Bool = False,
        read_only: Bool = False,
    ):
        """Creates options.

        Args:
            reader_threads: As the field.
            acquire_timeout_ms: As the field.
            query_timeout_ms: As the field.
            transaction_timeout_ms: As the field.
            busy_timeout_ms: As the field.
            synchronous: As the field.
            result_octets_max: As the field.
            waiting_max: As the field.
            cached_statements: As the field.
            inline_reads: As the field.
            read_only: As the field.
        """
        self.reader_threads = reader_threads
        self.acquire_timeout_ms = acquire_timeout_ms
        self.query_timeout_ms = query_timeout_ms
        self.transaction_timeout_ms = transaction_timeout_ms
        self.busy_timeout_ms = busy_timeout_ms
        self.synchronous = synchronous
        self.result_octets_max = result_octets_max
        self.waiting_max = waiting_max
        self.cached_statements = cached_statements
        self.inline_reads = inline_reads
        self.read_only = read_only

    def first_problem(self) -> Optional[String]:
        """Returns the first option that is out of its bounds.

        Returns:
            A text that names it; `None` if all are valid.
        """
        if not 1 <= self.reader_threads <= 64:
            return String("reader_threads is not in 1 to 64")
        if not 1 <= self.cached_statements <= 10_000:
            return String("cached_statements is not in 1 to 10000")
        if not 1 <= self.acquire_timeout_ms <= _INT_MAX:
            return String("acquire_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.query_timeout_ms <= _INT_MAX:
            return String("query_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.transaction_timeout_ms <= _INT_MAX:
            return String("transaction_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.busy_timeout_ms <= _INT_MAX:
            return String("busy_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.result_octets_max <= _INT_MAX:
            return String("result_octets_max is not in 1 to 2147483647")
        if not 1 <= self.waiting_max <= _INT_MAX:
            return String("waiting_max is not in 1 to 2147483647")
        return None


def bad_options(text: StringSlice) -> Error:
    """Returns the error for options that are invalid.

    Args:
        text: The problem.

    Returns:
        The error.
    """
    return Error(String(SqliteError(SqliteError.BAD_OPTIONS, text)))
