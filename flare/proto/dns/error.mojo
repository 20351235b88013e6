"""Defines the error of the DNS codec."""


@fieldwise_init
struct DnsMessageError(ImplicitlyCopyable, Writable):
    """Says why octets are no answer, or why a name cannot be asked for."""

    comptime FOREIGN: UInt8 = 0
    """The message answers another question: it is late, or forged. The answer
    may still come (RFC 5452 section 9.1)."""
    comptime MALFORMED: UInt8 = 1
    """The message breaks RFC 1035, or a limit."""
    comptime UNWRITABLE: UInt8 = 2
    """The caller's name has no form on the wire."""

    var kind: UInt8
    """One of the constants above."""
    var reason: StaticString
    """A fixed phrase, never octets of the message."""
    var offset: Int
    """Where in the message, or in the name, the reason was found."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("dns message: ", self.reason, " at octet ", self.offset)
