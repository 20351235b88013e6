"""Holds what a client shows to prove who asks (RFC 9110 section 11)."""

from std.base64 import b64encode

from flare.core import COLON

from ..client_error import ClientError, Phase, raised
from .digest import DigestAccount


struct Credentials(Copyable, Movable):
    """Holds what is shown, or what answers to challenges are made of."""

    var value: String
    """The value of Authorization; empty where a challenge decides it."""
    var account: Optional[DigestAccount]
    """What answers the challenges of Digest."""
    var host: Optional[String]
    """The only host that may see them, in small letters; any host that the
    client decides on if none."""

    def __init__(
        out self, var value: String, *, var host: Optional[String] = None
    ):
        """Shows the same with each request.

        Args:
            value: The value of Authorization.
            host: The only host that may see it.
        """
        self.value = value^
        self.account = None
        self.host = host^

    def __init__(out self, *, var account: DigestAccount):
        """Shows what a challenge asks for.

        Args:
            account: What answers are made of.
        """
        self.value = String()
        self.account = account^
        self.host = None


trait Authentication(Copyable, Deinitable, Movable):
    """Is what a client is given to prove who asks."""

    def credentials(self) raises -> Credentials:
        """Says what is shown.

        Returns:
            The credentials.

        Raises:
            Error: `client.bad_request prepare` if they cannot be sent.
        """
        ...


struct BasicAuth(Authentication):
    """Shows a user and a password to whoever listens (RFC 7617): use it with
    https."""

    var user: String
    """The user, without a colon."""
    var password: String
    """The password."""
    var host: Optional[String]
    """The only host that may see them, as of a login in a netrc file; none
    leaves that to the client."""

    def __init__(
        out self,
        var user: String,
        var password: String,
        *,
        var host: Optional[String] = None,
    ):
        """Takes a user and a password.

        Args:
            user: The user, without a colon.
            password: The password.
            host: The only host that may see them.
        """
        self.user = user^
        self.password = password^
        self.host = host^

    def credentials(self) raises -> Credentials:
        """Joins user and password.

        Returns:
            The credentials.

        Raises:
            Error: `client.bad_request prepare` if the user has a colon.
        """
        for octet in self.user.as_bytes():
            if octet == COLON:
                raise raised(
                    ClientError.BAD_REQUEST,
                    Phase.PREPARE,
                    "the user of Basic has a colon",
                )
        var pair = String(self.user, ":", self.password)
        var host = Optional[String](None)
        if self.host:
            host = self.host.value().lower()
        return Credentials(
            String("Basic ", b64encode(pair.as_bytes())), host=host^
        )


@fieldwise_init
struct BearerAuth(Authentication):
    """Shows a token (RFC 6750): use it with https."""

    var token: String
    """The token."""

    def credentials(self) raises -> Credentials:
        """Names the token.

        Returns:
            The credentials.

        Raises:
            Nothing.
        """
        return Credentials(String("Bearer ", self.token))


@fieldwise_init
struct DigestAuth(Authentication):
    """Proves that a password is known, without showing it (RFC 7616).

    The server answers the first request with 401 and a challenge, and the
    client repeats it. Later requests answer the same challenge at once, as long
    as the server accepts it. Content that is streamed cannot be sent again: ask
    for something small first.
    """

    var user: String
    """The user."""
    var password: String
    """The password."""

    def credentials(self) raises -> Credentials:
        """Keeps what answers are made of.

        Returns:
            The credentials.

        Raises:
            Nothing.
        """
        return Credentials(account=DigestAccount(self.user, self.password))
