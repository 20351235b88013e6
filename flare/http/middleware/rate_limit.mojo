"""Refuses requests of clients that send too many."""

from flare.http.error_answer import may_be_discarded
from flare.http.handler import Handler
from flare.http.rate import RateAnswer, RateLimitConfig, RateLimiter
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap


struct RateLimit[H: Handler](Handler):
    """Answers 429 to clients that send more requests than a limit allows.

    A client is an address, unless `RateLimitConfig.key` finds it otherwise. The memory for
    counts never grows, and a request that is admitted allocates none. Requests
    that are refused do not count.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var limiter: RateLimiter
    """The counts, which all copies share."""
    var weight: Int
    """How many requests each one counts for."""

    def __init__(out self, var inner: Self.H, config: RateLimitConfig) raises:
        """Creates middleware with a limit of its own.

        Args:
            inner: The inner handler.
            config: The limit.

        Raises:
            Error: `http.bad_rate_limit` with the name of the invalid field, and
                `http.rate no random octets`.
        """
        self.inner = inner^
        self.limiter = RateLimiter(config)
        self.weight = 1

    def __init__(
        out self,
        var inner: Self.H,
        limiter: RateLimiter,
        *,
        weight: Int = 1,
    ) raises:
        """Creates middleware that shares a limit with other handlers.

        Args:
            inner: The inner handler.
            limiter: The limit.
            weight: How many requests each request for this handler counts for.

        Raises:
            Error: `http.bad_rate_limit weight` if it is less than 1, or more
                than a client may send to one worker at once.
        """
        if weight < 1 or weight > limiter.burst():
            raise Error("http.bad_rate_limit weight")
        self.inner = inner^
        self.limiter = limiter.copy()
        self.weight = weight

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, or 429.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler or of the key function, and
            `message.headers_too_large`.
        """
        var answer = self.limiter.admit(req, self.weight)
        if not answer.is_admitted():
            return self.limiter.refusal(answer)
        if self.limiter.reports():
            return self._serve_with_report(req, answer)
        return self.inner.serve(req)

    @no_inline
    def _serve_with_report(
        self, req: Request, answer: RateAnswer
    ) raises -> Response:
        var response: Response
        try:
            response = self.inner.serve(req)
        except e:
            self._try_to_report(answer, req.error_headers())
            raise e^
        if may_be_discarded(req, response):
            self._try_to_report(answer, req.error_headers())
        self.limiter.report(answer, response.headers)
        return response^

    def _try_to_report(self, answer: RateAnswer, mut headers: HeaderMap):
        # A field that finds no room must not hide the error.
        try:
            self.limiter.report(answer, headers)
        except:
            return
