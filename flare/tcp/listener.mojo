"""Accepts TCP connections (RFC 9293)."""

from flare.net import NetError, RawSocket, SocketAddr
from flare.net.error import checked
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.socket import FiberSocket
from flare.runtime.socket_owner import SocketOwner
from flare.sys.socket import local_socket_address, open_socket
from flare.sys.socket_address import AF_INET, AF_INET6, SocketAddressStorage
from flare.sys.socket_constants import IPPROTO_TCP, SOCK_STREAM

from .stream import TcpStream


struct TcpListener(Movable, SocketOwner):
    """A listening socket; closed when destroyed.

    Accepted connections inherit the socket options set on it. Like those of
    `connect`, they send small segments at once, unless `set_no_delay(False)`
    was called. One fiber accepts at a time. An idle listener may be moved to
    another thread.
    """

    comptime BACKLOG_DEFAULT = 1024
    """The default backlog: how many connections may wait to be accepted."""

    var _socket: FiberSocket

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes ownership of a descriptor.

        Args:
            unsafe_descriptor: A listening stream socket.

        Safety:
            No other code closes the descriptor.
        """
        self._socket = FiberSocket.create(
            unsafe_descriptor, _bound_address(unsafe_descriptor)
        )

    def __deinit__(deinit self):
        """Closes the listener if it is open."""
        self._socket.destroy()

    @staticmethod
    def bind(
        address: SocketAddr,
        *,
        backlog: Int = Self.BACKLOG_DEFAULT,
        reuse_port: Bool = False,
        v6_only: Bool = False,
    ) raises -> Self:
        """Binds to an address and starts to listen.

        Args:
            address: The address; port 0 lets the kernel choose.
            backlog: The most connections that may wait to be accepted; the
                kernel applies its own limit.
            reuse_port: Whether several listeners of this user may share the
                address. The kernel distributes connections among them.
            v6_only: Whether to exclude IPv4 from an IPv6 address (RFC 3493
                section 5.3). By default, a listener at `[::]` accepts both;
                IPv4 peers then have mapped addresses.

        Returns:
            The listener.

        Raises:
            Error: `net.address_in_use bind`, `net.permission bind` and others.
        """
        var opened = checked(
            "open",
            open_socket(
                AF_INET if address.ip.is_v4() else AF_INET6,
                SOCK_STREAM,
                IPPROTO_TCP,
                non_blocking=False,
            ),
            address,
        )
        var socket = RawSocket(unsafe_descriptor=Int32(opened))
        socket.set_reuse_address(True)
        if reuse_port:
            socket.set_reuse_port(True)
        if not address.ip.is_v4():
            socket.set_v6_only(v6_only)
        socket.set_no_delay(True)
        socket.bind(address)
        socket.listen(backlog)
        return Self(unsafe_descriptor=socket^.into_descriptor())

    def accept(self, *, timeout_ms: Optional[Int] = None) raises -> TcpStream:
        """Waits for a connection.

        Args:
            timeout_ms: The longest wait; by default there is no limit, because
                a server waits without limit. An enclosing `deadline_in` applies
                too.

        Returns:
            The connection.

        Raises:
            Error: `net.timeout accept`, `net.closed accept`,
                `net.no_descriptors accept`, `net.cancelled accept` and others.
        """
        return TcpStream(
            unsafe_socket=self._socket.accept(timeout_ms.or_else(NO_DEADLINE))
        )

    def close(self):
        """Closes the listener. Further calls have no effect.

        A fiber in `accept` gets `net.closed`. Connections that wait to be
        accepted are reset.
        """
        self._socket.close()

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which this value still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after this value is destroyed, and do not destroy it.
        """
        return self._socket

    def local_address(self) raises -> SocketAddr:
        """Returns the address that the listener is bound to.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.closed local_address`.
        """
        var address = self._socket.address()
        if not self.is_open() or not address:
            raise NetError(
                NetError.CLOSED if not self.is_open() else NetError.UNSUPPORTED,
                "local_address",
            )
        return address.value()


def _bound_address(descriptor: Int32) -> Optional[SocketAddr]:
    var storage = SocketAddressStorage()
    if local_socket_address(descriptor, storage) < 0:
        return None
    return SocketAddr.from_storage(storage)
