"""Defines a socket of a simulated network, and its operations in flight."""

from flare.core import Buffer
from flare.runtime.operation import Operation
from flare.sys.socket_address import SocketAddressStorage

comptime FIRST_DESCRIPTOR = 1_000_000
"""The lowest descriptor; a kernel call on one fails, it hits nothing real."""


struct SimulatedSocket(Movable):
    """One end of a connection, or a listener."""

    var is_open: Bool
    """Whether the descriptor is open."""
    var is_listener: Bool
    """Whether it is a listening socket."""
    var holds_back: Bool
    """Whether it refuses new connections for now."""
    var generation: Int
    """Grows each time the descriptor is used again."""
    var other: Int
    """The index of the other end, or -1 if it is closed."""
    var inbound: Buffer
    """Octets that have arrived and were not received."""
    var arrivals: Int
    """Grows with all that a poll would report."""
    var has_ended: Bool
    """Whether no more octets will arrive."""
    var sending_ended: Bool
    """Whether no more octets may be sent."""
    var is_reset: Bool
    """Whether the connection was reset."""
    var is_struck: Bool
    """Whether it was reset by chance, not by one of its ends."""
    var backlog: List[Int]
    """The ends that wait to be accepted."""

    def __init__(out self):
        """Creates an unused socket."""
        self.is_open = False
        self.is_listener = False
        self.holds_back = False
        self.generation = 0
        self.other = -1
        self.inbound = Buffer()
        self.arrivals = 0
        self.has_ended = False
        self.sending_ended = False
        self.is_reset = False
        self.is_struck = False
        self.backlog = []

    def begin(mut self):
        """Resets the state of the descriptor's last user."""
        self.is_open = True
        self.is_listener = False
        self.holds_back = False
        self.generation += 1
        self.other = -1
        self.inbound.clear()
        self.has_ended = False
        self.sending_ended = False
        self.is_reset = False
        self.is_struck = False
        self.backlog.clear()


@fieldwise_init
struct PendingOperation(ImplicitlyCopyable):
    """An operation in flight."""

    var operation: Operation
    """The operation."""
    var sequence: UInt32
    """Its submission."""
    var cancelled: Bool
    """Whether it was cancelled."""
    var is_delay_drawn: Bool
    """Whether chance has decided about a delay of its next completion."""
    var not_before_ms: Int
    """When the next completion may come."""
    var seen: Int
    """The arrivals that a poll has reported."""


def descriptor_of(index: Int) -> Int32:
    """Returns the descriptor of a socket.

    Args:
        index: The socket.

    Returns:
        Its descriptor.
    """
    return Int32(FIRST_DESCRIPTOR + index)


def index_of(descriptor: Int32) -> Int:
    """Returns the index of a descriptor.

    Args:
        descriptor: Any number.

    Returns:
        The index, which need not exist.
    """
    return Int(descriptor) - FIRST_DESCRIPTOR


def address_of(index: Int) -> SocketAddressStorage:
    """Returns the address of a socket.

    Args:
        index: The socket.

    Returns:
        An address of 10.0.0.0/8 and port 80.
    """
    var octets = Array[UInt8, 4](fill=10)
    for i in range(3):
        octets[3 - i] = UInt8((index >> (8 * i)) & 255)
    return SocketAddressStorage.v4(octets, 80)
