"""Reads and writes one Unix stream connection (unix(7))."""

from flare.net.error import checked
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.socket import OPERATION_TIMEOUT_MS, FiberSocket, is_simulated
from flare.runtime.stream_socket import StreamSocket
from flare.net import NetError
from flare.sys.socket import (
    local_socket_address,
    open_socket,
    peer_socket_address,
)
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.sys.socket_constants import SOCK_STREAM
from flare.sys.socket_file import PeerCredentials, peer_credentials

from .address import UnixAddr, about


struct UnixStream(Movable, StreamSocket):
    """One end of a stream connection within the machine; closed when
    destroyed.

    Waits, timeouts, closing and sharing are as for `TcpStream`. Options of TCP
    raise `net.unsupported option`.
    """

    var _socket: FiberSocket

    def __init__(out self, *, unsafe_socket: FiberSocket):
        """Takes ownership of a socket.

        Args:
            unsafe_socket: A connected socket.

        Safety:
            No other code destroys it.
        """
        self._socket = unsafe_socket

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes ownership of a descriptor.

        Args:
            unsafe_descriptor: A connected stream socket in blocking mode.

        Safety:
            No other code closes the descriptor.
        """
        self._socket = FiberSocket.create(unsafe_descriptor)

    def __deinit__(deinit self):
        """Closes the connection if it is open."""
        self._socket.destroy()

    @staticmethod
    def connect(
        path: StringSlice,
        *,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to a listener.

        Args:
            path: The listener's path, or `@` and its abstract name.
            timeout_ms: The longest wait for room in the listener's queue;
                `None` applies only the fiber's deadline.

        Returns:
            The connection.

        Raises:
            Error: `net.bad_address parse`; `net.not_found connect` if the path
                does not exist; `net.refused connect` if no socket listens
                there; `net.permission connect`, `net.timeout connect` and
                others.
        """
        var address = UnixAddr.parse(path)
        try:
            var stream = Self(unsafe_descriptor=open_stream())
            stream._socket.connect(
                address.to_storage(), timeout_ms.or_else(NO_DEADLINE)
            )
            return stream^
        except e:
            raise about(e, address)

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which the stream still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after the stream is destroyed, and do not destroy it.
        """
        return self._socket

    def peer_credentials(self) raises -> PeerCredentials:
        """Returns the process that created the other end.

        Returns:
            The process number, the user and the group.

        Raises:
            Error: `net.closed option`.
        """
        var found = PeerCredentials(0, 0, 0)
        _ = checked("option", peer_credentials(self.descriptor(), found))
        return found

    def peer_address(self) raises -> UnixAddr:
        """Returns the peer's address, which usually has a name only if the peer
        is a listener.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`.
        """
        return peer_name(self.descriptor())

    def local_address(self) raises -> UnixAddr:
        """Returns the local address, which usually has a name only for a
        listener's connections.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_name(self.descriptor())


def open_stream() raises -> Int32:
    """Opens a stream socket.

    Returns:
        The descriptor, in blocking mode.

    Raises:
        NetError: `net.no_descriptors open`; on a simulated network
            `net.unsupported open`.
    """
    if is_simulated():
        raise NetError(NetError.UNSUPPORTED, "open")
    return Int32(
        checked("open", open_socket(AF_UNIX, SOCK_STREAM, non_blocking=False))
    )


def local_name(descriptor: Int32) raises -> UnixAddr:
    """Returns the address that a socket is bound to.

    Args:
        descriptor: The socket; -1 if it is closed.

    Returns:
        The address.

    Raises:
        NetError: `net.closed local_address`.
    """
    var storage = SocketAddressStorage()
    _ = checked("local_address", local_socket_address(descriptor, storage))
    return UnixAddr(storage=storage)


def peer_name(descriptor: Int32) raises -> UnixAddr:
    """Returns the address of the peer of a connected socket.

    Args:
        descriptor: The socket; -1 if it is closed.

    Returns:
        The address.

    Raises:
        NetError: `net.closed peer_address`.
    """
    var storage = SocketAddressStorage()
    _ = checked("peer_address", peer_socket_address(descriptor, storage))
    return UnixAddr(storage=storage)
