"""Writes queries: one question, and the largest datagram that the client
accepts.
"""

from .error import DnsMessageError
from .header import DnsHeader, append_uint16
from .name import append_name
from .record import CLASS_INTERNET, RecordType

comptime EDNS_UDP_OCTETS = 1232
"""The largest datagram that is offered. It crosses every IPv6 link
unfragmented (1,280 octets less the headers of IPv6 and UDP). Fragments are
often lost, and can be forged.
"""


def write_query(
    name: StringSlice,
    type: UInt16,
    id: UInt16,
    *,
    with_edns: Bool = True,
) raises DnsMessageError -> List[UInt8]:
    """Returns a query for one type of record of one name.

    Args:
        name: The whole name, with or without the root's dot.
        type: A `RecordType`.
        id: The identifier, which the answer repeats; it must be unpredictable.
        with_edns: Whether an OPT record offers datagrams of `EDNS_UDP_OCTETS`.
            Some servers fail because of it.

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
