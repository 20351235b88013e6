"""Defines how to reach a database, and the bounds of its connections."""

from flare.sql.text import has_nul

from .error import PostgresError

comptime _INT_MAX = 0x7FFFFFFF


@fieldwise_init
struct PostgresTls(Equatable, ImplicitlyCopyable):
    """How connections are encrypted."""

    comptime AUTOMATIC = Self(0)
    """`DISABLED` for Unix sockets, `localhost` and loopback addresses, and
    `VERIFIED` for all other hosts."""
    comptime DISABLED = Self(1)
    """Without encryption."""
    comptime ENCRYPTED = Self(2)
    """With TLS, but any certificate is accepted: an attacker between client
    and server can read everything."""
    comptime VERIFIED = Self(3)
    """With TLS, and the server's certificate is checked, with its name."""

    var value: UInt8
    """The number of the mode."""


struct DatabaseOptions(Copyable, Movable):
    """The bounds of a `Database`. A URL overrides some of them."""

    var max_connections: Int
    """The most connections of the whole process, 1 to 10,000; 32 by default,
    because a server accepts 100 by default. Workers share them equally, and
    each has at least one.
    """
    var acquire_timeout_ms: Int
    """The longest wait for a free connection; 2 s by default."""
    var query_timeout_ms: Int
    """The longest wait for the answer to a statement; 5 s by default. A
    deadline of the fiber that is earlier applies.
    """
    var connect_timeout_ms: Int
    """The longest time to open a connection; 5 s by default."""
    var max_lifetime_ms: Int
    """After this time, an unused connection is replaced, as new servers of a
    proxy should get their share; 30 minutes by default. Each connection has up
    to a tenth more or less.
    """
    var pipelining: Bool
    """Whether statements of several fibers share a connection; True by
    default. Turn it off for proxies that cannot."""
    var pipeline_depth: Int
    """The most statements in flight on a shared connection, 1 to 1,000; 32 by
    default."""
    var slow_after_ms: Int
    """After a statement has run for this time, no other one joins its
    pipeline; 100 ms by default."""
    var cache_statements: Bool
    """Whether statements stay prepared, 256 per connection; True by default.
    Turn it off for PgBouncer before 1.21 in transaction mode."""
    var tls: PostgresTls
    """How connections are encrypted; `AUTOMATIC` by default."""
    var trust_file: Optional[String]
    """A PEM file of authorities; the system's by default."""
    var application_name: String
    """The name in the server's lists and logs; `flare` by default."""
    var startup_options: Optional[String]
    """Settings for the server, as `-c work_mem=64MB`; none by default.
    PgBouncer before 1.20 refuses any. With `None`, none are sent, and the
    variable `PGOPTIONS` applies.
    """

    def __init__(
        out self,
        *,
        max_connections: Int = 32,
        acquire_timeout_ms: Int = 2_000,
        query_timeout_ms: Int = 5_000,
        connect_timeout_ms: Int = 5_000,
        max_lifetime_ms: Int = 1_800_000,
        pipelining: Bool = True,
        pipeline_depth: Int = 32,
        slow_after_ms: Int = 100,
        cache_statements: Bool = True,
        tls: PostgresTls = PostgresTls.AUTOMATIC,
        var trust_file: Optional[String] = None,
        var application_name: String = "flare",
        var startup_options: Optional[String] = String(),
    ):
        """Creates options; those not named have their defaults.

        Args:
            max_connections: The most connections of the process.
            acquire_timeout_ms: The longest wait for a connection.
            query_timeout_ms: The longest wait for an answer.
            connect_timeout_ms: The longest time to open a connection.
            max_lifetime_ms: How long a connection is used.
            pipelining: Whether statements share connections.
            pipeline_depth: The most statements in flight on one.
            slow_after_ms: When no other statement joins one.
            cache_statements: Whether statements stay prepared.
            tls: How connections are encrypted.
            trust_file: A PEM file of authorities.
            application_name: The name in the server's lists and logs.
            startup_options: Settings for the server.
        """
        self.max_connections = max_connections
        self.acquire_timeout_ms = acquire_timeout_ms
        self.query_timeout_ms = query_timeout_ms
        self.connect_timeout_ms = connect_timeout_ms
        self.max_lifetime_ms = max_lifetime_ms
        self.pipelining = pipelining
        self.pipeline_depth = pipeline_depth
        self.slow_after_ms = slow_after_ms
        self.cache_statements = cache_statements
        self.tls = tls
        self.trust_file = trust_file^
        self.application_name = application_name^
        self.startup_options = startup_options^

    def first_problem(self) -> Optional[String]:
        """Returns the first option that is out of its bounds.

        Returns:
            A text that names it; `None` if all are valid.
        """
        if not 1 <= self.max_connections <= 10_000:
            return String("max_connections is not in 1 to 10000")
        if not 1 <= self.pipeline_depth <= 1_000:
            return String("pipeline_depth is not in 1 to 1000")
        if not 1 <= self.acquire_timeout_ms <= _INT_MAX:
            return String("acquire_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.query_timeout_ms <= _INT_MAX:
            return String("query_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.connect_timeout_ms <= _INT_MAX:
            return String("connect_timeout_ms is not in 1 to 2147483647")
        if not 1 <= self.max_lifetime_ms <= _INT_MAX:
            return String("max_lifetime_ms is not in 1 to 2147483647")
        if not 1 <= self.slow_after_ms <= _INT_MAX:
            return String("slow_after_ms is not in 1 to 2147483647")
        if has_nul(self.application_name):
            return String("application_name contains NUL")
        if self.startup_options and has_nul(self.startup_options.value()):
            return String("startup_options contains NUL")
        if self.trust_file and has_nul(self.trust_file.value()):
            return String("trust_file contains NUL")
        return None


def bad_options(text: StringSlice) -> Error:
    """Returns the error for options that are invalid.

    Args:
        text: The problem.

    Returns:
        The error.
    """
    return Error(String(PostgresError(PostgresError.BAD_OPTIONS, text)))
