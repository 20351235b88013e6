"""Reads resource records (RFC 1035 section 4.1.3).

The shape of the data is checked for the types that flare reads; the data of all
other types is passed over.
"""

from .error import DnsMessageError
from .header import uint16_at, uint32_at
from .name import skip_name

comptime CLASS_INTERNET: UInt16 = 1
"""The class of everything that flare asks for."""

comptime _FIXED_OCTETS = 10
comptime _SOA_NUMBERS_OCTETS = 20
comptime _TTL_MAX: UInt32 = 0x7FFF_FFFF


struct RecordType:
    """Names the types of records that flare reads."""

    comptime A: UInt16 = 1
    """An IPv4 address."""
    comptime CNAME: UInt16 = 5
    """Another name, which stands for this one."""
    comptime SOA: UInt16 = 6
    """The start of a zone: how long a "no" holds (RFC 2308)."""
    comptime AAAA: UInt16 = 28
    """An IPv6 address (RFC 3596)."""
    comptime OPT: UInt16 = 41
    """What a peer can do (RFC 6891)."""


@fieldwise_init
struct DnsRecord(ImplicitlyCopyable):
    """Says what a record is, and where its parts stand in the message."""

    var owner: Int
    """Where the name begins to which it belongs."""
    var type: UInt16
    """A `RecordType`, or another number."""
    var class_number: UInt16
    """`CLASS_INTERNET`; of OPT the octets of datagram that the peer takes."""
    var ttl: UInt32
    """How long it may be kept, in seconds; of OPT other bits."""
    var data: Int
    """Where its data begins."""
    var data_octets: Int
    """How long the data is."""

    def is_internet(self, type: UInt16) -> Bool:
        """Returns whether the record has a type, in the class of the internet.

        Args:
            type: The type.

        Returns:
            True if both hold.
        """
        return self.type == type and self.class_number == CLASS_INTERNET

    def ttl_seconds(self) -> Int:
        """Tells how long the record may be kept.

        Returns:
            Seconds; 0 if the highest bit is set (RFC 2181 section 8).
        """
        return Int(self.ttl) if self.ttl <= _TTL_MAX else 0

    def end(self) -> Int:
        """Tells where the next record begins.

        Returns:
            The octet behind the data.
        """
        return self.data + self.data_octets

    def soa_minimum_seconds(self, message: Span[UInt8, _]) -> Int:
        """Reads how long a zone lets a "no" be kept (RFC 2308 section 4).

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
        start: Where the record begins.

    Returns:
        The record.

    Raises:
        DnsMessageError: If it leaves the message, or if its data does not have
            the shape of its type.
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
