"""Gives every response a number that logs can be searched for."""

from flare.core import is_token
from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap
from flare.sys.clock import unix_ms

comptime _NAME: StaticString = "X-Request-Id"
comptime _INCOMING_OCTETS_MAX = 64


struct RequestId[H: Handler](Handler):
    """Adds `X-Request-Id`: start of the process, worker, and request number.

    Worker and number are those of the server's own log lines.

    Parameters:
        H: The type of the handler inside.
    """

    var inner: Self.H
    """The handler inside."""
    var trusts_incoming: Bool
    """Whether the request's own `X-Request-Id` is kept: only behind a proxy
    that sets it."""
    var _start: String

    def __init__(out self, var inner: Self.H, *, trusts_incoming: Bool = False):
        """Goes around a handler.

        Args:
            inner: The handler.
            trusts_incoming: Whether a token of at most 64 octets that the
                request has already is kept.
        """
        self.inner = inner^
        self.trusts_incoming = trusts_incoming
        self._start = hex(unix_ms(), prefix="")

    def serve(self, req: Request) raises -> Response:
        """Lets the handler inside answer and adds the field.

        Args:
            req: The request.

        Returns:
            The response with the field.

        Raises:
            What the handler inside raises, and `message.headers_too_large`.
        """
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            self._try_to_set(req, req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            self._try_to_set(req, req.error_headers())
        self._set(req, response.headers)
        return response^

    def _set(self, req: Request, mut headers: HeaderMap) raises:
        if self.trusts_incoming:
            var incoming = req.headers.get(_NAME)
            if incoming and _is_id(incoming.value()):
                headers.set(_NAME, incoming.value())
                return
        var exchange = req.unsafe_exchange()
        headers.set(
            _NAME,
            String(
                self._start,
                "-",
                exchange[].worker,
                "-",
                exchange[].request_id,
            ),
        )

    @no_inline
    def _try_to_set(self, req: Request, mut headers: HeaderMap):
        # A field that finds no room must not hide the error.
        try:
            self._set(req, headers)
        except:
            return


def _is_id(text: StringSlice) -> Bool:
    return text.byte_length() <= _INCOMING_OCTETS_MAX and is_token(
        text.as_bytes()
    )
