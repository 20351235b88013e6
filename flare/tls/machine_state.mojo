"""The part of a TLS connection's state that OpenSSL does not hold."""

from std.memory import ArcPointer

from flare.core import PointerTo, heap_destroy
from flare.sys.openssl_bio import BioState
from flare.sys.openssl_connection import SslConnection

from .context import Generation
from .error import TlsError


struct TlsMachineState(Movable):
    """The state of one end of a connection. Only `TlsMachine` uses it."""

    var connection: SslConnection
    """The library's connection."""
    var io: PointerTo[BioState]
    """The buffers that the library reads and writes."""
    var generation: ArcPointer[Generation]
    """The contexts that the connection was created from."""
    var name: String
    """The name to check; empty for a server."""
    var is_open: Bool
    """Whether the handshake is complete."""
    var is_closed: Bool
    """Whether this end has ended its stream."""
    var has_ended: Bool
    """Whether the peer has ended its stream."""
    var failure: Optional[TlsError]
    """The error that ended the connection."""

    def __init__(
        out self,
        connection: SslConnection,
        io: PointerTo[BioState],
        var generation: ArcPointer[Generation],
        var name: String,
    ):
        """Creates the state before the handshake.

        Args:
            connection: The library's connection.
            io: The buffers that it reads and writes.
            generation: The contexts that it was created from.
            name: The name to check.
        """
        self.connection = connection
        self.io = io
        self.generation = generation^
        self.name = name^
        self.is_open = False
        self.is_closed = False
        self.has_ended = False
        self.failure = None

    def __deinit__(deinit self):
        """Frees the connection."""
        self.connection.free()
        heap_destroy(self.io)
        # The connection uses the transport of its generation until here.
        _ = self.generation^
