"""Owns one socket descriptor.

Nothing here waits: every new socket is non-blocking, and a connect is started
here and finished by whoever watches the descriptor.
"""

from flare.sys.errno import EINPROGRESS
from flare.sys.file import close_descriptor
from flare.sys.socket import (
    bind_socket,
    connect_socket,
    listen_socket,
    open_socket,
    shut_down_socket,
)
from flare.sys.socket_address import AF_INET, AF_INET6
from flare.sys.socket_constants import (
    IPPROTO_TCP,
    IPPROTO_UDP,
    SHUT_WR,
    SOCK_DGRAM,
    SOCK_STREAM,
    SOL_SOCKET,
    SO_ERROR,
)

from .error import NetError, checked
from .socket_address import SocketAddr
from .socket_ends import local_end, peer_end
from .socket_options import SocketOptions

comptime _CLOSED: Int32 = -1


struct RawSocket(Movable, SocketOptions):
    """Owns one socket descriptor and closes it at the end of its life.

    Every function that fails raises an error whose text `NetError.of` reads.
    """

    comptime BACKLOG_DEFAULT = 1024
    """Connections that wait to be accepted, unless `listen` says otherwise."""

    var _descriptor: Int32

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes over a descriptor.

        Args:
            unsafe_descriptor: An open socket.

        Safety:
            Nobody else closes the descriptor.
        """
        self._descriptor = unsafe_descriptor

    def __deinit__(deinit self):
        """Closes the socket if it is open."""
        if self._descriptor != _CLOSED:
            _ = close_descriptor(self._descriptor)

    @staticmethod
    def of(family: Int, type: Int, protocol: Int = 0) raises -> Self:
        """Opens a non-blocking socket of any kind.

        Args:
            family: `AF_INET`, `AF_INET6` or `AF_UNIX`.
            type: `SOCK_STREAM` or `SOCK_DGRAM`.
            protocol: The protocol; 0 takes the family's own for the type.

        Returns:
            The socket.

        Raises:
            Error: `net.no_descriptors open`, `net.unsupported open` and the
                like.
        """
        return Self(
            unsafe_descriptor=Int32(
                checked("open", open_socket(family, type, protocol))
            )
        )

    @staticmethod
    def tcp_v4() raises -> Self:
        """Opens a TCP socket for IPv4.

        Returns:
            The socket.

        Raises:
            Error: As `of` does.
        """
        return Self.of(AF_INET, SOCK_STREAM, IPPROTO_TCP)

    @staticmethod
    def tcp_v6() raises -> Self:
        """Opens a TCP socket for IPv6.

        Returns:
            The socket.

        Raises:
            Error: As `of` does.
        """
        return Self.of(AF_INET6, SOCK_STREAM, IPPROTO_TCP)

    @staticmethod
    def udp_v4() raises -> Self:
        """Opens a UDP socket for IPv4.

        Returns:
            The socket.

        Raises:
            Error: As `of` does.
        """
        return Self.of(AF_INET, SOCK_DGRAM, IPPROTO_UDP)

    @staticmethod
    def udp_v6() raises -> Self:
        """Opens a UDP socket for IPv6.

        Returns:
            The socket.

        Raises:
            Error: As `of` does.
        """
        return Self.of(AF_INET6, SOCK_DGRAM, IPPROTO_UDP)

    def close(mut self):
        """Closes the socket; a second time nothing happens.

        Octets not yet sent go out in the background, unless `set_linger` said
        otherwise. The kernel's result is of no use: the descriptor is gone
        either way.
        """
        if self._descriptor != _CLOSED:
            _ = close_descriptor(self._descriptor)
            self._descriptor = _CLOSED

    def into_descriptor(deinit self) -> Int32:
        """Gives the descriptor away.

        Returns:
            The descriptor, which the caller closes; -1 if it was closed.
        """
        return self._descriptor

    def descriptor(self) -> Int32:
        """Lends the descriptor.

        The number alone does not keep the socket open: Mojo destroys a value
        after its last use, so use the socket once more (`_ = socket^`) when
        the descriptor is no longer needed.

        Returns:
            The descriptor, valid until the socket is closed; -1 if it is.
        """
        return self._descriptor

    def is_open(self) -> Bool:
        """Tells whether the socket still owns a descriptor.

        Returns:
            False after `close`.
        """
        return self._descriptor != _CLOSED

    def bind(self, address: SocketAddr) raises:
        """Gives the socket its local address.

        Args:
            address: The address; port 0 lets the kernel choose.

        Raises:
            Error: `net.address_in_use bind`, `net.permission bind` and the
                like.
        """
        _ = checked(
            "bind",
            bind_socket(self._descriptor, address.to_storage()),
            address,
        )

    def listen(self, backlog: Int = Self.BACKLOG_DEFAULT) raises:
        """Starts to queue incoming connections.

        Args:
            backlog: Connections that may wait to be accepted; the kernel cuts
                it to its own limit.

        Raises:
            Error: `net.unsupported listen` for a socket of datagrams, and the
                like.
        """
        _ = checked("listen", listen_socket(self._descriptor, backlog))

    def start_connect(self, address: SocketAddr) raises -> Bool:
        """Starts to connect and returns at once.

        Args:
            address: The peer.

        Returns:
            True if the socket is connected already; False if it becomes
            writable when `finish_connect` can tell the result.

        Raises:
            Error: `net.unreachable connect` and the like.
        """
        var result = connect_socket(self._descriptor, address.to_storage())
        if result == -EINPROGRESS:
            return False
        _ = checked("connect", result, address)
        return True

    def finish_connect(self, address: SocketAddr) raises:
        """Tells how a connect ended that `start_connect` began.

        Call it once the socket is writable.

        Args:
            address: The peer, for the error.

        Raises:
            Error: `net.refused connect`, `net.timeout connect` and the like.
        """
        var errno = self.option(SOL_SOCKET, SO_ERROR)
        if errno != 0:
            raise NetError.from_errno("connect", errno, address)

    def end_sending(self) raises:
        """Lets the peer read the end of the stream; receiving goes on.

        Raises:
            Error: `net.closed shut_down` if the socket is not connected.
        """
        _ = checked("shut_down", shut_down_socket(self._descriptor, SHUT_WR))

    def local_address(self) raises -> SocketAddr:
        """Reads the address the socket is bound to.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`, or `net.unsupported` if the
                family is not IP.
        """
        return local_end(self._descriptor)

    def peer_address(self) raises -> SocketAddr:
        """Reads the address of the peer the socket is connected to.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address` if it is not connected, or
                `net.unsupported` if the family is not IP.
        """
        return peer_end(self._descriptor)
