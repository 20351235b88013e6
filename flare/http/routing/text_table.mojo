"""Stores texts of patterns in a hash table, each with a number.

One table has the literal children of all tree nodes, keyed by the parent's
number. Another has the paths that are patterns, keyed by the method's number.
The hash is not secret. A peer that chooses texts well causes at most one scan
of the longest run of occupied places, and only the patterns determine that.
"""

from flare.core import equals

comptime TEXT_OCTETS_MAX = 65_535
"""The longest text."""

comptime _MULTIPLIER: UInt64 = 0x9E3779B97F4A7C15
# The key of free places: no text is as long as that of the greatest number.
comptime _FREE = UInt64.MAX


@fieldwise_init
struct FoundText(TrivialRegisterPassable):
    """The value of a text."""

    var value: Int
    """The value, or 0 if the text is not there."""
    var text: StaticString
    """The text in the table's memory, which lives as long as the table."""


@fieldwise_init
struct _Place(TrivialRegisterPassable):
    # Number and length of the text, or _FREE.
    var key: UInt64
    var start: UInt32
    var value: UInt32


struct TextTable(Copyable, Movable):
    """Maps numbers and texts to values."""

    var _places: List[_Place]
    # The upper bits of a hash choose the place: 64 less their count.
    var _shift: UInt64
    var _octets_max: Int
    var _count: Int
    var _texts: List[UInt8]

    def __init__(out self):
        """Creates an empty table."""
        self._places = _free_places(16)
        self._shift = 60
        self._octets_max = 0
        self._count = 0
        self._texts = List[UInt8](capacity=256)

    def add(mut self, number: Int, text: Span[UInt8, _], value: Int):
        """Adds a text that the number does not have yet.

        Args:
            number: The number, below 2^48 - 1.
            text: The text, not longer than `TEXT_OCTETS_MAX`.
            value: The value, from 1 to 2^32 - 1.
        """
        debug_assert(len(text) <= TEXT_OCTETS_MAX, "octets ", len(text))
        debug_assert(value > 0, "value ", value)
        # A table at most half full ends every probe soon.
        if 2 * (self._count + 1) > len(self._places):
            self._grow()
        self._insert(
            _Place(_key(number, text), UInt32(len(self._texts)), UInt32(value)),
            text,
        )
        self._texts.extend(text)
        self._count += 1
        self._octets_max = max(self._octets_max, len(text))

    @always_inline
    def find(self, number: Int, text: Span[UInt8, _]) -> FoundText:
        """Returns the value of a text.

        Args:
            number: The number.
            text: The text.

        Returns:
            The value, 0 if the text is not there.
        """
        if len(text) > self._octets_max:
            return FoundText(0, "")
        var key = _key(number, text)
        var places = self._places.unsafe_ptr()
        var at = self._first_place(key, text)
        while True:
            ref place = places[unsafe_offset=at]
            if place.key == key:
                var found = self._text(Int(place.start), len(text))
                if equals(found, text):
                    return FoundText(
                        Int(place.value), StaticString(unsafe_from_utf8=found)
                    )
            elif place.key == _FREE:
                return FoundText(0, "")
            at = (at + 1) & (len(self._places) - 1)

    @always_inline
    def _first_place(self, key: UInt64, text: Span[UInt8, _]) -> Int:
        return Int(_hash(key, text) >> self._shift)

    @always_inline
    def _text(self, start: Int, octets: Int) -> Span[UInt8, ImmStaticOrigin]:
        return Span[UInt8, ImmStaticOrigin](
            unsafe_ptr=self._texts.unsafe_ptr()
            .unsafe_offset(start)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmStaticOrigin](),
            length=octets,
        )

    def _insert(mut self, place: _Place, text: Span[UInt8, _]):
        var at = self._first_place(place.key, text)
        while self._places[at].key != _FREE:
            at = (at + 1) & (len(self._places) - 1)
        self._places[at] = place

    def _grow(mut self):
        var old = self._places^
        self._places = _free_places(2 * len(old))
        self._shift -= 1
        for place in old:
            if place.key != _FREE:
                var octets = Int(place.key & UInt64(TEXT_OCTETS_MAX))
                self._insert(place, self._text(Int(place.start), octets))


def _free_places(count: Int) -> List[_Place]:
    return List[_Place](length=count, fill=_Place(_FREE, 0, 0))


@always_inline
def _key(number: Int, text: Span[UInt8, _]) -> UInt64:
    return UInt64(number) << 16 | UInt64(len(text))


@always_inline
def _hash(key: UInt64, text: Span[UInt8, _]) -> UInt64:
    # A product depends on all bits of its factor only in its upper ones.
    var p = text.unsafe_ptr()
    var n = len(text)
    var hash = key * _MULTIPLIER
    var last = UInt64(0)
    if n >= 8:
        hash = (hash ^ _word[DType.uint64](p, 0)) * _MULTIPLIER
        var i = 8
        while i + 8 < n:
            hash ^= hash >> 32
            hash = (hash ^ _word[DType.uint64](p, i)) * _MULTIPLIER
            i += 8
        # The last word overlaps the one before it: no octet tail.
        last = _word[DType.uint64](p, n - 8)
    elif n >= 4:
        last = _word[DType.uint32](p, 0) | _word[DType.uint32](p, n - 4) << 32
    elif n > 0:
        last = (
            UInt64(p[])
            | UInt64(p[unsafe_offset=n >> 1]) << 8
            | UInt64(p[unsafe_offset=n - 1]) << 16
        )
    return (hash ^ last) * _MULTIPLIER


@always_inline
def _word[type: DType](p: Pointer[UInt8, _], offset: Int) -> UInt64:
    return UInt64(
        p.unsafe_offset(offset)
        .unsafe_bitcast[Scalar[type]]()
        .unsafe_load[alignment=1]()
    )
