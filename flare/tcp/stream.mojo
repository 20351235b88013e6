"""Owns one TCP connection (RFC 9293)."""

from flare.io import Reader, Writer
from flare.net import NetError, SocketAddr, SocketOptions
from flare.net.error import checked
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.socket import OPERATION_TIMEOUT_MS, FiberSocket
from flare.runtime.wait import waiting_fiber
from flare.sys.socket import (
    local_socket_address,
    open_socket,
    peer_socket_address,
)
from flare.sys.socket_address import AF_INET, AF_INET6, SocketAddressStorage
from flare.sys.socket_constants import IPPROTO_TCP, SOCK_STREAM

from .host import host_addresses


struct TcpStream(Movable, Reader, SocketOptions, Writer):
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
        var opened = checked(
            "connect",
            open_socket(
                AF_INET if address.ip.is_v4() else AF_INET6,
                SOCK_STREAM,
                IPPROTO_TCP,
                non_blocking=False,
            ),
            address,
        )
        var stream = Self(
            unsafe_socket=FiberSocket.create(Int32(opened), address)
        )
        stream.set_no_delay(True)
        stream._socket.connect(address, timeout_ms.or_else(NO_DEADLINE))
        return stream^

    @staticmethod
    def connect(
        host: StringSlice,
        port: UInt16,
        *,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to a host: to the first of its addresses that answers.

        Args:
            host: `localhost`, or an address without port and brackets.
            port: The port.
            timeout_ms: The longest wait for all addresses together; none leaves
                it to the kernel and to the fiber's deadline.

        Returns:
            The connection.

        Raises:
            Error: `net.bad_address parse`, or what the first address failed
                with.
        """
        var addresses = host_addresses(host, port)
        var reactor = waiting_fiber("connect").reactor()
        var deadline_ms = NO_DEADLINE
        if timeout_ms:
            deadline_ms = reactor.refresh_now_ms() + timeout_ms.value()
        var first_error = Optional[Error](None)
        for address in addresses:
            var left_ms = timeout_ms
            if timeout_ms:
                left_ms = max(deadline_ms - reactor.refresh_now_ms(), 0)
            try:
                return Self.connect(address, timeout_ms=left_ms)
            except e:
                if not first_error:
                    first_error = e^
        raise first_error.take()

    def close(self):
        """Closes the connection; a second time nothing happens.

        Octets already written still go out, unless `set_linger` said
        otherwise. A fiber that reads or writes gets `net.closed`; the
        descriptor stays until it has gone on.
        """
        self._socket.close()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads what has come, and waits only while nothing has.

        Args:
            into: Where to put the octets; one call fills at most 64 KiB.

        Returns:
            How many came; 0 at the end, or if `into` is empty.

        Raises:
            Error: `net.timeout read`, `net.reset read`, `net.closed read`,
                `net.cancelled read` and the like.
        """
        return self._socket.receive(into)

    def read[
        origin: Origin[mut=True]
    ](self, into: Pointer[UInt8, origin], count: Int) raises -> Int:
        """Reads what has come, and waits only while nothing has.

        Parameters:
            origin: Whose memory it is.

        Args:
            into: Where to put the octets.
            count: The most octets that may come.

        Returns:
            How many came; 0 at the end, or if `count` is 0 or less.

        Raises:
            Error: As the other `read` does.

        Safety:
            There is room for `count` octets.
        """
        return self._socket.receive(Span(unsafe_ptr=into, length=max(count, 0)))

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes what the kernel has room for; waits only while it has none.

        Args:
            octets: What to write.

        Returns:
            How many were taken; `write_all` goes on until all are.

        Raises:
            Error: `net.timeout write`, `net.closed write`, `net.reset write`,
                `net.cancelled write` and the like.
        """
        return self._socket.send(octets)

    def end_sending(self) raises:
        """Lets the peer read the end of the stream; reading goes on.

        Raises:
            Error: `net.closed shut_down`.
        """
        self._socket.end_sending()

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `read`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self._socket.set_receive_timeout_ms(timeout_ms)

    def set_write_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `write`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self._socket.set_send_timeout_ms(timeout_ms)

    def is_open(self) -> Bool:
        """Tells whether `close` was not called yet.

        Returns:
            True also if only the peer has closed.
        """
        return self._socket.is_open()

    def descriptor(self) -> Int32:
        """Lends the descriptor, for options.

        Returns:
            The descriptor, valid until the stream is closed; -1 if it is.
        """
        return self._socket.descriptor()

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
        var storage = SocketAddressStorage()
        _ = checked(
            "peer_address", peer_socket_address(self.descriptor(), storage)
        )
        return _address_in(storage, "peer_address")

    def local_address(self) raises -> SocketAddr:
        """Tells which address this end has.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        var storage = SocketAddressStorage()
        _ = checked(
            "local_address", local_socket_address(self.descriptor(), storage)
        )
        return _address_in(storage, "local_address")


def _address_in(
    storage: SocketAddressStorage, operation: StaticString
) raises -> SocketAddr:
    var address = SocketAddr.from_storage(storage)
    if not address:
        raise NetError(NetError.UNSUPPORTED, operation)
    return address.value()


def _peer_of(descriptor: Int32) -> Optional[SocketAddr]:
    var storage = SocketAddressStorage()
    if peer_socket_address(descriptor, storage) < 0:
        return None
    return SocketAddr.from_storage(storage)
