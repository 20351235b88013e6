"""Owns one UDP socket (RFC 768)."""

from flare.net import NetError, RawSocket, SocketAddr
from flare.net.error import checked
from flare.net.socket_ends import local_end, peer_end
from flare.runtime.datagram_socket import DatagramSocket
from flare.runtime.socket import FiberSocket
from flare.sys.socket import connect_socket, local_socket_address
from flare.sys.socket_address import AF_INET, AF_INET6, SocketAddressStorage
from flare.sys.socket_constants import IPPROTO_UDP

from .batch import DatagramBatch
from .multicast import MulticastOptions


struct UdpSocket(Movable, MulticastOptions):
    """Owns a socket of datagrams and closes it at the end of its life.

    What waits parks the calling fiber; in a script, the program. Each wait
    lasts 30 seconds at most unless `set_receive_timeout_ms` or
    `set_send_timeout_ms` says otherwise, and never longer than an enclosing
    `deadline_in`. What can be done at once is done even where the time is 0.

    One fiber may receive while another sends, on the same thread or on another;
    a second one in the same direction gets `net.other … errno=16` (EBUSY). An
    idle socket may be moved to another thread. Every function that fails raises
    an error whose text `NetError.of` reads.

    No datagram is cut without a word: one that does not fit, coming or going,
    raises an error whose text `DatagramTooLarge.of` reads. Datagrams may be
    lost, doubled and reordered on their way, and the kernel drops what comes
    while the receive buffer is full (`set_receive_buffer_octets`).
    """

    comptime OCTETS_MAX_V4 = 65_507
    """The longest datagram over IPv4: 65,535 less the headers."""
    comptime OCTETS_MAX_V6 = 65_527
    """The longest datagram over IPv6, whose length leaves its header out."""

    var _socket: DatagramSocket

    def __init__(out self, *, unsafe_descriptor: Int32):
        """Takes a descriptor over.

        Args:
            unsafe_descriptor: A socket of datagrams.

        Safety:
            Nobody else closes the descriptor.
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
            reuse_address: Shares the address with sockets that say so too: each
                gets what is sent to a group, and the last one all else.
            reuse_port: Shares the address with sockets of this user that say so
                too: the kernel spreads peers over them.
            v6_only: Keeps IPv4 away from an IPv6 address (RFC 3493 section
                5.3). By default a socket at `[::]` takes both; peers that speak
                IPv4 then have mapped addresses.

        Returns:
            The socket.

        Raises:
            Error: `net.address_in_use bind`, `net.permission bind`,
                `net.address_not_available bind` and the like.
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
        """Lets `send` and `recv` speak with one peer alone; nothing is sent.

        What others send is dropped from now on, and that the peer refuses a
        datagram shows as `net.refused` in a later call.

        Args:
            peer: The address; errors name it from now on.

        Raises:
            Error: `net.unreachable connect`, `net.unsupported connect` for an
                address of the other version, and the like.
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
            Error: A `DatagramTooLarge` if the transport does not carry it;
                `net.permission send_to` for a broadcast without
                `set_broadcast`; `net.unreachable send_to`, `net.timeout
                send_to`, `net.closed send_to` and the like.
        """
        self._socket.send(
            "send_to", octets, address.to_storage(), _carried_max(address)
        )

    def send(self, octets: Span[UInt8, _]) raises:
        """Sends one datagram to the peer that the socket is connected to.

        Args:
            octets: The datagram; it may be empty.

        Raises:
            Error: A `DatagramTooLarge`; `net.refused send` if the peer has
                refused an earlier one; `net.other send errno=89` (EDESTADDRREQ)
                without a peer; and what `send_to` raises.
        """
        self._socket.send(
            "send", octets, SocketAddressStorage(), self._octets_max()
        )

    def recv_from(
        self, into: Span[mut=True, UInt8, _]
    ) raises -> Tuple[Int, SocketAddr]:
        """Receives one datagram, and waits only while there is none.

        Args:
            into: Where to put it.

        Returns:
            Its length, which may be 0, and its sender.

        Raises:
            Error: A `DatagramTooLarge` if it is longer than `into`; its rest is
                lost. `net.timeout receive_from`, `net.closed receive_from`,
                `net.cancelled receive_from` and the like.
        """
        var sender = SocketAddressStorage()
        var count = self._socket.receive("receive_from", into, sender)
        var address = SocketAddr.from_storage(sender)
        if not address:
            raise NetError(NetError.UNSUPPORTED, "receive_from")
        return (count, address.value())

    def recv(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives one datagram of the peer that the socket is connected to.

        Args:
            into: Where to put it.

        Returns:
            Its length, which may be 0.

        Raises:
            Error: `net.refused receive` if the peer has refused an earlier
                datagram, and what `recv_from` raises.
        """
        var sender = SocketAddressStorage()
        return self._socket.receive("receive", into, sender)

    def send_batch(self, batch: DatagramBatch, *, start: Int = 0) raises -> Int:
        """Sends the datagrams of a batch in order, in one call of the kernel.

        Args:
            batch: What to send.
            start: The index of the first one to send.

        Returns:
            How many went out: fewer than there are if one after them fails or
            has no room; go on with `start`. 0 if there are none.

        Raises:
            Error: What `send_to` raises, for the first of them.
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
        """Receives what has come, in one call of the kernel; waits only while
        nothing has.

        Args:
            batch: Where to put it; what it held is dropped.

        Returns:
            How many datagrams came, at least 1.

        Raises:
            Error: `net.timeout receive_from`, `net.closed receive_from` and the
                like.
        """
        return self._socket.receive_many(batch.unsafe_slots())

    def close(self):
        """Closes the socket; a second time nothing happens.

        A fiber that sends or receives gets `net.closed`.
        """
        self._socket.socket.close()

    def is_open(self) -> Bool:
        """Returns whether `close` was not called yet.

        Returns:
            True from `bind` to the first `close`.
        """
        return self._socket.socket.is_open()

    def set_receive_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait for a datagram; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; 0 takes only what has come already,
                none leaves it to `deadline_in`.
        """
        self._socket.socket.set_receive_timeout_ms(timeout_ms)

    def set_send_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait for room in the kernel; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self._socket.socket.set_send_timeout_ms(timeout_ms)

    def descriptor(self) -> Int32:
        """Lends the descriptor, for options.

        Returns:
            The descriptor, valid until the socket is closed; -1 if it is.
        """
        return self._socket.socket.descriptor()

    def local_address(self) raises -> SocketAddr:
        """Tells which address the socket has.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_end(self.descriptor())

    def peer_address(self) raises -> SocketAddr:
        """Tells to whom the socket is connected.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`, also if it has no peer.
        """
        return peer_end(self.descriptor())

    def unsafe_socket(self) -> FiberSocket:
        """Lends what fibers wait on.

        Returns:
            The socket.

        Safety:
            It lives as long as this one, and is not destroyed.
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
