"""Makes browsers use TLS only (RFC 6797)."""

from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap

comptime _NAME: StaticString = "Strict-Transport-Security"
comptime _YEAR_SECONDS = 31_536_000


struct StrictTransportSecurity[H: Handler](Handler):
    """Adds Strict-Transport-Security to responses that are sent over TLS.

    Without TLS, browsers ignore the field (RFC 6797 section 7.2). A browser
    that has received it uses only TLS until the time is over, even if the
    server stops using TLS. So begin with a short time.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _value: String

    def __init__(
        out self,
        var inner: Self.H,
        *,
        max_age_seconds: Int = _YEAR_SECONDS,
        include_subdomains: Bool = False,
        preload: Bool = False,
    ):
        """Creates middleware that adds the field to a handler's responses.

        Args:
            inner: The inner handler.
            max_age_seconds: How long browsers use only TLS; 0 removes the rule.
            include_subdomains: Whether it applies to all subdomains too.
            preload: Whether browsers may ship the site in their built-in
                lists.
        """
        self.inner = inner^
        self._value = String("max-age=", max(max_age_seconds, 0))
        if include_subdomains:
            self._value.write("; includeSubDomains")
        if preload:
            self._value.write("; preload")

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
