"""Restricts a handler to some clients."""

from flare.net import IpNetwork

from ..client import BasicAuth
from ..handler import Handler
from ..request import Request
from ..response import Response
from .client_access import ClientAccess


struct AllowOnly[H: Handler](Handler):
    """Answers 403 or 401 to clients that may not reach a handler. By default,
    only those of this machine may, and those of Unix sockets.

    - A request that a proxy has forwarded is refused, because its client may be
      anywhere. A proxy that adds none of the usual fields cannot be noticed: then
      use credentials.
    - A request for another name of the host is refused, so that no page of another
      site reads the answer by DNS rebinding.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var _access: ClientAccess

    def __init__(
        out self,
        var inner: Self.H,
        *,
        var networks: List[IpNetwork] = [],
        credentials: Optional[BasicAuth] = None,
        var hosts: List[String] = [],
    ) raises:
        """Creates middleware that restricts a handler.

        Args:
            inner: The inner handler.
            networks: The networks whose clients may ask, instead of this
                machine.
            credentials: The name and the password that clients must send
                (RFC 7617). Without `networks`, clients of all addresses may then
                ask, also through proxies. Use them over TLS only.
            hosts: Names of the server by which clients may ask, beside
                `localhost` and addresses. With credentials alone, names are not
                checked.

        Raises:
            Error: `http.bad_access` if the credentials have no password or a
                colon in the name, or a host is empty.
        """
        self.inner = inner^
        self._access = ClientAccess(
            networks=networks^, credentials=credentials, hosts=hosts^
        )

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response to clients that may ask.

        Args:
            req: The request.

        Returns:
            The response; 403 or 401 for other clients.

        Raises:
            The error of the inner handler, and `message.headers_too_large`.
        """
        var refusal = self._access.refusal(req)
        if refusal:
            return refusal.take()
        return self.inner.serve(req)
