"""Asks a handler for responses without a socket.

A request is written by the client's end of the HTTP/1.1 machine and read by the
server's end, so that a handler sees exactly what it would see behind a server;
what the machine refuses is answered as a server answers it.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.http.body import Body
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import FnHandler, Handler, HandlerFunction
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

from .handler_call import HandlerCall


struct _ClientState(Movable):
    var trailers: HeaderMap
    # A stream that a program has kept finds its block, and that it is over.
    var free_exchanges: List[Exchange]
    var requests: Int

    def __init__(out self):
        self.trailers = HeaderMap()
        self.free_exchanges = List[Exchange]()
        self.requests = 0

    def __deinit__(deinit self):
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

    A handler that waits parks the calling thread, as in a script.

    The function of a streamed response runs to its end, and the response has
    the whole content. Where it raises, or contradicts its length, before the
    head is out, the answer is 500; later the request raises `http.broken_off`.
    An upgrade gives a response of 101: its function finds a peer that has said
    what stands behind the request and no more, and what it writes is the
    content. Interim responses (`req.inform`) are checked and dropped.

    Parameters:
        H: The type of the handler.
    """

    var _handler: Self.H
    var _limits: H1Limits
    # Methods take `self`, so what they change lies elsewhere.
    var _state: PointerTo[_ClientState]

    def __init__(out self, var handler: Self.H):
        """Makes a client of a handler: a router, an `App`, middleware.

        Args:
            handler: What answers.
        """
        self._handler = handler^
        self._limits = H1Limits()
        self._state = heap_create(_ClientState())

    def __init__(out self: TestClient[FnHandler], function: HandlerFunction):
        """Makes a client of a plain function.

        Args:
            function: What answers.
        """
        self._handler = FnHandler(function)
        self._limits = H1Limits()
        self._state = heap_create(_ClientState())

    def __deinit__(deinit self):
        """Ends the client."""
        heap_destroy(self._state)

    def get(
        self, target: StringSlice, headers: HeaderMap = HeaderMap()
    ) raises -> Response:
        """Sends a GET request.

        Args:
            target: The path, perhaps with a query.
            headers: Its header fields; Host is added if there is none.

        Returns:
            What the handler answered.

        Raises:
            H1Error: If the arguments cannot be a request; and an error
                `http.broken_off …` if the response broke off midway.
        """
        return self.request("GET", target, Body(), headers)

    def delete(
        self, target: StringSlice, headers: HeaderMap = HeaderMap()
    ) raises -> Response:
        """Sends a DELETE request.

        Args:
            target: The path, perhaps with a query.
            headers: Its header fields; Host is added if there is none.

        Returns:
            What the handler answered.

        Raises:
            H1Error: If the arguments cannot be a request; and an error
                `http.broken_off …` if the response broke off midway.
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
            target: The path, perhaps with a query.
            body: The content.
            headers: Its header fields; Host is added if there is none.

        Returns:
            What the handler answered.

        Raises:
            H1Error: If the arguments cannot be a request; and an error
                `http.broken_off …` if the response broke off midway.
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
            target: The path, perhaps with a query.
            body: The content.
            headers: Its header fields; Host is added if there is none.

        Returns:
            What the handler answered.

        Raises:
            H1Error: If the arguments cannot be a request; and an error
                `http.broken_off …` if the response broke off midway.
        """
        return self.request("PUT", target, body, headers)

    def request(
        self,
        method: StringSlice,
        target: StringSlice,
        body: Body = Body(),
        headers: HeaderMap = HeaderMap(),
    ) raises -> Response:
        """Sends a request of any method.

        Args:
            method: The method, a token.
            target: The request target.
            body: The content.
            headers: Its header fields; Host is added if there is none.

        Returns:
            What the handler answered; 500 if it raised, and the status of the
            refusal if a server would not have called it.

        Raises:
            H1Error: If the arguments cannot be a request; and an error
                `http.broken_off …` if the response broke off midway.
        """
        var octets = request_octets(method, target, body, headers)
        return self.request_octets(octets.span())

    def request_octets(self, octets: Span[UInt8, _]) raises -> Response:
        """Sends a request as its octets stand, good or bad.

        Args:
            octets: One whole request; behind one that offers an upgrade, what
                its peer says in the other protocol before it ends its side.

        Returns:
            What the handler answered; 500 if it raised, and the status of the
            refusal if a server would not have called it.

        Raises:
            An error `http.broken_off …` if the response broke off midway.
        """
        self._state[].trailers = HeaderMap()
        var exchange = self._state[].take_exchange()
        var call = HandlerCall.begin(octets, self._limits, exchange)
        try:
            return self._answer(call)
        finally:
            call.end()
            self._state[].free_exchanges.append(exchange)

    def trailers(self) -> HeaderMap:
        """Tells which fields followed the content of the last response.

        Returns:
            The fields; none where the response was not streamed, or its length
            was given.
        """
        return self._state[].trailers.copy()

    def _answer(self, call: HandlerCall) raises -> Response:
        var status = call.read_request()
        if status != 200:
            return call.refused(status)
        var response: Response
        try:
            response = self._handler.serve(call.request())
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
) raises -> Buffer:
    """Writes a request as a client sends it.

    Args:
        method: The method, a token.
        target: The request target.
        body: The content.
        headers: Its header fields; Host is added if there is none.

    Returns:
        The octets.

    Raises:
        H1Error: If the arguments cannot be a request.
    """
    var fields = headers.copy()
    if not fields.get("host"):
        fields.append("Host", "test")
    var length = BodyLength.NONE
    if len(body) > 0:
        length = BodyLength.known(len(body))
    var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
    var output = heap_create(Buffer())
    var problem = Optional[H1Error](None)
    try:
        machine.send_request_head(method, target, fields, length, output)
        machine.send_data(body.octets(), output)
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
