"""The parts of which the state of a pool consists."""

from flare.runtime.fiber import Fiber
from flare.sys.libpq import Libpq

from .connection import DatabaseConnection
from .error import PostgresError
from .location import DatabaseLocation
from .options import DatabaseOptions


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

    def __init__(out self):
        """Creates the state before the first attempt."""
        self.running = 0
        self.failures = 0
        self.retry_at_ms = 0
        self.last_error = None


@fieldwise_init
struct ConnectTarget(Movable):
    """The database of a pool."""

    var library: Libpq
    """The library."""
    var location: DatabaseLocation
    """The database."""
    var options: DatabaseOptions
    """The bounds."""
