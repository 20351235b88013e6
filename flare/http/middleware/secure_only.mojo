"""Sends who came without TLS to the same page inside of it."""

from flare.http.builders import bad_request, redirect
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import Status, Url, escaped_percents

comptime _HTTPS_PORT = 443


struct SecureOnly[H: Handler](Handler):
    """Answers requests that came without TLS with a redirect (308), so that one
    server may listen on a plain port for those who do not know better.

    Where several names lead to the server, each request is sent to the one
    that it asks for. Caches in front of it may keep a redirect: they must tell
    requests for different names apart, or `host` is to be given.

    Parameters:
        H: The type of the handler inside.
    """

    var inner: Self.H
    """The handler inside."""
    var _host: Optional[String]
    var _port: Int

    def __init__(
        out self,
        var inner: Self.H,
        *,
        var host: Optional[String] = None,
        port: Int = _HTTPS_PORT,
    ):
        """Goes around a handler.

        Args:
            inner: The handler.
            host: The name to send all to; by default the one that a request
                asks for.
            port: The port at which the server speaks TLS.
        """
        self.inner = inner^
        self._host = host^
        self._port = port

    def serve(self, req: Request) raises -> Response:
        """Lets the handler inside answer, or redirects.

        Args:
            req: The request.

        Returns:
            The response: 400 if there is no name to send the client to.

        Raises:
            What the handler inside raises.
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
