"""Defines handlers that answer a request with a WebSocket."""

from flare.http.body import Body
from flare.http.builders import error_response
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.stream_function import StreamFunction
from flare.message import Status
from flare.proto.ws import (
    WsHandshakeError,
    WsRole,
    WsServerAnswer,
    answer_handshake,
)

from .connection import WsConnection
from .message_deflate import AgreedDeflate
from .options import WsOptions, check_config
from .task import WsTask

comptime WsFunction = def(Request, WsConnection) raises thin -> None
"""A plain function that speaks on a WebSocket."""
comptime _ShortFunction = def(WsConnection) raises thin -> None


def websocket[
    F: def(Request, WsConnection) raises -> None
](
    req: Request, var function: F, options: WsOptions = WsOptions()
) raises -> Response:
    """Answers a request with a WebSocket.

    A handler calls it after it has decided that the client may connect. The
    function runs once the 101 is written. When it returns, the connection is
    closed with 1000; if it raises, with 1011.

    Parameters:
        F: The type of the function.

    Args:
        req: The request.
        function: The function; a closure owns its captures.
        options: The limits and choices.

    Returns:
        The 101, or a refusal: 426 if the request asks for no WebSocket or for
        another version, 403 if its Origin is not accepted. A request that
        breaks another rule of the handshake gets 400. Over HTTP/2, 400 takes
        the place of 426, and another protocol gets 501.

    Raises:
        An error `ws.bad_config` with the field of the options that is out of
        its bounds.
    """
    check_config(options.first_problem())
    return _answer(req, function^, options)


def _answer[
    F: def(Request, WsConnection) raises -> None
](req: Request, var function: F, options: WsOptions) raises -> Response:
    var exchange = req.unsafe_exchange()
    var answer: WsServerAnswer
    try:
        answer = answer_handshake(
            exchange[].head,
            exchange[].window(),
            options.policy,
            options.compression.policy(),
        )
    except e:
        return _refusal(e)
    var deflate = AgreedDeflate()
    if answer.deflate:
        deflate = AgreedDeflate(
            WsRole.SERVER,
            answer.deflate.value(),
            options.compression,
            message_octets_max=options.limits.max_message_size,
        )
    var response = Response(
        Status.SWITCHING_PROTOCOLS,
        Body(
            stream=StreamFunction(
                WsTask[F](
                    function^,
                    options.limits,
                    answer.protocol.copy(),
                    options.hub,
                    deflate^,
                )
            )
        ),
    )
    answer.add_fields(response.headers)
    return response^


def _refusal(error: WsHandshakeError) -> Response:
    var response = error_response(error.status)
    error.add_fields(response.headers)
    return response^


struct WebSocket(Handler):
    """A handler that answers each request with a WebSocket, for any router and
    under any middleware."""

    var _function: Optional[WsFunction]
    var _short: Optional[_ShortFunction]
    var _options: WsOptions

    def __init__(
        out self, function: WsFunction, var options: WsOptions = WsOptions()
    ) raises:
        """Creates a handler from a function that reads the request too.

        Args:
            function: The function.
            options: The limits and choices.

        Raises:
            An error `ws.bad_config` with the field of the options that is out
            of its bounds.
        """
        check_config(options.first_problem())
        self._function = function
        self._short = None
        self._options = options^

    def __init__(
        out self,
        function: def(WsConnection) raises thin -> None,
        var options: WsOptions = WsOptions(),
    ) raises:
        """Creates a handler from a function.

        Args:
            function: The function.
            options: The limits and choices.

        Raises:
            An error `ws.bad_config` with the field of the options that is out
            of its bounds.
        """
        check_config(options.first_problem())
        self._function = None
        self._short = function
        self._options = options^

    def serve(self, req: Request) raises -> Response:
        """Answers a request with a WebSocket, or with a refusal.

        Args:
            req: The request.

        Returns:
            The response of `websocket`.

        Raises:
            The errors of `websocket`.
        """
        var function = self._function
        var short = self._short

        def call(
            req: Request, ws: WsConnection
        ) raises {var function, var short}:
            if function:
                function.value()(req, ws)
            else:
                short.value()(ws)

        return _answer(req, call, self._options)
