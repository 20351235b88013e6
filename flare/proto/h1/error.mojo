"""Defines the error that the HTTP/1.1 machine raises."""

from .rule import H1Rule


@fieldwise_init
struct H1Error(ImplicitlyCopyable, Writable):
    """Reports a violation of HTTP/1.1 and whose fault it is.

    After an error of the peer the machine reads nothing more; a server may
    still answer with `status`. After a local error `wants_close()` tells
    whether a message on the wire is broken; if not, nothing was written.
    """

    comptime PEER: UInt8 = 0
    """The peer sent what RFC 9112 or a limit forbids."""
    comptime LOCAL: UInt8 = 1
    """The caller asked for what would be a wrong message."""

    var fault: UInt8
    """`PEER` or `LOCAL`."""
    var status: Int
    """What a server answers (RFC 9110 section 15); 0 where there is no answer
    to give: in the client role and for local errors."""
    var reason: StaticString
    """A fixed phrase for logs, never octets from the peer."""
    var rule: H1Rule
    """The rule of HTTP/1.1 that the peer broke, if it is one."""

    @staticmethod
    def peer(status: Int, reason: StaticString) -> Self:
        """Makes an error of the peer.

        Args:
            status: What a server answers.
            reason: The phrase for logs.

        Returns:
            The error.
        """
        return Self(Self.PEER, status, reason, H1Rule.NONE)

    @staticmethod
    def broken[phrase: StaticString](status: Int) -> Self:
        """Makes an error of a peer that broke a rule.

        Parameters:
            phrase: The phrase of the rule.

        Args:
            status: What a server answers.

        Returns:
            The error.
        """
        return Self(Self.PEER, status, phrase, H1Rule.of[phrase]())

    @staticmethod
    def local(reason: StaticString) -> Self:
        """Makes an error of the caller.

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
