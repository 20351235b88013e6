"""Holds one request while it lives, and what its answer needs.

The block belongs to a worker's pool and is used again, so that a request
allocates nothing. Whoever makes an exchange (a connection, a test) says through
`Carrier` how the content of the request is waited for and how a response that
is written bit by bit gets away.
"""

from flare.core import Buffer, Erased, OctetPointer, PointerTo, SlotHandle
from flare.message import HeaderMap
from flare.proto.h1 import H1Rule, Head
from flare.runtime.fiber import Fiber
from flare.tls import TlsMachine
from flare.unix import PeerCredentials

from .path_parameters import PathParameters
from .stream_address import StreamAddr

from std.memory import unsafe_memcpy

comptime NOT_UTF8: StaticString = "http.not_utf8"
"""How the error begins that reports octets of a peer which are no text."""
comptime BAD_JSON: StaticString = "json."
"""How the error begins that reports octets of a peer which are no JSON."""


comptime BAD_FORM: StaticString = "http.bad_form"
"""How the error begins that reports a form which breaks a rule or a limit."""


comptime OVER: StaticString = "http.stream_over the request has ended"
"""The error of who uses the content of a request, or the stream of its
response, when the request is over."""


comptime CUT_OFF: StaticString = "http.content cut off"
"""How the error begins that reports a peer which left too early."""


comptime STOPPING: StaticString = "http.stopping the server stops"
"""The error of a stream without an end of its own when its server stops."""


@fieldwise_init
struct CarrierFunctions(TrivialRegisterPassable):
    """Holds what carries the octets of an exchange; `owner` comes first."""

    var demand: def(Erased) thin -> None
    """Called when a handler wants content: it may have to be asked for."""
    var peer_address: def(Erased) raises thin -> StreamAddr
    """Finds the address of the peer."""
    var peer_credentials: def(Erased) raises thin -> PeerCredentials
    """Finds which process is at the other end of a Unix socket."""
    var tls: def(Erased) thin -> Optional[PointerTo[TlsMachine]]
    """Finds the TLS machine of the connection; none without TLS."""
    var inform: def(Erased, Int, PointerTo[HeaderMap]) raises thin -> None
    """Sends an interim response with these fields."""
    var write: def(Erased, OctetPointer, Int) raises thin -> Int
    """Takes octets of a streamed response, and parks while there is no room;
    the head goes first. Without octets it only lets the head go."""
    var read_upgraded: def(Erased, OctetPointer, Int) raises thin -> Int
    """Reads octets behind an upgrade, and parks while there are none."""
    var write_upgraded: def(Erased, OctetPointer, Int) raises thin -> Int
    """Takes octets behind an upgrade, and parks while there is no room."""


@fieldwise_init
struct Carrier(TrivialRegisterPassable):
    """Says how the octets of a request and its response get here and away."""

    var owner: Erased
    """The connection."""
    var functions: PointerTo[CarrierFunctions]
    """What it does."""


@fieldwise_init
struct StreamFilter(TrivialRegisterPassable):
    """Changes the octets of a streamed response before the carrier gets them.
    """

    var owner: Erased
    """What the functions are called with."""
    var write: def(Erased, Erased, OctetPointer, Int) raises thin -> Int
    """Takes octets for an exchange, and parks as the carrier does. Without
    octets it only lets the head go."""
    var release: def(Erased) thin -> None
    """Called once, when the response is over."""


struct StreamState(Movable):
    """Holds a response that is written bit by bit while it lasts."""

    var held_octets: Int
    """How much the worker counts for its function until the end. The field
    stands first, beside the buffers that are counted with it."""
    var status: Int
    """The status of the head."""
    var headers: HeaderMap
    """The fields of the head."""
    var length: Int
    """The length of the content, or -1 if only its end will show it."""
    var trailers: HeaderMap
    """The fields behind the content."""
    var is_head_due: Bool
    """The head was not written yet."""
    var is_open: Bool
    """The function that writes the response, or speaks the other protocol,
    runs."""
    var written: Int
    """Octets of content that were taken."""
    var waiter: Optional[Fiber]
    """The fiber that waits for room."""
    var filter: Optional[StreamFilter]
    """What changes the octets, if something does."""
    var filtered_octets: Int
    """Octets that `filter` has taken."""
    var read_timeout_ms: Int
    """The longest wait of one read behind an upgrade."""
    var is_endless: Bool
    """It has no end of its own: a server that stops asks it to end at once."""
    var is_stopping: Bool
    """The server stops."""
    var has_read: Bool
    """Its function has read behind an upgrade."""
    var write_tells: Bool
    """A write tells its function that the server stops, though there is room:
    it may never read."""
    var was_told: Bool
    """Its function was told that the server stops."""
    var was_told_idle: Bool
    """It was told when it had read all that had come."""

    def __init__(out self):
        """Makes the state of a response that is not streamed."""
        self.status = 0
        self.headers = HeaderMap()
        self.length = -1
        self.trailers = HeaderMap()
        self.is_head_due = False
        self.is_open = False
        self.written = 0
        self.waiter = None
        self.filter = None
        self.held_octets = 0
        self.filtered_octets = 0
        self.read_timeout_ms = 0
        self.is_endless = False
        self.is_stopping = False
        self.has_read = False
        self.write_tells = False
        self.was_told = False
        self.was_told_idle = False

    def owes_notice(self) -> Bool:
        """Returns whether the function is still to learn that the server
        stops.

        Returns:
            True for a stream without an end of its own, until it was told.
        """
        return self.is_stopping and self.is_endless and not self.was_told

    def end(mut self):
        """Forgets the response: what still holds the stream finds it over."""
        self.is_head_due = False
        self.is_open = False
        self.is_endless = False
        self.is_stopping = False
        self.has_read = False
        self.write_tells = False
        self.was_told = False
        self.was_told_idle = False
        self.held_octets = 0
        self.filtered_octets = 0
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        if self.filter:
            var filter = self.filter.unsafe_value()
            self.filter = None
            filter.release(filter.owner)


