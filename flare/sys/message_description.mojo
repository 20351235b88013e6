"""Describes a message for sendmsg(2) and similar calls."""


struct MessageDescription[Parts: TrivialRegisterPassable](Copyable, Movable):
    """A `struct msghdr` without control data.

    Fields of 32 bits with padding are declared with 64 bits here. That is the
    same on a little-endian machine, as all Linux machines that run Mojo are.

    Parameters:
        Parts: The type that refers to its parts: a pointer whose origin keeps
            them alive, or the plain address of lasting memory.
    """

    var name: Int
    """The address of the socket address of the peer, or 0."""
    var name_octets: Int
    """How long that is."""
    var parts: Self.Parts
    """The address of the first `struct iovec`."""
    var part_count: Int
    """How many of them follow each other."""
    var control: Int
    """No control data: 0."""
    var control_octets: Int
    """None: 0."""
    var flags: Int
    """The kernel's flags for a received message."""

    def __init__(out self, parts: Self.Parts, part_count: Int):
        """Creates the description of a message to the peer of a connected
        socket.

        Args:
            parts: The address of the first `struct iovec`.
            part_count: The number of `struct iovec`.
        """
        self.name = 0
        self.name_octets = 0
        self.parts = parts
        self.part_count = part_count
        self.control = 0
        self.control_octets = 0
        self.flags = 0
