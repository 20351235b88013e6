"""Passes one request to a handler, and its response back, in memory.

The server's end of the HTTP/1.1 machine parses the request and checks a
streamed response. So a handler meets the same rules as in a server.
"""

from flare.core import (
    Buffer,
    Erased,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.http.body import Body
from flare.http.builders import refusal
from flare.http.error_answer import error_answer
from flare.http.exchange import (
    CarrierFunctions,
    Exchange,
    ExchangeState,
    MutOctets,
    NOT_RECEIVED,
    OutputRoom,
    UpgradedFunctions,
)
from flare.http.plain_carrier import (
    aborts_nothing,
    hides_no_client,
    never_held_back,
    takes_no_file,
)
from flare.http.request import Request
from flare.http.response import Response
from flare.http.stream_response import (
    begin_stream,
    can_upgrade,
    run_stream,
    upgrade_required,
)
from flare.message import HeaderMap, Status
from flare.http.stream_address import StreamAddr
from flare.net import NetError
from flare.unix import PeerCredentials
from flare.proto.h1 import (
    BodyLength,
    H1Limits,
    H1Machine,
    H1State,
    HttpEvent,
    Role,
)
from flare.tls import TlsMachine

comptime BROKEN_OFF: StaticString = "http.broken_off"
"""The start of the error for a response that was broken off."""


struct HandlerCallState(Movable):
    """One request and its response."""

    var received: Buffer
    """The octets of the request, and those after it."""
    var received_taken: Int
    """How many of them were read."""
    var machine: H1Machine
    """The server's end of the machine."""
    var exchange: Exchange
    """The request as the handler sees it; the caller owns it."""
    var functions: CarrierFunctions
    """The carrier's functions."""
    var sent: Buffer
    """The latest output of the machine; only its checks matter here."""
    var trailers: Optional[PointerTo[HeaderMap]]
    """The destination of a streamed response's trailers."""
    var content: List[UInt8]
    """The content of a streamed response, as its function wrote it."""

    def __init__(
        out self, octets: Span[UInt8, _], limits: H1Limits, exchange: Exchange
    ):
        """Takes ownership of a request.

        Args:
            octets: The octets of the request.
            limits: Bounds on the request.
            exchange: An empty block for the request.
        """
        self.received = Buffer(capacity=max(len(octets), 1))
        self.received.append(octets)
        self.received_taken = 0
        var machine_limits = limits
        # Enforced where content is handed over: a handler may allow more.
        machine_limits.body_octets_max = Int.MAX
        self.machine = H1Machine(
            heap_create(H1State(Role.SERVER, machine_limits))
        )
        self.exchange = exchange
        exchange[].content.limit(limits.body_octets_max)
        self.functions = CarrierFunctions(
            demands_nothing,
            no_peer_address,
            no_peer_credentials,
            hides_no_client,
            no_tls,
            _inform,
            _write,
            takes_no_file,
            _end,
            UpgradedFunctions(
                _write_head,
                _await_octets,
                _consume_octets,
                _await_room,
                _unsent_octets,
                _announce_output,
                never_held_back,
                aborts_nothing,
            ),
        )
        self.sent = Buffer()
        self.trailers = None
        self.content = List[UInt8]()

    def __deinit__(deinit self):
        """Frees the machine."""
        heap_destroy(self.machine.state)


@fieldwise_init
struct HandlerCall(TrivialRegisterPassable):
    """One call of a handler."""

    var state: PointerTo[HandlerCallState]
    """The heap state."""

    @staticmethod
    def begin(
        octets: Span[UInt8, _], limits: H1Limits, exchange: Exchange
    ) -> Self:
        """Starts the call with a request. Call `end` afterwards.

        Args:
            octets: One whole request. If it offers an upgrade, the peer's
                octets in the other protocol follow.
            limits: Bounds on the request.
            exchange: An empty block for the request, with its number.

        Returns:
            The call.
        """
        var call = Self(heap_create(HandlerCallState(octets, limits, exchange)))
        ref s = call.state[]
        exchange[].host.functions = Pointer(to=s.functions).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        exchange[].carrier = call.state.unsafe_bitcast[NoneType]()
        return call

    def end(self):
        """Frees the call. Its block can be used again."""
        var x = self.state[].exchange
        x[].end()
        x[].carrier = None
        x[].stream.end()
        heap_destroy(self.state)

    def request(self) -> Request:
        """Returns the request for the handler.

        Returns:
            The request, which lives as long as the call.
        """
        return Request(unsafe_exchange=self.state[].exchange)

    def read_request(self) -> Int:
        """Parses the request.

        Returns:
            200, or the status of the refusal.
        """
        ref s = self.state[]
        var x = s.exchange
        var head = Pointer(to=x[].head).unsafe_origin_cast[MutUntrackedOrigin]()
        var octets = s.received.span()
        while True:
            var at = s.received_taken
            var event: HttpEvent
            try:
                event = s.machine.next_event(octets[at:], head)
            except e:
                x[].content.rule = e.rule
                return e.status if e.status >= 400 else 400
            s.received_taken += event.consumed
            if event.kind == HttpEvent.REQUEST_HEAD:
                x[].octets = s.received.unsafe_front().unsafe_offset(at)
                x[].octet_count = event.consumed
            elif event.kind == HttpEvent.DATA:
                x[].content.received += event.length
                x[].content.octets.append(
                    octets[at + event.start : at + event.start + event.length]
                )
            elif event.kind == HttpEvent.TRAILERS:
                x[].content.trailers.append(octets[at : at + event.consumed])
            elif event.kind == HttpEvent.END_OF_MESSAGE:
                x[].content.is_complete = True
                return 200
            else:
                # A whole request was promised: a server would wait, then
                # refuse.
                return 408

    def refused(self, status: Int) -> Response:
        """Returns the server's answer to a refused request.

        Args:
            status: The status.

        Returns:
            The response.
        """
        return refusal(status, self.state[].exchange[].content.rule)

    def error_answer(self, error: Error) -> Response:
        """Returns the server's answer if the handler raised, and prints the
        error.

        Args:
            error: The handler's error.

        Returns:
            The response.
        """
        return answer_to_error(self.state[].exchange, error)

    def answer(
        self, var response: Response, trailers: PointerTo[HeaderMap]
    ) raises -> Response:
        """Returns the response that the peer gets for the handler's response.

        Args:
            response: The response of the handler.
            trailers: The destination of the trailer fields.

        Returns:
            The response; a streamed one has its whole content.

        Raises:
            An error `http.broken_off …` if the streaming function fails after
            the head was sent.
        """
        var x = self.state[].exchange
        if x[].content.status != 0:
            return error_answer(x, x[].content.status)
        if not response.body.is_stream():
            return response^
        var is_upgrade = response.status == Status.SWITCHING_PROTOCOLS
        if is_upgrade and not can_upgrade(x, response):
            return upgrade_required(x, response)
        self.state[].trailers = trailers
        var function = begin_stream(x, response^)
        try:
            run_stream(x, function)
        except e:
            if x[].stream.is_head_due:
                return self.error_answer(e)
            raise Error(BROKEN_OFF, " ", e)
        # The function's captures are destroyed before the stream is over.
        _ = function^
        var content = List[UInt8]()
        swap(content, self.state[].content)
        var whole = Response(x[].stream.status, Body(content^))
        swap(whole.headers, x[].stream.headers)
        return whole^


def answer_to_error(x: Exchange, error: Error) -> Response:
    """Returns the server's answer if a handler raised, and prints the error.

    Args:
        x: The request.
        error: The handler's error.

    Returns:
        The response.
    """
    if x[].content.status != 0:
        return error_answer(x, x[].content.status)
    var status = x[].status_of(error)
    if status == 500:
        print("flare: the handler raised:", error)
    return error_answer(x, status)


def no_peer_address(exchange: Erased) raises -> StreamAddr:
    """Raises an error, because a handler in memory has no peer.

    Args:
        exchange: The exchange.

    Returns:
        Never.

    Raises:
        NetError: CLOSED.
    """
    raise Error(NetError(NetError.CLOSED, "peer_address"))


def no_peer_credentials(exchange: Erased) raises -> PeerCredentials:
    """Raises an error, because a handler in memory has no peer.

    Args:
        exchange: The exchange.

    Returns:
        Never.

    Raises:
        NetError: CLOSED.
    """
    raise Error(NetError(NetError.CLOSED, "peer_credentials"))


def no_tls(exchange: Erased) -> Optional[PointerTo[TlsMachine]]:
    """Returns `None`, because a handler in memory has no connection.

    Args:
        exchange: The exchange.

    Returns:
        `None`.
    """
    return None


def demands_nothing(exchange: Erased):
    """Ignores the call: all content has arrived before the handler runs.

    Args:
        exchange: The exchange.
    """
    pass


@always_inline
def _of(exchange: Erased) -> PointerTo[HandlerCallState]:
    ref x = exchange.unsafe_bitcast[ExchangeState]()[]
    return x.carrier.unsafe_value().unsafe_bitcast[HandlerCallState]()


def _cleared(s: PointerTo[HandlerCallState]) -> PointerTo[Buffer]:
    s[].sent.clear()
    return Pointer(to=s[].sent).unsafe_origin_cast[MutUntrackedOrigin]()


def _write_head(exchange: Erased) raises:
    var s = _of(exchange)
    ref stream = s[].exchange[].stream
    try:
        s[].machine.send_response_head(
            stream.status,
            stream.headers,
            BodyLength.UNKNOWN,
            Span[UInt8, ImmUntrackedOrigin](),
            _cleared(s),
        )
    except e:
        raise Error("http.bad_content ", e.reason)
    stream.is_head_due = False


def _end(exchange: Erased) raises:
    var s = _of(exchange)
    ref stream = s[].exchange[].stream
    if stream.is_head_due:
        _write_head(exchange)
    var sent = _cleared(s)
    try:
        s[].machine.send_trailers(stream.trailers, sent)
        if len(sent[]) > 0:
            swap(s[].trailers.value()[], stream.trailers)
        s[].machine.send_end(sent)
    except e:
        raise Error("http.bad_content ", e.reason)


def _inform(exchange: Erased, status: Int, fields: PointerTo[HeaderMap]) raises:
    var s = _of(exchange)
    try:
        s[].machine.send_informational(status, fields[], _cleared(s))
    except e:
        raise Error("http.bad_inform ", e.reason)


def _write(exchange: Erased, octets: OctetPointer, count: Int) raises -> Int:
    var s = _of(exchange)
    if s[].exchange[].stream.is_head_due:
        _write_head(exchange)
    var content = Span(unsafe_ptr=octets, length=count)
    try:
        s[].machine.send_data(content, _cleared(s))
    except e:
        raise Error("http.bad_content ", e.reason)
    s[].content.extend(content)
    return count


def _await_octets(exchange: Erased, more_than: Int) raises -> MutOctets:
    # All that the peer sends is there before the handler is called.
    var s = _of(exchange)
    if len(s[].received) == 0:
        return MutOctets()
    return MutOctets(
        unsafe_ptr=s[]
        .received.unsafe_front()
        .unsafe_offset(s[].received_taken),
        length=len(s[].received) - s[].received_taken,
    )


def _consume_octets(exchange: Erased, count: Int) raises:
    var s = _of(exchange)
    if count < 0 or count > len(s[].received) - s[].received_taken:
        raise Error(NOT_RECEIVED)
    s[].received_taken += count


def _await_room(exchange: Erased, count: Int) raises -> OutputRoom:
    return OutputRoom(_cleared(_of(exchange)), abs(count))


def _unsent_octets(exchange: Erased) -> Int:
    return 0


def _announce_output(exchange: Erased):
    var s = _of(exchange)
    s[].content.extend(s[].sent.span())
    s[].sent.clear()
