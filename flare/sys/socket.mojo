"""Calls the socket functions of libc.

Every function returns the kernel's result if it is not negative, otherwise the
negated error number of `flare.sys.errno`. No function raises. All new
descriptors are close-on-exec, and sending never raises SIGPIPE.
"""

from std.ffi import c_int, c_uint, external_call

from .file import result_or_errno
from .message_description import MessageDescription
from .socket_address import SOCKET_ADDRESS_OCTETS, SocketAddressStorage
from .socket_constants import SO_LINGER, SOL_SOCKET

comptime _SOCK_NONBLOCK = 0o4000
comptime _SOCK_CLOEXEC = 0o2000000
comptime _MSG_NOSIGNAL = 0x4000
comptime _FIONBIO = 0x5421
comptime _SIOCOUTQ = 0x5411


def open_socket(
    family: Int, type: Int, protocol: Int = 0, *, non_blocking: Bool = True
) -> Int:
    """Opens a socket (socket(2)).

    Args:
        family: `AF_INET`, `AF_INET6` or `AF_UNIX`.
        type: `SOCK_STREAM` or `SOCK_DGRAM`.
        protocol: The protocol; 0 takes the family's own for the type.
        non_blocking: Whether calls fail with `EAGAIN` instead of waiting.

    Returns:
        The descriptor, or a negated errno.
    """
    return result_or_errno(
        Int(
            external_call["socket", c_int](
                c_int(family),
                c_int(type | _creation_flags(non_blocking)),
                c_int(protocol),
            )
        )
    )


def open_socket_pair(
    family: Int,
    type: Int,
    mut first: Int32,
    mut second: Int32,
    *,
    non_blocking: Bool = True,
) -> Int:
    """Opens two sockets that are connected to each other (socketpair(2)).

    Args:
        family: `AF_UNIX`.
        type: `SOCK_STREAM` or `SOCK_DGRAM`.
        first: Set to the descriptor of one end.
        second: Set to the descriptor of the other end.
        non_blocking: Whether calls fail with `EAGAIN` instead of waiting.

    Returns:
        0, or a negated errno, which leaves the descriptors unchanged.
    """
    var pair = Array[c_int, 2](fill=-1)
    var result = result_or_errno(
        Int(
            external_call["socketpair", c_int](
                c_int(family),
                c_int(type | _creation_flags(non_blocking)),
                c_int(0),
                pair.unsafe_ptr(),
            )
        )
    )
    if result == 0:
        first = pair[0]
        second = pair[1]
    return result


def bind_socket(descriptor: Int32, address: SocketAddressStorage) -> Int:
    """Binds a socket to a local address (bind(2)).

    Args:
        descriptor: The socket.
        address: The address; port 0 lets the kernel choose.

    Returns:
        0, or a negated errno.
    """
    return result_or_errno(
        Int(
            external_call["bind", c_int](
                descriptor,
                Pointer(to=address.words),
                c_uint(address.octet_count()),
            )
        )
    )


def listen_socket(descriptor: Int32, backlog: Int) -> Int:
    """Starts to listen for connections (listen(2)).

    Args:
        descriptor: A bound stream socket.
        backlog: Connections that may wait for `accept_socket`; the kernel cuts
            it to its own limit.

    Returns:
        0, or a negated errno.
    """
    return result_or_errno(
        Int(external_call["listen", c_int](descriptor, c_int(backlog)))
    )


def accept_socket(
    descriptor: Int32,
    mut peer: SocketAddressStorage,
    *,
    non_blocking: Bool = True,
) -> Int:
    """Accepts one connection from the queue (accept4(2)).

    Args:
        descriptor: A listening socket.
        peer: Set to the peer's address.
        non_blocking: Whether the new socket fails with `EAGAIN` instead of
            waiting.

    Returns:
        The new descriptor, or a negated errno.
    """
    var octet_count = UInt32(SOCKET_ADDRESS_OCTETS)
    var result = result_or_errno(
        Int(
            external_call["accept4", c_int](
                descriptor,
                Pointer(to=peer.words),
                Pointer(to=octet_count),
                c_int(_creation_flags(non_blocking)),
            )
        )
    )
    peer.note_octet_count(Int(octet_count))
    return result


def connect_socket(descriptor: Int32, address: SocketAddressStorage) -> Int:
    """Connects a socket to a peer (connect(2)).

    Args:
        descriptor: The socket.
        address: The peer's address.

    Returns:
        0, or a negated errno; `-EINPROGRESS` if a non-blocking socket continues
        to connect; it becomes writable at the end.
    """
    return result_or_errno(
        Int(
            external_call["connect", c_int](
                descriptor,
                Pointer(to=address.words),
                c_uint(address.octet_count()),
            )
        )
    )


