"""Counts the memory of values that end on different threads."""

from std.atomic import Atomic, Ordering
from std.memory import ArcPointer


struct OctetCount(ImplicitlyCopyable):
    """A counted reference to a sum. Any thread may change it."""

    var _sum: ArcPointer[Int64]

    def __init__(out self):
        """Creates a sum of 0."""
        self._sum = ArcPointer(Int64(0))

    def add(self, octets: Int):
        """Adds to the sum.

        Args:
            octets: The change.
        """
        _ = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self._sum[]), Int64(octets)
        )

    def sum(self) -> Int:
        """Returns the sum.

        Returns:
            The number of octets.
        """
        return Int(
            Atomic[Int64].load[ordering=Ordering.RELAXED](
                Pointer(to=self._sum[])
            )
        )
