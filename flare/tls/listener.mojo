"""Owns one listening TCP socket whose connections speak TLS."""

from flare.net import SocketAddr
from flare.tcp import TcpListener

from .config import TlsServerConfig
from .context import TlsContext
from .machine import TlsMachine
from .stream import TlsStream


struct TlsListener(Movable):
    """Owns a listening socket and closes it at the end of its life.

    `accept` does not shake hands: that waits for the client, and is done on the
    fiber that serves the connection, by the first read or write or by
    `TlsStream.handshake`.
    """

    var _listener: TcpListener
    var _context: TlsContext

    def __init__(out self, var listener: TcpListener, var context: TlsContext):
        """Speaks TLS on the connections of a listener.

        Args:
            listener: The listening socket.
            context: What was decided for servers.
        """
        self._listener = listener^
        self._context = context^

    @staticmethod
    def bind(address: SocketAddr, config: TlsServerConfig) raises -> Self:
        """Binds to an address and starts to queue connections.

        Args:
            address: The address; port 0 lets the kernel choose.
            config: What was decided.

        Returns:
            The listener.

        Raises:
            Error: `tls.bad_file configure`, `tls.wrong_key configure`,
                `net.address_in_use bind` and the like.
        """
        var context = TlsContext.for_servers(config)
        return Self(TcpListener.bind(address), context^)

    def accept(self, *, timeout_ms: Optional[Int] = None) raises -> TlsStream:
        """Waits for a connection.

        Args:
            timeout_ms: The longest wait; none by default. An enclosing
                `deadline_in` counts too.

        Returns:
            The connection, before its handshake.

        Raises:
            Error: As `TcpListener.accept` does.
        """
        var tcp = self._listener.accept(timeout_ms=timeout_ms)
        return TlsStream(tcp^, TlsMachine.server(self._context))

    def reload(self, config: TlsServerConfig) raises:
        """Lets the next connections use another configuration, as fresh
        certificates; those that live go on with theirs.

        Args:
            config: What was decided.

        Raises:
            Error: As `bind` does; then nothing changes.
        """
        self._context.reload(config)

    def close(self):
        """Closes the listener; a second time nothing happens."""
        self._listener.close()

    def is_open(self) -> Bool:
        """Returns whether `close` was not called yet.

        Returns:
            True from `bind` to the first `close`.
        """
        return self._listener.is_open()

    def local_address(self) raises -> SocketAddr:
        """Tells which address the listener is bound to.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.closed local_address`.
        """
        return self._listener.local_address()
