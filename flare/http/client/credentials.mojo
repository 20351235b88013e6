"""Holds what a client shows to prove who asks (RFC 9110 section 11)."""

from std.base64 import b64encode

from flare.core import COLON

from .error import ClientError, Phase, raised


@fieldwise_init
struct Credentials(Copyable, Movable):
    """Holds what is shown."""

    var value: String
    """The value of Authorization."""


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


@fieldwise_init
struct BasicAuth(Authentication):
    """Shows a user and a password to whoever listens (RFC 7617): use it with
    https."""

    var user: String
    """The user, without a colon."""
    var password: String
    """The password."""

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
        return Credentials(String("Basic ", b64encode(pair.as_bytes())))


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
