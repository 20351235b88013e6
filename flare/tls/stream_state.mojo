"""Defines the state of one TLS stream."""

from flare.core import Buffer
from flare.runtime.fiber import Fiber
from flare.tcp import TcpStream

from .machine import TlsMachine
from .outer_tls import OuterTls


struct TlsWaiters(Movable):
    """The fibers that wait for another fiber of the same stream."""

    var flush: Optional[Fiber]
    """The writer, while a reader sends."""
    var handshake: Optional[Fiber]
    """The reader or writer that waits while another fiber does the
    handshake."""

    def __init__(out self):
        """Creates the state in which no fiber waits."""
        self.flush = None
        self.handshake = None


struct TlsStreamState(Movable):
    """The state of a stream. Only `TlsStream` and `TlsSending` use it."""

    var tcp: TcpStream
    """The transport."""
    var machine: TlsMachine
    """The end of TLS."""
    var received: Buffer
    """Octets that are received and not decrypted."""
    var sending: Buffer
    """Encrypted octets in flight; they stay in place meanwhile."""
    var last_read_was_full: Bool
    """Whether more octets are likely to have arrived."""
    var is_reading: Bool
    """Whether a fiber reads."""
    var is_writing: Bool
    """Whether a fiber writes."""
    var is_flushing: Bool
    """Whether a fiber sends."""
    var waiters: TlsWaiters
    """The fibers that wait for another one."""
    var is_shaking_hands: Bool
    """Whether a fiber does the handshake."""
    var outer: Optional[OuterTls]
    """The connection that carries this one, if it is TLS too."""
    var is_broken: Bool
    """Whether a part of a record was sent and the rest is lost: no further
    octet may be sent.
    """

    def __init__(out self, var tcp: TcpStream, var machine: TlsMachine):
        """Creates the state before the handshake.

        Args:
            tcp: The transport.
            machine: The end of TLS.
        """
        self.tcp = tcp^
        self.machine = machine^
        self.received = Buffer()
        self.sending = Buffer()
        self.last_read_was_full = False
        self.is_reading = False
        self.is_writing = False
        self.is_flushing = False
        self.waiters = TlsWaiters()
        self.is_shaking_hands = False
        self.outer = None
        self.is_broken = False
