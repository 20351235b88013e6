"""Owns one socket descriptor.

No function here waits: new sockets are non-blocking. `start_connect` starts a
connect; the caller watches the descriptor, then calls `finish_connect`.
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
    """A non-blocking socket, closed when the value is destroyed.

    Functions that fail raise an error whose text `NetError.of` reads.
    """

    comptime BACKLOG_DEFAULT = 1024
    """The default of `listen`: how many connections may wait to be accepted."""

    var _descriptor: Int32

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes ownership of a descriptor.

        Args:
            unsafe_descriptor: An open socket.

        Safety:
            No other code closes the descriptor.
        """
        self._descriptor = unsafe_descriptor

    def __deinit__(deinit self):
        """Closes the socket if it is open."""
        if self._descriptor != _CLOSED:
            _ = close_descriptor(self._descriptor)

    @staticmethod
    def of(family: Int, type: Int, protocol: Int = 0) raises -> Self:
        """Opens a non-blocking socket.

        Args:
            family: `AF_INET`, `AF_INET6` or `AF_UNIX`.
            type: `SOCK_STREAM` or `SOCK_DGRAM`.
            protocol: The protocol; 0 selects the family's default for the
                type.

        Returns:
            The socket.

        Raises:
            Error: `net.no_descriptors open`, `net.unsupported open` and
                others.
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
        """Closes the socket. Further calls have no effect.

        The kernel sends unsent octets in the background, unless `set_linger`
        changes that. The kernel's result is ignored, because the descriptor is
        closed either way.
        """
        if self._descriptor != _CLOSED:
            _ = close_descriptor(self._descriptor)
            self._descriptor = _CLOSED

    def into_descriptor(deinit self) -> Int32:
        """Returns the descriptor and its ownership.

        Returns:
            The descriptor, which the caller must close; -1 if it was closed.
        """
        return self._descriptor

    def descriptor(self) -> Int32:
        """Returns the descriptor, which the socket still owns.

        The number alone does not keep the socket open: Mojo destroys a value
        after its last use. Use the socket again (`_ = socket^`) after the last
        use of the number.

        Returns:
            The descriptor, valid until the socket is closed; -1 if it is
            closed.
        """
        return self._descriptor

    def is_open(self) -> Bool:
        """Returns whether the socket is open.

        Returns:
            False after `close`.
        """
        return self._descriptor != _CLOSED

    def bind(self, address: SocketAddr) raises:
        """Binds the socket to a local address.

        Args:
            address: The address; port 0 lets the kernel choose.

        Raises:
            Error: `net.address_in_use bind`, `net.permission bind` and others.
        """
        _ = checked(
            "bind",
            bind_socket(self._descriptor, address.to_storage()),
            address,
        )

    def listen(self, backlog: Int = Self.BACKLOG_DEFAULT) raises:
        """Starts to listen for connections.

        Args:
            backlog: The most connections that may wait to be accepted; the
                kernel applies its own limit.

        Raises:
            Error: `net.unsupported listen` for a datagram socket, and others.
        """
        _ = checked("listen", listen_socket(self._descriptor, backlog))

    def start_connect(self, address: SocketAddr) raises -> Bool:
        """Starts to connect, without waiting.

        Args:
            address: The peer.

        Returns:
            True if the socket is connected already. Otherwise call
            `finish_connect` once the socket is writable.

        Raises:
            Error: `net.unreachable connect` and others.
        """
        var result = connect_socket(self._descriptor, address.to_storage())
        if result == -EINPROGRESS:
            return False
        _ = checked("connect", result, address)
        return True

    def finish_connect(self, address: SocketAddr) raises:
        """Completes a connect, or raises its failure.

        Call it once the socket is writable after `start_connect`.

        Args:
            address: The peer, for the error.

        Raises:
            Error: `net.refused connect`, `net.timeout connect` and others.
        """
        var errno = self.option(SOL_SOCKET, SO_ERROR)
        if errno != 0:
            raise NetError.from_errno("connect", errno, address)

    def end_sending(self) raises:
        """Ends the stream to the peer (half-close); receiving continues.

        Raises:
            Error: `net.closed shut_down` if the socket is not connected.
        """
        _ = checked("shut_down", shut_down_socket(self._descriptor, SHUT_WR))

    def local_address(self) raises -> SocketAddr:
        """Returns the address that the socket is bound to.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`, or `net.unsupported` if the
                family is not IP.
        """
        return local_end(self._descriptor)

    def peer_address(self) raises -> SocketAddr:
        """Returns the address of the peer.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address` if the socket is not connected, or
                `net.unsupported` if the family is not IP.
        """
        return peer_end(self._descriptor)
