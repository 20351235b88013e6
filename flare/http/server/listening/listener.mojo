"""Opens the sockets where a server listens."""

from flare.http.stream_address import StreamAddr
from flare.net import RawSocket, SocketAddr
from flare.sys.file import close_descriptor, replace_descriptor
from flare.unix.address import about
from flare.unix.listener import listen_at
from flare.unix.socket_file import MODE_DEFAULT, SocketFile
from flare.unix.stream import open_stream

from .taken_listeners import TakenListener, take_listeners

comptime BACKLOG_DEFAULT = 4096
"""Connections that may wait to be accepted, unless `bind` says otherwise."""


struct Listener(Movable):
    """Owns a socket on which connections wait until a server accepts them.

    It closes the socket at the end of its life, and removes its path.
    """

    var _socket: RawSocket
    var _address: StreamAddr
    var _file: Optional[SocketFile]
    var _mode: Int
    var _name: String
    var _is_taken: Bool
    var _is_lent: Bool
    # A socket that is told when a server serves, or -1.
    var _ready: Int32

    def __init__(
        out self,
        *,
        var socket: RawSocket,
        var address: StreamAddr,
        var file: Optional[SocketFile],
        mode: Int,
    ):
        """Joins the parts; `bind` is the way to make a listener.

        Args:
            socket: The listening socket.
            address: Its address.
            file: What to remove when it is closed.
            mode: The permissions of the file.
        """
        self._socket = socket^
        self._address = address^
        self._file = file^
        self._mode = mode
        self._name = String()
        self._is_taken = False
        self._is_lent = False
        self._ready = -1

    def __init__(out self, mut taken: TakenListener):
        """Takes over a socket that another process has opened.

        Args:
            taken: The socket, which belongs to the listener afterwards.
        """
        var socket = RawSocket(unsafe_descriptor=-1)
        swap(socket, taken.socket)
        self._socket = socket^
        self._address = taken.address.copy()
        self._file = taken.file.copy()
        self._mode = taken.mode
        self._name = taken.name.copy()
        self._is_taken = True
        self._is_lent = taken.is_lent
        self._ready = -1

    def __deinit__(deinit self):
        """Closes the socket and removes its path."""
        if self._file:
            self._file.value().remove()
        if self._ready >= 0:
            _ = close_descriptor(self._ready)

    @staticmethod
    def bind(
        address: SocketAddr, *, backlog: Int = BACKLOG_DEFAULT
    ) raises -> Self:
        """Listens for TCP connections.

        Args:
            address: Where; port 0 lets the kernel choose.
            backlog: Connections that may wait to be accepted.

        Returns:
            The listener.

        Raises:
            NetError: If the address is in use or cannot be had.
        """
        var socket = open_tcp(address, backlog, False)
        var bound = socket.local_address()
        return Self(socket=socket^, address=bound, file=None, mode=MODE_DEFAULT)

    @staticmethod
    def bind(
        text: StringSlice,
        *,
        mode: Int = MODE_DEFAULT,
        backlog: Int = BACKLOG_DEFAULT,
    ) raises -> Self:
        """Listens for connections of any kind.

        A file that a server left over when its process died is replaced. One
        at which somebody listens is in use, and what is no socket is never
        touched.

        Args:
            text: `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock`, or `unix:@`
                and an abstract name.
            mode: Who may connect to a path, as permissions to write to the
                file; the user of this process alone by default.
            backlog: Connections that may wait to be accepted.

        Returns:
            The listener.

        Raises:
            NetError: `net.bad_address parse`, or what is wrong with the
                address.
        """
        var address = StreamAddr.parse(text)
        if not address.is_unix():
            return Self.bind(address.socket_address(), backlog=backlog)
        var name = address.unix_address()
        try:
            # The descriptor is closed where what follows fails.
            var socket = RawSocket(unsafe_descriptor=open_stream())
            var file = listen_at(socket.descriptor(), name, mode, backlog)
            return Self(socket=socket^, address=address^, file=file^, mode=mode)
        except e:
            raise about(e, name)

    @staticmethod
    def from_systemd() raises -> List[Self]:
        """Takes the sockets over that whoever started this process has opened
        for it: systemd for a service with sockets (sd_listen_fds(3)), or a
        server that hands over (`ServerHandle.hand_over`).

        The variables LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES are read by this
        call alone, and removed: a second call finds nothing. A server leaves
        what is only lent to it as it is when it stops: the path stays, and so
        do those who wait.

        Returns:
            The listeners in their order; none if this process was not given
            any.

        Raises:
            An error `http.bad_activation` if a descriptor is no listening
            socket of streams.
        """
        var taken = take_listeners()
        var listeners = List[Listener]()
        for ref found in taken.listeners:
            listeners.append(Listener(found))
        if taken.ready >= 0 and len(listeners) > 0:
            listeners[0].set_ready(taken.ready)
        return listeners^

    def address(self) -> StreamAddr:
        """Tells where it listens.

        Returns:
            The address, with the port that the kernel chose.
        """
        return self._address.copy()

    def descriptor(self) -> Int32:
        """Lends the descriptor.

        Returns:
            The descriptor, valid as long as the listener lives.
        """
        return self._socket.descriptor()

    def is_shared(self) -> Bool:
        """Tells whether several workers accept from this one socket.

        Returns:
            False where each of them can have one of its own: the kernel spreads
            connections over TCP sockets (SO_REUSEPORT), not over Unix sockets.
        """
        return self._is_taken or self._address.is_unix()

    def is_taken(self) -> Bool:
        """Tells whether another process has opened the socket.

        Returns:
            True if it came by `from_systemd`.
        """
        return self._is_taken

    def is_lent(self) -> Bool:
        """Tells whether another process goes on to hold the socket.

        Returns:
            True if it came from somebody else than a server that hands over.
        """
        return self._is_lent

    def name(self) -> String:
        """Tells how the socket was called by whoever passed it.

        Returns:
            The name, such as that of systemd's `FileDescriptorName=`, or an
            empty text.
        """
        return self._name.copy()

    def mode(self) -> Int:
        """Tells who may connect to its path.

        Returns:
            The permissions.
        """
        return self._mode

    def set_ready(mut self, descriptor: Int32):
        """Notes who wants to know when a server serves.

        Args:
            descriptor: A socket; the listener closes it.
        """
        self._ready = descriptor

    def take_ready(mut self) -> Int32:
        """Gives away the socket that wants to know.

        Returns:
            The socket, which the caller closes, or -1.
        """
        var ready = self._ready
        self._ready = -1
        return ready

    def take_file(mut self) -> Optional[SocketFile]:
        """Gives away what is to be removed.

        Returns:
            The file, if there is one; the listener does not remove it any more.
        """
        var file = self._file.copy()
        self._file = None
        return file^

    def listen_again(self, backlog: Int) raises -> Optional[SocketFile]:
        """Opens a Unix socket anew that was shut down, as the same descriptor.

        Args:
            backlog: Connections that may wait to be accepted.

        Returns:
            The file, which the caller removes.

        Raises:
            NetError: As `bind` does.
        """
        var name = self._address.unix_address()
        try:
            var opened = open_stream()
            # An abstract name is free once the old socket is closed.
            _ = replace_descriptor(self._socket.descriptor(), by=opened)
            _ = close_descriptor(opened)
            return listen_at(
                self._socket.descriptor(), name, self._mode, backlog
            )
        except e:
            raise about(e, name)


def open_tcp(
    address: SocketAddr, backlog: Int, shared: Bool
) raises -> RawSocket:
    """Opens a listening TCP socket.

    Args:
        address: Where to listen.
        backlog: Connections that may wait to be accepted.
        shared: Whether another socket of this process has the address already.

    Returns:
        The socket.

    Raises:
        NetError: If the address is in use or cannot be had.
    """
    var socket = (
        RawSocket.tcp_v6() if address.ip.is_v6() else RawSocket.tcp_v4()
    )
    socket.set_reuse_address(True)
    socket.set_reuse_port(shared)
    socket.bind(address)
    # Set after the first bind, it makes a second server fail to bind, and yet
    # lets the sockets of our own other workers share the port.
    socket.set_reuse_port(True)
    # Accepted sockets inherit it.
    socket.set_no_delay(True)
    socket.listen(backlog)
    return socket^
