"""Defines the error of the DNS codec."""


@fieldwise_init
struct DnsMessageError(ImplicitlyCopyable, Writable):
    """Describes why octets are not an answer, or why a name cannot be queried.
    """

    comptime FOREIGN: UInt8 = 0
    """The message answers another question: it is late, or forged. The right
    answer may still arrive (RFC 5452 section 9.1).
    """
    comptime MALFORMED: UInt8 = 1
    """The message breaks RFC 1035, or a limit."""
    comptime UNWRITABLE: UInt8 = 2
    """The caller's name has no wire form."""

    var kind: UInt8
    """One of the constants above."""
    var reason: StaticString
    """A fixed phrase, never octets of the message."""
    var offset: Int
    """The place of the error in the message or in the name."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("dns message: ", self.reason, " at octet ", self.offset)
