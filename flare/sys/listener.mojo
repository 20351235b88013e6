"""Checks the queues of listening sockets, and holds new peers back.

Every function returns the kernel's result: a number that is not negative, or
the negated error number of `flare.sys.errno`.
"""

from std.ffi import c_int, c_uint, external_call

from .file import result_or_errno
from .socket import shut_down_socket, socket_option
from .socket_address import AF_INET, AF_UNIX
from .socket_constants import (
    SHUT_RD,
    SO_ATTACH_FILTER,
    SO_DETACH_FILTER,
    SO_DOMAIN,
    SOL_SOCKET,
)

comptime _POLLIN = 1
comptime _LOAD_OCTET: UInt64 = 0x30
comptime _AND: UInt64 = 0x54
comptime _JUMP_IF_EQUAL: UInt64 = 0x15
comptime _RETURN: UInt64 = 0x06
comptime _TCP_FLAGS_OFFSET: UInt64 = 13
comptime _TCP_SYN: UInt64 = 0x02
comptime _TCP_SYN_AND_ACK: UInt64 = 0x12
comptime _WHOLE_PACKET: UInt64 = 0xFFFFFFFF
comptime _INSTRUCTIONS = 5


def has_connection_waiting(descriptor: Int32) -> Bool:
    """Returns whether a connection can be accepted at once (poll(2)).

    An accept cannot answer that: without a free descriptor, it fails alike
    whether a client waits or not.

    Args:
        descriptor: A listening socket.

    Returns:
        True if a client is waiting.
    """
    var request = UInt64(UInt32(descriptor)) | UInt64(_POLLIN) << 32
    var ready = external_call["poll", c_int](
        Pointer(to=request), UInt(1), c_int(0)
    )
    return ready > 0


def hold_connections_back(descriptor: Int32, held: Bool) -> Int:
    """Sets whether new connections may enter a listen queue (socket(7)).

    A filter drops the packets that start a connection. The client's kernel
    retries a second later, and finds the socket closed or the filter gone.
    Connections whose handshake has begun still enter the queue. Unlike closing
    the socket, the filter resets no connection in the queue.

    A Unix socket has no packets. Its receiving side is shut down, so that new
    clients are refused at once. That cannot be undone.

    Args:
        descriptor: A listening TCP or Unix socket.
        held: Whether to hold new connections back.

    Returns:
        0, or a negated errno.
    """
    var family = AF_INET
    _ = socket_option(descriptor, SOL_SOCKET, SO_DOMAIN, family)
    if family == AF_UNIX:
        return shut_down_socket(descriptor, SHUT_RD) if held else 0
    var instructions = Array[UInt64, _INSTRUCTIONS](fill=_RETURN)
    instructions[0] = _LOAD_OCTET | _TCP_FLAGS_OFFSET << 32
    instructions[1] = _AND | _TCP_SYN_AND_ACK << 32
    # The last instruction but one keeps the packet, the last one drops it.
    instructions[2] = _JUMP_IF_EQUAL | UInt64(1) << 16 | _TCP_SYN << 32
    instructions[3] = _RETURN | _WHOLE_PACKET << 32
    var program = _Program(_INSTRUCTIONS, Pointer(to=instructions))
    return result_or_errno(
        Int(
            external_call["setsockopt", c_int](
                descriptor,
                c_int(SOL_SOCKET),
                c_int(SO_ATTACH_FILTER if held else SO_DETACH_FILTER),
                Pointer(to=program),
                c_uint(16),
            )
        )
    )


# The origin travels with the address: otherwise the compiler may leave the
# instructions unwritten when the kernel reads them.
@fieldwise_init
struct _Program[T: AnyType, //, origin: Origin[mut=...]](
    TrivialRegisterPassable
):
    var count: UInt64
    var instructions: Pointer[Self.T, Self.origin]
