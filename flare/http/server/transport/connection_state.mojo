"""Holds what a server remembers of one connection."""

from flare.core import Buffer, Erased, OctetPointer, PointerTo, SlotHandle
from flare.http.body import Body
from flare.http.exchange import Exchange
from flare.net import SocketAddr
from flare.proto.h1 import H1Limits, H1State, Role
from flare.runtime.operation import OperationKind, OperationState
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry

from .tls_transport import TlsTransport


struct Stage:
    """Names how far a connection is from its end."""

    comptime OPEN: UInt8 = 0
    """Requests are read and answered."""
    comptime LAST_SEND: UInt8 = 1
    """What is gathered is still sent; then it closes."""
    comptime LINGERING: UInt8 = 2
    """Our side has ended; what the peer still sends is dropped."""
    comptime CLOSING: UInt8 = 3
    """It ends as soon as no operation and no fiber uses it."""
    comptime SHAKING_HANDS: UInt8 = 4
    """TLS begins: requests are read once the handshake is complete."""


struct Wait:
    """Names what a connection's deadline is for."""

    comptime NOTHING: UInt8 = 0
    """No deadline."""
    comptime NEXT_REQUEST: UInt8 = 1
    """The first octet of a request."""
    comptime HEAD: UInt8 = 2
    """The rest of a head."""
    comptime CONTENT: UInt8 = 3
    """More content for a handler that waits for it."""
    comptime PEER_READS: UInt8 = 4
    """The peer takes octets."""
    comptime PEER_ENDS: UInt8 = 5
    """The peer ends its side."""
    comptime HANDSHAKE: UInt8 = 6
    """The handshake of TLS is complete."""
    comptime PROXY_HEADER: UInt8 = 7
    """The proxy says for whom it connects."""


struct ConnectionState(Movable):
    """Holds one connection. Only `Connection` touches it.

    An idle connection holds no buffer and no exchange: only this.
    """

    var receive: OperationState
    """The multishot receive."""
    var watch: OperationState
    """Notices that the peer has left while nothing is received."""
    var send: OperationState
    """The one send in flight."""
    var h1: H1State
    """The state of the protocol."""
    var worker: Erased
    """The worker it belongs to."""
    var slot: SlotHandle
    """Its slot in the worker's slab."""
    var descriptor: Int32
    """The socket."""
    var stage: UInt8
    """How far it is from its end, one of `Stage`."""
    var wait: UInt8
    """What `deadline_ms` is for, one of `Wait`."""
    var processing: Bool
    """The loop is inside `process`."""
    var starting: Bool
    """A head is complete and its handler is about to start."""
    var running: Bool
    """A fiber runs the handler of `exchange`."""
    var receive_paused: Bool
    """Enough is read ahead: nothing more is received for now."""
    var starved: Bool
    """The pool of receive buffers was empty."""
    var awaits_room: Bool
    """The worker has buffered so much that nothing is received for now."""
    var stands_in_line: Bool
    """The budget lists the connection among those that wait for room. It may do
    so for a while after `awaits_room` has ended."""
    var peer_ended: Bool
    """The peer will send no more."""
    var watch_spent: Bool
    """A poll would only report that the peer has ended its side."""
    var lingers: Bool
    """The last answer goes to a peer that may still be sending."""
    var may_send_more: Bool
    """The peer did not ask for the end: it may have sent a request that nobody
    has received."""
    var resets: Bool
    """It ends with a reset: what was sent is not the whole."""
    var upgraded: Bool
    """It belongs to another protocol, which a handler speaks."""
    var proxy_header_due: Bool
    """The proxy has still to say for whom it connects."""
    var client: Optional[SocketAddr]
    """Whom a proxy has named."""
    var input_shared: Bool
    """The exchange uses the buffer at `input` too."""
    var input: Optional[OctetPointer]
    """The receive buffer that holds the window, if one does."""
    var input_large: Bool
    """It is one of the large buffers."""
    var input_start: Int
    """Where the window begins in it."""
    var input_end: Int
    """Where the window ends in it."""
    var gathered: Buffer
    """The window, where it came in several pieces."""
    var output: Buffer
    """Octets that are to be sent next."""
    var sending: Buffer
    """Octets that a send in flight uses."""
    var large: Optional[Body]
    """Content that is sent from where it lies, behind `output`."""
    var large_sent: Int
    """How much of it was sent."""
    var large_since_ms: Int
    """Since when it has been here."""
    var tls: Optional[PointerTo[TlsTransport]]
    """What encrypts, if anything does: then `sending` holds records."""
    var exchange: Optional[Exchange]
    """The request whose head is being read, or that is being answered."""
    var charged: Int
    """What it holds of the budget of its worker."""
    var drained: Int
    """Octets of the last request's content that were dropped."""
    var requests: Int
    """How many requests the connection has carried."""
    var deadline_ms: Int
    """When the present wait is over."""
    var send_budget_ms: Int
    """How long the peer may still take for what is sent; what it takes adds to
    it."""
    var send_budget_rest: Int
    """What it took and adds no whole millisecond to it: thousandths of octets,
    as it were, below the rate."""
    var send_began_ms: Int
    """When the present wait for the peer to read began."""
    var moved_octets: Int
    """How many octets the peer has taken, and sent as content."""
    var noted_octets: Int
    """How many those were at `noted_ms`."""
    var noted_ms: Int
    """When it was looked at how fast octets move; 0 if never."""
    var timer: TimerEntry
    """Armed at `deadline_ms` or earlier: a later deadline does not touch it."""
    var timer_task: TimerTask
    """What the timer calls."""

    def __init__(out self, worker: Erased, descriptor: Int32, limits: H1Limits):
        """Begins before the first request.

        Args:
            worker: The worker it belongs to.
            descriptor: The socket.
            limits: What a peer may make it read.
        """
        self.receive = OperationState(OperationKind.RECEIVE)
        self.watch = OperationState(OperationKind.POLL)
        self.send = OperationState(OperationKind.SEND)
        self.h1 = H1State(Role.SERVER, limits)
        self.worker = worker
        self.slot = SlotHandle(0, 0)
        self.descriptor = descriptor
        self.stage = Stage.OPEN
        self.wait = Wait.NOTHING
        self.processing = False
        self.starting = False
        self.running = False
        self.receive_paused = False
        self.starved = False
        self.awaits_room = False
        self.stands_in_line = False
        self.peer_ended = False
        self.watch_spent = False
        self.lingers = False
        self.may_send_more = False
        self.resets = False
        self.upgraded = False
        self.proxy_header_due = False
        self.client = None
        self.input_shared = False
        self.input = None
        self.input_large = False
        self.input_start = 0
        self.input_end = 0
        self.gathered = Buffer()
        self.output = Buffer()
        self.sending = Buffer()
        self.large = None
        self.large_sent = 0
        self.large_since_ms = 0
        self.tls = None
        self.exchange = None
        self.charged = 0
        self.drained = 0
        self.requests = 0
        self.deadline_ms = 0
        self.send_budget_ms = 0
        self.send_budget_rest = 0
        self.send_began_ms = 0
        self.moved_octets = 0
        self.noted_octets = 0
        self.noted_ms = 0
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.timer_task = TimerTask(worker, _nothing)


def _nothing(owner: Erased):
    pass
