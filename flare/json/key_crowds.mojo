"""Detects keys that were chosen to make a `Dict` take quadratic time.

The hash of a `Dict` is the same in every program. Its table has 2^n places, at
most 7/8 of them used. The low bits of the hash select a place; if it is taken,
the key goes to the next free one. Keys that start in one part of the table
therefore all walk to that part's end. Random keys put about 3,584 into 4,096
neighbouring places, and never more than these can hold.
"""

comptime _PLACES_BITS: UInt64 = 12
comptime _PLACES = 1 << Int(_PLACES_BITS)
comptime _TAKEN_MAX = _PLACES // 8 * 7


struct KeyCrowds(Movable):
    """Counts the keys that start in each part of a `Dict`'s table."""

    comptime MEMBERS_UNCOUNTED = _TAKEN_MAX
    """How many members a `Dict` may have before keys are counted: it is fast
    wherever so few lie.
    """

    var _hashes: List[UInt64]
    var _counts: List[Int]

    def __init__(out self):
        """Creates counters for a table without keys."""
        self._hashes = List[UInt64]()
        self._counts = List[Int]()

    def add(mut self, key_hash: UInt64, members: Int) -> Bool:
        """Counts an inserted key.

        Args:
            key_hash: The hash of the key.
            members: The present number of members.

        Returns:
            False if more keys begin in one part than it can hold.
        """
        self._hashes.append(key_hash)
        if members <= _TAKEN_MAX * len(self._counts):
            return self._count(key_hash)
        # The table has become twice as large.
        var parts = max(2 * len(self._counts), 2)
        self._counts = List[Int](length=parts, fill=0)
        var is_good = True
        for i in range(len(self._hashes)):
            is_good = self._count(self._hashes[i]) and is_good
        return is_good

    @always_inline
    def _count(mut self, key_hash: UInt64) -> Bool:
        var part = Int(key_hash >> _PLACES_BITS) & (len(self._counts) - 1)
        self._counts[part] += 1
        return self._counts[part] <= _PLACES
