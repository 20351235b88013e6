"""Owns one TCP connection (RFC 9293)."""

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
    """Owns one end of a connection and closes it at the end of its life.

    What waits parks the calling fiber; in a script, the program. Each wait
    lasts 30 seconds at most unless `set_read_timeout_ms` or
    `set_write_timeout_ms` says otherwise, and never longer than an enclosing
    `deadline_in`.

    One fiber may read while another writes, on the same thread or on another; a
    second reader or a second writer gets `net.other … errno=16` (EBUSY). An
    idle stream may be moved to another thread. Every function that fails raises
    an error whose text `NetError.of` reads.

    What is written goes out at once: delaying small segments (RFC 896) is off,
    as together with delayed acknowledgements it holds back the second of two
    small writes. So put together what belongs together, or turn it on with
    `set_no_delay(False)`.
    """

    var _socket: FiberSocket

    def __init__(out self, *, unsafe_socket: FiberSocket):
        """Takes a socket over.

        Args:
            unsafe_socket: A connected socket.

        Safety:
            Nobody else destroys it.
        """
        self._socket = unsafe_socket

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes a descriptor over.

        Args:
            unsafe_descriptor: A connected stream socket in blocking mode.

        Safety:
            Nobody else closes the descriptor.
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
            timeout_ms: The longest wait; none leaves it to the kernel and to
                the fiber's deadline.

        Returns:
            The connection.

        Raises:
            Error: `net.refused connect`, `net.timeout connect`,
                `net.unreachable connect` and the like.
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

        The families take turns, and attempts overlap (RFC 8305): where one
        address has not answered after 250 ms the next one is tried beside it.

        Args:
            host: A host name, `localhost`, or an address without port and
                brackets.
            port: The port.
            timeout_ms: The longest wait for the look-up and all addresses
                together; none leaves it to the system and to the fiber's
                deadline.

        Returns:
            The connection.

        Raises:
            Error: `dns.not_found resolve` and the like, or what the first
                address failed with.
        """
        var reactor = waiting_fiber("connect").reactor()
        var began_ms = reactor.refresh_now_ms()
        var addresses = host_addresses(host, port, timeout_ms)
        var left_ms = NO_DEADLINE
        if timeout_ms:
            var spent_ms = reactor.refresh_now_ms() - began_ms
            left_ms = max(timeout_ms.value() - spent_ms, 0)
        return Self(unsafe_socket=connect_to_first(addresses, left_ms))

    def unsafe_socket(self) -> FiberSocket:
        """Lends what fibers wait on.

        Returns:
            The socket.

        Safety:
            It lives as long as the stream, and only that destroys it.
        """
        return self._socket

    def peer_address(self) raises -> SocketAddr:
        """Tells which address the peer has.

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
        """Tells which address this end has.

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
