"""Asks the system for the addresses of a host (getaddrinfo(3))."""

from std.ffi import c_int, external_call
from std.memory import unsafe_memcpy

from flare.core import OctetPointer, PointerTo

from .socket_address import SOCKET_ADDRESS_OCTETS, SocketAddressStorage
from .socket_constants import SOCK_STREAM

comptime LOOKUP_NO_NAME = -2
"""The name does not exist, or has no address (EAI_NONAME)."""
comptime LOOKUP_AGAIN = -3
"""No server could be reached, or it failed for now (EAI_AGAIN)."""
comptime LOOKUP_FAILED = -4
"""A server failed permanently (EAI_FAIL)."""
comptime LOOKUP_NO_DATA = -5
"""The name has no address (EAI_NODATA)."""
comptime LOOKUP_NO_FAMILY = -9
"""The name has no address of the family (EAI_ADDRFAMILY)."""
comptime LOOKUP_NO_MEMORY = -10
"""Memory has run out (EAI_MEMORY)."""

comptime LOOKUP_ADDRESSES_MAX = 4096
"""The most addresses that are taken of one name."""


@fieldwise_init
struct _AddressInfo(Copyable, Movable):
    # The kernel does not know `struct addrinfo`: the layout is that of libc on
    # machines of 64 bits.
    var flags: Int32
    var family: Int32
    var type: Int32
    var protocol: Int32
    var address_octets: UInt32
    var padding: UInt32
    var address: Int
    var canonical_name: Int
    var next: Int


def look_up_host(
    host: Span[UInt8, _],
    family: Int,
    mut addresses: List[SocketAddressStorage],
) -> Int:
    """Looks up a host, and blocks the calling thread meanwhile.

    Args:
        host: The name, with a NUL at its end.
        family: `AF_INET`, `AF_INET6`, or `AF_UNSPEC` for both.
        addresses: The list to append to, best first.

    Returns:
        0, or the error of the C function: one of the constants above, or
        another negative number.
    """
    debug_assert(
        len(host) > 0 and host[len(host) - 1] == 0, "the host has no end"
    )
    var hints = _AddressInfo(
        0, Int32(family), Int32(SOCK_STREAM), 0, 0, 0, 0, 0, 0
    )
    var first = Int(0)
    var result = Int(
        external_call["getaddrinfo", c_int](
            host.unsafe_ptr(),
            Optional[PointerTo[UInt8]](None),
            Pointer(to=hints),
            Pointer(to=first),
        )
    )
    if result != 0:
        return result
    var at = first
    while at != 0 and len(addresses) < LOOKUP_ADDRESSES_MAX:
        ref info = PointerTo[_AddressInfo](unsafe_from_address=at)[]
        if info.address != 0:
            addresses.append(_storage(info))
        at = info.next
    if first != 0:
        external_call["freeaddrinfo", NoneType](first)
    return 0


def _storage(info: _AddressInfo) -> SocketAddressStorage:
    var storage = SocketAddressStorage()
    unsafe_memcpy(
        dest=Pointer(to=storage.words).unsafe_bitcast[UInt8](),
        src=OctetPointer(unsafe_from_address=info.address),
        count=min(Int(info.address_octets), SOCKET_ADDRESS_OCTETS),
    )
    return storage^
