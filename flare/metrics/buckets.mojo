"""Finds the bucket of a histogram for a number.

The buckets are log-linear in decimal steps: each power of ten has 32. So usual
bounds, such as 0.005 s or 2.5 s, are edges of buckets. No bucket is wider
than an eighth of its lower edge. A bucket contains its upper edge, as the label
`le` of Prometheus says.

A table leads from the five bits after the highest bit of a number to the first
edge that is not below them. As at most one edge lies between two entries of the
table, one comparison decides.
"""

from std.bit import count_leading_zeros

comptime EDGES = 257
"""The number of edges, from 1,000 to 100,000,000,000: in nanoseconds, from 1 µs
to 100 s."""
comptime BUCKETS = EDGES + 1
"""The number of buckets: the first has all numbers up to the first edge, the
last those beyond the last edge."""

comptime _FIRST = 1000
comptime _LAST = 100_000_000_000
comptime _DECADES = 8
# A power of ten is divided into twentieths.
comptime _PARTS = 20
comptime _TABLE_BITS = 5
comptime _TABLE_STEPS = 1 << _TABLE_BITS
# The highest bit of `_FIRST` and of `_LAST`.
comptime _FIRST_BIT = 9
comptime _LAST_BIT = 36


struct BucketTable(Movable):
    """The edges of all buckets, and the table that finds them."""

    var edges: List[Int]
    """The edges, in order, and `Int.MAX` at the end."""
    var _first: List[UInt16]

    def __init__(out self):
        """Creates the table."""
        self.edges = List[Int](capacity=EDGES + 1)
        var power = _FIRST
        for _ in range(_DECADES):
            var part = power // _PARTS
            for twentieths in range(20, 40, 2):
                self.edges.append(twentieths * part)
            for twentieths in range(40, 100, 5):
                self.edges.append(twentieths * part)
            for twentieths in range(100, 200, 10):
                self.edges.append(twentieths * part)
            power *= 10
        self.edges.append(power)
        self.edges.append(Int.MAX)
        self._first = List[UInt16](capacity=1024)
        var edge = 0
        for bit in range(_FIRST_BIT, _LAST_BIT + 1):
            for step in range(_TABLE_STEPS):
                var low = (_TABLE_STEPS + step) << (bit - _TABLE_BITS)
                while self.edges[edge] < low:
                    edge += 1
                self._first.append(UInt16(edge))

    @always_inline
    def bucket_of(self, number: Int) -> Int:
        """Returns the bucket of a number.

        Args:
            number: The number; negative ones belong to the first bucket.

        Returns:
            The number of edges that are less than it.
        """
        if number <= _FIRST:
            return 0
        if number > _LAST:
            return EDGES
        var bit = 63 - Int(count_leading_zeros(UInt64(number)))
        var step = (number >> (bit - _TABLE_BITS)) & (_TABLE_STEPS - 1)
        var edge = Int(
            self._first.unsafe_get(((bit - _FIRST_BIT) << _TABLE_BITS) + step)
        )
        return edge + Int(number > self.edges.unsafe_get(edge))

    def edge_at(self, number: Int) -> Optional[Int]:
        """Returns which edge a number is.

        Args:
            number: The number.

        Returns:
            The index of the edge; `None` if it is none.
        """
        var bucket = self.bucket_of(number)
        if bucket < EDGES and self.edges[bucket] == number:
            return bucket
        return None
