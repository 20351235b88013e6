"""Owns one Unix socket of datagrams (unix(7))."""

from flare.net import NetError, RawSocket, SocketOptions
from flare.net.error import checked
from flare.runtime.datagram_socket import DatagramSocket
from flare.runtime.socket import FiberSocket
from flare.sys.socket import connect_socket
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage

from .address import UnixAddr, about
from .socket_file import MODE_DEFAULT, SocketFile, bind_name
from .stream import local_name, peer_name


struct UnixDatagram(Movable, SocketOptions):
    """Owns a socket of datagrams; closes it and removes its path at the end of
    its life.

    It waits, times out, closes and is shared as a `UdpSocket` is. Nothing is
    lost or reordered within the machine: a send waits while the receiver's
    queue is full. A datagram that does not fit, coming or going, raises an
    error whose text `DatagramTooLarge.of` reads; how long one may be that goes
    depends on the send buffer (`set_send_buffer_octets`).
    """

    var _socket: DatagramSocket
    var _file: Optional[SocketFile]

    def __init__(
        out self, *, unsafe_descriptor: Int32, var file: Optional[SocketFile]
    ):
        """Takes a descriptor over.

        Args:
            unsafe_descriptor: A socket of datagrams.
            file: What to remove when it is closed.

        Safety:
            Nobody else closes the descriptor.
        """
        self._socket = DatagramSocket(FiberSocket.create(unsafe_descriptor))
        self._file = file^

    def __deinit__(deinit self):
        """Closes the socket if it is open."""
        if self._file and self._socket.socket.is_open():
            self._file.value().remove()
        self._socket.socket.destroy()

    @staticmethod
    def bind(path: StringSlice, *, mode: Int = MODE_DEFAULT) raises -> Self:
        """Opens a socket to which others can send.

        A file that a socket left over is replaced, as by `UnixListener.bind`.

        Args:
            path: A path, or `@` and an abstract name.
            mode: Who may send to it, as permissions to write to the file; the
                user of this process alone by default.

        Returns:
            The socket.

        Raises:
            Error: `net.bad_address parse`, `net.address_in_use bind`,
                `net.permission bind`, `net.not_found bind` and the like.
        """
        var address = UnixAddr.parse(path)
        try:
            # The descriptor is closed where what follows fails.
            var socket = RawSocket(
                unsafe_descriptor=DatagramSocket.open(AF_UNIX, 0, None)
            )
            var file = bind_name(socket.descriptor(), address, mode)
            return Self(unsafe_descriptor=socket^.into_descriptor(), file=file^)
        except e:
            raise about(e, address)

    @staticmethod
    def unbound() raises -> Self:
        """Opens a socket without a name: it can send, and nobody can answer.

        Returns:
            The socket.

        Raises:
            Error: `net.no_descriptors open`.
        """
        return Self(
            unsafe_descriptor=DatagramSocket.open(AF_UNIX, 0, None), file=None
        )

    def connect(self, path: StringSlice) raises:
        """Lets `send` and `recv` speak with one peer alone; nothing is sent.

        Args:
            path: The path of the peer, or `@` and its abstract name.

        Raises:
            Error: `net.bad_address parse`, `net.not_found connect`,
                `net.refused connect`, `net.permission connect` and the like.
        """
        var address = UnixAddr.parse(path)
        try:
            _ = checked(
                "connect",
                connect_socket(self.descriptor(), address.to_storage()),
            )
        except e:
            raise about(e, address)

    def send_to(self, octets: Span[UInt8, _], address: UnixAddr) raises:
        """Sends one datagram.

        Args:
            octets: The datagram; it may be empty.
            address: The receiver.

        Raises:
            Error: A `DatagramTooLarge`; `net.not_found send_to`, `net.refused
                send_to` if nobody has the path open, `net.timeout send_to` if
                its queue stays full, and the like.
        """
        try:
            if address.is_unnamed():
                raise Error(NetError(NetError.BAD_ADDRESS, "send_to"))
            self._socket.send("send_to", octets, address.to_storage(), 0)
        except e:
            raise about(e, address)

    def send_to(self, octets: Span[UInt8, _], path: StringSlice) raises:
        """Sends one datagram.

        Args:
            octets: The datagram; it may be empty.
            path: The path of the receiver, or `@` and its abstract name.

        Raises:
            Error: `net.bad_address parse`, and what the other `send_to` raises.
        """
        self.send_to(octets, UnixAddr.parse(path))

    def send(self, octets: Span[UInt8, _]) raises:
        """Sends one datagram to the peer that the socket is connected to.

        Args:
            octets: The datagram; it may be empty.

        Raises:
            Error: A `DatagramTooLarge`; `net.refused send` if the peer has
                closed; `net.closed send` without a peer; `net.timeout send` and
                the like.
        """
        self._socket.send("send", octets, SocketAddressStorage(), 0)

    def recv_from(
        self, into: Span[mut=True, UInt8, _]
    ) raises -> Tuple[Int, UnixAddr]:
        """Receives one datagram, and waits only while there is none.

        Args:
            into: Where to put it.

        Returns:
            Its length, which may be 0, and its sender, who may have no name.

        Raises:
            Error: A `DatagramTooLarge` if it is longer than `into`; its rest is
                lost. `net.timeout receive_from`, `net.closed receive_from`,
                `net.cancelled receive_from` and the like.
        """
        var sender = SocketAddressStorage()
        var count = self._socket.receive("receive_from", into, sender)
        return (count, UnixAddr(storage=sender))

    def recv(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives one datagram, whoever has sent it.

        Args:
            into: Where to put it.

        Returns:
            Its length, which may be 0.

        Raises:
            Error: What `recv_from` raises.
        """
        var sender = SocketAddressStorage()
        return self._socket.receive("receive", into, sender)

    def close(self):
        """Closes the socket and removes its path; a second time nothing
        happens.

        A path that leads to another file by now stays. A fiber that sends or
        receives gets `net.closed`.
        """
        if self._file and self.is_open():
            self._file.value().remove()
        self._socket.socket.close()

    def is_open(self) -> Bool:
        """Returns whether `close` was not called yet.

        Returns:
            True from the beginning to the first `close`.
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
        """Bounds each wait for room at the receiver; 30 seconds by default.

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

    def local_address(self) raises -> UnixAddr:
        """Tells which name the socket has.

        Returns:
            The name.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_name(self.descriptor())

    def peer_address(self) raises -> UnixAddr:
        """Tells to whom the socket is connected.

        Returns:
            The name.

        Raises:
            Error: `net.closed peer_address`, also if it has no peer.
        """
        return peer_name(self.descriptor())
