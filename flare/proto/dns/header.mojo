"""Reads and writes the header of messages (RFC 1035 section 4.1.1)."""

from .error import DnsMessageError

comptime HEADER_OCTETS = 12
"""The length of the header."""

comptime _RESPONSE: UInt16 = 0x8000
comptime _AUTHORITATIVE: UInt16 = 0x0400
comptime _TRUNCATED: UInt16 = 0x0200
comptime _RECURSION_DESIRED: UInt16 = 0x0100
comptime _RECURSION_AVAILABLE: UInt16 = 0x0080


struct ResponseCode:
    """The response codes of servers."""

    comptime NO_ERROR = 0
    """The question is answered."""
    comptime FORMAT_ERROR = 1
    """The server could not parse the query."""
    comptime SERVER_FAILURE = 2
    """The server could not find the answer."""
    comptime NAME_ERROR = 3
    """The name does not exist."""
    comptime NOT_IMPLEMENTED = 4
    """The server does not support this kind of query."""
    comptime REFUSED = 5
    """The server refuses to answer this client."""
    comptime BAD_VERSION = 16
    """The server does not support this version of EDNS (RFC 6891)."""


@fieldwise_init
struct DnsHeader(ImplicitlyCopyable):
    """A message header."""

    var id: UInt16
    """The identifier that associates an answer with its query."""
    var flags: UInt16
    """The bits between the id and the counts."""
    var questions: Int
    """The number of questions."""
    var answers: Int
    """The number of answer records."""
    var authorities: Int
    """The number of authority records."""
    var additionals: Int
    """The number of additional records."""

    @staticmethod
    def parse(message: Span[UInt8, _]) raises DnsMessageError -> Self:
        """Reads the header of a message.

        Args:
            message: The whole message.

        Returns:
            The header.

        Raises:
            DnsMessageError: If the message is shorter than a header.
        """
        if len(message) < HEADER_OCTETS:
            raise DnsMessageError(
                DnsMessageError.MALFORMED,
                "the message is shorter than a header",
                len(message),
            )
        return Self(
            uint16_at(message, 0),
            uint16_at(message, 2),
            Int(uint16_at(message, 4)),
            Int(uint16_at(message, 6)),
            Int(uint16_at(message, 8)),
            Int(uint16_at(message, 10)),
        )

    def append_to(self, mut message: List[UInt8]):
        """Appends the header.

        Args:
            message: The destination.
        """
        append_uint16(self.id, message)
        append_uint16(self.flags, message)
        append_uint16(UInt16(self.questions), message)
        append_uint16(UInt16(self.answers), message)
        append_uint16(UInt16(self.authorities), message)
        append_uint16(UInt16(self.additionals), message)

    def is_response(self) -> Bool:
        """Returns whether the message comes from a server.

        Returns:
            The bit QR.
        """
        return self.flags & _RESPONSE != 0

    def opcode(self) -> Int:
        """Returns the kind of query.

        Returns:
            0 for a standard query.
        """
        return Int(self.flags >> 11) & 15

    def is_authoritative(self) -> Bool:
        """Returns whether the server is authoritative for the name.

        Returns:
            The bit AA.
        """
        return self.flags & _AUTHORITATIVE != 0

    def is_truncated(self) -> Bool:
        """Returns whether the answer was too long for a datagram.

        Returns:
            The bit TC.
        """
        return self.flags & _TRUNCATED != 0

    def recursion_available(self) -> Bool:
        """Returns whether the server queries other servers for the client.

        Returns:
            The bit RA.
        """
        return self.flags & _RECURSION_AVAILABLE != 0

    def response_code(self) -> Int:
        """Returns the response code.

        Returns:
            The lower four bits of a `ResponseCode`.
        """
        return Int(self.flags) & 15

    @staticmethod
    def of_query(id: UInt16, additionals: Int) -> Self:
        """Returns the header of a standard query with one question.

        Args:
            id: The identifier, which the answer repeats.
            additionals: The number of records after the question.

        Returns:
            The header, with recursion desired (RD).
        """
        return Self(id, _RECURSION_DESIRED, 1, 0, 0, additionals)


@always_inline
def uint16_at(octets: Span[UInt8, _], at: Int) -> UInt16:
    """Reads a number of 16 bits.

    Args:
        octets: The octets.
        at: Its offset; both octets are there.

    Returns:
        The number.
    """
    return UInt16(octets[at]) << 8 | UInt16(octets[at + 1])


@always_inline
def uint32_at(octets: Span[UInt8, _], at: Int) -> UInt32:
    """Reads a number of 32 bits.

    Args:
        octets: The octets.
        at: Its offset; all four octets are there.

    Returns:
        The number.
    """
    return UInt32(uint16_at(octets, at)) << 16 | UInt32(
        uint16_at(octets, at + 2)
    )


def append_uint16(number: UInt16, mut octets: List[UInt8]):
    """Appends a number of 16 bits.

    Args:
        number: The number.
        octets: The destination.
    """
    octets.append(UInt8(number >> 8))
    octets.append(UInt8(number & 255))