def local_socket_address(
    descriptor: Int32, mut address: SocketAddressStorage
) -> Int:
    """Reads a socket's local address (getsockname(2)).

    Args:
        descriptor: The socket.
        address: Set to the address.

    Returns:
        0, or a negated errno.
    """
    var octet_count = UInt32(SOCKET_ADDRESS_OCTETS)
    var result = result_or_errno(
        Int(
            external_call["getsockname", c_int](
                descriptor, Pointer(to=address.words), Pointer(to=octet_count)
            )
        )
    )
    address.note_octet_count(Int(octet_count))
    return result


def peer_socket_address(
    descriptor: Int32, mut address: SocketAddressStorage
) -> Int:
    """Returns the address of the peer of a connected socket (getpeername(2)).

    Args:
        descriptor: The socket.
        address: Set to the address.

    Returns:
        0, or a negated errno; `-ENOTCONN` without a peer.
    """
    var octet_count = UInt32(SOCKET_ADDRESS_OCTETS)
    var result = result_or_errno(
        Int(
            external_call["getpeername", c_int](
                descriptor, Pointer(to=address.words), Pointer(to=octet_count)
            )
        )
    )
    address.note_octet_count(Int(octet_count))
    return result


def set_socket_option(
    descriptor: Int32, level: Int, option: Int, value: Int
) -> Int:
    """Sets a socket option whose value is a number (setsockopt(2)).

    Args:
        descriptor: The socket.
        level: `SOL_SOCKET`, or a protocol.
        option: The option.
        value: The value, within 32 bits.

    Returns:
        0, or a negated errno.
    """
    var pair = Array[c_int, 2](fill=c_int(value))
    return _set_option(descriptor, level, option, pair, 4)


def set_socket_linger(descriptor: Int32, seconds: Optional[Int]) -> Int:
    """Sets whether closing drops unsent octets, and how long it waits
    (socket(7)).

    Args:
        descriptor: The socket.
        seconds: How long closing waits for them; 0 drops them and resets the
            connection; `None` sends them in the background.

    Returns:
        0, or a negated errno.
    """
    var pair = Array[c_int, 2](fill=0)
    if seconds:
        pair[0] = 1
        pair[1] = c_int(seconds.value())
    return _set_option(descriptor, SOL_SOCKET, SO_LINGER, pair, 8)


def socket_option(
    descriptor: Int32, level: Int, option: Int, mut value: Int
) -> Int:
    """Reads a socket option whose value is a number (getsockopt(2)).

    Args:
        descriptor: The socket.
        level: `SOL_SOCKET`, or a protocol.
        option: The option.
        value: Set to the value; unchanged on failure.

    Returns:
        0, or a negated errno.
    """
    var number = c_int(0)
    var octet_count = UInt32(4)
    var result = result_or_errno(
        Int(
            external_call["getsockopt", c_int](
                descriptor,
                c_int(level),
                c_int(option),
                Pointer(to=number),
                Pointer(to=octet_count),
            )
        )
    )
    if result == 0:
        value = Int(number)
    return result


def shut_down_socket(descriptor: Int32, direction: Int) -> Int:
    """Ends one or both directions of a connection (shutdown(2)).

    Args:
        descriptor: The socket.
        direction: `SHUT_RD`, `SHUT_WR` or `SHUT_RDWR`.

    Returns:
        0, or a negated errno.
    """
    return result_or_errno(
        Int(external_call["shutdown", c_int](descriptor, c_int(direction)))
    )


def set_non_blocking(descriptor: Int32, enabled: Bool) -> Int:
    """Sets whether calls on a descriptor wait (ioctl(2)).

    Args:
        descriptor: Any descriptor.
        enabled: True makes calls fail with `EAGAIN` instead of waiting.

    Returns:
        0, or a negated errno.
    """
    var is_on = c_int(1 if enabled else 0)
    return result_or_errno(
        Int(
            external_call["ioctl", c_int, num_fixed_args=2](
                descriptor, UInt64(_FIONBIO), Pointer(to=is_on)
            )
        )
    )


def unacknowledged_octets(descriptor: Int32) -> Int:
    """Returns the number of sent octets that a socket's peer has not
    acknowledged (tcp(7)).

    Args:
        descriptor: The socket.

    Returns:
        The count, or a negated errno.
    """
    var count = c_int(0)
    var result = result_or_errno(
        Int(
            external_call["ioctl", c_int, num_fixed_args=2](
                descriptor, UInt64(_SIOCOUTQ), Pointer(to=count)
            )
        )
    )
    return Int(count) if result == 0 else result


