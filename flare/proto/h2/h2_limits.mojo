"""Limits on a peer of HTTP/2."""

from .head_limits import H2HeadLimits


@fieldwise_init
struct H2Limits(TrivialRegisterPassable):
    """The limits on one connection."""

    var head: H2HeadLimits
    """The limits on one head."""
    var streams_max: Int
    """How many streams may be open; at most 32,767. A stream counts until its
    owner is done with it."""
    var continuations_max: Int
    """How many frames may continue a field block."""
    var stream_window_octets: Int
    """How much content of a stream may arrive before some is taken."""
    var connection_window_octets: Int
    """How much content of all streams may arrive before some is taken."""
    var resets: Int
    """How many streams may be reset at once by the peer before they were
    answered, or because of its faults."""
    var resets_per_second: Int
    """How many of them are forgiven in a second."""
    var glitches: Int
    """How many frames may arrive at once that serve no request."""
    var glitches_per_second: Int
    """How many of them are forgiven in a second."""

    def __init__(out self):
        """Creates the limits of a server by default."""
        self.head = H2HeadLimits()
        self.streams_max = 128
        self.continuations_max = 8
        self.stream_window_octets = 65536
        self.connection_window_octets = 1 << 20
        self.resets = 256
        self.resets_per_second = 32
        self.glitches = 4096
        self.glitches_per_second = 256

    def block_octets_max(self) -> Int:
        """Returns how long a field block may be.

        Returns:
            The octets: those of a section that is not compressed, and room for
            the lengths of its strings; at least one whole frame.
        """
        comptime AROUND_OCTETS = 1024
        return max(self.head.section_octets_max + AROUND_OCTETS, 16384)
