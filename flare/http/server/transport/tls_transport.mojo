"""Holds what a server remembers of the TLS of one connection."""

from flare.core import Buffer
from flare.tls import TlsContext, TlsMachine


struct TlsTransport(Movable):
    """Holds the TLS of one connection.

    Who connects and says nothing costs this much, and no machine.
    """

    var context: TlsContext
    """What the machine is made from."""
    var machine: Optional[TlsMachine]
    """The machine; none before the first octet has come."""
    var handshake_timeout_ms: Int
    """The longest handshake."""
    var waiting: Buffer
    """Octets of a handshake that came in a turn of the loop in which enough
    others went on."""
    var is_queued: Bool
    """It is among the handshakes that go on in the next turns."""
    var was_cut: Bool
    """The peer's side has ended without the word that it would."""
    var sends_its_own: Bool
    """What was encrypted last holds nothing but what TLS says by itself."""

    def __init__(out self, context: TlsContext):
        """Begins before the first octet.

        Args:
            context: What the connections of a listener have in common.
        """
        self.context = context
        self.machine = None
        self.handshake_timeout_ms = context.generation()[].handshake_timeout_ms
        self.waiting = Buffer()
        self.is_queued = False
        self.was_cut = False
        self.sends_its_own = False
