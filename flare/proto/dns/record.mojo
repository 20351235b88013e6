"""Parses resource records (RFC 1035 section 4.1.3).

The form of the data is checked for the types that flare reads; other data is
skipped.
"""

from .error import DnsMessageError
from .header import uint16_at, uint32_at
from .name import skip_name

comptime CLASS_INTERNET: UInt16 = 1
"""The class of all queries of flare."""

comptime _FIXED_OCTETS = 10
comptime _SOA_NUMBERS_OCTETS = 20
comptime _TTL_MAX: UInt32 = 0x7FFF_FFFF


struct RecordType:
    """The types of records that flare reads."""

    comptime A: UInt16 = 1
    """An IPv4 address."""
    comptime CNAME: UInt16 = 5
    """Another name, which stands for this one."""
    comptime SOA: UInt16 = 6
    """The start of a zone: how long a negative answer is valid (RFC 2308)."""
    comptime AAAA: UInt16 = 28
    """An IPv6 address (RFC 3596)."""
    comptime OPT: UInt16 = 41
    """The capabilities of a peer (RFC 6891)."""


@fieldwise_init
struct DnsRecord(ImplicitlyCopyable):
    """A record, and the places of its parts in the message."""

    var owner: Int
    """The start of the name that owns the record."""
    var type: UInt16
    """A `RecordType`, or another number."""
    var class_number: UInt16
    """`CLASS_INTERNET`; for OPT, the largest datagram that the peer accepts."""
    var ttl: UInt32
    """How long the record may be cached, in seconds; for OPT, other bits."""
    var data: Int
    """The start of the data."""
    var data_octets: Int
    """The length of the data."""

    def is_internet(self, type: UInt16) -> Bool:
        """Returns whether the record has a type, in the Internet class.

        Args:
            type: The type.

        Returns:
            True if type and class match.
        """
        return self.type == type and self.class_number == CLASS_INTERNET

    def ttl_seconds(self) -> Int:
        """Returns how long the record may be cached.

        Returns:
            Seconds; 0 if the highest bit is set (RFC 2181 section 8).
        """
        return Int(self.ttl) if self.ttl <= _TTL_MAX else 0

    def end(self) -> Int:
        """Returns the start of the next record.

        Returns:
            The octet after the data.
        """
        return self.data + self.data_octets

    def soa_minimum_seconds(self, message: Span[UInt8, _]) -> Int:
        """Returns how long a zone's negative answers may be cached (RFC 2308
        section 4).

        Args:
            message: The message in which this SOA record was read.

        Returns:
            Seconds; 0 if the highest bit is set.
        """
        var minimum = uint32_at(message, self.end() - 4)
        return Int(minimum) if minimum <= _TTL_MAX else 0


def read_record(
    message: Span[UInt8, _], start: Int
) raises DnsMessageError -> DnsRecord:
    """Reads one record.

    Args:
        message: The whole message.
        start: The start of the record.

    Returns:
        The record.

    Raises:
        DnsMessageError: If it exceeds the message, or if its data does not
            have the form of its type.
    """
    var at = skip_name(message, start)
    if at + _FIXED_OCTETS > len(message):
        raise _malformed("a record leaves the message", at)
    var record = DnsRecord(
        start,
        uint16_at(message, at),
        uint16_at(message, at + 2),
        uint32_at(message, at + 4),
        at + _FIXED_OCTETS,
        Int(uint16_at(message, at + 8)),
    )
    if record.end() > len(message):
        raise _malformed("the data of a record leaves the message", at)
    _check_data(message, record)
    return record


def _check_data(
    message: Span[UInt8, _], record: DnsRecord
) raises DnsMessageError:
    if record.is_internet(RecordType.A):
        if record.data_octets != 4:
            raise _malformed("an A record has not four octets", record.data)
    elif record.is_internet(RecordType.AAAA):
        if record.data_octets != 16:
            raise _malformed("an AAAA record has not 16 octets", record.data)
    elif record.is_internet(RecordType.CNAME):
        if skip_name(message, record.data) != record.end():
            raise _malformed("a CNAME record is not one name", record.data)
    elif record.is_internet(RecordType.SOA):
        var at = skip_name(message, skip_name(message, record.data))
        if at + _SOA_NUMBERS_OCTETS != record.end():
            raise _malformed(
                "an SOA record is not two names and five numbers", record.data
            )


def _malformed(reason: StaticString, offset: Int) -> DnsMessageError:
    return DnsMessageError(DnsMessageError.MALFORMED, reason, offset)
