"""Redirects clients that came without TLS to the same page with TLS."""

from flare.http.builders import bad_request, redirect
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import Status, Url, escaped_percents

comptime _HTTPS_PORT = 443


struct SecureOnly[H: Handler](Handler):
    """Redirects requests that came without TLS to HTTPS (308).

    With this middleware, one server can also listen on a plain port. If the
    server has several names, each request is redirected to its own name. If a
    cache that ignores the name may store the redirect, set `host`.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _host: Optional[String]
    var _port: Int

    def __init__(
        out self,
        var inner: Self.H,
        *,
        var host: Optional[String] = None,
        port: Int = _HTTPS_PORT,
    ):
        """Creates middleware that redirects plain requests for a handler.

        Args:
            inner: The inner handler.
            host: The name to redirect to; by default, the host of the request.
            port: The server's port for TLS.
        """
        self.inner = inner^
        self._host = host^
        self._port = port

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, or a redirect.

        Args:
            req: The request.

        Returns:
            The response; 400 if the request has no name to redirect to.

        Raises:
            The error of the inner handler.
        """
        if req.is_secure():
            return self.inner.serve(req)
        var host: String
        if self._host:
            host = self._host.value()
        else:
            var named = req.authority
            if named.byte_length() == 0:
                return bad_request("this site needs a Host field")
            host = String(Url.parse(String("http://", named)).host())
        var location = String("https://")
        if host.find(":") >= 0:
            # An address of IPv6 (RFC 3986 section 3.2.2).
            location.write("[", host, "]")
        else:
            location.write(host)
        if self._port != _HTTPS_PORT:
            location.write(":", self._port)
        location.write(req.path)
        if req.query.byte_length() > 0:
            location.write("?", escaped_percents(req.query))
        return redirect(location, Status.PERMANENT_REDIRECT)
