"""Stores the state of one WebSocket, at either end.

The state lies beside the upgraded stream, which outlives its function only as
an address: every access checks that the stream is still open.
"""

from flare.core import Buffer, PointerTo
from flare.http.rate_budget import RateBudget
from flare.http.upgraded_stream import UpgradedStream
from flare.proto.ws import (
    WsCloseCode,
    WsMachine,
    WsOpcode,
    WsProtocolError,
    WsStage,
    WsState,
)
from flare.runtime.current import current_reactor
from flare.runtime.fiber import Fiber
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry, TimerWheel

from .error import WsError
from .hub import WsHub
from .hub_worker import HubWorker, Subscription
from .message_deflate import MessageDeflate
from .options import WsLimits
from .publication import Publication


struct WsClosing(Movable):
    """How a WebSocket ends."""

    var code: UInt16
    """Why the connection is closed; 0 while it is open."""
    var reason: String
    """The reason that the peer gave."""
    var is_reported: Bool
    """Whether `recv` has returned the peer's Close."""
    var due_ms: Int
    """When the wait for the peer's Close is over."""
    var is_known: Bool
    """Whether the function of the WebSocket has been told."""
    var has_to_say: Bool
    """Whether the server stops, and the Close follows the frame being written.
    """
    var waiters: List[Fiber]
    """The fibers that wait for the peer's Close while another receives."""

    def __init__(out self):
        """Creates the state of an open WebSocket."""
        self.waiters = List[Fiber]()
        self.code = 0
        self.reason = String()
        self.is_reported = False
        self.due_ms = 0
        self.is_known = False
        self.has_to_say = False

    def wake_all(self):
        """Wakes the fibers that wait for the peer's Close."""
        for fiber in self.waiters:
            fiber.wake()


struct WsReceiving(Movable):
    """The direction from the peer."""

    var is_busy: Bool
    """Whether a fiber receives."""
    var is_probing: Bool
    """Whether it does so only for a pong, for a few milliseconds."""
    var is_wanted: Bool
    """Whether another fiber waits until it no longer does."""
    var awaits_pong: Bool
    """Whether the peer was silent, and a ping was sent."""
    var silent_since_ms: Int
    """When a fiber began to wait for the next octet, or the ping was sent. 0 if
    no fiber has waited since the last octet."""
    var unread_octets: Int
    """How many octets lay unread when the loop last looked, and no fiber has
    received since."""
    var is_held_back: Bool
    """Whether a control frame waits for room for its answer, and no fiber
    receives.
    """
    var violation: Optional[WsProtocolError]
    """The rule that the peer broke while no fiber received. The next one learns
    of it."""
    var is_unfinished: Bool
    """Whether part of a frame or of a message has arrived."""
    var budget: RateBudget
    """How long the peer may take for the rest of it."""
    var opcode: UInt8
    """The kind of the frame being received."""
    var partial: Buffer
    """The octets of a message whose fiber stopped receiving because its own
    deadline had passed.
    """

    def __init__(out self, message_timeout_ms: Int):
        """Creates the state before the first octet.

        Args:
            message_timeout_ms: How long an unfinished message may pause.
        """
        self.is_busy = False
        self.is_probing = False
        self.is_wanted = False
        self.awaits_pong = False
        self.silent_since_ms = 0
        self.unread_octets = 0
        self.is_held_back = False
        self.violation = None
        self.is_unfinished = False
        self.budget = RateBudget(message_timeout_ms)
        self.opcode = WsOpcode.CONTINUATION
        self.partial = Buffer()


struct WsSending(Movable):
    """The direction to the peer."""

    var is_busy: Bool
    """Whether a frame, or a message in several frames, is being written."""
    var is_streaming: Bool
    """Whether a `WsMessageWriter` writes."""
    var is_between_frames: Bool
    """Whether it has ended a frame, so that control frames may follow (RFC 6455
    section 5.4).
    """
    var keys: List[UInt32]
    """The masking keys that a client has drawn and not used."""
    var pings: UInt64
    """How many pings were sent."""
    var awaited_pong: UInt64
    """The number of the ping whose pong `pinger` awaits, or 0."""
    var pinger: Optional[Fiber]
    """The fiber that awaits a pong."""
    var waiters: List[Fiber]
    """The fibers that wait until they may write."""
    var turn: Optional[Fiber]
    """The one of them that may write now, until it runs."""
    var due: Buffer
    """Control frames that wait for the end of the frame being written."""

    def __init__(out self):
        """Creates the state before the first frame."""
        self.is_busy = False
        self.is_streaming = False
        self.is_between_frames = False
        self.keys = List[UInt32]()
        self.pings = 0
        self.awaited_pong = 0
        self.pinger = None
        self.waiters = List[Fiber]()
        self.turn = None
        self.due = Buffer()

    def is_in_frame(self) -> Bool:
        """Returns whether a frame is being written, which no other may tear
        apart.

        Returns:
            False also between the frames of a message.
        """
        return self.is_busy and not self.is_between_frames

    def wake_all(self):
        """Wakes all fibers that wait until they may write, or for a pong."""
        for fiber in self.waiters:
            fiber.wake()
        self.wake_pinger()

    def wake_pinger(self):
        """Wakes the fiber that awaits a pong."""
        if self.pinger:
            self.pinger.unsafe_value().wake()

    def forget_pinger(mut self):
        """Notes that no fiber awaits a pong."""
        self.pinger = None
        self.awaited_pong = 0


