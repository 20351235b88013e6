"""Holds what the epoll backend knows of one descriptor."""

from flare.runtime.operation import Operation


@fieldwise_init
struct Interest(ImplicitlyCopyable):
    """Knows one descriptor: who waits for what, and what is ready."""

    var reader: Optional[Operation]
    """Receives, reads or accepts."""
    var writer: Optional[Operation]
    """Sends or connects."""
    var poller: Optional[Operation]
    """Waits for readiness alone."""
    var registered: Bool
    """Epoll knows the descriptor."""
    var transient: Bool
    """The registration ends with the last operation."""
    var readable: Bool
    """Reading may succeed."""
    var writable: Bool
    """Writing may succeed."""
    var ended: Bool
    """The peer has ended its side: the end is still to be read after the
    octets, though no further edge will say so."""
    var broken: Bool
    """Neither side can go on: polls report it whatever they ask for."""
    var peekable: Bool
    """Whether octets wait can be asked, which a poll needs where it finds some
    that no edge announces any more."""
    var queued: Bool
    """It stands in the list of what can go on without an event."""

    def __init__(out self):
        """Knows that nobody waits, and that a send can be tried."""
        self = Self(
            reader=None,
            writer=None,
            poller=None,
            registered=False,
            transient=False,
            readable=False,
            writable=True,
            ended=False,
            broken=False,
            peekable=False,
            queued=False,
        )

    @always_inline
    def is_used(self) -> Bool:
        """Tells whether an operation is in flight.

        Returns:
            True if one waits.
        """
        return Bool(self.reader) or Bool(self.writer) or Bool(self.poller)
