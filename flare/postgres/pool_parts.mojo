"""The parts of which the state of a pool consists."""

from flare.core import PointerTo, heap_create
from flare.metrics.database_meter import DatabaseMeter
from flare.runtime.fiber import Fiber, FiberFunction
from flare.sys.libpq import Libpq
from flare.sys.process import process_id

from .connection import DatabaseConnection
from .connection_state import ReportFunction
from .entry import Entry
from .error import PostgresError
from .location import DatabaseLocation
from .options import DatabaseOptions
from .statistics import DatabaseStatistics


struct Grant(Movable):
    """The wait of a transaction for a connection. It lies on the heap."""

    var fiber: Fiber
    """The fiber that waits."""
    var turn: Int
    """Its place among all that wait."""
    var connection: Optional[DatabaseConnection]
    """The connection, once there is one."""
    var error: Optional[PostgresError]
    """Why there will be none."""

    def __init__(out self, fiber: Fiber, turn: Int):
        """Creates a wait.

        Args:
            fiber: The fiber that waits.
            turn: Its place among all that wait.
        """
        self.fiber = fiber
        self.turn = turn
        self.connection = None
        self.error = None


struct ConnectAttempts(Movable):
    """The attempts of a pool to connect."""

    var running: Int
    """How many attempts to connect are in progress."""
    var failures: Int
    """How many attempts have failed since one succeeded."""
    var retry_at_ms: Int
    """When the next attempt may begin, after one that failed."""
    var last_error: Optional[PostgresError]
    """The error of the last attempt; `None` after one that succeeded."""
    var process: Int
    """The process of the attempts; 0 before the first one."""

    def __init__(out self):
        """Creates the state before the first attempt."""
        self.running = 0
        self.failures = 0
        self.retry_at_ms = 0
        self.last_error = None
        self.process = 0


@fieldwise_init
struct ConnectTarget(Movable):
    """The database of a pool."""

    var library: Libpq
    """The library."""
    var location: DatabaseLocation
    """The database."""
    var options: DatabaseOptions
    """The bounds."""
    var meter: DatabaseMeter
    """Counts in the metrics of the worker."""


@fieldwise_init
struct PoolFunctions(TrivialRegisterPassable):
    """Functions that call those of the pool, which call them: the compiler
    accepts such a circle only through values.
    """

    var run: FiberFunction
    """Runs the fiber of a connection."""
    var end: FiberFunction
    """Called when that fiber has ended."""
    var report: ReportFunction
    """Receives the reports of a connection."""


struct DatabasePoolState(Movable):
    """The state of a pool. Only `DatabasePool` uses it."""

    var functions: PoolFunctions
    """Functions for fibers and connections."""
    var target: ConnectTarget
    """The database."""
    var attempts: ConnectAttempts
    """The attempts to connect."""
    var connections_max: Int
    """The most connections of this pool."""
    var connections: List[DatabaseConnection]
    """Those that are open or being opened."""
    var entries: List[Entry]
    """The statements that wait for room, first come first."""
    var grants: List[PointerTo[Grant]]
    """The transactions that wait for a connection, first come first."""
    var turns: Int
    """How many have waited. The older one of both lists goes first."""
    var blocking_cancels: PointerTo[Int]
    """How many helper threads send cancel requests."""
    var is_closing: Bool
    """Whether the owner is gone."""
    var users: Int
    """The owner, and the fibers of connections."""
    var counts: DatabaseStatistics
    """The counters; those of the present state are filled in when asked for.
    """

    def __init__(
        out self,
        functions: PoolFunctions,
        var target: ConnectTarget,
        connections_max: Int,
    ):
        """Creates a pool without connections.

        Args:
            functions: Functions for fibers and connections.
            target: The database.
            connections_max: The most connections of this pool.
        """
        self.functions = functions
        self.target = target^
        self.attempts = ConnectAttempts()
        self.connections_max = connections_max
        self.connections = List[DatabaseConnection]()
        self.entries = List[Entry]()
        self.grants = List[PointerTo[Grant]]()
        self.turns = 0
        self.blocking_cancels = heap_create(0)
        self.is_closing = False
        self.users = 1
        self.counts = DatabaseStatistics()

    def is_forked(self) -> Bool:
        """Returns whether this process is the child of one that has connected.
        Both would use the same sockets.

        Returns:
            True if it may not use the connections.
        """
        ref process = self.attempts.process
        return process != 0 and process != process_id()

    def problem(self) -> Optional[PostgresError]:
        """Returns why no statement may be sent.

        Returns:
            `postgres.closed`, or `None`.
        """
        if self.is_closing:
            return PostgresError(PostgresError.CLOSED)
        if self.is_forked():
            return PostgresError(
                PostgresError.CLOSED, "the database was used before a fork"
            )
        return None
