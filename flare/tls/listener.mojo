"""Accepts TLS connections over TCP."""

from flare.net import SocketAddr
from flare.tcp import TcpListener

from .config import TlsServerConfig
from .context import TlsContext
from .machine import TlsMachine
from .stream import TlsStream


struct TlsListener(Movable):
    """A listening socket whose connections speak TLS; closed when destroyed.

    `accept` does not perform the handshake, because that waits for the client.
    The first read or write does, or `TlsStream.handshake`, on the fiber that
    serves the connection.
    """

    var _listener: TcpListener
    var _context: TlsContext

    def __init__(out self, var listener: TcpListener, var context: TlsContext):
        """Creates a listener whose connections speak TLS.

        Args:
            listener: The listening socket.
            context: A context for servers.
        """
        self._listener = listener^
        self._context = context^

    @staticmethod
    def bind(address: SocketAddr, config: TlsServerConfig) raises -> Self:
        """Binds to an address and starts to listen.

        Args:
            address: The address; port 0 lets the kernel choose.
            config: The configuration of the server.

        Returns:
            The listener.

        Raises:
            Error: `tls.bad_file configure`, `tls.wrong_key configure`,
                `net.address_in_use bind` and others.
        """
        var context = TlsContext.for_servers(config)
        return Self(TcpListener.bind(address), context^)

    def accept(self, *, timeout_ms: Optional[Int] = None) raises -> TlsStream:
        """Waits for a connection.

        Args:
            timeout_ms: The longest wait; by default there is no limit. An
                enclosing `deadline_in` applies too.

        Returns:
            The connection, before its handshake.

        Raises:
            Error: As `TcpListener.accept` does.
        """
        var tcp = self._listener.accept(timeout_ms=timeout_ms)
        return TlsStream(tcp^, TlsMachine.server(self._context))

    def reload(self, config: TlsServerConfig) raises:
        """Replaces the configuration for new connections, for example when
        certificates were renewed. Existing connections keep theirs.

        Args:
            config: The new configuration.

        Raises:
            Error: As `bind` does. The old configuration then stays.
        """
        self._context.reload(config)

    def close(self):
        """Closes the listener. Further calls have no effect."""
        self._listener.close()

    def is_open(self) -> Bool:
        """Returns whether the listener is open.

        Returns:
            True from `bind` to the first `close`.
        """
        return self._listener.is_open()

    def local_address(self) raises -> SocketAddr:
        """Returns the address that the listener is bound to.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.closed local_address`.
        """
        return self._listener.local_address()
