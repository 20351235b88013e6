"""Says what one call of a library that compresses or decompresses has done."""


@fieldwise_init
struct CodingStep(TrivialRegisterPassable):
    """Counts what one call took and gave."""

    var result: Int
    """What the library returned."""
    var consumed: Int
    """Octets of the input that it took."""
    var produced: Int
    """Octets that it wrote."""


struct CodingFlush:
    """Names how far a library that compresses writes out what it has read."""

    comptime NONE = 0
    """It keeps back what compresses better together with what follows."""
    comptime SYNC = 1
    """All that was read can be decompressed from what is written."""
    comptime FINISH = 2
    """The input ends here."""
