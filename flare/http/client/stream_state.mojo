"""Holds an exchange whose contents go bit by bit."""

from flare.core import PointerTo
from flare.message import HeaderMap
from flare.runtime.fiber import NO_DEADLINE

from ..encoding.limits import DecodingLimits
from .call import Call
from .client_state import ClientState
from .clock import Clock
from .decoding import CodedContent, decoder_for, take_codings_out
from .exchange import ClientExchange

# Who reads bit by bit bounds the whole; the ratio stays bounded.
comptime _UNBOUNDED = 1 << 62


struct Stage:
    """Names what is due next; whatever is over comes not again."""

    comptime SENDING: UInt8 = 0
    """The request."""
    comptime SENT: UInt8 = 1
    """The response."""
    comptime OVER: UInt8 = 2
    """Nothing."""


struct ClientStreamState(Movable):
    """Holds one exchange that a program carries out bit by bit."""

    var client: PointerTo[ClientState]
    """Whose connection it is."""
    var call: Call
    """What was asked for."""
    var exchange: ClientExchange
    """The exchange of the call."""
    var stage: UInt8
    """What is due next, one of `Stage`."""
    var is_head_due: Bool
    """The head lies in the output."""
    var expects_continue: Bool
    """The head asks for 100 (Continue)."""
    var is_refused: Bool
    """The server has answered and wants no content."""
    var is_writing: Bool
    """A fiber is sending."""
    var is_reading: Bool
    """A fiber is receiving."""
    var is_left: Bool
    """The exchange is over, but a fiber has yet to leave the connection."""
    var is_whole: Bool
    """The content of the response was read to its end."""
    var sent_ms: Int
    """When octets were last sent."""
    var status: Int
    """The status of the response, once it is known."""
    var version_minor: Int
    """What its version has behind the dot, once it is known."""
    var headers: HeaderMap
    """The fields of the response."""
    var trailers: HeaderMap
    """The fields behind its content."""
    var sent_trailers: HeaderMap
    """The fields behind the content of the request."""
    var decoding: Optional[DecodingLimits]
    """What decoding may make of the content; none where the program decodes."""
    var coded: Optional[CodedContent]
    """What has come of a content that is decoded."""
    var codings: String
    """What Content-Encoding said of it."""

    def __init__(
        out self,
        client: PointerTo[ClientState],
        call: Call,
        exchange: ClientExchange,
        expects_continue: Bool,
        decoding: Optional[DecodingLimits],
    ):
        """Begins behind the head of the request, which lies in the output.

        Args:
            client: Whose connection it is.
            call: What is asked for.
            exchange: The exchange.
            expects_continue: The head asks for 100 (Continue).
            decoding: What decoding may make of the response.
        """
        self.client = client
        self.call = call
        self.exchange = exchange
        self.stage = Stage.SENDING
        self.is_head_due = True
        self.expects_continue = expects_continue
        self.is_refused = False
        self.is_writing = False
        self.is_reading = False
        self.is_left = False
        self.is_whole = False
        self.sent_ms = 0
        self.status = 0
        self.version_minor = 0
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        self.sent_trailers = HeaderMap()
        self.decoding = decoding
        self.coded = None
        self.codings = String()

    @staticmethod
    def answered(
        client: PointerTo[ClientState],
        call: Call,
        exchange: ClientExchange,
        decoding: Optional[DecodingLimits],
    ) raises -> Self:
        """Begins behind the head of the response.

        Args:
            client: Whose connection it is.
            call: What was asked for.
            exchange: The exchange; the head of its response has come.
            decoding: What decoding may make of it.

        Returns:
            The state.

        Raises:
            ClientError: `client.encoding head`.
        """
        var made = Self(client, call, exchange, False, decoding)
        made.is_head_due = False
        made.stage = Stage.SENT
        _ = call[].next_phase_us()
        made.take_head()
        return made^

    def take_head(mut self) raises:
        """Copies the head of the response.

        Raises:
            ClientError: `client.encoding head`.
        """
        self.call[].status = self.exchange.status()
        self.call[].failure = None
        var decoder = decoder_for(
            self.exchange.status(),
            self.exchange.has_content(),
            self.exchange.fields(),
            self.decoding,
            _UNBOUNDED,
        )
        self.status = self.exchange.status()
        self.version_minor = self.exchange.version_minor()
        _ = self.headers.unsafe_append_parsed(self.exchange.fields())
        if decoder:
            self.coded = CodedContent(decoder.take())
            self.codings = take_codings_out(self.headers)
        self.exchange.consume_head()
        # From here on each wait counts for itself.
        self.exchange.state[].clock = Clock(NO_DEADLINE)
