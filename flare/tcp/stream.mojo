"""Reads and writes one TCP connection (RFC 9293)."""

from flare.net import SocketAddr
from flare.net.socket_ends import local_end, peer_end
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.socket import OPERATION_TIMEOUT_MS, FiberSocket
from flare.runtime.stream_socket import StreamSocket
from flare.runtime.wait import waiting_fiber
from flare.sys.socket import peer_socket_address
from flare.sys.socket_address import SocketAddressStorage

from .connect import connect_to, connect_to_first
from .host import host_addresses


struct TcpStream(Movable, StreamSocket):
    """One end of a TCP connection; closed when destroyed.

    Methods that wait park the calling fiber, or block the program in a script.
    Each wait lasts at most 30 seconds, unless `set_read_timeout_ms` or
    `set_write_timeout_ms` changes that. An enclosing `deadline_in` applies too.

    One fiber may read while another writes, on the same thread or on another.
    A second reader or a second writer gets `net.other … errno=16` (EBUSY). An
    idle stream may be moved to another thread. Methods that fail raise an
    error whose text `NetError.of` reads.

    Octets are sent at once: Nagle's algorithm (RFC 896) is off, because
    together with delayed acknowledgements it holds back the second of two small
    writes. So write related octets in one call, or turn the algorithm on with
    `set_no_delay(False)`.
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
        self._socket = FiberSocket.create(
            unsafe_descriptor, _peer_of(unsafe_descriptor)
        )

    def __deinit__(deinit self):
        """Closes the connection if it is open."""
        self._socket.destroy()

    @staticmethod
    def connect(
        address: SocketAddr,
        *,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to an address.

        Args:
            address: The peer.
            timeout_ms: The longest wait; `None` applies only the kernel's limit
                and the fiber's deadline.

        Returns:
            The connection.

        Raises:
            Error: `net.refused connect`, `net.timeout connect`,
                `net.unreachable connect` and others.
        """
        return Self(
            unsafe_socket=connect_to(address, timeout_ms.or_else(NO_DEADLINE))
        )

    @staticmethod
    def connect(
        host: StringSlice,
        port: UInt16,
        *,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to a host: to the first of its addresses that answers.

        The address families alternate, and attempts overlap (RFC 8305): if an
        address has not answered after 250 ms, the next one is tried too.

        Args:
            host: A host name, `localhost`, or an address without port and
                brackets.
            port: The port.
            timeout_ms: The longest wait for the look-up and all addresses
                together; `None` applies only the system's limits and the
                fiber's deadline.

        Returns:
            The connection.

        Raises:
            Error: `dns.not_found resolve` and others, or the error of the
                first address.
        """
        var reactor = waiting_fiber("connect").reactor()
        var deadline_ms = reactor.deadline_after(
            timeout_ms.or_else(NO_DEADLINE)
        )
        var addresses = host_addresses(host, port, timeout_ms)
        var left_ms = NO_DEADLINE
        if timeout_ms:
            left_ms = max(deadline_ms - reactor.refresh_now_ms(), 0)
        return Self(unsafe_socket=connect_to_first(addresses, left_ms))

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which the stream still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after the stream is destroyed, and do not destroy it.
        """
        return self._socket

    def peer_address(self) raises -> SocketAddr:
        """Returns the peer's address.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`.
        """
        var known = self._socket.address()
        if known and self.is_open():
            return known.value()
        return peer_end(self.descriptor())

    def local_address(self) raises -> SocketAddr:
        """Returns the local address.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_end(self.descriptor())


def _peer_of(descriptor: Int32) -> Optional[SocketAddr]:
    var storage = SocketAddressStorage()
    if peer_socket_address(descriptor, storage) < 0:
        return None
    return SocketAddr.from_storage(storage)
