"""Defines the credentials that a client sends (RFC 9110 section 11)."""

from std.base64 import b64encode

from flare.core import COLON

from ...client_error import ClientError, Phase, raised
from .digest import DigestAccount


struct Credentials(Copyable, Movable):
    """The credentials of a client, or the account for answering challenges."""

    var value: String
    """The value of Authorization; empty if a challenge determines it."""
    var account: Optional[DigestAccount]
    """The account that answers the challenges of Digest."""
    var host: Optional[String]
    """The only host that gets the credentials, in lower case; `None` leaves
    that to the client.
    """

    def __init__(
        out self, var value: String, *, var host: Optional[String] = None
    ):
        """Creates credentials that are the same in each request.

        Args:
            value: The value of Authorization.
            host: The only host to which the client sends them.
        """
        self.value = value^
        self.account = None
        self.host = host^

    def __init__(out self, *, var account: DigestAccount):
        """Creates credentials that answer challenges.

        Args:
            account: The account.
        """
        self.value = String()
        self.account = account^
        self.host = None


trait Authentication(Copyable, Deinitable, Movable):
    """A type that supplies a client's credentials."""

    def credentials(self) raises -> Credentials:
        """Returns the credentials.

        Returns:
            The credentials.

        Raises:
            Error: `client.bad_request prepare` if they cannot be sent.
        """
        ...


struct BasicAuth(Authentication):
    """A user and a password, sent in clear text (RFC 7617): use it with https.
    """

    var user: String
    """The user, without a colon."""
    var password: String
    """The password."""
    var host: Optional[String]
    """The only host that gets them, as for a login of a netrc file; `None`
    leaves that to the client.
    """

    def __init__(
        out self,
        var user: String,
        var password: String,
        *,
        var host: Optional[String] = None,
    ):
        """Creates credentials from a user and a password.

        Args:
            user: The user, without a colon.
            password: The password.
            host: The only host to which the client sends them.
        """
        self.user = user^
        self.password = password^
        self.host = host^

    def credentials(self) raises -> Credentials:
        """Returns the credentials.

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
    """A token (RFC 6750): use it with https."""

    var token: String
    """The token."""

    def credentials(self) raises -> Credentials:
        """Returns the credentials.

        Returns:
            The credentials.

        Raises:
            Never.
        """
        return Credentials(String("Bearer ", self.token))


@fieldwise_init
struct DigestAuth(Authentication):
    """A user and a password for Digest authentication, which never sends the
    password (RFC 7616).

    The server answers the first request with 401 and a challenge, and the
    client repeats the request. Later requests include the proof, as long as the
    server accepts it. The client cannot repeat streamed content, so send a
    small request first.
    """

    var user: String
    """The user."""
    var password: String
    """The password."""

    def credentials(self) raises -> Credentials:
        """Returns the account for answering challenges.

        Returns:
            The credentials.

        Raises:
            Never.
        """
        return Credentials(account=DigestAccount(self.user, self.password))
