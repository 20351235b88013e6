"""Holds what an HTTP/1.1 connection remembers between two calls."""

from flare.message import Method

from .chunk import ChunkState
from .head import BodyKind
from .limits import H1Limits
from .state import SideInput, SideState, next_state


struct Role:
    """Names which end of the connection a machine is."""

    comptime SERVER: UInt8 = 0
    """Receives requests, sends responses."""
    comptime CLIENT: UInt8 = 1
    """Sends requests, receives responses."""


struct Phase:
    """Names what a connection waits for: which deadline applies."""

    comptime IDLE: UInt8 = 0
    """For the first octet of the next exchange, which nobody owes."""
    comptime HEAD: UInt8 = 1
    """For the rest of a head that has begun to arrive."""
    comptime BODY: UInt8 = 2
    """For more of the body that the peer sends."""
    comptime AWAIT_RESPONSE: UInt8 = 3
    """For a response head: ours (server) or the peer's (client)."""
    comptime SENDING: UInt8 = 4
    """For us: the rest of our own message is due, the peer's is whole."""
    comptime CLOSED: UInt8 = 5
    """For nothing: close the connection when all is sent."""
    comptime UPGRADED: UInt8 = 6
    """For another protocol."""


struct H1State(Movable):
    """Holds all that an idle connection needs: plain data, no octets."""

    var limits: H1Limits
    """What the peer may make us read."""
    # `owes_plain_response` looks at the first eight as one word.
    var role: UInt8
    """Which end we are, one of `Role`."""
    var request: UInt8
    """The request side, one of `SideState`."""
    var response: UInt8
    """The response side, one of `SideState`."""
    var version_minor: UInt8
    """The minor version of the peer's last head."""
    var keep_alive: Bool
    """True while both peers let the connection persist."""
    var is_last: Bool
    """Whether no exchange may follow the one in progress."""
    var is_bodiless: Bool
    """Whether the response in progress has no body, whatever its fields say."""
    var method: Method
    """The method of the request in progress."""
    var receive_body: UInt8
    """How the body that we receive ends, one of `BodyKind`."""
    var send_body: UInt8
    """How the body that we send ends, one of `BodyKind`."""
    var has_ended: Bool
    """True after `receive_end()`."""
    var wants_upgrade: Bool
    """Whether the request in progress offers another protocol."""
    var informational: UInt32
    """1xx responses received for the request in progress."""
    var scanned: UInt32
    """How far the head in progress was read; guards against a foreign head."""
    var stream_id: Int
    """The exchange in progress or the last one, counted from 1."""
    var received: Int
    """Octets of the body received so far."""
    var receive_left: Int
    """Octets that Content-Length still announces."""
    var send_left: Int
    """Octets that our Content-Length still promises."""
    var chunk: ChunkState
    """The place in a chunked body that we receive."""

    def __init__(out self, role: UInt8, limits: H1Limits):
        """Begins before the first exchange.

        Args:
            role: Which end we are, one of `Role`.
            limits: What the peer may make us read.
        """
        self.limits = limits
        self.role = role
        self.request = SideState.IDLE
        self.response = SideState.IDLE
        self.version_minor = 1
        self.keep_alive = True
        self.is_last = False
        self.is_bodiless = False
        self.method = Method.OTHER
        self.receive_body = BodyKind.NONE
        self.send_body = BodyKind.NONE
        self.has_ended = False
        self.wants_upgrade = False
        self.informational = 0
        self.scanned = 0
        self.stream_id = 0
        self.received = 0
        self.receive_left = 0
        self.send_left = 0
        self.chunk = ChunkState()

    @always_inline
    def allows(self, request_input: UInt8, response_input: UInt8) -> Bool:
        """Returns whether both sides may take their inputs.

        Args:
            request_input: For the request side.
            response_input: For the response side.

        Returns:
            True if the tables have both pairs.
        """
        return (
            next_state[True](self.request, request_input) != SideState.ILLEGAL
            and next_state[False](self.response, response_input)
            != SideState.ILLEGAL
        )

    @always_inline
    def owes_plain_response(self) -> Bool:
        """Returns whether a server has received a whole request of HTTP/1.1
        whose response may have content and leaves the connection open.

        Returns:
            True if the head of that response is due.
        """
        # The octets of the word in the order of the fields; the method says
        # nothing here.
        comptime EXPECTED = (
            UInt64(Role.SERVER)
            | UInt64(SideState.DONE) << 8
            | UInt64(SideState.AWAITED) << 16
            | UInt64(1) << 24
            | UInt64(1) << 32
        )
        var word = (
            Pointer(to=self.role)
            .unsafe_bitcast[UInt64]()
            .unsafe_load[alignment=1]()
        )
        return word & 0x00FF_FFFF_FFFF_FFFF == EXPECTED

    @always_inline
    def advance_request(mut self, input: UInt8):
        """Moves the request side.

        Args:
            input: What happened to it; a legal one.
        """
        var next = next_state[True](self.request, input)
        debug_assert(next != SideState.ILLEGAL, "illegal request input")
        self.request = next

    @always_inline
    def advance_response(mut self, input: UInt8):
        """Moves the response side.

        Args:
            input: What happened to it; a legal one.
        """
        var next = next_state[False](self.response, input)
        debug_assert(next != SideState.ILLEGAL, "illegal response input")
        self.response = next

    @always_inline
    def finish_exchange(mut self):
        """Begins the next exchange, or none, if both sides are done."""
        if self.request != SideState.DONE or self.response != SideState.DONE:
            return
        var input = SideInput.NEXT if self.keep_alive else SideInput.LAST
        self.advance_request(input)
        self.advance_response(input)

    def fail(mut self):
        """Ends what is received after a violation or an early end."""
        self.keep_alive = False
        self.advance_request(SideInput.FAIL)
        if self.role == Role.CLIENT:
            self.advance_response(SideInput.FAIL)
        elif (
            next_state[False](self.response, SideInput.REFUSE)
            != SideState.ILLEGAL
        ):
            self.advance_response(SideInput.REFUSE)
