"""Holds one end of a TLS connection beside what OpenSSL holds of it."""

from std.memory import ArcPointer

from flare.core import PointerTo, heap_destroy
from flare.sys.openssl_bio import BioState
from flare.sys.openssl_connection import SslConnection

from .context import Generation
from .error import TlsError


struct TlsMachineState(Movable):
    """Holds one end of a connection. Only `TlsMachine` touches it."""

    var connection: SslConnection
    """The connection of the library."""
    var io: PointerTo[BioState]
    """What the library reads and writes."""
    var generation: ArcPointer[Generation]
    """What the connection was made from."""
    var name: String
    """The name that is checked; empty at a server."""
    var is_open: Bool
    """Whether the handshake is complete."""
    var is_closed: Bool
    """Whether this end has said that it sends no more."""
    var has_ended: Bool
    """Whether the peer has said so."""
    var failure: Optional[TlsError]
    """What ended the connection."""

    def __init__(
        out self,
        connection: SslConnection,
        io: PointerTo[BioState],
        var generation: ArcPointer[Generation],
        var name: String,
    ):
        """Makes a state before the handshake.

        Args:
            connection: The connection of the library.
            io: What it reads and writes.
            generation: What it was made from.
            name: The name that is checked.
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
