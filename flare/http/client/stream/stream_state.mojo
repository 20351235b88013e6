"""Defines an exchange whose contents are streamed: two sides, each with a
state.

The request side and the response side are used by one fiber each, perhaps at
the same time. A side is left when its fiber has returned. The exchange ends
when the response is whole, when the program gives it up, or when it fails. Its
connection goes back to the pool after that, as soon as both sides are left:
`StreamSides.release_when_both_left` is the only place that gives it back.
"""

from flare.core import PointerTo
from flare.message import HeaderMap, Status
from flare.net import NetError
from flare.runtime.fiber import NO_DEADLINE
from flare.sys.errno import EBUSY

from ...client_error import ClientError, Phase, raised
from ...encoding.limits import DecodingLimits
from ...version import HttpVersion
from ..call.call import exchange_of
from ..call.client_state import CallOwner, ClientState
from ..exchange.client_exchange import ClientExchange
from ..exchange.decoding import CodedContent, decoder_for, take_codings_out
from ..transport.clock import Clock, now

# The reader of a stream bounds the whole; the ratio stays bounded.
comptime _UNBOUNDED = 1 << 62


struct RequestSide(Movable):
    """The progress of the request."""

    comptime HEAD: UInt8 = 0
    """Its head was not sent."""
    comptime EXPECTING: UInt8 = 1
    """Its head was not sent, and asks for 100 (Continue)."""
    comptime CONTENT: UInt8 = 2
    """Content may be written."""
    comptime REFUSED: UInt8 = 3
    """No content may be written: the server has answered, or sending failed."""
    comptime ENDED: UInt8 = 4
    """The request is over."""

    var state: UInt8
    """One of the constants; it only grows."""
    var is_in_use: Bool
    """Whether a fiber is sending."""
    var sent_ms: Int
    """The time at which octets were last sent."""
    var trailers: HeaderMap
    """The trailer section to send after the content."""

    def __init__(out self, state: UInt8):
        """Creates an unused side.

        Args:
            state: The progress of the request.
        """
        self.state = state
        self.is_in_use = False
        self.sent_ms = 0
        self.trailers = HeaderMap()


struct ResponseSide(Movable):
    """The progress of the response, and its known parts."""

    comptime AWAITED: UInt8 = 0
    """Its head has not come."""
    comptime CONTENT: UInt8 = 1
    """Its head was read."""
    comptime WHOLE: UInt8 = 2
    """Its content was read to the end."""

    var state: UInt8
    """One of the constants; it only grows."""
    var is_in_use: Bool
    """Whether a fiber is receiving."""
    var status: Int
    """The status; 0 while the head is awaited."""
    var version: HttpVersion
    """The version; that of HTTP/1.1 while the head is awaited."""
    var headers: HeaderMap
    """The header section."""
    var trailers: HeaderMap
    """The trailer section."""
    var coded: Optional[CodedContent]
    """The encoded content received so far; `None` if the content is not
    decoded.
    """
    var codings: String
    """The codings that are undone, as Content-Encoding had them."""

    def __init__(out self):
        """Creates a side that waits for its head."""
        self.state = Self.AWAITED
        self.is_in_use = False
        self.status = 0
        self.version = HttpVersion.HTTP_1_1
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        self.coded = None
        self.codings = String()


struct ClientStreamState(Movable):
    """The state of one exchange that a program carries out piece by piece."""

    var owner: CallOwner
    """The call, and its client."""
    var exchange: ClientExchange
    """The exchange of the call."""
    var decoding: Optional[DecodingLimits]
    """The bounds of decoding; none if the program decodes."""
    var request: RequestSide
    """The request."""
    var response: ResponseSide
    """The response."""
    var is_over: Bool
    """Whether the exchange has ended: neither side may be used again."""

    def __init__(
        out self,
        var owner: CallOwner,
        request: UInt8,
        decoding: Optional[DecodingLimits],
    ):
        """Creates the sides of an exchange whose request head was written.

        Args:
            owner: The call.
            request: The progress of the request, a state of `RequestSide`.
            decoding: The bounds of decoding the response.
        """
        self.exchange = exchange_of(owner.call)
        self.owner = owner^
        self.decoding = decoding
        self.request = RequestSide(request)
        self.response = ResponseSide()
        self.is_over = False

    def take_head(mut self) raises:
        """Copies the head of the response.

        Raises:
            ClientError: `client.encoding head`.
        """
        var exchange = self.exchange
        self.owner.call[].status = exchange.status()
        self.owner.call[].failure = None
        var decoder = decoder_for(
            exchange.status(),
            exchange.has_content(),
            exchange.fields(),
            self.decoding,
            _UNBOUNDED,
        )
        ref response = self.response
        response.state = ResponseSide.CONTENT
        response.status = exchange.status()
        response.version = exchange.version()
        _ = response.headers.unsafe_append_parsed(exchange.fields())
        if decoder:
            response.coded = CodedContent(decoder.take())
            response.codings = take_codings_out(response.headers)
        exchange.consume_head()
        # From here on each wait counts for itself.
        exchange.state[].clock = Clock(NO_DEADLINE)


