"""Connects a client's machine of HTTP/2 with a server's, in memory.

The octets of each end are the input of the other one. So a request and its
response pass both machines, with the compression and the windows of a real
connection.
"""

from flare.core import Buffer, PointerTo
from flare.http.body import Body
from flare.http.exchange import Exchange
from flare.http.received import Received
from flare.http.response import Response
from flare.http.version import HttpVersion
from flare.message import FieldSection, HeaderMap
from flare.proto.h1 import BodyLength
from flare.proto.h2.h2_error import H2Code, H2Error, code_name
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_requests import RequestStart
from flare.proto.h2.stream_table import NO_SLOT

# Both ends belong to the test. It may write content octet by octet.
comptime _GLITCHES_MAX = 1 << 30


struct PlannedRequest(Movable):
    """The parts of a request that is to be sent."""

    var method: String
    """The method."""
    var target: String
    """The path, optionally with a query."""
    var content: Buffer
    """The content."""
    var fields: HeaderMap
    """The header fields, with one Host."""
    var trailers: HeaderMap
    """The trailer fields."""

    def __init__(out self, method: StringSlice, target: StringSlice):
        """Creates a request without fields and content.

        Args:
            method: The method.
            target: The path, optionally with a query.
        """
        self.method = String(method)
        self.target = String(target)
        self.content = Buffer()
        self.fields = HeaderMap()
        self.trailers = HeaderMap()


struct ArrivingAnswer(Movable):
    """The response as the client has received it so far."""

    var head: Response
    """Status and fields."""
    var received: Received
    """Content and trailers."""
    var has_ended: Bool
    """Whether it is complete, or was reset."""
    var is_reset: Bool
    """Whether it was reset."""
    var code: UInt32
    """Why it was reset, one of `H2Code`."""

    def __init__(out self):
        """Creates the state before the first frame."""
        self.head = Response(0)
        self.received = Received()
        self.received.state[].version = HttpVersion.HTTP_2
        self.has_ended = False
        self.is_reset = False
        self.code = H2Code.NO_ERROR

    def take(mut self) -> Response:
        """Returns the response, and begins another one.

        Returns:
            The response with its content.
        """
        var whole = ArrivingAnswer()
        swap(self, whole)
        var response = Response(whole.head.status)
        swap(response.headers, whole.head.headers)
        var received = Received()
        swap(received, whole.received)
        response.body = Body(received=received^)
        return response^


struct Http2PairState(Movable):
    """Both ends of a connection that carries one request at a time."""

    var client: H2State
    """The state of the client's machine."""
    var server: H2State
    """The state of the server's machine."""
    var to_server: Buffer
    """The octets of the client that the server has not consumed."""
    var to_client: Buffer
    """The octets of the server that the client has not consumed."""
    var client_slot: Int
    """The slot of the request at the client."""
    var server_slot: Int
    """The slot at the server; `NO_SLOT` before it has the head."""
    var refused_status: Int
    """The status of the server's refusal; 0 without one."""
    var answer: ArrivingAnswer
    """The response."""
    var is_broken: Bool
    """Whether an end has violated the protocol."""

    def __init__(out self):
        """Creates a connection whose ends have sent nothing."""
        var limits = H2Limits()
        limits.glitches = _GLITCHES_MAX
        self.client = H2State(limits, is_client=True)
        self.server = H2State(limits)
        self.to_server = Buffer()
        self.to_client = Buffer()
        self.client_slot = NO_SLOT
        self.server_slot = NO_SLOT
        self.refused_status = 0
        self.answer = ArrivingAnswer()
        self.is_broken = False