struct ExchangeState(Movable):
    """Holds a request and its answer's context. `Request` is the view of it."""

    var head: Head
    """The head, as offsets into `octets`."""
    var octets: OctetPointer
    """The window in which the head was reported; in place while this lives."""
    var octet_count: Int
    """The length of the head."""
    var parameters: PathParameters
    """What the route's parameters matched."""
    var content: Buffer
    """The content that was copied here."""
    var trailers: Buffer
    """The octets of the trailer section, to which `head.trailers` refers."""
    var gathered: Buffer
    """The octets of the head, if they came in several pieces."""
    var stream: StreamState
    """The response, where it is written bit by bit."""
    var worker: Int
    """The index of the worker."""
    var handler: Erased
    """The handler, whose type the function that runs it knows."""
    var app_state_type: StaticString
    """The name of the state's type, checked by `State[T]`."""
    var route: StaticString
    """The pattern that matched, for logs; empty before routing."""
    var content_octets_max: Int
    """How much content the request may carry."""
    var carrier: Optional[Carrier]
    """The connection; none where the content is complete and nobody listens
    before the response is whole."""
    # What a new request empties stands together, so that a few stores do it.
    var content_view: Optional[OctetPointer]
    """The whole content, where it lies behind the head already."""
    var content_view_octets: Int
    """The length of that view."""
    var content_taken: Int
    """Octets of `content`, or of the view, that were read as a stream."""
    var content_received: Int
    """Octets of content that came, those included that were read."""
    var content_budget_ms: Int
    """How long the content may still be waited for; arrivals add to it."""
    var content_budget_rest: Int
    """What came and adds no whole millisecond to it: thousandths of octets, as
    it were, below the rate."""
    var content_awaited_ms: Int
    """When the present wait for content began."""
    var content_status: Int
    """What to answer because the content is bad, or 0."""
    var rejected_status: Int
    """What to answer if the error reaches the server that was raised because
    the peer sent something else than the handler asked for, or 0."""
    var waiter: Optional[Fiber]
    """The fiber that waits for content."""
    var fiber: Optional[Fiber]
    """The fiber that runs the handler."""
    var request_id: Int
    """Counted by the worker from 1; 0 until the head is complete, and when the
    request is over: what still holds the block sees that it is not its own."""
    var started_ms: Int
    """When the head was complete, by the reactor's clock; 0 until then."""
    var app_state: Optional[Erased]
    """The state of the `App` around the handler; `State[T]` reads it."""
    var read_buffer: Optional[OctetPointer]
    """The receive buffer that holds the head, if it lies in one."""
    var content_rule: H1Rule
    """The rule of HTTP/1.1 that the content breaks, if it is bad."""
    var content_complete: Bool
    """All of the content has come."""
    var content_whole: Bool
    """The handler has asked for all of it at once, so that it is kept."""
    var content_streamed: Bool
    """The handler reads it bit by bit, so that what was read is dropped."""
    var error_headers: HeaderMap
    """The fields of the answer that the server makes if the handler fails."""
    var peer_ended: Bool
    """The peer has ended its side, which counts as leaving."""
    var peer_gone: Bool
    """The peer left before the answer was sent."""
    var slot: SlotHandle
    """Its slot in the slab of the worker, if it comes from one."""

    def __init__(out self):
        """Makes an empty block."""
        self.head = Head()
        self.octets = OctetPointer(unsafe_from_address=64)
        self.octet_count = 0
        self.parameters = PathParameters()
        self.content = Buffer()
        self.trailers = Buffer()
        self.stream = StreamState()
        self.content_view = None
        self.content_view_octets = 0
        self.content_taken = 0
        self.content_received = 0
        self.content_octets_max = Int.MAX
        self.content_rule = H1Rule.NONE
        self.content_complete = False
        self.content_whole = False
        self.content_streamed = False
        self.content_budget_ms = 0
        self.content_budget_rest = 0
        self.content_awaited_ms = 0
        self.content_status = 0
        self.rejected_status = 0
        self.carrier = None
        self.waiter = None
        self.fiber = None
        self.request_id = 0
        self.worker = 0
        self.app_state = None
        self.app_state_type = ""
        self.route = ""
        self.handler = Erased(unsafe_from_address=64)
        self.read_buffer = None
        self.gathered = Buffer()
        self.error_headers = HeaderMap()
        self.peer_ended = False
        self.peer_gone = False
        self.slot = SlotHandle(0, 0)
        self.started_ms = 0

    @always_inline
    def begin(mut self):
        """Forgets the last request; memory stays for the next one, and so does
        the carrier."""
        self.parameters.clear()
        self.content.clear()
        self.trailers.clear()
        self.route = ""
        self.content_octets_max = Int.MAX
        self.content_view = None
        self.content_view_octets = 0
        self.content_taken = 0
        self.content_received = 0
        self.content_budget_ms = 0
        self.content_budget_rest = 0
        self.content_awaited_ms = 0
        self.content_status = 0
        self.rejected_status = 0
        self.waiter = None
        self.fiber = None
        self.request_id = 0
        self.started_ms = 0
        self.app_state = None
        self.read_buffer = None
        self.content_rule = H1Rule.NONE
        self.content_complete = False
        self.content_whole = False
        self.content_streamed = False
        if len(self.error_headers) > 0:
            self.error_headers = HeaderMap()
        self.peer_ended = False
        self.peer_gone = False

    @always_inline
    def end(mut self):
        """Says that the request is over, and wakes who still waits for it."""
        self.request_id = 0
        if self.waiter:
            self.waiter.unsafe_value().wake()
        if self.stream.waiter:
            self.stream.waiter.unsafe_value().wake()
        self.waiter = None
        self.stream.waiter = None

    def status_of(self, error: Error) -> Int:
        """Tells how an error is answered that the handler did not catch.

        Args:
            error: The error.

        Returns:
            400 to 499 if the peer's octets are no text, no JSON or no form, which
            is no fault of the handler; else 500.
        """
        # The text tells the error from a later one of another cause.
        if self.rejected_status != 0:
            var text = String(error)
            if (
                text.startswith(NOT_UTF8)
                or text.startswith(BAD_JSON)
                or text.startswith(BAD_FORM)
            ):
                return self.rejected_status
        return 500

    @always_inline
    def window(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Views the octets of the head.

        Returns:
            The view; valid while the exchange lives.
        """
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=self.octets.unsafe_mut_cast[False]().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=self.octet_count,
        )

    @always_inline
    def check_content(self) raises:
        """Raises if the content was refused.

        Raises:
            An error `http.content …` with the status that answers it.
        """
        if self.content_status != 0:
            raise Error("http.content bad, status ", self.content_status)

    def is_content_too_large(self) -> Bool:
        """Returns whether more content came, or was announced, than may be
        read.

        Returns:
            True if it must not be handed over.
        """
        return (
            max(self.head.content_length, self.content_received)
            > self.content_octets_max
        )

    def content_octets_bound(self) -> Int:
        """Tells how long the content may become.

        Returns:
            What Content-Length says, or what the request may carry, if that is
            less.
        """
        if self.head.content_length < 0:
            return self.content_octets_max
        return min(self.head.content_length, self.content_octets_max)

    def take_content(mut self, into: Span[mut=True, UInt8, _]) -> Int:
        """Moves content that has come into memory of the reader.

        Args:
            into: Where to put it.

        Returns:
            How many octets; 0 if none is there.
        """
        var source = self.content_octets()[self.content_taken :]
        var count = min(len(source), len(into))
        if count == 0:
            return 0
        unsafe_memcpy(
            dest=into.unsafe_ptr(), src=source.unsafe_ptr(), count=count
        )
        self.content_taken += count
        if count == len(source) and not self.content_whole:
            self.content.clear()
            if not self.content_view:
                self.content_taken = 0
        return count

    def trailer_octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Views the trailer section.

        Returns:
            The view; valid while the exchange lives.
        """
        return _untracked(self.trailers)

    def content_octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Views the content that has come so far.

        Returns:
            The view; valid while nothing more is appended.
        """
        if self.content_view:
            return Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=self.content_view.unsafe_value()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUntrackedOrigin](),
                length=self.content_view_octets,
            )
        return _untracked(self.content)


def _untracked(buffer: Buffer) -> Span[UInt8, ImmUntrackedOrigin]:
    var octets = buffer.span()
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[ImmUntrackedOrigin](),
        length=len(octets),
    )


comptime Exchange = PointerTo[ExchangeState]
"""Names the block of one request."""