@fieldwise_init
struct StreamSides(TrivialRegisterPassable):
    """A handle to the two sides of a stream: fibers enter and leave them."""

    var state: PointerTo[ClientStreamState]
    """The stream."""

    def is_request_open(self) -> Bool:
        """Returns whether the program may still send the request.

        Returns:
            False after the request or the exchange has ended.
        """
        ref s = self.state[]
        return not s.is_over and s.request.state != RequestSide.ENDED

    def check_request(self) raises:
        """Raises if the request is over.

        Raises:
            ClientError: `client.over send`.
        """
        if not self.is_request_open():
            raise _over(Phase.SEND)

    def enter_request(self) raises:
        """Enters the request side: the calling fiber sends.

        Raises:
            ClientError: `client.over send` if the request is over; and an error
                `net.busy` if another fiber is sending.
        """
        self.check_request()
        if self.state[].request.is_in_use:
            raise Error(NetError.from_errno("write", EBUSY))
        self.state[].request.is_in_use = True

    def leave_request(self, var failure: Optional[Error]) raises:
        """Leaves the request side, after `enter_request`.

        Args:
            failure: The error of sending.

        Raises:
            The failure.
        """
        ref s = self.state[]
        if failure:
            # The answer may be there nevertheless.
            s.owner.call[].fail(failure.value(), Phase.SEND)
            s.exchange.stop_sending(
                ClientError.because(Phase.SEND, failure.value())
            )
            if s.request.state < RequestSide.REFUSED:
                s.request.state = RequestSide.REFUSED
        else:
            s.request.sent_ms = now()
        s.request.is_in_use = False
        self.release_when_both_left(is_whole=False)
        if failure:
            raise failure.take()

    def enter_response(self, phase: StaticString) raises:
        """Enters the response side: the calling fiber receives.

        Args:
            phase: The phase, for the error.

        Raises:
            ClientError: `client.over` if the exchange is over; and an error
                `net.busy` if another fiber is receiving.
        """
        if self.state[].is_over:
            raise _over(phase)
        if self.state[].response.is_in_use:
            raise Error(NetError.from_errno("read", EBUSY))
        self.state[].response.is_in_use = True

    def leave_response(self, var failure: Optional[Error]) raises:
        """Leaves the response side, after `enter_response`.

        Args:
            failure: The error of receiving; it ends the exchange.

        Raises:
            The failure.
        """
        self.state[].response.is_in_use = False
        self.release_when_both_left(is_whole=False)
        if failure:
            self.fail(failure.take())

    def fail(self, var failure: Error) raises:
        """Ends an exchange that has failed.

        Args:
            failure: The failure.

        Raises:
            The failure.
        """
        self.state[].owner.call[].fail(failure, Phase.CONTENT)
        self.end(is_whole=False)
        raise failure^

    def begin_response(self) raises:
        """Reads the head of a received response.

        Raises:
            ClientError: `client.encoding head`; the exchange is over then.
        """
        _ = self.state[].owner.call[].next_phase_us()
        try:
            self.state[].take_head()
        except e:
            self.fail(e)
        self.end_without_content()

    def end_without_content(self):
        """Ends an exchange whose response has no content: a program need not
        read it."""
        ref s = self.state[]
        if self.is_request_open() or s.is_over or s.exchange.has_content():
            return
        # Another protocol may follow on the connection (`take_upgrade`).
        if s.response.status == Status.SWITCHING_PROTOCOLS:
            return
        var nothing = List[UInt8]()
        var is_whole: Bool
        try:
            is_whole = s.exchange.read(Span(nothing)) == 0
        except:
            is_whole = False
        s.response.state = ResponseSide.WHOLE
        self.end(is_whole=is_whole)

    def end(self, *, is_whole: Bool):
        """Ends the exchange. Further calls have no effect.

        A fiber that waits on a side is woken, and leaves it with an error.

        Args:
            is_whole: Whether the response was read to its end.
        """
        ref s = self.state[]
        if s.is_over:
            return
        s.is_over = True
        if s.response.state != ResponseSide.AWAITED:
            ref call = s.owner.call[]
            call.timings.content_us += call.next_phase_us()
        if s.request.is_in_use or s.response.is_in_use:
            s.exchange.close()
        self.release_when_both_left(
            is_whole=is_whole and s.request.state == RequestSide.ENDED
        )

    def release_when_both_left(self, *, is_whole: Bool):
        """Returns the connection of a finished exchange to the pool, unless a
        fiber has not left it yet.

        Args:
            is_whole: Whether both sides are complete.
        """
        ref s = self.state[]
        if not s.is_over or s.request.is_in_use or s.response.is_in_use:
            return
        var pool = ClientState.pool_of(s.owner.state)
        var origin = s.owner.call[].origin.value()
        if is_whole:
            pool.release(origin, s.exchange)
        else:
            pool.discard(origin, s.exchange)


def _over(phase: StaticString) -> Error:
    if phase == Phase.CONTENT:
        return raised(
            ClientError.OVER,
            phase,
            "the exchange was over before the content was whole",
        )
    return raised(
        ClientError.OVER, phase, "the content or the exchange is over"
    )
