"""Decides by the generic cell rate algorithm (GCRA) which requests are too many.

For each key, the table remembers one moment: when the key will have its whole
quota again. A request moves the moment by the time that a request costs. It is
refused if the moment would then be farther away than the whole quota takes.
This is a leaky bucket that needs no timer (ITU-T I.371).

The table never grows. A key belongs to a set of eight entries. A new key takes
the place of the one in its set whose moment is the earliest. If that
key has its whole quota, the table loses no count. Otherwise the key has used
the least. So a flood of new keys displaces itself, not the refused clients.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits

from flare.core import (
    OctetPointer,
    PointerTo,
    allocate_octets,
    free_octets,
)

comptime _WAYS = 8
# Eight hashes, a cache line, then eight moments, another one.
comptime _SET_WORDS = 2 * _WAYS
comptime _LINE_OCTETS = 64


@fieldwise_init
struct RateAnswer(TrivialRegisterPassable):
    """The decision about one request."""

    var wait_ns: Int
    """In how many nanoseconds the request would be admitted; 0 if it is."""
    var used_ns: Int
    """In how many nanoseconds the key has its whole quota again."""

    @always_inline
    def is_admitted(self) -> Bool:
        """Returns whether the request is admitted.

        Returns:
            False if it is one too many.
        """
        return self.wait_ns == 0


@fieldwise_init
struct RateTable(TrivialRegisterPassable):
    """A handle to a table of fixed size: 16 octets for each entry.

    Only one thread may use it at a time. Time is an argument.
    """

    comptime ENTRIES_MIN = 64
    """The smallest number of entries."""
    comptime ENTRIES_MAX = 1 << 24
    """The largest number of entries."""

    var _memory: OctetPointer
    var _sets: PointerTo[UInt64]
    var _set_mask: UInt64

    @staticmethod
    def create(entries: Int) -> Self:
        """Creates an empty table.

        Args:
            entries: The number of entries, `ENTRIES_MIN` to `ENTRIES_MAX`;
                rounded up to a power of two.

        Returns:
            A handle. Call `destroy` when it is no longer used.
        """
        var sets = 1
        while sets * _WAYS < entries:
            sets *= 2
        var memory = allocate_octets(_octets_of(sets))
        var past_line = Int(memory) % _LINE_OCTETS
        var words = memory.unsafe_offset(
            _LINE_OCTETS - past_line
        ).unsafe_bitcast[UInt64]()
        for i in range(sets * _SET_WORDS):
            words[unsafe_offset=i] = 0
        return Self(memory, words, UInt64(sets - 1))

    def destroy(self):
        """Frees the table."""
        free_octets(self._memory, _octets_of(Int(self._set_mask) + 1))

    def entries(self) -> Int:
        """Returns the number of keys that fit.

        Returns:
            The number, a power of two.
        """
        return (Int(self._set_mask) + 1) * _WAYS

    @always_inline
    def admit(
        self, key: UInt64, now_ns: Int, cost_ns: Int, quota_ns: Int
    ) -> RateAnswer:
        """Decides about one request, and counts it if it is admitted.

        Args:
            key: The hash of the key, under a secret seed.
            now_ns: The time, by a clock that never goes back.
            cost_ns: The time in which a client regains the cost of the request.
            quota_ns: The time in which it regains the whole quota; at least the
                cost.

        Returns:
            The decision.
        """
        # An empty entry has the hash 0.
        var hash = key | UInt64(key == 0)
        var words = self._sets.unsafe_offset(
            Int(hash & self._set_mask) * _SET_WORDS
        )
        var hits = Int(
            pack_bits(
                words.unsafe_load[width=_WAYS, alignment=_LINE_OCTETS]().eq(
                    hash
                )
            )
        )
        var way: Int
        var full_at = 0
        if hits != 0:
            way = count_trailing_zeros(hits)
            full_at = Int(words[unsafe_offset=_WAYS + way])
        else:
            way = _earliest(words)
        full_at = max(full_at, now_ns) + cost_ns
        var used_ns = full_at - now_ns
        if used_ns > quota_ns:
            return RateAnswer(used_ns - quota_ns, used_ns - cost_ns)
        words[unsafe_offset=way] = hash
        words[unsafe_offset=_WAYS + way] = UInt64(full_at)
        return RateAnswer(0, used_ns)


@no_inline
def _earliest(words: PointerTo[UInt64]) -> Int:
    var found = 0
    for i in range(1, _WAYS):
        if words[unsafe_offset=_WAYS + i] < words[unsafe_offset=_WAYS + found]:
            found = i
    return found


def _octets_of(sets: Int) -> Int:
    return sets * _SET_WORDS * 8 + _LINE_OCTETS
