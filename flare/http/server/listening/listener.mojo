"""Opens the sockets at which a server listens."""

from flare.http.stream_address import StreamAddr
from flare.net import RawSocket, SocketAddr
from flare.sys.file import close_descriptor, replace_descriptor
from flare.unix.address import about
from flare.unix.listener import listen_at
from flare.unix.socket_file import MODE_DEFAULT, SocketFile
from flare.unix.stream import open_stream

from .protocols import HttpProtocols
from .taken_listeners import TakenListener, take_listeners

comptime BACKLOG_DEFAULT = 4096
"""The default backlog: how many connections may wait to be accepted."""


struct Listener(Movable):
    """A listening socket for a server.

    When destroyed, it closes the socket and removes its path.
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
    var _protocols: HttpProtocols

    def __init__(
        out self,
        *,
        var socket: RawSocket,
        var address: StreamAddr,
        var file: Optional[SocketFile],
        mode: Int,
        protocols: HttpProtocols = HttpProtocols.ALL,
    ):
        """Creates a listener from its parts. Programs call `bind` instead.

        Args:
            socket: The listening socket.
            address: Its address.
            file: The file of the socket, which is removed when the listener is
                closed.
            mode: The permissions of the file.
            protocols: The versions of HTTP that its connections may speak.
        """
        self._protocols = protocols
        self._socket = socket^
        self._address = address^
        self._file = file^
        self._mode = mode
        self._name = String()
        self._is_taken = False
        self._is_lent = False
        self._ready = -1

    def __init__(out self, mut taken: TakenListener):
        """Creates a listener from a socket that another process has opened.

        Args:
            taken: The socket, which belongs to the listener afterwards.
        """
        self._protocols = HttpProtocols.ALL
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
        address: SocketAddr,
        *,
        backlog: Int = BACKLOG_DEFAULT,
        protocols: HttpProtocols = HttpProtocols.ALL,
    ) raises -> Self:
        """Listens for TCP connections.

        Args:
            address: The address; port 0 lets the kernel choose.
            backlog: The most connections that may wait to be accepted.
            protocols: The versions of HTTP that its connections may speak.

        Returns:
            The listener.

        Raises:
            NetError: If the address is in use or not available.
        """
        var socket = open_tcp(address, backlog, False)
        var bound = socket.local_address()
        return Self(
            socket=socket^,
            address=bound,
            file=None,
            mode=MODE_DEFAULT,
            protocols=protocols,
        )

    @staticmethod
    def bind(
        text: StringSlice,
        *,
        mode: Int = MODE_DEFAULT,
        backlog: Int = BACKLOG_DEFAULT,
        protocols: HttpProtocols = HttpProtocols.ALL,
    ) raises -> Self:
        """Listens for TCP or Unix connections.

        A file that a dead server left is replaced. A path with a live listener
        is in use, and a file that is not a socket is never touched.

        Args:
            text: `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock`, or `unix:@`
                and an abstract name.
            mode: The permissions of a path: users who may write to it may
                connect. By default, only this process's user may.
            backlog: The most connections that may wait to be accepted.
            protocols: The versions of HTTP that its connections may speak.

        Returns:
            The listener.

        Raises:
            NetError: `net.bad_address parse`, or if the address is in use or
                not available.
        """
        var address = StreamAddr.parse(text)
        if not address.is_unix():
            return Self.bind(
                address.socket_address(), backlog=backlog, protocols=protocols
            )
        var name = address.unix_address()
        try:
            # If a later step fails, this closes the descriptor.
            var socket = RawSocket(unsafe_descriptor=open_stream())
            var file = listen_at(socket.descriptor(), name, mode, backlog)
            return Self(
                socket=socket^,
                address=address^,
                file=file^,
                mode=mode,
                protocols=protocols,
            )
        except e:
            raise about(e, name)

    @staticmethod
    def from_systemd() raises -> List[Self]:
        """Takes over the sockets that another process opened for this one.

        The other process is systemd (sd_listen_fds(3)), or a server that calls
        `ServerHandle.hand_over`.

        Only this call reads the variables LISTEN_PID, LISTEN_FDS and
        LISTEN_FDNAMES. It removes them, so a second call finds no sockets. When
        the server stops, it leaves lent sockets unchanged: their paths and
        waiting clients stay.

        Returns:
            The listeners, in order; empty if no sockets were passed.

        Raises:
            An error `http.bad_activation` if a descriptor is not a listening
            stream socket.
        """
        var taken = take_listeners()
        var listeners = List[Listener]()
        for i in range(len(taken.listeners)):
            listeners.append(Listener(taken.listeners[i]))
        if taken.ready >= 0 and len(listeners) > 0:
            listeners[0].set_ready(taken.ready)
        return listeners^

    def address(self) -> StreamAddr:
        """Returns the address of the listener.

        Returns:
            The address, with the port that the kernel chose.
        """
        return self._address.copy()

    def descriptor(self) -> Int32:
        """Returns the descriptor, which the listener still owns.

        Returns:
            The descriptor, valid as long as the listener lives.
        """
        return self._socket.descriptor()

    def is_shared(self) -> Bool:
        """Returns whether several workers accept from this one socket.

        Returns:
            True for Unix sockets and passed ones. Otherwise each worker has a
            TCP socket, over which the kernel distributes connections
            (SO_REUSEPORT).
        """
        return self._is_taken or self._address.is_unix()

    def is_taken(self) -> Bool:
        """Returns whether another process has opened the socket.

        Returns:
            True if it came from `from_systemd`.
        """
        return self._is_taken

    def is_lent(self) -> Bool:
        """Returns whether another process keeps the socket open.

        Returns:
            True unless a server handed the socket over.
        """
        return self._is_lent

    def name(self) -> String:
        """Returns the name under which the socket was passed.

        Returns:
            The name, such as that of systemd's `FileDescriptorName=`; may be
            empty.
        """
        return self._name.copy()

    def mode(self) -> Int:
        """Returns the permissions of the path.

        Returns:
            The permissions.
        """
        return self._mode

    def protocols(self) -> HttpProtocols:
        """Returns the versions of HTTP that its connections may speak.

        Returns:
            The set; all for a socket that was passed.
        """
        return self._protocols

    def set_ready(mut self, descriptor: Int32):
        """Sets the socket to notify when the server serves.

        Args:
            descriptor: A socket; the listener closes it.
        """
        self._ready = descriptor

    def take_ready(mut self) -> Int32:
        """Returns the socket to notify, and its ownership.

        Returns:
            The socket, which the caller closes; -1 if there is none.
        """
        var ready = self._ready
        self._ready = -1
        return ready

    def take_file(mut self) -> Optional[SocketFile]:
        """Returns the file to remove, and its ownership.

        Returns:
            The file, if there is one; the listener no longer removes it.
        """
        var file = self._file.copy()
        self._file = None
        return file^

    def listen_again(self, backlog: Int) raises -> Optional[SocketFile]:
        """Opens a Unix socket again after it was shut down, with the same
        descriptor.

        Args:
            backlog: The most connections that may wait to be accepted.

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
        address: The address to listen at.
        backlog: The most connections that may wait to be accepted.
        shared: Whether another socket of this process has the address already.

    Returns:
        The socket.

    Raises:
        NetError: If the address is in use or not available.
    """
    var socket = (
        RawSocket.tcp_v6() if address.ip.is_v6() else RawSocket.tcp_v4()
    )
    socket.set_reuse_address(True)
    socket.set_reuse_port(shared)
    socket.bind(address)
    # Set after the first bind, it makes a second server fail to bind, but lets
    # the sockets of this server's other workers share the port.
    socket.set_reuse_port(True)
    # Accepted sockets inherit it.
    socket.set_no_delay(True)
    socket.listen(backlog)
    return socket^
