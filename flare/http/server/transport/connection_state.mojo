"""The state of one connection of a server."""

from std.memory import OwnedPointer

from flare.core import Buffer, Erased, OctetPointer, PointerTo, SlotHandle
from flare.http.body import Body
from flare.http.exchange import Exchange
from flare.http.rate_budget import RateBudget
from flare.net import SocketAddr
from flare.proto.h1 import H1Limits, H1State, Role
from flare.runtime.operation import OperationKind, OperationState
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry

from .h2_connection import H2Connection
from .tls_transport import TlsTransport


struct Stage:
    """The stages of a connection, from its first request to its end."""

    comptime OPEN: UInt8 = 0
    """Requests are read and answered."""
    comptime LAST_SEND: UInt8 = 1
    """The collected output is still sent; then the connection closes."""
    comptime LINGERING: UInt8 = 2
    """The server has half-closed; received octets are dropped."""
    comptime CLOSING: UInt8 = 3
    """It ends as soon as no operation and no fiber uses it."""
    comptime SHAKING_HANDS: UInt8 = 4
    """TLS begins: requests are read once the handshake is complete."""


struct Attention:
    """The part that a connection has in the present turn of the loop."""

    comptime NONE: UInt8 = 0
    """None."""
    comptime DUE: UInt8 = 1
    """It looks at the connection at the end of the turn."""
    comptime PROCESSING: UInt8 = 2
    """It is inside `process`, which looks at all that handlers do meanwhile."""


struct Wait:
    """The reasons for a connection's deadline."""

    comptime NOTHING: UInt8 = 0
    """No deadline."""
    comptime NEXT_REQUEST: UInt8 = 1
    """The first octet of a request."""
    comptime HEAD: UInt8 = 2
    """The rest of a head."""
    comptime PEER_READS: UInt8 = 3
    """The peer takes octets."""
    comptime PEER_ENDS: UInt8 = 4
    """The peer ends its side."""
    comptime HANDSHAKE: UInt8 = 5
    """The handshake of TLS is complete."""
    comptime PROXY_HEADER: UInt8 = 6
    """The proxy says for whom it connects."""
    comptime WINDOW: UInt8 = 7
    """The client opens a window of HTTP/2."""


struct Operations(Movable):
    """The operations of a connection. Each fills two cache lines: a struct with
    one of them and a byte would fill three.
    """

    var receive: OperationState
    """The multishot receive."""
    var watch: OperationState
    """The poll that notices a peer's departure while receiving is paused."""
    var send: OperationState
    """The one send in flight."""

    def __init__(out self):
        """Creates the operations of a connection that does not receive yet."""
        self.receive = OperationState(OperationKind.RECEIVE)
        self.watch = OperationState(OperationKind.POLL)
        self.send = OperationState(OperationKind.SEND)


struct ReceiveWindow(Movable):
    """The octets that a connection has received and not yet consumed."""

    var buffer: Optional[OctetPointer]
    """The receive buffer that holds them, if one does."""
    var is_shared: Bool
    """Whether the exchange uses that buffer too."""
    var is_large: Bool
    """Whether it is one of the large buffers."""
    var is_paused: Bool
    """Whether enough is read ahead, so that receiving is paused."""
    var is_starved: Bool
    """Whether the pool of receive buffers was empty."""
    var watch_spent: Bool
    """Whether a poll would only report that the peer has half-closed."""
    var start: Int
    """The offset of the first octet in it."""
    var end: Int
    """The offset after the last octet in it."""
    var gathered: Buffer
    """The octets, if they came in several pieces."""

    def __init__(out self):
        """Creates an empty window."""
        self.buffer = None
        self.is_shared = False
        self.is_large = False
        self.is_paused = False
        self.is_starved = False
        self.watch_spent = False
        self.start = 0
        self.end = 0
        self.gathered = Buffer()


struct H1Exchanges(Movable):
    """The state that HTTP/1.1 keeps between two events."""

    var state: H1State
    """The state of the protocol."""
    var exchange: Optional[Exchange]
    """The request whose head is being read, or that is being answered. Only the
    rooms of HTTP/1.1 and the code that ends a connection use it.
    """
    var has_begun_head: Bool
    """Whether a part of a head has arrived, and the rest is due."""
    var requests: Int32
    """How many requests the connection has carried."""
    var ignores_preface: Bool
    """Whether a client may not begin with HTTP/2."""
    var is_uploading: Bool
    """Whether the last request has long content. The next one then likely has
    too, which is received best by its handler."""
    var drained: Int
    """Octets of the last request's content that were dropped."""

    def __init__(out self, limits: H1Limits):
        """Creates the state before the first request.

        Args:
            limits: Limits on the peer's messages.
        """
        self.state = H1State(Role.SERVER, limits)
        self.exchange = None
        self.has_begun_head = False
        self.requests = 0
        self.ignores_preface = False
        self.is_uploading = False
        self.drained = 0


struct Outbox(Movable):
    """The octets that a connection is to send."""

    var output: Buffer
    """Octets that are to be sent next."""
    var sending: Buffer
    """Octets that a send in flight uses; records, inside of TLS."""
    var large: Optional[Body]
    """Content that is sent from where it lies, after `output`."""
    var large_sent: Int
    """How much of it was sent."""
    var large_since_ms: Int
    """Since when it has been here."""
    var budget: RateBudget
    """How long the peer may still take to receive the output."""

    def __init__(out self):
        """Creates an empty outbox."""
        self.output = Buffer()
        self.sending = Buffer()
        self.large = None
        self.large_sent = 0
        self.large_since_ms = 0
        self.budget = RateBudget(0)


