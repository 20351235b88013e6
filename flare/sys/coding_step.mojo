"""Describes the progress of one call of a coding library."""


@fieldwise_init
struct CodingStep(TrivialRegisterPassable):
    """The octets that one call consumed and produced."""

    var result: Int
    """The library's result."""
    var consumed: Int
    """Octets of the input that it took."""
    var produced: Int
    """Octets that it wrote."""


struct CodingFlush:
    """How much of its input an encoder writes out."""

    comptime NONE = 0
    """It keeps back what compresses better together with what follows."""
    comptime SYNC = 1
    """All that was read can be decompressed from what is written."""
    comptime FINISH = 2
    """The input ends here."""
