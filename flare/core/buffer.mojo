"""Collects octets that are written at one end and consumed at the other.

A buffer is plain data. To share one with the kernel, keep it on the heap, and
neither append to it nor drop it while an operation uses its octets.
"""

from std.memory import unsafe_memcpy, unsafe_memmove

from .octets import copy_octets
from .pointer import (
    Erased,
    OctetPointer,
    PointerTo,
    allocate_octets,
    free_octets,
)


@fieldwise_init
struct MemoryLender(Movable):
    """The function and the owner that take back memory lent to a buffer."""

    var owner: Optional[Erased]
    """The first argument of `give_back`."""
    var give_back: def(Erased, OctetPointer) thin -> None
    """Takes the memory."""


struct Buffer(Movable, Sized):
    """A growing sequence of octets. It allocates no memory before first use."""

    var _octets: Optional[OctetPointer]
    var _lender: Optional[PointerTo[MemoryLender]]
    var _capacity: Int
    var _start: Int
    var _end: Int

    def __init__(out self):
        """Creates an empty buffer without memory."""
        self._octets = None
        self._lender = None
        self._capacity = 0
        self._start = 0
        self._end = 0

    def __init__(out self, *, capacity: Int):
        """Creates an empty buffer with memory of its own.

        Args:
            capacity: The number of octets that fit before it grows; at least 1.
        """
        self._octets = allocate_octets(capacity)
        self._lender = None
        self._capacity = capacity
        self._start = 0
        self._end = 0

    def __init__(
        out self,
        *,
        unsafe_lent: OctetPointer,
        capacity: Int,
        lender: PointerTo[MemoryLender],
    ):
        """Creates an empty buffer in lent memory.

        Args:
            unsafe_lent: The memory.
            capacity: The length of the memory, in octets.
            lender: The lender, which gets the memory back when the buffer
                outgrows it or is destroyed.

        Safety:
            No other code uses the memory, and the lender outlives the buffer.
        """
        self._octets = unsafe_lent
        self._lender = lender
        self._capacity = capacity
        self._start = 0
        self._end = 0

    def __deinit__(deinit self):
        """Frees the memory, or returns it to its lender."""
        _free(self._octets, self._lender, self._capacity)

    @always_inline
    def __len__(self) -> Int:
        """Returns the number of octets written and not yet consumed.

        Returns:
            The number.
        """
        return self._end - self._start

    def capacity(self) -> Int:
        """Returns how much memory the buffer has.

        Returns:
            The number of octets.
        """
        return self._capacity

    @always_inline
    def span(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets written and not yet consumed.

        Returns:
            A view, valid until the next append.
        """
        if not self._octets:
            return Span[UInt8, origin_of(self)]()
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self._octets.unsafe_value()
            .unsafe_offset(self._start)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)](),
            length=self._end - self._start,
        )

    @always_inline
    def unsafe_front(self) -> OctetPointer:
        """Returns the address of the first unconsumed octet.

        Returns:
            The address, stable until the buffer grows, is compacted or dies.

        Safety:
            The buffer holds memory (`reserve` was called with at least 1).
        """
        return self._octets.unsafe_value().unsafe_offset(self._start)

    @always_inline
    def room(self) -> Int:
        """Returns how many octets fit before the buffer grows or is compacted.

        Returns:
            The number of octets.
        """
        return self._capacity - self._end

    @always_inline
    def unsafe_end(self) -> OctetPointer:
        """Returns the address after the last octet.

        Returns:
            The address, stable until the buffer grows, is compacted or dies.

        Safety:
            The buffer holds memory (`room` is over 0).
        """
        return self._octets.unsafe_value().unsafe_offset(self._end)

    @always_inline
    def reserve(mut self, count: Int) -> OctetPointer:
        """Reserves room after the last octet.

        Args:
            count: The number of octets to be written; not negative.

        Returns:
            The address to write them to. Call `advance` afterwards.
        """
        if self._capacity - self._end < count or not self._octets:
            self._make_room(count)
        return self._octets.unsafe_value().unsafe_offset(self._end)

    @always_inline
    def advance(mut self, count: Int):
        """Adds octets that the caller wrote after the last octet.

        Args:
            count: Their number, at most as many as reserved.
        """
        debug_assert(self._end + count <= self._capacity, "advance past end")
        self._end += count

    @always_inline
    def append(mut self, octets: Span[UInt8, _]):
        """Appends octets.

        Args:
            octets: The octets; not a view of this buffer.
        """
        var n = len(octets)
        var target = self.reserve(n)
        copy_octets(target, octets.unsafe_ptr(), n)
        self._end += n

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
        self._end += 1

    def append_decimal(mut self, number: Int):
        """Appends a number as decimal digits without leading zeros.

        Args:
            number: Not negative.
        """
        debug_assert(number >= 0, "append_decimal of ", number)
        var target = self.reserve(20)
        var digits = 1
        var bound = 10
        while number >= bound and digits < 19:
            bound *= 10
            digits += 1
        # Unsigned numbers are divided with fewer steps.
        var rest = UInt(number)
        for i in range(digits - 1, -1, -1):
            target[unsafe_offset=i] = UInt8(48 + rest % 10)
            rest //= 10
        self._end += digits

    def append_hexadecimal(mut self, number: Int):
        """Appends a number as hexadecimal digits without leading zeros.

        Args:
            number: Not negative.
        """
        var target = self.reserve(16)
        var digits = 1
        while digits < 16 and number >> (4 * digits) != 0:
            digits += 1
        var rest = number
        for i in range(digits - 1, -1, -1):
            var digit = UInt8(rest & 15)
            target[unsafe_offset=i] = digit + UInt8(48 if digit < 10 else 87)
            rest >>= 4
        self._end += digits

    @always_inline
    def consume(mut self, count: Int):
        """Drops octets from the front.

        Args:
            count: The number of octets; if it exceeds the length, all are
                dropped.
        """
        debug_assert(count <= self._end - self._start, "consume past end")
        # A mistake of the caller must not become one about memory.
        self._start = min(self._start + count, self._end)
        if self._start == self._end:
            self._start = 0
            self._end = 0

    @always_inline
    def shorten(mut self, count: Int):
        """Drops octets from the end.

        Args:
            count: The number of octets; if it exceeds the length, all are
                dropped.
        """
        debug_assert(count <= self._end - self._start, "shorten past start")
        self._end = max(self._end - count, self._start)

    @always_inline
    def clear(mut self):
        """Drops all octets and keeps the memory."""
        self._start = 0
        self._end = 0

    @no_inline
    def _make_room(mut self, count: Int):
        var length = self._end - self._start
        if self._octets and self._capacity - length >= count:
            unsafe_memmove(
                dest=self._octets.value(),
                src=self._octets.value().unsafe_offset(self._start),
                count=length,
            )
        else:
            var capacity = max(max(length + count, 2 * self._capacity), 64)
            var octets = allocate_octets(capacity)
            if self._octets:
                unsafe_memcpy(
                    dest=octets,
                    src=self._octets.value().unsafe_offset(self._start),
                    count=length,
                )
                _free(self._octets, self._lender, self._capacity)
                self._lender = None
            self._octets = octets
            self._capacity = capacity
        self._start = 0
        self._end = length


@always_inline
def _free(
    octets: Optional[OctetPointer],
    lender: Optional[PointerTo[MemoryLender]],
    count: Int,
):
    if not octets:
        return
    if lender:
        ref l = lender.unsafe_value()[]
        l.give_back(l.owner.unsafe_value(), octets.unsafe_value())
    else:
        free_octets(octets.unsafe_value(), count)