def send_octets(
    descriptor: Int32, octets: Span[UInt8, _], flags: Int = 0
) -> Int:
    """Sends octets on a connected socket (send(2)).

    Args:
        descriptor: The socket.
        octets: The octets.
        flags: `MSG_DONTWAIT` and others.

    Returns:
        The count that the kernel took, or a negated errno.
    """
    return result_or_errno(
        external_call["send", Int](
            descriptor,
            octets.unsafe_ptr(),
            len(octets),
            c_int(flags | _MSG_NOSIGNAL),
        )
    )


def send_two(
    descriptor: Int32,
    first: Span[mut=False, UInt8, _],
    second: Span[mut=False, UInt8, _],
    flags: Int = 0,
) -> Int:
    """Sends two runs of octets in one call (sendmsg(2)).

    Args:
        descriptor: The socket.
        first: The first octets.
        second: The octets after them.
        flags: `MSG_DONTWAIT` and others.

    Returns:
        The count that the kernel took of both together, or a negated errno.
    """
    var parts = _TwoParts(
        first.unsafe_ptr(), len(first), second.unsafe_ptr(), len(second)
    )
    var message = MessageDescription(Pointer(to=parts), 2)
    return result_or_errno(
        external_call["sendmsg", Int](
            descriptor, Pointer(to=message), c_int(flags | _MSG_NOSIGNAL)
        )
    )


def send_octets_to(
    descriptor: Int32,
    octets: Span[UInt8, _],
    address: SocketAddressStorage,
    flags: Int = 0,
) -> Int:
    """Sends one datagram to an address (sendto(2)).

    Args:
        descriptor: A datagram socket.
        octets: The datagram.
        address: The receiver.
        flags: `MSG_DONTWAIT` and the like.

    Returns:
        The count that the kernel took, or a negated errno.
    """
    return result_or_errno(
        external_call["sendto", Int](
            descriptor,
            octets.unsafe_ptr(),
            len(octets),
            c_int(flags | _MSG_NOSIGNAL),
            Pointer(to=address.words),
            c_uint(address.octet_count()),
        )
    )


def receive_octets(
    descriptor: Int32, into: Span[mut=True, UInt8, _], flags: Int = 0
) -> Int:
    """Receives octets from a connected socket (recv(2)).

    Args:
        descriptor: The socket.
        into: The destination.
        flags: `MSG_PEEK`, `MSG_DONTWAIT` and the like.

    Returns:
        The count, 0 at the end of a stream, or a negated errno.
    """
    return result_or_errno(
        external_call["recv", Int](
            descriptor, into.unsafe_ptr(), len(into), c_int(flags)
        )
    )


def receive_octets_from(
    descriptor: Int32,
    into: Span[mut=True, UInt8, _],
    mut sender: SocketAddressStorage,
    flags: Int = 0,
) -> Int:
    """Receives one datagram and its sender (recvfrom(2)).

    Args:
        descriptor: A datagram socket.
        into: The destination.
        sender: Set to the sender's address.
        flags: `MSG_TRUNC`, `MSG_DONTWAIT` and the like.

    Returns:
        The count, or a negated errno.
    """
    var octet_count = UInt32(SOCKET_ADDRESS_OCTETS)
    var result = result_or_errno(
        external_call["recvfrom", Int](
            descriptor,
            into.unsafe_ptr(),
            len(into),
            c_int(flags),
            Pointer(to=sender.words),
            Pointer(to=octet_count),
        )
    )
    sender.note_octet_count(Int(octet_count))
    return result


# The origins travel with the addresses: otherwise the compiler may leave the
# octets of a caller's local unwritten when the kernel reads them.
@fieldwise_init
struct _TwoParts[first_origin: ImmOrigin, second_origin: ImmOrigin](
    TrivialRegisterPassable
):
    var first: Pointer[UInt8, Self.first_origin]
    var first_octets: Int
    var second: Pointer[UInt8, Self.second_origin]
    var second_octets: Int


@always_inline
def _creation_flags(non_blocking: Bool) -> Int:
    return _SOCK_CLOEXEC | (_SOCK_NONBLOCK if non_blocking else 0)


@always_inline
def _set_option(
    descriptor: Int32,
    level: Int,
    option: Int,
    value: Array[c_int, 2],
    octet_count: Int,
) -> Int:
    return result_or_errno(
        Int(
            external_call["setsockopt", c_int](
                descriptor,
                c_int(level),
                c_int(option),
                value.unsafe_ptr(),
                c_uint(octet_count),
            )
        )
    )
