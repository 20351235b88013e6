"""The state that HTTP/2 keeps on a connection of a server."""

from flare.core import Buffer, PointerTo
from flare.http.body import Body
from flare.http.exchange import Exchange
from flare.http.rate_budget import RateBudget
from flare.message import HeaderMap
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_state import H2State


struct Drain:
    """How far the end of new streams was announced (RFC 9113 section 6.8)."""

    comptime NONE: UInt8 = 0
    """Not at all."""
    comptime ANNOUNCED: UInt8 = 1
    """The client knows that it should begin no more. It may have begun some
    before."""
    comptime FINAL: UInt8 = 2
    """The client knows the last stream that is answered."""


struct UnsentContent(Movable):
    """Content of a response that waits for its turn and the client's windows.
    """

    var body: Body
    """The content, if the whole is known."""
    var sent: Int
    """How much of it was sent."""
    var gathered: Buffer
    """Content that a handler has written piece by piece."""
    var counted_octets: Int
    """How much of it the connection has counted."""
    var is_last: Bool
    """Whether no more content follows."""
    var trailers: HeaderMap
    """The trailers after it."""
    var budget: RateBudget
    """How long the client may still close its window to the content."""
    var awaits_window: Bool
    """Whether the content waits for a window of the client."""
    var next: Optional[PointerTo[UnsentContent]]
    """The next block that is not in use, if this one is not."""

    def __init__(out self, timeout_ms: Int):
        """Creates a content without octets, to which more may be added.

        Args:
            timeout_ms: How long the client may close its window.
        """
        self.body = Body()
        self.sent = 0
        self.gathered = Buffer()
        self.counted_octets = 0
        self.is_last = False
        self.trailers = HeaderMap()
        self.budget = RateBudget(timeout_ms)
        self.awaits_window = False
        self.next = None

    def owned_octets(self) -> Int:
        """Returns how much memory it holds.

        Returns:
            The octets, without those that the program keeps anyhow.
        """
        return self.gathered.capacity() + self.body_octets()

    def body_octets(self) -> Int:
        """Returns how much memory a content holds that is known as a whole.

        Returns:
            The octets; 0 for sealed content, which many responses share.
        """
        return 0 if self.body.is_sealed() else len(self.body)


comptime FREE_OCTETS = 8 * 1024
"""How much a tunnel keeps beyond its window. So a handler can wait for a few
thousand octets, whatever the window is."""


struct H2Tunnel(Movable):
    """The octets that a client sends after an extended CONNECT (RFC 8441)."""

    var received: Buffer
    """The octets that the handler has not taken."""
    var has_ended: Bool
    """Whether no more follow."""

    def __init__(out self, has_ended: Bool):
        """Creates a tunnel before its first octet.

        Args:
            has_ended: Whether the client sends none.
        """
        self.received = Buffer()
        self.has_ended = has_ended

    def windowed_octets(self) -> Int:
        """Returns for how many octets the client gets no credit yet.

        Returns:
            The octets.
        """
        return max(len(self.received) - FREE_OCTETS, 0)


struct StreamSide(ImplicitlyCopyable, Movable):
    """The parts of a stream that its machine does not know."""

    var exchange: Optional[Exchange]
    """The request, while its handler runs."""
    var unsent: Optional[PointerTo[UnsentContent]]
    """Content of the response that was not sent yet."""
    var tunnel: Optional[PointerTo[H2Tunnel]]
    """The octets after an extended CONNECT, while its handler runs."""

    def __init__(out self):
        """Creates the parts of a stream that does not exist yet."""
        self.exchange = None
        self.unsent = None
        self.tunnel = None


struct H2Connection(Movable):
    """The streams of a connection."""

    var state: H2State
    """The state of the protocol."""
    var streams: List[StreamSide]
    """The streams, by the slots of the machine."""
    var requests: Int
    """How many requests the connection has carried."""
    var unsent_count: Int
    """How many responses have content that was not sent."""
    var unsent_octets: Int
    """The memory of contents that are known as a whole and not sent."""
    var gathered_octets: Int
    """The content of all streams that handlers have written piece by piece."""
    var waiting: Int
    """How many requests wait until less is unsent."""
    var stalled_at_ms: Int
    """When the first content has waited too long for a window of the client; 0
    if none waits."""
    var drain: UInt8
    """How far the end of new streams was announced, one of `Drain`."""
    var drain_since_ms: Int
    """When it was announced first."""
    var has_unread_tunnel: Bool
    """Whether a handler has left octets of a tunnel unread."""

    def __init__(out self, limits: H2Limits):
        """Creates the state before the first octet.

        Args:
            limits: The limits on the client.
        """
        self.state = H2State(limits)
        self.streams = []
        self.requests = 0
        self.unsent_count = 0
        self.unsent_octets = 0
        self.gathered_octets = 0
        self.waiting = 0
        self.stalled_at_ms = 0
        self.drain = Drain.NONE
        self.drain_since_ms = 0
        self.has_unread_tunnel = False

    @always_inline
    def has_unsent(self) -> Bool:
        """Returns whether content may wait for its turn or for a window.

        Returns:
            False if no response has any.
        """
        return self.unsent_count > 0
