"""Reads and writes the twelve octets with which every message begins
(RFC 1035 section 4.1.1).
"""

from .error import DnsMessageError

comptime HEADER_OCTETS = 12
"""The length of the header."""

comptime _RESPONSE: UInt16 = 0x8000
comptime _AUTHORITATIVE: UInt16 = 0x0400
comptime _TRUNCATED: UInt16 = 0x0200
comptime _RECURSION_DESIRED: UInt16 = 0x0100
comptime _RECURSION_AVAILABLE: UInt16 = 0x0080


struct ResponseCode:
    """Names the codes with which a server says how it fared."""

    comptime NO_ERROR = 0
    """The question is answered."""
    comptime FORMAT_ERROR = 1
    """The server could not read the query."""
    comptime SERVER_FAILURE = 2
    """The server could not find the answer."""
    comptime NAME_ERROR = 3
    """The name does not exist."""
    comptime NOT_IMPLEMENTED = 4
    """The server does not know this kind of query."""
    comptime REFUSED = 5
    """The server does not answer us."""
    comptime BAD_VERSION = 16
    """The server does not know this version of EDNS (RFC 6891)."""


@fieldwise_init
struct DnsHeader(ImplicitlyCopyable):
    """Holds a header."""

    var id: UInt16
    """What ties an answer to its query."""
    var flags: UInt16
    """The bits between the id and the counts."""
    var questions: Int
    """How many questions follow."""
    var answers: Int
    """How many records answer."""
    var authorities: Int
    """How many records name who knows."""
    var additionals: Int
    """How many records follow these."""

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
            message: Where to append.
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
        """Tells what kind of query it is.

        Returns:
            0 for a standard query.
        """
        return Int(self.flags >> 11) & 15

    def is_authoritative(self) -> Bool:
        """Returns whether the server itself knows the name.

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
        """Returns whether the server asks other servers for us.

        Returns:
            The bit RA.
        """
        return self.flags & _RECURSION_AVAILABLE != 0

    def response_code(self) -> Int:
        """Tells how the server fared.

        Returns:
            The lower four bits of a `ResponseCode`.
        """
        return Int(self.flags) & 15

    @staticmethod
    def of_query(id: UInt16, additionals: Int) -> Self:
        """Makes the header of a standard query with one question.

        Args:
            id: What the answer will carry.
            additionals: How many records follow the question.

        Returns:
            The header; it asks the server to ask others (RD).
        """
        return Self(id, _RECURSION_DESIRED, 1, 0, 0, additionals)


@always_inline
def uint16_at(octets: Span[UInt8, _], at: Int) -> UInt16:
    """Reads a number of 16 bits.

    Args:
        octets: The octets.
        at: Where it begins; both octets are there.

    Returns:
        The number.
    """
    return UInt16(octets[at]) << 8 | UInt16(octets[at + 1])


@always_inline
def uint32_at(octets: Span[UInt8, _], at: Int) -> UInt32:
    """Reads a number of 32 bits.

    Args:
        octets: The octets.
        at: Where it begins; all four octets are there.

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
        octets: Where to append.
    """
    octets.append(UInt8(number >> 8))
    octets.append(UInt8(number & 255))
