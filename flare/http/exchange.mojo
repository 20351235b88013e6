"""Holds one request while it lives, and what its answer needs.

The block belongs to a worker's pool and is used again, so that a request
allocates nothing. Whoever makes an exchange (a connection, a test) says through
`ContentSource` how the content of the request is to be waited for.
"""

from flare.core import Buffer, Erased, OctetPointer, PointerTo
from flare.net import SocketAddr
from flare.proto.h1 import Head
from flare.runtime.fiber import Fiber

from .path_parameters import PathParameters

comptime NOT_UTF8: StaticString = "http.not_utf8"
"""How the error begins that reports octets of a peer which are no text."""


@fieldwise_init
struct ContentSource(TrivialRegisterPassable):
    """Says how the content of a request gets here."""

    var owner: Erased
    """The connection."""
    var demand: def(Erased) thin -> None
    """Called when a handler wants the content: it may have to be asked for."""
    var peer_address: def(Erased) raises thin -> SocketAddr
    """Finds the address of the peer."""


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
    var content_view: Optional[OctetPointer]
    """The whole content, where it lies behind the head already."""
    var content_view_octets: Int
    """The length of that view."""
    var content_complete: Bool
    """All of the content has come."""
    var content_wanted: Bool
    """The handler has asked for it."""
    var content_status: Int
    """What to answer because the content is bad, or 0."""
    var rejected_status: Int
    """What to answer if the error reaches the server that was raised because
    the peer sent something else than the handler asked for, or 0."""
    var source: Optional[ContentSource]
    """How more content is waited for; none where it is complete."""
    var waiter: Optional[Fiber]
    """The fiber that waits for content."""
    var fiber: Optional[Fiber]
    """The fiber that runs the handler."""
    var request_id: Int
    """Counted by the worker from 1; 0 until the head is complete."""
    var worker: Int
    """The index of the worker."""
    var app_state: Optional[Erased]
    """The state of the `App` around the handler; `State[T]` reads it."""
    var app_state_type: StaticString
    """The name of the state's type, checked by `State[T]`."""
    var route: StaticString
    """The pattern that matched, for logs; empty before routing."""
    var handler: Erased
    """The handler, whose type the function that runs it knows."""
    var read_buffer: Optional[OctetPointer]
    """The receive buffer that holds the head, if it lies in one."""
    var gathered: Buffer
    """The octets of the head, if they came in several pieces."""
    var peer_gone: Bool
    """The peer left before the answer was sent."""
    var started_ms: Int
    """When the head was complete, by the reactor's clock; 0 until then."""

    def __init__(out self):
        """Makes an empty block."""
        self.head = Head()
        self.octets = OctetPointer(unsafe_from_address=64)
        self.octet_count = 0
        self.parameters = PathParameters()
        self.content = Buffer()
        self.content_view = None
        self.content_view_octets = 0
        self.content_complete = False
        self.content_wanted = False
        self.content_status = 0
        self.rejected_status = 0
        self.source = None
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
        self.peer_gone = False
        self.started_ms = 0

    def begin(mut self):
        """Forgets the last request; memory stays for the next one."""
        self.parameters.clear()
        self.content.clear()
        self.content_view = None
        self.content_view_octets = 0
        self.content_complete = False
        self.content_wanted = False
        self.content_status = 0
        self.rejected_status = 0
        self.source = None
        self.waiter = None
        self.fiber = None
        self.request_id = 0
        self.started_ms = 0
        self.app_state = None
        self.route = ""
        self.read_buffer = None
        self.peer_gone = False

    def status_of(self, error: Error) -> Int:
        """Tells how an error is answered that the handler did not catch.

        Args:
            error: The error.

        Returns:
            400 if the peer's octets are no text, which is no fault of the
            handler; else 500.
        """
        # The text tells the error from a later one of another cause.
        if self.rejected_status != 0 and String(error).startswith(NOT_UTF8):
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
        var octets = self.content.span()
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        )


comptime Exchange = PointerTo[ExchangeState]
"""Names the block of one request."""
