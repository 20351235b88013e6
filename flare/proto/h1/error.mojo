"""Defines the error of the HTTP/1.1 machine."""

from .rule import H1Rule


@fieldwise_init
struct H1Error(ImplicitlyCopyable, Writable):
    """A violation of HTTP/1.1, by the peer or by the caller.

    After an error of the peer, the machine reads no more; a server may still
    answer with `status`. After a local error, `wants_close()` returns whether
    a message on the wire is broken. If not, no octet was written.
    """

    comptime PEER: UInt8 = 0
    """The peer sent a message that RFC 9112 or a limit forbids."""
    comptime LOCAL: UInt8 = 1
    """The caller asked for an invalid message."""

    var fault: UInt8
    """`PEER` or `LOCAL`."""
    var status: Int
    """The status with which a server answers (RFC 9110 section 15); 0 in the
    client role and for local errors.
    """
    var reason: StaticString
    """A fixed phrase for logs, never octets from the peer."""
    var rule: H1Rule
    """The rule of HTTP/1.1 that the peer broke, if any."""

    @staticmethod
    def peer(status: Int, reason: StaticString) -> Self:
        """Returns an error of the peer.

        Args:
            status: The status with which a server answers.
            reason: The phrase for logs.

        Returns:
            The error.
        """
        return Self(Self.PEER, status, reason, H1Rule.NONE)

    @staticmethod
    def broken[phrase: StaticString]() -> Self:
        """Returns an error of a peer that broke a rule.

        Parameters:
            phrase: The phrase of the rule.

        Returns:
            The error, with the status of the rule.
        """
        var rule = H1Rule.of[phrase]()
        return Self(Self.PEER, rule.status(), phrase, rule)

    @staticmethod
    def local(reason: StaticString) -> Self:
        """Returns an error of the caller.

        Args:
            reason: The phrase for logs.

        Returns:
            The error.
        """
        return Self(Self.LOCAL, 0, reason, H1Rule.NONE)

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("http/1.1 ")
        writer.write("peer" if self.fault == Self.PEER else "local")
        if self.status != 0:
            writer.write(" error, status ", self.status)
        else:
            writer.write(" error")
        writer.write(": ", self.reason)
