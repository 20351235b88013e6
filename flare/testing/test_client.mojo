"""Sends requests to a handler without a socket.

The client's end of a protocol's machine writes a request, and the server's end
parses it. So a handler sees the same requests as in a server. A request that
the machine refuses is answered as a server does.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.http.body import Body
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import (
    FnHandler,
    Handler,
    HandlerFunction,
    NoHandler,
)
from flare.http.response import Response
from flare.message import HeaderMap
from flare.proto.h1 import (
    BodyLength,
    H1Error,
    H1Limits,
    H1Machine,
    H1State,
    Role,
)
from flare.runtime.backends.simulated_network import SimulatedNetwork
from flare.ws import WsCompression

from .handler_call import HandlerCall
from .http2_call import Http2Door
from .http2_pair import PlannedRequest
from .simulated_server import SharedServer, SimulatedServer
from .test_web_socket import TestWebSocket
from .web_socket_end import WebSocketRequest


struct _ClientState(Movable):
    var trailers: HeaderMap
    # A stream that a program has kept finds its block, and that it is over.
    var free_exchanges: List[Exchange]
    var requests: Int
    # Of the WebSockets; it owns the handler.
    var server: Optional[SharedServer]
    # If the client speaks HTTP/2.
    var http2: Optional[Http2Door]

    def __init__(out self):
        self.trailers = HeaderMap()
        self.free_exchanges = List[Exchange]()
        self.requests = 0
        self.server = None
        self.http2 = None

    def __deinit__(deinit self):
        if self.http2:
            self.http2.value().close(self.http2.value().carrier)
        for exchange in self.free_exchanges:
            heap_destroy(exchange)

    def take_exchange(mut self) -> Exchange:
        self.requests += 1
        var exchange: Exchange
        if len(self.free_exchanges) > 0:
            exchange = self.free_exchanges.pop()
        else:
            exchange = heap_create(ExchangeState())
        exchange[].begin()
        exchange[].request_id = self.requests
        return exchange


struct TestClient[H: Handler](Movable):
    """Sends requests to a handler on the calling thread.

    A handler that waits blocks the calling thread, as in a script.

    A streaming function runs to its end, and the response has the whole
    content. If the function raises or contradicts its length before the head
    is sent, the answer is 500; afterwards, the request raises
    `http.broken_off`. An upgrade returns a 101 response. Its function reads
    the octets that follow the request, then the end of the stream; its output
    is the content. Interim responses (`req.inform`) are checked and dropped.

    With `http2=True`, each request passes a client's and a server's end of
    HTTP/2, and so does its response. The response has the fields that a client
    receives. An upgrade is answered with 426.

    `websocket` converses with a WebSocket handler. It runs the handler in a
    server on a simulated network, and always speaks HTTP/1.1.

    Parameters:
        H: The type of the handler.
    """

    var _handler: PointerTo[Self.H]
    var _limits: H1Limits
    # Methods take `self`, so what they change lies elsewhere.
    var _state: PointerTo[_ClientState]

    def __init__(out self, var handler: Self.H):
        """Creates a client of a handler: a router, an `App`, middleware.

        Args:
            handler: The handler.
        """
        self._handler = heap_create(handler^)
        self._limits = H1Limits()
        self._state = heap_create(_ClientState())

    def __init__(out self, var handler: Self.H, *, http2: Bool):
        """Creates a client of a handler, and chooses the protocol.

        Args:
            handler: The handler.
            http2: Whether the client speaks HTTP/2 instead of HTTP/1.1. Then all
                requests share one connection.
        """
        self = Self(handler^)
        if http2:
            self._state[].http2 = Http2Door.open[Self.H]()

    @unavailable(
        "TestClient takes router^, an App, a type that conforms to Handler or"
        " 'def name(req: Request) raises -> Response'; for a function with"
        ' other parameters or another result write router.get("/", name)'
    )
    def __init__(out self: TestClient[FnHandler], *value: NoHandler):
        """Fails the build for a value that is no handler.

        Args:
            value: The value.
        """
        ...

    def __init__(out self: TestClient[FnHandler], function: HandlerFunction):
        """Creates a client of a plain function.

        Args:
            function: The handler function.
        """
        self._handler = heap_create(FnHandler(function))
        self._limits = H1Limits()
        self._state = heap_create(_ClientState())

    def __init__(
        out self: TestClient[FnHandler],
        function: HandlerFunction,
        *,
        http2: Bool,
    ):
        """Creates a client of a plain function, and chooses the protocol.

        Args:
            function: The handler function.
            http2: Whether the client speaks HTTP/2 instead of HTTP/1.1. Then all
                requests share one connection.
        """
        self = TestClient[FnHandler](FnHandler(function), http2=http2)

    def __deinit__(deinit self):
        """Destroys the handler, unless a WebSocket of it is still in use."""
        if not self._state[].server:
            heap_destroy(self._handler)
        heap_destroy(self._state)

    def get(
        self, target: StringSlice, headers: HeaderMap = HeaderMap()
    ) raises -> Response:
        """Sends a GET request.

        Args:
            target: The path, optionally with a query.
            headers: The header fields; Host is added if it is missing.

        Returns:
            The handler's response.

        Raises:
            H1Error or H2Error: If the arguments do not form a valid request;
                and an error `http.broken_off …` if the response was broken off.
        """
        return self.request("GET", target, Body(), headers)

    def delete(
        self, target: StringSlice, headers: HeaderMap = HeaderMap()
    ) raises -> Response:
        """Sends a DELETE request.

        Args:
            target: The path, optionally with a query.
            headers: The header fields; Host is added if it is missing.

        Returns:
            The handler's response.

        Raises:
            H1Error or H2Error: If the arguments do not form a valid request;
                and an error `http.broken_off …` if the response was broken off.
        """
        return self.request("DELETE", target, Body(), headers)

    def post(
        self,
        target: StringSlice,
        body: Body,
        headers: HeaderMap = HeaderMap(),
    ) raises -> Response:
        """Sends a POST request.

        Args:
            target: The path, optionally with a query.
            body: The content.
            headers: The header fields; Host is added if it is missing.

        Returns:
            The handler's response.

        Raises:
            H1Error or H2Error: If the arguments do not form a valid request;
                and an error `http.broken_off …` if the response was broken off.
        """
        return self.request("POST", target, body, headers)

    def put(
        self,
        target: StringSlice,
        body: Body,
        headers: HeaderMap = HeaderMap(),
    ) raises -> Response:
        """Sends a PUT request.

        Args:
            target: The path, optionally with a query.
            body: The content.
            headers: The header fields; Host is added if it is missing.

        Returns:
            The handler's response.

        Raises:
            H1Error or H2Error: If the arguments do not form a valid request;
                and an error `http.broken_off …` if the response was broken off.
        """
        return self.request("PUT", target, body, headers)

    def request(
        self,
        method: StringSlice,
        target: StringSlice,
        body: Body = Body(),
        headers: HeaderMap = HeaderMap(),
        trailers: HeaderMap = HeaderMap(),
    ) raises -> Response:
        """Sends a request of any method.

        Args:
            method: The method, a token.
            target: The request target.
            body: The content.
            headers: The header fields; Host is added if it is missing.
            trailers: The fields after the content. If there are any, no
                Content-Length is sent.

        Returns:
            The handler's response; 500 if it raised; the status of the refusal
            if a server would not have called the handler.

        Raises:
            H1Error or H2Error: If the arguments do not form a valid request;
                and an error `http.broken_off …` if the response was broken off.
        """
        if self._state[].http2:
            return self._ask_over_http2(method, target, body, headers, trailers)
        var octets = request_octets(method, target, body, headers, trailers)
        return self.request_octets(octets.span())

    def request_octets(self, octets: Span[UInt8, _]) raises -> Response:
        """Sends a request of HTTP/1.1 given as octets, valid or not.

        Args:
            octets: One whole request. If it offers an upgrade, the peer's
                octets in the other protocol follow.

        Returns:
            The handler's response; 500 if it raised; the status of the refusal
            if a server would not have called the handler.

        Raises:
            An error `http.broken_off …` if the response was broken off, and
                `http.wrong_version` if the client speaks HTTP/2.
        """
        if self._state[].http2:
            raise Error("http.wrong_version the octets are of HTTP/1.1")
        self._state[].trailers = HeaderMap()
        var exchange = self._state[].take_exchange()
        var call = HandlerCall.begin(octets, self._limits, exchange)
        try:
            return self._answer(call)
        finally:
            call.end()
            self._state[].free_exchanges.append(exchange)

    def websocket(
        self,
        target: StringSlice,
        *,
        var protocols: List[String] = [],
        headers: HeaderMap = HeaderMap(),
        compression: WsCompression = WsCompression.OFF,
        timeout_ms: Int = 60_000,
    ) raises -> TestWebSocket:
        """Opens a WebSocket to the handler.

        All WebSockets of a client belong to one server, so a message of a topic
        reaches all its subscribers among them. The errors of handlers are
        logged to standard error.

        Args:
            target: The path, optionally with a query.
            protocols: The subprotocols to offer, the preferred one first.
            headers: Further fields of the request, such as Origin; Host is
                added if it is missing.
            compression: How messages are compressed if the handler accepts it.
            timeout_ms: How long the handshake, and each receive, may wait for
                the handler, in simulated time.

        Returns:
            The client's end, after the handshake.

        Raises:
            An error `ws.handshake … status=403` and the like if the handler
            refuses, with up to 4 KiB of its content. `ws.timeout` if it does
            not answer. H1Error if the arguments do not form a valid request.
        """
        if not self._state[].server:
            self._state[].server = SharedServer(
                SimulatedServer.begin(self._handler, SimulatedNetwork.create())
            )
        return TestWebSocket(
            self._state[].server.value(),
            WebSocketRequest(
                target, headers, protocols^, compression, timeout_ms
            ),
        )

    def trailers(self) -> HeaderMap:
        """Returns the trailer fields of the last response, which followed its
        content.

        Returns:
            The fields; none unless the response was streamed without a length.
        """
        return self._state[].trailers.copy()

    def _ask_over_http2(
        self,
        method: StringSlice,
        target: StringSlice,
        body: Body,
        headers: HeaderMap,
        trailers: HeaderMap,
    ) raises -> Response:
        var door = self._state[].http2.value()
        self._state[].trailers = HeaderMap()
        # On the heap, as all that is behind a pointer.
        var request = heap_create(PlannedRequest(method, target))
        var exchange = self._state[].take_exchange()
        try:
            request[].content.append(body.octets())
            request[].fields = with_host(headers)
            request[].trailers = trailers.copy()
            var response = door.ask(
                door.carrier,
                self._handler.unsafe_bitcast[NoneType](),
                exchange,
                request,
            )
            self._state[].trailers = response.trailers()
            return response^
        finally:
            heap_destroy(request)
            self._state[].free_exchanges.append(exchange)

    def _answer(self, call: HandlerCall) raises -> Response:
        var status = call.read_request()
        if status != 200:
            return call.refused(status)
        var response: Response
        try:
            response = self._handler[].serve(call.request())
        except e:
            return call.error_answer(e)
        return call.answer(
            response^,
            Pointer(to=self._state[].trailers).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )


def request_octets(
    method: StringSlice,
    target: StringSlice,
    body: Body = Body(),
    headers: HeaderMap = HeaderMap(),
    trailers: HeaderMap = HeaderMap(),
) raises -> Buffer:
    """Returns the octets of a request as a client of HTTP/1.1 sends it.

    Args:
        method: The method, a token.
        target: The request target.
        body: The content.
        headers: The header fields; Host is added if it is missing.
        trailers: The fields after the content.

    Returns:
        The octets.

    Raises:
        H1Error: If the arguments do not form a valid request.
    """
    var fields = with_host(headers)
    var length = BodyLength.NONE
    if len(trailers) > 0:
        length = BodyLength.UNKNOWN
    elif len(body) > 0:
        length = BodyLength.known(len(body))
    var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
    var output = heap_create(Buffer())
    var problem = Optional[H1Error](None)
    try:
        machine.send_request_head(method, target, fields, length, output)
        machine.send_data(body.octets(), output)
        if len(trailers) > 0:
            machine.send_trailers(trailers, output)
        machine.send_end(output)
    except e:
        problem = e
    var octets = Buffer()
    swap(octets, output[])
    heap_destroy(output)
    heap_destroy(machine.state)
    if problem:
        raise Error(problem.value())
    return octets^


def with_host(headers: HeaderMap) raises -> HeaderMap:
    """Returns the fields of a request, with a Host.

    Args:
        headers: The fields.

    Returns:
        The fields; `Host: test` is added if there is none.

    Raises:
        An error if there is no room for one more field.
    """
    var fields = headers.copy()
    if not fields.get("host"):
        fields.append("Host", "test")
    return fields^
