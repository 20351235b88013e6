"""Holds the state of one connection."""

from flare.core import Erased, PointerTo
from flare.runtime.fiber import Fiber
from flare.sys.libpq_cancel import PgCancel
from flare.sys.libpq_connection import PgConnection

from .copy_content import CopyContent
from .entry import Entry
from .notification import NotificationQueue
from .statement_cache import StatementCache

comptime ReportFunction = def(Erased, Int, Optional[Entry]) thin -> None
"""Receives the reports of a connection, one of `Report`."""


@fieldwise_init
struct ConnectionOwner(ImplicitlyCopyable):
    """The pool of a connection, and the fiber that listens."""

    var pool: Erased
    """The pool."""
    var report: ReportFunction
    """Called with it when the pool should act."""
    var blocking_cancels: PointerTo[Int]
    """How many helper threads send cancel requests for the pool."""
    var listening: Optional[PointerTo[NotificationQueue]]
    """The notifications of the fiber that listens, if one owns the connection.
    """
    var copying: Optional[CopyContent]
    """The content of the fiber that sends COPY, if one owns the connection."""


struct DatabaseConnectionState(Movable):
    """The state of one connection. Only `DatabaseConnection` and the pool use it.
    """

    var pg: Optional[PgConnection]
    """The connection, once it is open."""
    var fiber: Optional[Fiber]
    """The fiber that drives it."""
    var owner: ConnectionOwner
    """The pool."""
    var flags: ConnectionFlags
    """Which fibers may use it."""
    var cancelling: Cancelling
    """The cancel requests."""
    var entries: List[Entry]
    """The statements in flight, in the order of the pipeline."""
    var statements: StatementCache
    """The prepared statements."""
    var caches: Bool
    """Whether statements stay prepared."""
    var is_closing: Bool
    """Whether it ends as soon as its fiber runs."""
    var times: ConnectionTimes
    """When it acts without being asked."""
    var users: Int
    """How many fibers use this state: its own one, and one that cancels."""
    var lost_text: String
    """Why it broke."""

    def __init__(out self, owner: ConnectionOwner, caches: Bool):
        """Creates a connection that is not open.

        Args:
            owner: The pool.
            caches: Whether statements stay prepared.
        """
        self.pg = None
        self.fiber = None
        self.owner = owner
        self.flags = ConnectionFlags(False, False, False)
        self.cancelling = Cancelling(None, False, False, 0, 0, String())
        self.entries = List[Entry]()
        self.statements = StatementCache()
        self.caches = caches
        self.is_closing = False
        self.times = ConnectionTimes(0, Int.MAX)
        self.users = 1
        self.lost_text = String()


@fieldwise_init
struct ConnectionFlags(ImplicitlyCopyable):
    """Which fibers may use a connection."""

    var is_owned: Bool
    """Whether a transaction has it."""
    var is_reserved: Bool
    """Whether a transaction gets it when it is idle."""
    var is_returning: Bool
    """Whether a transaction gave it back, and it must first be idle."""


@fieldwise_init
struct Cancelling(ImplicitlyCopyable):
    """The cancel requests of a connection."""

    var handle: Optional[PgCancel]
    """The handle that cancels."""
    var is_wanted: Bool
    """Whether the statement at the head is to be cancelled, and runs still."""
    var is_running: Bool
    """Whether a request is on its way."""
    var begun_ms: Int
    """When the last request was begun."""
    var not_before_ms: Int
    """When the next request may begin."""
    var error: String
    """Why the last request was not sent; empty if it was."""


@fieldwise_init
struct ConnectionTimes(ImplicitlyCopyable):
    """When a connection acts without being asked."""

    var head_since_ms: Int
    """When the statement at the head came there."""
    var expires_ms: Int
    """When it takes no more statements, and ends once it is idle."""
