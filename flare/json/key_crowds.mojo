"""Notices keys that were chosen so that a `Dict` takes quadratic time.

The hash of a `Dict` is the same in every program. Its table has 2^n places, of
which at most 7/8 are taken; the end of the hash says where a key is looked for
first, and a key that finds its place taken goes on to the next free one. Keys
that begin in one part of the table therefore all walk to the end of it. Chance
gives 4,096 places side by side 3,584 keys, and never more than they can hold.
"""

comptime _PLACES_BITS: UInt64 = 12
comptime _PLACES = 1 << Int(_PLACES_BITS)
comptime _TAKEN_MAX = _PLACES // 8 * 7


struct KeyCrowds(Movable):
    """Counts the keys that begin in each part of the table of a `Dict`."""

    comptime MEMBERS_UNCOUNTED = _TAKEN_MAX
    """How many members a `Dict` has before they are counted: so few are fast
    enough wherever they lie."""

    var _hashes: List[UInt64]
    var _counts: List[Int]

    def __init__(out self):
        """Begins without a key."""
        self._hashes = List[UInt64]()
        self._counts = List[Int]()

    def add(mut self, key_hash: UInt64, members: Int) -> Bool:
        """Counts a key that was inserted.

        Args:
            key_hash: Its hash.
            members: How many members there are now.

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
