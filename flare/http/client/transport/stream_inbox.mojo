"""Keeps the received parts of a response on a shared connection.

The fiber that reads the connection fills the inboxes of all exchanges. So an
inbox lies in the block of a call, and is changed while its owner waits.
"""

from flare.core import Buffer, PointerTo
from flare.message import HeaderMap
from flare.proto.h2.stream_table import NO_SLOT
from flare.proto.head import Head
from flare.runtime.fiber import Fiber

comptime _KEPT_OCTETS_MAX = 64 * 1024
comptime _KEPT_LINES_MAX = 128


struct TunnelReading(ImplicitlyCopyable, Movable):
    """The reading of another protocol (RFC 8441)."""

    var is_asked: Bool
    """Whether the request is an extended CONNECT."""
    var is_open: Bool
    """Whether the server has accepted it."""
    var seen_octets: Int
    """How much unread content the reader has seen, and waits for more."""
    var patience_ms: Optional[PointerTo[Int]]
    """The longest wait of the reader, if it may change meanwhile."""

    def __init__(out self):
        """Creates the state of a request that is none."""
        self.is_asked = False
        self.is_open = False
        self.seen_octets = 0
        self.patience_ms = None


struct InboxFibers(ImplicitlyCopyable, Movable):
    """The fibers that wait for an exchange."""

    var reader: Optional[Fiber]
    """The fiber that waits for the response."""
    var writer: Optional[Fiber]
    """The fiber that waits to send."""

    def __init__(out self):
        """Creates the state without any."""
        self.reader = None
        self.writer = None


struct StreamInbox(Movable):
    """The received parts of one response, and the fibers that wait for more."""

    var slot: Int
    """The slot of the stream; `NO_SLOT` before the head of the request."""
    var informational: Int
    """The status of an interim response that was not read; 0 if there is none.
    """
    var head: Head
    """The final head, if it was not read."""
    var wire: Buffer
    """The octets to which the head refers."""
    var content: Buffer
    """Content that was not read."""
    var content_left: Int
    """How much further content the exchange accepts."""
    var trailers: HeaderMap
    """The trailer section."""
    var has_head: Bool
    """Whether a final head arrived that was not read."""
    var has_ended: Bool
    """Whether the whole response has arrived."""
    var failure: Optional[Error]
    """The error after the content that has arrived."""
    var tunnel: TunnelReading
    """How another protocol is read."""
    var fibers: InboxFibers
    """The fibers that wait."""

    def __init__(out self):
        """Creates an inbox without a stream."""
        self.slot = NO_SLOT
        self.informational = 0
        self.head = Head()
        self.wire = Buffer()
        self.content = Buffer()
        self.content_left = 0
        self.trailers = HeaderMap()
        self.has_head = False
        self.has_ended = False
        self.failure = None
        self.tunnel = TunnelReading()
        self.fibers = InboxFibers()

    def has_news(self) -> Bool:
        """Returns whether a part of the response, or its failure, is unread.

        Returns:
            True also at the end of the response.
        """
        return (
            self.has_head
            or len(self.content) > self.tunnel.seen_octets
            or self.has_ended
            or self.informational != 0
            or Bool(self.failure)
        )

    def wake(self):
        """Wakes the fibers that wait for this exchange."""
        if self.fibers.reader:
            self.fibers.reader.value().wake()
        if self.fibers.writer:
            self.fibers.writer.value().wake()

    def clear(mut self):
        """Prepares for the next exchange, and keeps little memory."""
        self.slot = NO_SLOT
        self.informational = 0
        self.wire.clear()
        self.content.clear()
        self.has_head = False
        self.has_ended = False
        self.failure = None
        self.tunnel = TunnelReading()
        if len(self.trailers) > 0:
            self.trailers = HeaderMap()
        if self.wire.capacity() > _KEPT_OCTETS_MAX:
            self.wire = Buffer()
        if self.content.capacity() > _KEPT_OCTETS_MAX:
            self.content = Buffer()
        if self.head.lines.capacity() > _KEPT_LINES_MAX:
            self.head = Head()


comptime Inbox = PointerTo[StreamInbox]
"""A handle to an inbox."""
