"""Adds header fields that make browsers more careful."""

from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap

comptime _CONTENT_TYPE_OPTIONS: StaticString = "X-Content-Type-Options"
comptime _FRAME_OPTIONS: StaticString = "X-Frame-Options"
comptime _REFERRER_POLICY: StaticString = "Referrer-Policy"


@fieldwise_init
struct SecurityHeaders[H: Handler](Handler):
    """Adds security fields that suit every site, unless the response has its
    own.

    They forbid guessing types (`X-Content-Type-Options: nosniff`), frames of
    other sites (`X-Frame-Options: DENY`), and referrers for other sites
    (`Referrer-Policy: same-origin`). Add fields that depend on the site, such as
    Content-Security-Policy, with `AddHeader`.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response with the fields.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler.
        """
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            _add(req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            _add(req.error_headers())
        _add(response.headers)
        return response^


@always_inline
def _add(mut headers: HeaderMap):
    if not headers.contains(_CONTENT_TYPE_OPTIONS):
        headers.append_constant[_CONTENT_TYPE_OPTIONS, "nosniff"]()
    if not headers.contains(_FRAME_OPTIONS):
        headers.append_constant[_FRAME_OPTIONS, "DENY"]()
    if not headers.contains(_REFERRER_POLICY):
        # With `no-referrer`, forms of the site itself have `Origin: null`.
        headers.append_constant[_REFERRER_POLICY, "same-origin"]()
