"""Accepts connections at a Unix socket (unix(7))."""

from flare.net import NetError, RawSocket
from flare.net.error import checked
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.socket import FiberSocket
from flare.runtime.socket_owner import SocketOwner
from flare.sys.socket import listen_socket

from .address import UnixAddr, about
from .socket_file import MODE_DEFAULT, SocketFile, bind_name
from .stream import UnixStream, local_name, open_stream


struct UnixListener(Movable, SocketOwner):
    """A listening Unix socket; when destroyed, it closes and removes its path.

    One fiber accepts at a time. An idle listener may be moved to another
    thread.
    """

    comptime BACKLOG_DEFAULT = 1024
    """The default backlog: how many connections may wait to be accepted."""

    var _socket: FiberSocket
    var _file: Optional[SocketFile]

    def __init__(
        out self, *, unsafe_descriptor: Int32, var file: Optional[SocketFile]
    ):
        """Takes ownership of a descriptor.

        Args:
            unsafe_descriptor: A listening socket.
            file: The file to remove when the listener is closed.

        Safety:
            No other code closes the descriptor.
        """
        self._socket = FiberSocket.create(unsafe_descriptor)
        self._file = file^

    def __deinit__(deinit self):
        """Closes the listener if it is open."""
        _close(self._socket, self._file)
        self._socket.destroy()

    @staticmethod
    def bind(
        path: StringSlice,
        *,
        mode: Int = MODE_DEFAULT,
        backlog: Int = Self.BACKLOG_DEFAULT,
    ) raises -> Self:
        """Binds to a path or abstract name and starts to listen.

        A file that a dead process's listener left is replaced. A path with a
        live listener is in use, and a file that is not a socket is never
        touched.

        Args:
            path: A path, or `@` and an abstract name.
            mode: The permissions of the file: users who may write to it may
                connect. By default, only this process's user may. An abstract
                name has no permissions.
            backlog: The most connections that may wait to be accepted; the
                kernel applies its own limit.

        Returns:
            The listener.

        Raises:
            Error: `net.bad_address parse`, `net.address_in_use bind`,
                `net.permission bind`, `net.not_found bind` for a missing
                directory, and others.
        """
        var address = UnixAddr.parse(path)
        try:
            # If a later step fails, this closes the descriptor.
            var socket = RawSocket(unsafe_descriptor=open_stream())
            var file = listen_at(socket.descriptor(), address, mode, backlog)
            return Self(unsafe_descriptor=socket^.into_descriptor(), file=file^)
        except e:
            raise about(e, address)

    def accept(self, *, timeout_ms: Optional[Int] = None) raises -> UnixStream:
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
        return UnixStream(
            unsafe_socket=self._socket.accept(timeout_ms.or_else(NO_DEADLINE))
        )

    def close(self):
        """Closes the listener and removes its path. Further calls have no
        effect.

        A path that now leads to another file is kept. A fiber in `accept` gets
        `net.closed`. Connections that wait to be accepted are reset.
        """
        _close(self._socket, self._file)

    def unsafe_socket(self) -> FiberSocket:
        """Returns the socket that fibers wait on, which this value still owns.

        Returns:
            The socket.

        Safety:
            Do not use it after this value is destroyed, and do not destroy it.
        """
        return self._socket

    def local_address(self) raises -> UnixAddr:
        """Returns the address that the listener is bound to.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        return local_name(self.descriptor())


def listen_at(
    descriptor: Int32, address: UnixAddr, mode: Int, backlog: Int
) raises -> Optional[SocketFile]:
    """Binds a socket to a name and starts to listen.

    Args:
        descriptor: A stream socket that is not bound.
        address: The name.
        mode: The permissions of the file; an abstract name has none.
        backlog: The most connections that may wait to be accepted.

    Returns:
        The file; `None` for an abstract name.

    Raises:
        NetError: As `UnixListener.bind` does.
    """
    var file = bind_name(descriptor, address, mode)
    var listening = listen_socket(descriptor, backlog)
    if listening < 0 and file:
        file.value().remove()
    _ = checked("listen", listening)
    # Another process may have found the same file left over at the same moment:
    # the last one to bind has the path.
    if file and not file.value().is_in_place():
        raise Error(NetError(NetError.ADDRESS_IN_USE, "bind"))
    return file^


def _close(socket: FiberSocket, file: Optional[SocketFile]):
    # The path is removed first: a client must not find it after the listener
    # is gone.
    if file and socket.is_open():
        file.value().remove()
    socket.close()
