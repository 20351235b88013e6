"""Limits the content and the time of requests for one handler."""

from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response

from .timeout import check_duration, serve_within


struct Limit[H: Handler](Handler):
    """Limits the content of a handler's requests and the time of its waits.

    - The limit of content replaces `max_body_size`, by less or by more. If the
      Content-Length exceeds it, the first read raises before an octet of
      content is asked for, and the answer is 413. So it is if content without
      a length turns out longer.
    - The time is that of `Timeout`.
    - Of two that contain each other, the inner one counts, whether it allows
      less or more. So a router may have a small limit around it, and the route
      for uploads a large one. `req.body.set_octets_max` in the handler counts
      most.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _body_octets: Optional[Int]
    var _time_ms: Optional[Int]

    def __init__(
        out self,
        var inner: Self.H,
        *,
        body_octets: Optional[Int] = None,
        time_ms: Optional[Int] = None,
    ) raises:
        """Creates middleware that limits requests for a handler.

        Args:
            inner: The inner handler.
            body_octets: The longest content, in octets; 0 allows none. `None`
                leaves the outer limit.
            time_ms: The longest time of all waits together, in milliseconds: 1
                to 2,147,483,647. `None` leaves the outer limit.

        Raises:
            Error: `http.bad_limit` with the value that is out of bounds.
        """
        if body_octets and body_octets.value() < 0:
            raise Error("http.bad_limit body_octets: 0 or more")
        if time_ms:
            check_duration(time_ms.value())
        self.inner = inner^
        self._body_octets = body_octets
        self._time_ms = time_ms

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, or 413 or 503.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, if its time was not over. After
            content that is too long, the server answers 413 in any case.
        """
        if self._body_octets:
            req.body.set_octets_max(self._body_octets.unsafe_value())
        if self._time_ms:
            return serve_within(self.inner, req, self._time_ms.unsafe_value())
        return self.inner.serve(req)
