"""Tells browsers to come inside of TLS only (RFC 6797)."""

from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap

comptime _NAME: StaticString = "Strict-Transport-Security"
comptime _YEAR_SECONDS = 31_536_000


struct StrictTransportSecurity[H: Handler](Handler):
    """Adds the field to responses that leave inside of TLS; elsewhere it would
    mean nothing (RFC 6797 section 7.2).

    A browser that has seen it cannot come without TLS until the time is over,
    whatever becomes of the server: begin with a short time.

    Parameters:
        H: The type of the handler inside.
    """

    var inner: Self.H
    """The handler inside."""
    var _value: String

    def __init__(
        out self,
        var inner: Self.H,
        *,
        max_age_seconds: Int = _YEAR_SECONDS,
        include_subdomains: Bool = False,
        preload: Bool = False,
    ):
        """Goes around a handler.

        Args:
            inner: The handler.
            max_age_seconds: How long browsers keep to it; 0 lets them forget.
            include_subdomains: Whether it holds for all names below too.
            preload: Whether the site may be put into the lists that browsers
                come with.
        """
        self.inner = inner^
        self._value = String("max-age=", max(max_age_seconds, 0))
        if include_subdomains:
            self._value.write("; includeSubDomains")
        if preload:
            self._value.write("; preload")

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
            self._try_to_add(req, req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            self._try_to_add(req, req.error_headers())
        self._add(req, response.headers)
        return response^

    def _add(self, req: Request, mut headers: HeaderMap) raises:
        if req.is_secure() and not headers.contains(_NAME):
            headers.append(_NAME, self._value)

    @no_inline
    def _try_to_add(self, req: Request, mut headers: HeaderMap):
        # A field that finds no room must not hide the error.
        try:
            self._add(req, headers)
        except:
            return
