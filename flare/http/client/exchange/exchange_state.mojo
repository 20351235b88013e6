"""Defines the state of one exchange of a client.

The block belongs to a call and is used again, so that an exchange allocates
nothing once the client runs.
"""

from flare.message import HeaderMap
from flare.proto.head import Head
from flare.runtime.fiber import NO_DEADLINE

from ..config.client_config import ClientTimeouts
from ..transport.stream_inbox import StreamInbox
from ..transport.client_connection import ClientConnection
from ..transport.clock import Clock

comptime _KEPT_LINES_MAX = 128


struct ClientExchangeState(Movable):
    """The state of one exchange. Only `ClientExchange` and the module of its
    protocol use it.
    """

    var connection: Optional[ClientConnection]
    """The connection that carries it, from the pool; none before and after."""
    var clock: Clock
    """The time until which it may last."""
    var timeouts: ClientTimeouts
    """The bound of each wait."""
    var head: Head
    """The head that came last."""
    var head_octets: Int
    """Octets of the response's head that were not consumed; 0 while there is no
    response, and after the head was read."""
    var content_octets: Int
    """Octets of content that came and were not read."""
    var trailers: HeaderMap
    """The trailer section of the response."""
    var has_heard: Bool
    """Whether octets came in answer to the request."""
    var was_cut: Bool
    """Whether part of the request was not sent: its connection must close."""
    var is_send_due: Bool
    """Whether the request goes out together with the next receive."""
    var inbox: StreamInbox
    """The received parts of the response, on a shared connection."""

    def __init__(out self):
        """Creates an exchange without a connection."""
        self.connection = None
        self.clock = Clock(NO_DEADLINE)
        self.timeouts = ClientTimeouts()
        self.head = Head()
        self.head_octets = 0
        self.content_octets = 0
        self.trailers = HeaderMap()
        self.has_heard = False
        self.was_cut = False
        self.is_send_due = False
        self.inbox = StreamInbox()

    def rest(mut self):
        """Clears the exchange, and keeps little memory."""
        self.connection = None
        self.trailers = HeaderMap()
        if self.head.lines.capacity() > _KEPT_LINES_MAX:
            self.head = Head()
