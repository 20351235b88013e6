"""Asks a handler for responses without a socket.

A request is written by the client's end of the HTTP/1.1 machine and read by the
server's end, so that a handler sees exactly what it would see behind a server;
what the machine refuses is answered as a server answers it.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.http.body import Body
from flare.http.builders import error_response
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import FnHandler, Handler, HandlerFunction
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap
from flare.proto.h1 import (
    BodyLength,
    H1Error,
    H1Event,
    H1Limits,
    H1Machine,
    H1State,
    Role,
)


struct TestClient[H: Handler](Movable):
    """Sends requests to a handler on the calling thread.

    A handler that waits parks the calling thread, as in a script.

    Parameters:
        H: The type of the handler.
    """

    var _handler: Self.H
    var _limits: H1Limits

    def __init__(out self, var handler: Self.H):
        """Makes a client of a handler: a router, an `App`, middleware.

        Args:
            handler: What answers.
        """
        self._handler = handler^
        self._limits = H1Limits()

    def __init__(out self: TestClient[FnHandler], function: HandlerFunction):
        """Makes a client of a plain function.

        Args:
            function: What answers.
        """
        self._handler = FnHandler(function)
        self._limits = H1Limits()

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
            H1Error: If the arguments cannot be a request.
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
            H1Error: If the arguments cannot be a request.
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
            H1Error: If the arguments cannot be a request.
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
            H1Error: If the arguments cannot be a request.
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
            H1Error: If the arguments cannot be a request.
        """
        var octets = request_octets(method, target, body, headers)
        return self.request_octets(octets.span())

    def request_octets(self, octets: Span[UInt8, _]) -> Response:
        """Sends a request as its octets stand, good or bad.

        Args:
            octets: One whole request.

        Returns:
            What the handler answered; 500 if it raised, and the status of the
            refusal if a server would not have called it.
        """
        var window = Buffer(capacity=max(len(octets), 1))
        window.append(octets)
        var machine = H1Machine(heap_create(H1State(Role.SERVER, self._limits)))
        var exchange = heap_create(ExchangeState())
        exchange[].begin()
        exchange[].request_id = 1
        var status = _read_request(machine, exchange, window)
        var response = error_response(status)
        if status == 200:
            response = self._answer(exchange)
        heap_destroy(exchange)
        heap_destroy(machine.state)
        _ = window^
        return response^

    def _answer(self, exchange: Exchange) -> Response:
        try:
            return self._handler.serve(Request(unsafe_exchange=exchange))
        except e:
            var status = exchange[].status_of(e)
            if status == 500:
                print("flare: the handler raised:", e)
            return error_response(status)


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


def _read_request(
    machine: H1Machine, exchange: Exchange, window: Buffer
) -> Int:
    # The status of the refusal, or 200.
    var octets = window.span()
    var at = 0
    var head = Pointer(to=exchange[].head).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    while True:
        var event: H1Event
        try:
            event = machine.next_event(octets[at:], head)
        except e:
            return e.status if e.status >= 400 else 400
        if event.kind == H1Event.REQUEST_HEAD:
            exchange[].octets = window.unsafe_front().unsafe_offset(at)
            exchange[].octet_count = event.consumed
        elif event.kind == H1Event.DATA:
            exchange[].content.append(
                octets[at + event.start : at + event.start + event.length]
            )
        elif event.kind == H1Event.END_OF_MESSAGE:
            exchange[].content_complete = True
            return 200
        elif event.kind != H1Event.TRAILERS:
            # A whole request was promised: a server would wait, then refuse.
            return 408
        at += event.consumed
