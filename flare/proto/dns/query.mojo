"""Writes queries: one question, and what we can receive."""

from .error import DnsMessageError
from .header import DnsHeader, append_uint16
from .name import append_name
from .record import CLASS_INTERNET, RecordType

comptime EDNS_UDP_OCTETS = 1232
"""The datagram that we say we take: it crosses every IPv6 link unfragmented
(1,280 octets less the headers of IPv6 and UDP), because fragments are lost, and
can be forged."""


def write_query(
    name: StringSlice,
    type: UInt16,
    id: UInt16,
    *,
    with_edns: Bool = True,
) raises DnsMessageError -> List[UInt8]:
    """Writes a query for one type of record of one name.

    Args:
        name: The whole name, with or without the dot of the root.
        type: A `RecordType`.
        id: What the answer will carry; nobody may be able to guess it.
        with_edns: Whether an OPT record says that we take datagrams of
            `EDNS_UDP_OCTETS`. There are servers that fail because of it.

    Returns:
        The message.

    Raises:
        DnsMessageError: If the name has no form on the wire.
    """
    var message = List[UInt8](capacity=64)
    DnsHeader.of_query(id, 1 if with_edns else 0).append_to(message)
    append_name(name, message)
    append_uint16(type, message)
    append_uint16(CLASS_INTERNET, message)
    if with_edns:
        message.append(0)
        append_uint16(RecordType.OPT, message)
        append_uint16(EDNS_UDP_OCTETS, message)
        # No extended code, version 0, no flags, no options.
        append_uint16(0, message)
        append_uint16(0, message)
        append_uint16(0, message)
    return message^
