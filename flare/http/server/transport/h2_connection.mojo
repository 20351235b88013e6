"""The state that HTTP/2 keeps on a connection of a server."""

from flare.core import Buffer, PointerTo
from flare.http.body import Body
from flare.http.exchange import Exchange
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
    var is_last: Bool
    """Whether no more content follows."""
    var trailers: HeaderMap
    """The trailers after it."""

    def __init__(out self):
        """Creates the content of a response that is written piece by piece."""
        self.body = Body()
        self.sent = 0
        self.gathered = Buffer()
        self.is_last = False
        self.trailers = HeaderMap()

    def __init__(out self, var body: Body):
        """Creates the content of a response that is known as a whole.

        Args:
            body: The content.
        """
        self = Self()
        self.body = body^
        self.is_last = True

    def owned_octets(self) -> Int:
        """Returns how much memory it holds.

        Returns:
            The octets, without those that the program keeps anyhow.
        """
        var octets = self.gathered.capacity()
        return octets if self.body.is_sealed() else octets + len(self.body)


@fieldwise_init
struct StreamSide(ImplicitlyCopyable, Movable):
    """The parts of a stream that its machine does not know."""

    var exchange: Optional[Exchange]
    """The request, while its handler runs."""
    var unsent: Optional[PointerTo[UnsentContent]]
    """Content of the response that was not sent yet."""


struct H2Connection(Movable):
    """The streams of a connection."""

    var state: H2State
    """The state of the protocol."""
    var streams: List[StreamSide]
    """The streams, by the slots of the machine."""
    var drain: UInt8
    """How far the end of new streams was announced, one of `Drain`."""
    var drain_since_ms: Int
    """When it was announced first."""

    def __init__(out self, limits: H2Limits):
        """Creates the state before the first octet.

        Args:
            limits: The limits on the client.
        """
        self.state = H2State(limits)
        self.streams = []
        self.drain = Drain.NONE
        self.drain_since_ms = 0