struct Ending(Movable):
    """How a connection will end."""

    var peer_ended: Bool
    """Whether the peer has ended its stream."""
    var lingers: Bool
    """Whether the last answer goes to a peer that may still be sending."""
    var may_send_more: Bool
    """Whether the peer did not ask for the end: it may have sent a request
    that was not received.
    """
    var is_agreed: Bool
    """Whether both ends told each other, in the protocol of an upgrade, that
    they send no more.
    """
    var resets: Bool
    """Whether the connection ends with a reset, because the sent octets are
    incomplete.
    """

    def __init__(out self):
        """Creates the end of a connection that closes in order."""
        self.peer_ended = False
        self.lingers = False
        self.may_send_more = False
        self.is_agreed = False
        self.resets = False


struct BudgetShare(Movable):
    """A connection's share of its worker's memory budget."""

    var charged: Int
    """The octets charged to the budget."""
    var awaits_room: Bool
    """Whether the worker's budget is used up, so that receiving is paused."""
    var stands_in_line: Bool
    """Whether the budget lists the connection among those that wait for room.
    That may last a while after `awaits_room` has ended.
    """
    var moved_octets: Int
    """How many octets the peer has taken, and sent as content."""
    var noted_octets: Int
    """The value of `moved_octets` at `noted_ms`."""
    var noted_ms: Int
    """When the rate of the octets was last measured; 0 if never."""

    def __init__(out self):
        """Creates the share of an empty connection."""
        self.charged = 0
        self.awaits_room = False
        self.stands_in_line = False
        self.moved_octets = 0
        self.noted_octets = 0
        self.noted_ms = 0


struct Deadline(Movable):
    """The reason for a connection's wait, and its deadline."""

    var wait: UInt8
    """The reason, one of `Wait`."""
    var at_ms: Int
    """When the present wait is over."""
    var timer: TimerEntry
    """Armed at `at_ms` or earlier: a later deadline does not touch it."""
    var task: TimerTask
    """The function that the timer calls."""

    def __init__(out self):
        """Creates the deadline of a connection that does not wait."""
        self.wait = Wait.NOTHING
        self.at_ms = 0
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask()


struct ProxiedClient(Movable):
    """The client on whose behalf a proxy has connected."""

    var is_header_due: Bool
    """Whether the proxy's header is still due."""
    var hides_client: Bool
    """Whether the proxy's header names no client."""
    var client: Optional[OwnedPointer[SocketAddr]]
    """The address of the client, once it is known: a proxy has named it, or a
    handler has asked for it. It has a block of its own, because most servers
    need none."""

    def __init__(out self):
        """Creates the state of a connection without a proxy."""
        self.is_header_due = False
        self.hides_client = False
        self.client = None


struct ConnectionState(Movable):
    """The state of one connection. Only the driver and the rooms below it use
    it.

    An idle connection holds no buffer and no exchange: only this.
    """

    var operations: Operations
    """Its operations."""
    var outbox: Outbox
    """The octets to send."""
    var window: ReceiveWindow
    """The received octets."""
    var h1: H1Exchanges
    """The state of HTTP/1.1."""
    var worker: Erased
    """The worker it belongs to."""
    var slot: SlotHandle
    """Its slot in the worker's slab."""
    var descriptor: Int32
    """The socket."""
    var ending: Ending
    """How it will end."""
    var stage: UInt8
    """How far it is from its end, one of `Stage`."""
    var attention: UInt8
    """Its part in the present turn, one of `Attention`."""
    var running: Int32
    """How many of its requests a handler answers."""
    var share: BudgetShare
    """The share of the worker's memory budget."""
    var deadline: Deadline
    """The deadline of the present wait."""
    var tls: Optional[PointerTo[TlsTransport]]
    """The TLS transport, if the connection speaks TLS."""
    var proxy: ProxiedClient
    """On whose behalf it was opened."""
    var h2: Optional[PointerTo[H2Connection]]
    """The state of HTTP/2, if the connection speaks it."""

    def __init__(out self, worker: Erased, descriptor: Int32, limits: H1Limits):
        """Creates the state before the first request.

        Args:
            worker: The worker of the connection.
            descriptor: The socket.
            limits: Limits on the peer's messages.
        """
        self.operations = Operations()
        self.outbox = Outbox()
        self.window = ReceiveWindow()
        self.h1 = H1Exchanges(limits)
        self.worker = worker
        self.slot = SlotHandle(0, 0)
        self.descriptor = descriptor
        self.ending = Ending()
        self.stage = Stage.OPEN
        self.attention = Attention.NONE
        self.running = 0
        self.share = BudgetShare()
        self.deadline = Deadline()
        self.tls = None
        self.proxy = ProxiedClient()
        self.h2 = None


@always_inline
def connection_of(x: Exchange) -> PointerTo[ConnectionState]:
    """Returns the connection of a request.

    Args:
        x: The request, which is not over.

    Returns:
        The connection.
    """
    return x[].carrier.unsafe_value().unsafe_bitcast[ConnectionState]()
