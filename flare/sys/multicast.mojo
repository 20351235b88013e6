"""Joins multicast groups and names network interfaces.

Each function returns the kernel's result, or the negated errno.
"""

from std.ffi import c_int, c_uint, external_call

from .errno import ENODEV
from .file import result_or_errno
from .socket_address import SocketAddressStorage
from .socket_constants import IPPROTO_IP, IP_MULTICAST_IF

# The longest name of an interface (IFNAMSIZ less the final NUL).
comptime _INTERFACE_NAME_OCTETS_MAX = 15


struct _GroupRequest(Movable):
    # `struct group_req` (RFC 3678 section 5.1.1).
    var interface_index: UInt64
    var group: SocketAddressStorage

    def __init__(out self, interface_index: Int, group: SocketAddressStorage):
        self.interface_index = UInt64(interface_index)
        self.group = group.copy()


def change_membership(
    descriptor: Int32,
    level: Int,
    option: Int,
    interface_index: Int,
    group: SocketAddressStorage,
) -> Int:
    """Joins or leaves a group (RFC 3678 section 5.1.1).

    Args:
        descriptor: A datagram socket.
        level: `IPPROTO_IP` or `IPPROTO_IPV6`, as the group.
        option: `MCAST_JOIN_GROUP` or `MCAST_LEAVE_GROUP`.
        interface_index: The interface; 0 lets the kernel choose.
        group: The address of the group.

    Returns:
        0, or a negated errno.
    """
    var request = _GroupRequest(interface_index, group)
    return result_or_errno(
        Int(
            external_call["setsockopt", c_int](
                descriptor,
                c_int(level),
                c_int(option),
                Pointer(to=request),
                c_uint(136),
            )
        )
    )


def set_multicast_interface_v4(descriptor: Int32, interface_index: Int) -> Int:
    """Sets the interface that sends datagrams to IPv4 groups (ip(7)).

    Args:
        descriptor: A datagram socket.
        interface_index: The interface; 0 lets the kernel choose.

    Returns:
        0, or a negated errno.
    """
    # `struct ip_mreqn`: group, local address, index.
    var request = Array[c_int, 3](fill=0)
    request[2] = c_int(interface_index)
    return result_or_errno(
        Int(
            external_call["setsockopt", c_int](
                descriptor,
                c_int(IPPROTO_IP),
                c_int(IP_MULTICAST_IF),
                request.unsafe_ptr(),
                c_uint(12),
            )
        )
    )


def index_of_interface(name: StringSlice) -> Int:
    """Finds a network interface by its name (if_nametoindex(3)).

    Args:
        name: The name, as `lo`.

    Returns:
        Its index, at least 1, or a negated errno.
    """
    var octets = name.as_bytes()
    if len(octets) == 0 or len(octets) > _INTERFACE_NAME_OCTETS_MAX:
        return -ENODEV
    var text = List[UInt8](capacity=len(octets) + 1)
    for octet in octets:
        if octet == 0:
            return -ENODEV
        text.append(octet)
    text.append(0)
    var index = Int(external_call["if_nametoindex", c_uint](text.unsafe_ptr()))
    _ = text^
    return index if index > 0 else -ENODEV
