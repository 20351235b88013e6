"""The state of an HTTP/1.1 connection between two calls."""

from flare.message import Method

from ..head import BodyKind
from .chunk import ChunkState
from .limits import H1Limits
from .state import SideInput, SideState, next_state


struct Role:
    """The two ends of a connection."""

    comptime SERVER: UInt8 = 0
    """Receives requests, sends responses."""
    comptime CLIENT: UInt8 = 1
    """Sends requests, receives responses."""


struct H1State(Movable):
    """The state of an idle connection: plain data, no octets."""

    var limits: H1Limits
    """Limits on the peer's messages."""
    # `owes_plain_response` looks at the first eight as one word.
    var role: UInt8
    """The end of the connection, one of `Role`."""
    var request: UInt8
    """The request side, one of `SideState`."""
    var response: UInt8
    """The response side, one of `SideState`."""
    var version_minor: UInt8
    """The minor version of the peer's last head."""
    var keep_alive: Bool
    """Whether both peers let the connection persist."""
    var is_last: Bool
    """Whether no exchange may follow the one in progress."""
    var is_bodiless: Bool
    """Whether the response in progress has no body, whatever its fields say."""
    var method: Method
    """The method of the request in progress."""
    var receive_body: UInt8
    """How the received body ends, one of `BodyKind`."""
    var send_body: UInt8
    """How the sent body ends, one of `BodyKind`."""
    var has_ended: Bool
    """Whether `receive_end()` was called."""
    var wants_upgrade: Bool
    """Whether the request in progress offers another protocol."""
    var informational: UInt32
    """The number of 1xx responses received for the request in progress."""
    var scanned: UInt32
    """How far the head in progress was read; detects another head."""
    var stream_id: Int
    """The number of the exchange in progress, or of the last one, from 1."""
    var received: Int
    """The octets of the body received so far."""
    var receive_left: Int
    """The octets of Content-Length that have not arrived."""
    var send_left: Int
    """The octets of Content-Length that are unsent."""
    var chunk: ChunkState
    """The position in a chunked body that is received."""

    def __init__(out self, role: UInt8, limits: H1Limits):
        """Creates the state before the first exchange.

        Args:
            role: The end of the connection, one of `Role`.
            limits: Limits on the peer's messages.
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
            request_input: The input of the request side.
            response_input: The input of the response side.

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
        """Returns whether the response that is due may be a plain one.

        Returns:
            True if a whole HTTP/1.1 request was received, the head of the
            response is due, the response may have content, and the connection
            stays open.
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
        """Advances the request side.

        Args:
            input: Its input, a legal one.
        """
        var next = next_state[True](self.request, input)
        debug_assert(next != SideState.ILLEGAL, "illegal request input")
        self.request = next

    @always_inline
    def advance_response(mut self, input: UInt8):
        """Advances the response side.

        Args:
            input: Its input, a legal one.
        """
        var next = next_state[False](self.response, input)
        debug_assert(next != SideState.ILLEGAL, "illegal response input")
        self.response = next

    @always_inline
    def finish_exchange(mut self):
        """Starts the next exchange, or ends the connection, if both sides are
        done.
        """
        if self.request != SideState.DONE or self.response != SideState.DONE:
            return
        var input = SideInput.NEXT if self.keep_alive else SideInput.LAST
        self.advance_request(input)
        self.advance_response(input)

    def fail(mut self):
        """Ends the receiving side after a violation or an early end."""
        self.keep_alive = False
        self.advance_request(SideInput.FAIL)
        if self.role == Role.CLIENT:
            self.advance_response(SideInput.FAIL)
        elif (
            next_state[False](self.response, SideInput.REFUSE)
            != SideState.ILLEGAL
        ):
            self.advance_response(SideInput.REFUSE)