@fieldwise_init
struct Http2Pair(TrivialRegisterPassable):
    """A handle to both ends of a connection."""

    var state: PointerTo[Http2PairState]
    """The heap state."""

    @always_inline
    def client(self) -> H2Machine:
        """Returns the client's machine.

        Returns:
            The handle.
        """
        return H2Machine(
            Pointer(to=self.state[].client).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    @always_inline
    def server(self) -> H2Machine:
        """Returns the server's machine.

        Returns:
            The handle.
        """
        return H2Machine(
            Pointer(to=self.state[].server).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    @always_inline
    def to_client(self) -> PointerTo[Buffer]:
        """Returns the server's output.

        Returns:
            The destination of its frames.
        """
        return Pointer(to=self.state[].to_client).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def begin(self):
        """Begins the connection at both ends."""
        self.client().begin(self._to_server())
        self.server().begin(self.to_client())

    def send_request(
        self, request: PointerTo[PlannedRequest], x: Exchange
    ) raises:
        """Sends a whole request to the server's end.

        Args:
            request: The request.
            x: An empty block, which gets the request.

        Raises:
            H2Error: If the arguments do not form a valid request.
        """
        ref s = self.state[]
        s.server_slot = NO_SLOT
        s.refused_status = 0
        s.answer = ArrivingAnswer()
        var has_trailers = len(request[].trailers) > 0
        var content = request[].content.span()
        var length = BodyLength.NONE
        if has_trailers:
            length = BodyLength.UNKNOWN
        elif len(content) > 0:
            length = BodyLength.known(len(content))
        try:
            self.client().check_trailers(request[].trailers)
            s.client_slot = self.client().send_request_head(
                RequestStart(
                    request[].method.as_bytes(),
                    request[].target.as_bytes(),
                    False,
                    length,
                ),
                request[].fields,
                self._to_server(),
            )
        except e:
            raise Error(e)
        self.exchange_octets(x)
        var sent = 0
        while sent < len(content) and self._client_may_send():
            sent += self.client().send_within_windows(
                s.client_slot,
                content[sent:],
                not has_trailers,
                self._to_server(),
            )
            self.exchange_octets(x)
        if has_trailers and self._client_may_send():
            self.client().send_trailers(
                s.client_slot, request[].trailers, self._to_server()
            )
            self.exchange_octets(x)

    def send_content(
        self, octets: Span[UInt8, _], ends: Bool, x: Exchange
    ) raises:
        """Sends content of a response whose head was sent.

        Args:
            octets: The content; it is dropped if the response may have none.
            ends: Whether it is the last.
            x: The request.

        Raises:
            H2Error: If it exceeds the Content-Length of the response.
        """
        var slot = self.state[].server_slot
        try:
            self.server().count_content(slot, len(octets))
        except e:
            raise Error(e)
        var sent = 0
        while sent < len(octets) and self.server().may_send(slot):
            sent += self.server().send_within_windows(
                slot, octets[sent:], ends, self.to_client()
            )
            self.exchange_octets(x)

    def exchange_octets(self, x: Exchange) raises:
        """Passes octets between both ends until there are none.

        Args:
            x: The request.

        Raises:
            H2Error: If an end violates the protocol.
        """
        ref s = self.state[]
        while len(s.to_server) > 0 or len(s.to_client) > 0:
            try:
                self._feed_server(x)
                self._feed_client()
            except e:
                s.is_broken = True
                raise Error(e)

    def finish(self, x: Exchange):
        """Ends the request at both ends. A connection that has failed is
        replaced.

        Args:
            x: The request.
        """
        try:
            self._forget(x)
        except:
            debug_assert(self.state[].is_broken, "the end of a stream failed")
        if self.state[].is_broken:
            self.state[] = Http2PairState()
            self.begin()

    def _forget(self, x: Exchange) raises:
        ref s = self.state[]
        if s.is_broken:
            return
        if s.client_slot != NO_SLOT:
            self.client().forget(s.client_slot, self._to_server())
            s.client_slot = NO_SLOT
        if s.server_slot != NO_SLOT:
            self.server().forget(s.server_slot, self.to_client())
            s.server_slot = NO_SLOT
        self.exchange_octets(x)

    def take_answer(self) raises -> Response:
        """Returns the response that the client has received.

        Returns:
            The response.

        Raises:
            An error `http.broken_off …` if the server has reset the stream.
        """
        ref answer = self.state[].answer
        if answer.is_reset:
            raise Error(
                "http.broken_off the stream was reset, ", code_name(answer.code)
            )
        if not answer.has_ended:
            raise Error("http.broken_off the response has no end")
        return answer.take()

    def _to_server(self) -> PointerTo[Buffer]:
        return Pointer(to=self.state[].to_server).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def _client_may_send(self) -> Bool:
        ref s = self.state[]
        return s.client_slot != NO_SLOT and self.client().may_send(
            s.client_slot
        )

    def _feed_server(self, x: Exchange) raises H2Error:
        ref s = self.state[]
        while len(s.to_server) > 0:
            var event = self.server().next_event(
                s.to_server.span(), 0, self.to_client()
            )
            if event.kind == H2Event.REQUEST_HEAD:
                self._take_request_head(event, x)
            elif event.kind == H2Event.DATA:
                x[].content.received += event.length
                x[].content.octets.append(
                    s.to_server.span()[event.start :][: event.length]
                )
                self.server().release(
                    event.slot, event.length, self.to_client()
                )
            elif event.kind == H2Event.TRAILERS:
                ref trailers = s.server.input.trailers
                x[].content.trailers.append(trailers.octets.span())
                swap(x[].head.trailers, trailers.lines)
            x[].content.is_complete |= event.ends
            s.to_server.consume(event.consumed)

    def _take_request_head(self, event: H2Event, x: Exchange):
        ref s = self.state[]
        ref heads = s.server.input.heads
        swap(x[].head, heads.head)
        swap(x[].gathered, heads.octets)
        x[].octets = x[].gathered.unsafe_front()
        x[].octet_count = len(x[].gathered)
        x[].stream_slot = event.slot
        s.server_slot = event.slot
        s.refused_status = event.status

    def _feed_client(self) raises H2Error:
        ref s = self.state[]
        ref answer = s.answer
        while len(s.to_client) > 0:
            var event = self.client().next_event(
                s.to_client.span(), 0, self._to_server()
            )
            if event.kind == H2Event.RESPONSE_HEAD:
                ref heads = s.client.input.heads
                answer.head.status = heads.head.status
                _ = answer.head.headers.unsafe_append_parsed(
                    heads.head.fields(heads.octets.span())
                )
            elif event.kind == H2Event.DATA:
                answer.received.state[].content.append(
                    s.to_client.span()[event.start :][: event.length]
                )
                self.client().release(
                    event.slot, event.length, self._to_server()
                )
            elif event.kind == H2Event.TRAILERS:
                ref trailers = s.client.input.trailers
                _ = answer.received.state[].trailers.unsafe_append_parsed(
                    FieldSection(trailers.octets.span(), trailers.lines)
                )
            elif event.kind == H2Event.RESET:
                answer.is_reset = True
                answer.code = event.code
            answer.has_ended |= event.ends
            s.to_client.consume(event.consumed)
