"""Holds what a client shows to prove who asks (RFC 9110 section 11)."""

from std.base64 import b64encode

from flare.core import COLON

from .error import ClientError, Phase, raised


struct Credentials(Copyable, Movable):
    """Holds the value of Authorization, or what one is made of."""

    comptime FIXED: UInt8 = 0
    """The value is the same for every request."""
    comptime DIGEST: UInt8 = 1
    """The value answers a challenge (RFC 7616)."""

    var kind: UInt8
    """One of the constants."""
    var value: String
    """The value of Authorization, where it is fixed."""
    var user: String
    """Who asks, where a challenge is answered."""
    var password: String
    """The password that goes with it."""

    def __init__(out self, *, var value: String):
        """Makes fixed credentials.

        Args:
            value: The value of Authorization.
        """
        self.kind = Self.FIXED
        self.value = value^
        self.user = String()
        self.password = String()

    def __init__(out self, *, var user: String, var password: String):
        """Makes credentials that answer challenges of Digest.

        Args:
            user: Who asks.
            password: The password.
        """
        self.kind = Self.DIGEST
        self.value = String()
        self.user = user^
        self.password = password^


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
        return Credentials(value=String("Basic ", b64encode(pair.as_bytes())))


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
        return Credentials(value=String("Bearer ", self.token))
