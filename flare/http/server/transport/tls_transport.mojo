"""Defines the TLS state of one connection of a server."""

from flare.core import Buffer
from flare.tls import TlsContext, TlsMachine


struct TlsTransport(Movable):
    """The TLS state of one connection.

    A client that connects and stays silent costs only this state, because the
    TLS machine is created at its first octet.
    """

    var context: TlsContext
    """The context from which the machine is created."""
    var machine: Optional[TlsMachine]
    """The machine; `None` before the first octet."""
    var handshake_timeout_ms: Int
    """The longest handshake."""
    var waiting: Buffer
    """Octets of a handshake that waits for a turn with fewer handshakes."""
    var is_queued: Bool
    """Whether it is among the handshakes that continue in the next turns."""
    var was_cut: Bool
    """Whether the transport has ended without a close_notify of the peer."""
    var sends_its_own: Bool
    """Whether the last encrypted octets are only those that TLS sends by
    itself.
    """

    def __init__(out self, context: TlsContext):
        """Creates the state before the first octet.

        Args:
            context: The context that the connections of a listener share.
        """
        self.context = context
        self.machine = None
        self.handshake_timeout_ms = context.generation()[].handshake_timeout_ms
        self.waiting = Buffer()
        self.is_queued = False
        self.was_cut = False
        self.sends_its_own = False
