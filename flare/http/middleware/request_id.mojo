"""Adds an identifier to every response, by which logs can be searched."""

from flare.core import PointerTo, heap_create, heap_destroy, is_token
from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap
from flare.sys.clock import unix_ms

comptime _NAME: StaticString = "X-Request-Id"
comptime _INCOMING_OCTETS_MAX = 64


struct RequestId[H: Handler](Handler):
    """Adds `X-Request-Id`: the time of the worker's first request, worker, and
    request number.

    The server's own log lines have the same worker and number.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var trusts_incoming: Bool
    """Whether to keep the request's own `X-Request-Id`. Set it only behind a
    proxy that sets the field.
    """
    # Empty before the first request. A supervised worker that is started again
    # copies the state of its supervisor, and counts its requests anew.
    var _start: PointerTo[String]

    def __init__(out self, var inner: Self.H, *, trusts_incoming: Bool = False):
        """Creates middleware that identifies a handler's requests.

        Args:
            inner: The inner handler.
            trusts_incoming: Whether to keep the request's own identifier, if
                it is a token of at most 64 octets.
        """
        self.inner = inner^
        self.trusts_incoming = trusts_incoming
        self._start = heap_create(String())

    def __init__(out self, *, copy: Self):
        """Copies the middleware for another worker.

        Args:
            copy: The middleware to copy.
        """
        self.inner = copy.inner.copy()
        self.trusts_incoming = copy.trusts_incoming
        self._start = heap_create(String())

    def __init__(out self, *, deinit move: Self):
        """Moves the middleware.

        Args:
            move: The middleware to move.
        """
        self.inner = move.inner^
        self.trusts_incoming = move.trusts_incoming
        self._start = move._start

    def __deinit__(deinit self):
        """Frees the middleware."""
        heap_destroy(self._start)

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response with the field.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, and `message.headers_too_large`.
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
        if self._start[].byte_length() == 0:
            self._start[] = hex(unix_ms(), prefix="")
        headers.set(
            _NAME,
            String(
                self._start[],
                "-",
                exchange[].host.worker,
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
