"""Defines the versions of HTTP that a listener may speak."""


@fieldwise_init
struct HttpProtocols(Equatable, TrivialRegisterPassable):
    """The versions of HTTP that the connections of a listener may speak.

    Inside of TLS, the client chooses one in the handshake (ALPN). Otherwise a
    client that speaks HTTP/2 begins with a preface, by which the server knows
    it (prior knowledge, RFC 9113 section 3.3). `Upgrade: h2c` is ignored: RFC
    9113 has dropped it, and it lets requests pass proxies unseen.
    """

    comptime ALL = Self(3)
    """HTTP/1.1, HTTP/1.0 and HTTP/2."""
    comptime HTTP1 = Self(1)
    """HTTP/1.1 and HTTP/1.0."""
    comptime HTTP2 = Self(2)
    """HTTP/2."""

    var _bits: UInt8

    def includes(self, other: Self) -> Bool:
        """Returns whether all versions of another set are among these.

        Args:
            other: The other set.

        Returns:
            True if this set contains the whole of the other one.
        """
        return self._bits & other._bits == other._bits
