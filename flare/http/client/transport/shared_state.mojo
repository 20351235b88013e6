"""Defines the state of a connection that several exchanges share."""

from flare.core import Buffer
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_state import H2State
from flare.runtime.fiber import Fiber

from .liveness import Liveness
from .stream_inbox import Inbox


@fieldwise_init
struct ServerGoaway(TrivialRegisterPassable):
    """The announcement of a server that it takes no further streams."""

    var has_come: Bool
    """Whether it was received."""
    var last_id: Int
    """The highest stream that the server processes."""
    var code: UInt32
    """The reason, one of `H2Code`."""


struct SharedSending(Movable):
    """The direction to the server."""

    var octets: Buffer
    """The octets in flight, without TLS. The output of the connection collects
    further ones."""
    var is_busy: Bool
    """Whether a fiber is sending. It sends the octets of others too."""
    var write_ms: Int
    """How long the server may take no octet."""
    var stuck_since_ms: Int
    """When the server last took an octet; 0 if no octet waits."""

    def __init__(out self, write_ms: Int):
        """Creates the state before the first octet.

        Args:
            write_ms: How long the server may take no octet.
        """
        self.octets = Buffer()
        self.is_busy = False
        self.write_ms = write_ms
        self.stuck_since_ms = 0


struct SharedState(Movable):
    """The state of one shared connection. Only `SharedConnection` and the
    modules beside it use it."""

    var machine: H2State
    """The state of the HTTP/2 machine."""
    var inboxes: List[Optional[Inbox]]
    """The inbox of each slot of the machine."""
    var users: Int
    """Exchanges to which the connection is lent."""
    var reader: Optional[Fiber]
    """The fiber that reads, if one does."""
    var waiting: List[Fiber]
    """The fibers that wait while another one reads."""
    var writers: Int
    """How many fibers wait to send content."""
    var beginners: Int
    """How many fibers wait to begin a stream, or for settings before that."""
    var sending: SharedSending
    """The direction to the server."""
    var liveness: Liveness
    """The watch over a silent server."""
    var goaway: ServerGoaway
    """The announcement that the connection ends."""
    var needs_http1: Bool
    """Whether the server has required HTTP/1.1 (RFC 9113 section 7), inside of
    TLS."""
    var failure: Optional[Error]
    """The error that has ended the connection."""

    def __init__(out self, limits: H2Limits, write_ms: Int, liveness: Liveness):
        """Creates the state before the first octet.

        Args:
            limits: The limits on the server.
            write_ms: The longest wait for room to send.
            liveness: The watch over a silent server.
        """
        self.machine = H2State(limits, is_client=True)
        self.inboxes = List[Optional[Inbox]]()
        self.users = 0
        self.reader = None
        self.waiting = List[Fiber]()
        self.writers = 0
        self.beginners = 0
        self.sending = SharedSending(write_ms)
        self.liveness = liveness
        self.goaway = ServerGoaway(False, 0, 0)
        self.needs_http1 = False
        self.failure = None