struct WsBroadcast(Movable):
    """The topics of a WebSocket."""

    var hub: WsHub
    """The hub of the server."""
    var worker: Optional[HubWorker]
    """The worker of the WebSocket in the hub; `None` at a client."""
    var number: UInt64
    """The number of the WebSocket as a sender; 0 until it publishes."""
    var subscriptions: List[PointerTo[Subscription]]
    """The subscriptions."""
    var held: List[Publication]
    """The messages for which there was no room."""
    var held_octets: Int
    """The octets of these messages."""
    var skipped: Int
    """How many messages the WebSocket did not get, because it is slow."""

    def __init__(out self, hub: WsHub, worker: Optional[HubWorker]):
        """Creates the state of a WebSocket without subscriptions.

        Args:
            hub: The hub.
            worker: Its worker of the calling thread.
        """
        self.hub = hub
        self.worker = worker
        self.number = 0
        self.subscriptions = List[PointerTo[Subscription]]()
        self.held = List[Publication]()
        self.held_octets = 0
        self.skipped = 0


struct WsWatch(Movable):
    """The timer that watches a WebSocket while no fiber receives."""

    var timers: Optional[TimerWheel]
    """The timers of the loop; `None` at a client, which has no watch."""
    var timer: TimerEntry
    """When it looks next, at the latest."""
    var task: TimerTask
    """The function that the timer calls."""

    def __init__(out self):
        """Creates a watch that has not begun."""
        self.timers = None
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask()


@fieldwise_init
struct WsAgreement(Movable):
    """The choices on which both ends agreed in the handshake."""

    var protocol: String
    """The subprotocol; empty if there is none."""
    var deflate: Optional[MessageDeflate]
    """How messages are compressed, if they may be. The owner of the socket
    closes it."""


struct WsSocketState(Movable):
    """The state of one WebSocket."""

    var machine: WsState
    """The state of the protocol."""
    var stream: UpgradedStream
    """The octets of both directions."""
    var limits: WsLimits
    """The limits."""
    var protocol: String
    """The agreed subprotocol; empty if there is none."""
    var deflate: Optional[MessageDeflate]
    """How messages are compressed, if both ends agreed on it. The owner of the
    socket closes it."""
    var closing: WsClosing
    """How it ends."""
    var receiving: WsReceiving
    """The direction from the peer."""
    var sending: WsSending
    """The direction to the peer."""
    var broadcast: WsBroadcast
    """The topics."""
    var watch: WsWatch
    """Acts while no fiber receives."""

    def __init__(
        out self,
        role: UInt8,
        stream: UpgradedStream,
        limits: WsLimits,
        var agreement: WsAgreement,
        var broadcast: WsBroadcast,
    ):
        """Creates the state after the handshake.

        Args:
            role: The end of the connection, one of `WsRole`.
            stream: The octets.
            limits: The limits.
            agreement: The result of the handshake.
            broadcast: The topics.
        """
        self.machine = WsState(
            role,
            message_octets_max=limits.max_message_size,
            can_compress=Bool(agreement.deflate),
        )
        self.stream = stream
        self.limits = limits
        self.protocol = agreement.protocol.copy()
        self.deflate = agreement.deflate
        self.closing = WsClosing()
        self.receiving = WsReceiving(limits.message_timeout_ms)
        self.sending = WsSending()
        self.broadcast = broadcast^
        self.watch = WsWatch()


comptime Socket = PointerTo[WsSocketState]
"""A pointer to the state of one WebSocket."""


def arm_watch(s: Socket, deadline_ms: Int):
    """Sets when the watch looks next.

    Args:
        s: The state.
        deadline_ms: The time on the clock of the loop.
    """
    if s[].watch.timers:
        s[].watch.timers.unsafe_value().arm(_timer_of(s), deadline_ms)


