"""Asks the kernel for the addresses of both ends of a socket."""

from flare.sys.socket import local_socket_address, peer_socket_address
from flare.sys.socket_address import SocketAddressStorage

from .error import NetError, checked
from .socket_address import SocketAddr


def local_end(descriptor: Int32) raises -> SocketAddr:
    """Returns the address that a socket is bound to.

    Args:
        descriptor: The socket; -1 if it is closed.

    Returns:
        The address.

    Raises:
        Error: `net.closed local_address`, or `net.unsupported` if the family is
            not IP.
    """
    var storage = SocketAddressStorage()
    _ = checked("local_address", local_socket_address(descriptor, storage))
    return _address_in(storage, "local_address")


def peer_end(descriptor: Int32) raises -> SocketAddr:
    """Returns the address of the peer of a connected socket.

    Args:
        descriptor: The socket; -1 if it is closed.

    Returns:
        The address.

    Raises:
        Error: `net.closed peer_address` if it is closed or not connected, or
            `net.unsupported` if the family is not IP.
    """
    var storage = SocketAddressStorage()
    _ = checked("peer_address", peer_socket_address(descriptor, storage))
    return _address_in(storage, "peer_address")


def _address_in(
    storage: SocketAddressStorage, operation: StaticString
) raises -> SocketAddr:
    var address = SocketAddr.from_storage(storage)
    if not address:
        raise NetError(NetError.UNSUPPORTED, operation)
    return address.value()
