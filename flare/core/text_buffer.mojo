"""Collects text in memory that becomes the memory of a `String`."""

from std.memory import unsafe_memcpy

from .octets import copy_octets
from .pointer import OctetPointer

comptime DECIMAL_OCTETS_MAX = 20
"""The longest decimal form of an `Int`."""
comptime _INITIAL_OCTETS = 8192
comptime _GROWTH_LARGE = 1024 * 1024


struct TextBuffer(Movable, Sized):
    """Owns a growing text that becomes a `String` without a copy."""

    var _text: String
    var _octets: OctetPointer
    var _capacity: Int
    var _length: Int

    def __init__(out self):
        """Creates an empty text with memory of its own."""
        self._text = String(unsafe_uninit_length=_INITIAL_OCTETS)
        self._octets = _memory_of(self._text)
        self._capacity = _INITIAL_OCTETS
        self._length = 0

    @always_inline
    def __len__(self) -> Int:
        """Returns the number of octets.

        Returns:
            The length.
        """
        return self._length

    @always_inline
    def span(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the text.

        Returns:
            A view that appending invalidates.
        """
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self._octets.unsafe_mut_cast[False]().unsafe_origin_cast[
                origin_of(self)
            ](),
            length=self._length,
        )

    def take(mut self) -> String:
        """Returns the text, and starts an empty one.

        Returns:
            The text.
        """
        var length = self._length
        self._length = 0
        if length < self._capacity // 2:
            # A short text does not hold much memory.
            var text = String(unsafe_uninit_length=length)
            unsafe_memcpy(
                dest=text.unsafe_ptr_mut(), src=self._octets, count=length
            )
            return text^
        var text = String(unsafe_uninit_length=_INITIAL_OCTETS)
        swap(text, self._text)
        self._octets = _memory_of(self._text)
        self._capacity = _INITIAL_OCTETS
        text.resize(unsafe_uninit_length=length)
        return text^

    @always_inline
    def reserve(mut self, count: Int) -> OctetPointer:
        """Reserves room after the last octet.

        Args:
            count: The number of octets to be written; not negative.

        Returns:
            Where to write them. Call `advance` afterwards.
        """
        if self._capacity - self._length < count:
            self._grow(count)
        return self._octets.unsafe_offset(self._length)

    @always_inline
    def advance(mut self, count: Int):
        """Adds octets that the caller wrote after the last octet.

        Args:
            count: Their number, at most as many as reserved.
        """
        debug_assert(self._length + count <= self._capacity, "past the end")
        self._length += count

    @always_inline
    def append(mut self, octets: Span[UInt8, _]):
        """Appends octets.

        Args:
            octets: The octets; not a view of this text.
        """
        var n = len(octets)
        copy_octets(self.reserve(n), octets.unsafe_ptr(), n)
        self._length += n

    @always_inline
    def append(mut self, text: StaticString):
        """Appends a constant text.

        Args:
            text: The text.
        """
        self.append(text.as_bytes())

    @always_inline
    def append_octet(mut self, octet: UInt8):
        """Appends one octet.

        Args:
            octet: The octet.
        """
        self.reserve(1)[] = octet
        self._length += 1

    def append_decimal(mut self, number: Int):
        """Appends a number as decimal digits without leading zeros.

        Args:
            number: Not negative.
        """
        var target = self.reserve(DECIMAL_OCTETS_MAX)
        self._length += unsafe_write_decimal(target, number)

    def shorten(mut self, count: Int):
        """Drops octets from the end.

        Args:
            count: The number of octets, at most the length.
        """
        debug_assert(count <= self._length, "shorten past start")
        self._length = max(self._length - count, 0)

    @no_inline
    def _grow(mut self, count: Int):
        var factor = 4 if self._capacity < _GROWTH_LARGE else 2
        var capacity = max(self._length + count, factor * self._capacity)
        var text = String(unsafe_uninit_length=capacity)
        var octets = _memory_of(text)
        unsafe_memcpy(dest=octets, src=self._octets, count=self._length)
        swap(text, self._text)
        self._octets = octets
        self._capacity = capacity


@always_inline
def unsafe_write_decimal(target: OctetPointer, number: Int) -> Int:
    """Writes a number as decimal digits without leading zeros.

    Args:
        target: The destination.
        number: Not negative.

    Returns:
        The number of digits.

    Safety:
        The target has room for all digits.
    """
    debug_assert(number >= 0, "digits of ", number)
    var digits = 1
    var bound = 10
    while number >= bound and digits < 19:
        bound *= 10
        digits += 1
    var rest = number
    for i in range(digits - 1, -1, -1):
        target[unsafe_offset=i] = UInt8(48 + rest % 10)
        rest //= 10
    return digits


def _memory_of(mut text: String) -> OctetPointer:
    # It is longer than the texts that a `String` holds within itself, so that
    # moving it does not move the octets.
    return text.unsafe_ptr_mut().unsafe_origin_cast[MutUntrackedOrigin]()