def end_watch(s: Socket):
    """Ends the watch of a WebSocket.

    Args:
        s: The state.
    """
    if s[].watch.timers:
        s[].watch.timers.unsafe_value().cancel(_timer_of(s))
        s[].watch.timers = None


def _timer_of(s: Socket) -> PointerTo[TimerEntry]:
    return Pointer(to=s[].watch.timer).unsafe_origin_cast[MutUntrackedOrigin]()


@always_inline
def open_socket(stream: UpgradedStream) -> Optional[Socket]:
    """Returns the state of a WebSocket.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The state; `None` after the function of the WebSocket has returned.
    """
    var state = stream.unsafe_protocol()
    if not state:
        return None
    return state.unsafe_value().unsafe_bitcast[WsSocketState]()


@always_inline
def socket_of(stream: UpgradedStream) raises -> Socket:
    """Returns the state of a WebSocket. Call it again after each wait.

    Args:
        stream: The stream of the WebSocket.

    Returns:
        The state.

    Raises:
        An error `ws.closed` after the function of the WebSocket has returned.
    """
    var found = open_socket(stream)
    if not found:
        raise _over_error()
    return found.unsafe_value()


@no_inline
def _over_error() -> Error:
    # A text is formatted on the stack. Inlined, its buffer would take a page
    # of each fiber that waits.
    return Error(WsError(WsError.CLOSED, "the handler has returned"))


@always_inline
def machine_of(s: Socket) -> WsMachine:
    """Returns the machine of a WebSocket.

    Args:
        s: The state.

    Returns:
        A handle.
    """
    return WsMachine(
        Pointer(to=s[].machine).unsafe_origin_cast[MutUntrackedOrigin]()
    )


def now_ms() -> Int:
    """Returns the time of the thread's loop.

    Returns:
        The time in milliseconds; 0 on a thread without a loop.
    """
    var reactor = current_reactor()
    return reactor.value().now_ms() if reactor else 0


def fresh_now_ms() -> Int:
    """Reads the clock: a program may have computed for long since its loop
    last turned.

    Returns:
        The time in milliseconds; 0 on a thread without a loop.
    """
    var reactor = current_reactor()
    return reactor.value().refresh_now_ms() if reactor else 0


@no_inline
def closed_error(s: Socket) -> Error:
    """Returns the error of a call on a closed WebSocket.

    Args:
        s: The state, whose close code is set.

    Returns:
        The error `ws.closed`.
    """
    s[].closing.is_known = True
    var machine = machine_of(s)
    return Error(
        WsError(
            WsError.CLOSED,
            code=s[].closing.code,
            is_clean=machine.has_sent_close() and machine.has_received_close(),
        )
    )


def lose(s: Socket):
    """Notes that the connection ended without a Close.

    Args:
        s: The state.
    """
    if s[].closing.code == 0:
        s[].closing.code = WsCloseCode.ABNORMAL
    s[].machine.receiving = WsStage.FAILED


def note_peer_close(s: Socket, code: UInt16, reason: Span[UInt8, _]):
    """Notes the Close of the peer.

    Args:
        s: The state.
        code: The code.
        reason: The reason, checked to be UTF-8.
    """
    s[].closing.reason = String(StringSlice(unsafe_from_utf8=reason))
    if s[].closing.code == 0:
        s[].closing.code = code


def note_pong(s: Socket, payload: Span[UInt8, _]):
    """Notes a pong, and wakes the fiber that awaits it.

    Args:
        s: The state.
        payload: The payload; foreign ones count as a sign of life only.
    """
    if s[].sending.awaited_pong == 0 or len(payload) != 8:
        return
    var number = UInt64(0)
    for octet in payload:
        number = number << 8 | UInt64(octet)
    if number == s[].sending.awaited_pong:
        s[].sending.awaited_pong = 0
        s[].sending.wake_pinger()


@always_inline
def note_life(s: Socket):
    """Notes that octets have arrived: any octet shows that the peer lives.

    Args:
        s: The state.
    """
    s[].receiving.awaits_pong = False
    s[].receiving.silent_since_ms = 0
    s[].receiving.unread_octets = 0


def note_unit_end(s: Socket):
    """Notes that no part of a frame or of a message is waiting for its rest.

    Args:
        s: The state.
    """
    if s[].receiving.is_unfinished:
        s[].receiving.is_unfinished = False
        s[].receiving.budget = RateBudget(s[].limits.message_timeout_ms)
