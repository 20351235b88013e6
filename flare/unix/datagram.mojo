"""Sends and receives datagrams over Unix sockets (unix(7))."""

from flare.net import NetError, RawSocket
from flare.net.error import checked
from flare.runtime.datagram_socket import DatagramSocket
from flare.runtime.socket import FiberSocket
from flare.runtime.socket_owner import DatagramOwner
from flare.sys.socket import connect_socket
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage

from .address import UnixAddr, about
from .socket_file import MODE_DEFAULT, SocketFile, bind_name
from .stream import local_name, peer_name


struct UnixDatagram(DatagramOwner, Movable):
    """A Unix datagram socket; when destroyed, it closes and removes its path.

    Waits, timeouts, closing and sharing are as for `UdpSocket`. Within a
    machine, no datagram is lost or reordered: a send waits while the
    receiver's queue is full. A datagram that is too large to send or receive
    raises an error whose text `DatagramTooLarge.of` reads. The limit for
    sending depends on the send buffer (`set_send_buffer_octets`).
    """

    var _socket: DatagramSocket
    var _file: Optional[SocketFile]

    def __init__(
        out self, *, unsafe_descriptor: Int32, var file: Optional[SocketFile]
    ):
        """Takes ownership of a descriptor.

        Args:
            unsafe_descriptor: A datagram socket.
            file: The file to remove when the socket is closed.

        Safety:
            No other code closes the descriptor.
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
        """Opens a socket at a path, so that other sockets can send to it.

        A file that a dead socket left is replaced, as by `UnixListener.bind`.

        Args:
            path: A path, or `@` and an abstract name.
            mode: The permissions of the file: users who may write to it may
                send. By default, only this process's user may.

        Returns:
            The socket.

        Raises:
            Error: `net.bad_address parse`, `net.address_in_use bind`,
                `net.permission bind`, `net.not_found bind` and others.
        """
        var address = UnixAddr.parse(path)
        try:
            # If a later step fails, this closes the descriptor.
            var socket = RawSocket(
                unsafe_descriptor=DatagramSocket.open(AF_UNIX, 0, None)
            )
            var file = bind_name(socket.descriptor(), address, mode)
            return Self(unsafe_descriptor=socket^.into_descriptor(), file=file^)
        except e:
            raise about(e, address)

    @staticmethod
    def unbound() raises -> Self:
        """Opens a socket without a name. It can send, but receivers cannot
        answer.

        Returns:
            The socket.

        Raises:
            Error: `net.no_descriptors open`.
        """
        return Self(
            unsafe_descriptor=DatagramSocket.open(AF_UNIX, 0, None), file=None
        )

    def connect(self, path: StringSlice) raises:
        """Restricts the socket to one peer, for `send` and `recv`. No datagram
        is sent.

        Args:
            path: The peer's path, or `@` and its abstract name.

        Raises:
            Error: `net.bad_address parse`, `net.not_found connect`,
                `net.refused connect`, `net.permission connect` and others.
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
            Error: A `DatagramTooLarge`; `net.not_found send_to`; `net.refused
                send_to` if no socket has the path open; `net.timeout send_to`
                if its queue stays full; and others.
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
            path: The receiver's path, or `@` and its abstract name.

        Raises:
            Error: `net.bad_address parse`, and the errors of the other
                `send_to`.
        """
        self.send_to(octets, UnixAddr.parse(path))

    def send(self, octets: Span[UInt8, _]) raises:
        """Sends one datagram to the connected peer.

        Args:
            octets: The datagram; it may be empty.

        Raises:
            Error: A `DatagramTooLarge`; `net.refused send` if the peer has
                closed; `net.closed send` without a peer; `net.timeout send`
                and others.
        """
        self._socket.send("send", octets, SocketAddressStorage(), 0)

    def recv_from(
        self, into: Span[mut=True, UInt8, _]
    ) raises -> Tuple[Int, UnixAddr]:
        """Receives one datagram; waits for it.

        Args:
            into: The buffer.

        Returns:
            The datagram's length, which may be 0, and its sender, possibly
            without a name.

        Raises:
            Error: A `DatagramTooLarge` if the datagram is longer than `into`;
                its rest is lost. `net.timeout receive_from`, `net.closed
                receive_from`, `net.cancelled receive_from` and others.
        """
        var sender = SocketAddressStorage()
        var count = self._socket.receive("receive_from", into, sender)
        return (count, UnixAddr(storage=sender))

    def recv(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives one datagram of any sender; waits for it.

        Args:
            into: The buffer.

        Returns:
            The datagram's length, which may be 0.

        Raises:
            Error: As `recv_from` does.
        """
        var sender = SocketAddressStorage()
        return self._socket.receive("receive", into, sender)

    def close(self):
        """Closes the socket and removes its path. Further calls have no
        effect.

        A path that now leads to another file is kept. A fiber that sends or
        receives gets `net.closed`.
        """
        if self._file and self.is_open():
            self._file.value().remove()
        self._socket.socket.close()

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which this value still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after this value is destroyed, and do not destroy it.
        """
        return self._socket.socket

    def local_address(self) raises -> UnixAddr:
        """Returns the address that the socket is bound to.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_name(self.descriptor())

    def peer_address(self) raises -> UnixAddr:
        """Returns the address of the connected peer.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`, also if the socket is not
                connected.
        """
        return peer_name(self.descriptor())
