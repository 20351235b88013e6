"""Sends and receives UDP datagrams (RFC 768)."""

from flare.net import NetError, RawSocket, SocketAddr
from flare.net.error import checked
from flare.net.socket_ends import local_end, peer_end
from flare.runtime.datagram_socket import DatagramSocket
from flare.runtime.socket import FiberSocket
from flare.runtime.socket_owner import DatagramOwner
from flare.sys.socket import connect_socket, local_socket_address
from flare.sys.socket_address import AF_INET, AF_INET6, SocketAddressStorage
from flare.sys.socket_constants import IPPROTO_UDP

from .batch import DatagramBatch
from .multicast import MulticastOptions


struct UdpSocket(DatagramOwner, Movable, MulticastOptions):
    """A UDP socket; closed when destroyed.

    Methods that wait park the calling fiber, or block the program in a script.
    Each wait lasts at most 30 seconds, unless `set_receive_timeout_ms` or
    `set_send_timeout_ms` changes that. An enclosing `deadline_in` applies too.
    A call that need not wait succeeds even if the limit is 0.

    One fiber may receive while another sends, on the same thread or on
    another. A second one in the same direction gets `net.other … errno=16`
    (EBUSY). An idle socket may be moved to another thread. Methods that fail
    raise an error whose text `NetError.of` reads.

    Datagrams are never truncated silently: one that is too large to send or
    receive raises an error whose text `DatagramTooLarge.of` reads. The network
    may lose, duplicate and reorder datagrams. The kernel drops those that
    arrive while the receive buffer is full (`set_receive_buffer_octets`).
    """

    comptime OCTETS_MAX_V4 = 65_507
    """The longest datagram over IPv4: 65,535 octets less the headers."""
    comptime OCTETS_MAX_V6 = 65_527
    """The longest datagram over IPv6, which does not count its header."""

    var _socket: DatagramSocket

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes ownership of a descriptor.

        Args:
            unsafe_descriptor: A datagram socket.

        Safety:
            No other code closes the descriptor.
        """
        self._socket = DatagramSocket(
            FiberSocket.create(
                unsafe_descriptor, _bound_address(unsafe_descriptor)
            )
        )

    def __deinit__(deinit self):
        """Closes the socket if it is open."""
        self._socket.socket.destroy()

    @staticmethod
    def bind(
        address: SocketAddr,
        *,
        reuse_address: Bool = False,
        reuse_port: Bool = False,
        v6_only: Bool = False,
    ) raises -> Self:
        """Opens a socket at an address.

        Args:
            address: The address; port 0 lets the kernel choose.
            reuse_address: Whether to share the address with sockets that set
                it too. Each receives datagrams to a group; the last one
                receives all others.
            reuse_port: Whether to share the address with sockets of this user
                that set it too. The kernel distributes peers among them.
            v6_only: Whether to exclude IPv4 from an IPv6 address (RFC 3493
                section 5.3). By default, a socket at `[::]` receives both;
                IPv4 peers then have mapped addresses.

        Returns:
            The socket.

        Raises:
            Error: `net.address_in_use bind`, `net.permission bind`,
                `net.address_not_available bind` and others.
        """
        var socket = RawSocket(
            unsafe_descriptor=DatagramSocket.open(
                AF_INET if address.ip.is_v4() else AF_INET6,
                IPPROTO_UDP,
                address,
            )
        )
        if reuse_address:
            socket.set_reuse_address(True)
        if reuse_port:
            socket.set_reuse_port(True)
        if not address.ip.is_v4():
            socket.set_v6_only(v6_only)
        socket.bind(address)
        return Self(unsafe_descriptor=socket^.into_descriptor())

    def connect(self, peer: SocketAddr) raises:
        """Restricts the socket to one peer, for `send` and `recv`. No datagram
        is sent.

        Datagrams of other senders are dropped from now on. If the peer refuses
        a datagram, a later call raises `net.refused`.

        Args:
            peer: The peer's address; errors name it from now on.

        Raises:
            Error: `net.unreachable connect`, `net.unsupported connect` for an
                address of the other version, and others.
        """
        _ = checked(
            "connect",
            connect_socket(self.descriptor(), peer.to_storage()),
            peer,
        )
        self._socket.socket.state[].address = peer

    def send_to(self, octets: Span[UInt8, _], address: SocketAddr) raises:
        """Sends one datagram.

        Args:
            octets: The datagram; it may be empty.
            address: The receiver; a socket at `[::]` sends to both versions.

        Raises:
            Error: A `DatagramTooLarge` if it is longer than the transport
                allows; `net.permission send_to` for a broadcast without
                `set_broadcast`; `net.unreachable send_to`, `net.timeout
                send_to`, `net.closed send_to` and others.
        """
        self._socket.send(
            "send_to", octets, address.to_storage(), _carried_max(address)
        )

    def send(self, octets: Span[UInt8, _]) raises:
        """Sends one datagram to the connected peer.

        Args:
            octets: The datagram; it may be empty.

        Raises:
            Error: A `DatagramTooLarge`; `net.refused send` if the peer has
                refused an earlier datagram; `net.other send errno=89`
                (EDESTADDRREQ) without a peer; and the errors of `send_to`.
        """
        self._socket.send(
            "send", octets, SocketAddressStorage(), self._octets_max()
        )

    def recv_from(
        self, into: Span[mut=True, UInt8, _]
    ) raises -> Tuple[Int, SocketAddr]:
        """Receives one datagram; waits for it.

        Args:
            into: The buffer.

        Returns:
            The datagram's length, which may be 0, and its sender.

        Raises:
            Error: A `DatagramTooLarge` if the datagram is longer than `into`;
                its rest is lost. `net.timeout receive_from`, `net.closed
                receive_from`, `net.cancelled receive_from` and others.
        """
        var sender = SocketAddressStorage()
        var count = self._socket.receive("receive_from", into, sender)
        var address = SocketAddr.from_storage(sender)
        if not address:
            raise NetError(NetError.UNSUPPORTED, "receive_from")
        return (count, address.value())

    def recv(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives one datagram of the connected peer; waits for it.

        Args:
            into: The buffer.

        Returns:
            The datagram's length, which may be 0.

        Raises:
            Error: `net.refused receive` if the peer has refused an earlier
                datagram, and the errors of `recv_from`.
        """
        var sender = SocketAddressStorage()
        return self._socket.receive("receive", into, sender)

    def send_batch(self, batch: DatagramBatch, *, start: Int = 0) raises -> Int:
        """Sends the datagrams of a batch in order, in one system call.

        Args:
            batch: The datagrams.
            start: The index of the first one to send.

        Returns:
            The number sent; 0 for an empty batch. If it is less than the rest
            of the batch, call again with a higher `start`.

        Raises:
            Error: As `send_to` does, for the first datagram.
        """
        if start < 0 or start >= len(batch):
            return 0
        var receiver = batch.address(start)
        return self._socket.send_many(
            batch.unsafe_slots(),
            start,
            _carried_max(receiver.value()) if receiver else self._octets_max(),
        )

    def recv_batch(self, mut batch: DatagramBatch) raises -> Int:
        """Receives datagrams in one system call; waits for the first one.

        Args:
            batch: The batch to fill; its present datagrams are dropped.

        Returns:
            The number received, at least 1.

        Raises:
            Error: `net.timeout receive_from`, `net.closed receive_from` and
                others.
        """
        return self._socket.receive_many(batch.unsafe_slots())

    def close(self):
        """Closes the socket. Further calls have no effect.

        A fiber that sends or receives gets `net.closed`.
        """
        self._socket.socket.close()

    def local_address(self) raises -> SocketAddr:
        """Returns the address that the socket is bound to.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_end(self.descriptor())

    def peer_address(self) raises -> SocketAddr:
        """Returns the address of the connected peer.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`, also if the socket is not
                connected.
        """
        return peer_end(self.descriptor())

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which this value still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after this value is destroyed, and do not destroy it.
        """
        return self._socket.socket

    def _octets_max(self) -> Int:
        var address = self._socket.socket.address()
        if not address:
            return Self.OCTETS_MAX_V4
        return _carried_max(address.value())


def _carried_max(address: SocketAddr) -> Int:
    if address.ip.is_v4() or address.ip.is_v4_mapped():
        return UdpSocket.OCTETS_MAX_V4
    return UdpSocket.OCTETS_MAX_V6


def _bound_address(descriptor: Int32) -> Optional[SocketAddr]:
    var storage = SocketAddressStorage()
    if local_socket_address(descriptor, storage) < 0:
        return None
    return SocketAddr.from_storage(storage)
