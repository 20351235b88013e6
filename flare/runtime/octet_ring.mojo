"""Passes entries of octets from one thread to another, in order.

The first thread adds entries and never waits. The second removes them. An entry
and its length are contiguous, so the rest at the end of the memory may be
skipped. Positions count octets since the start.
"""

from std.atomic import Atomic, Ordering

from flare.core import OctetPointer, PointerTo

comptime ENTRY_UNIT = 16
"""An entry and its length take a multiple of so many octets."""

comptime _LENGTH_OCTETS = 8
comptime _PASS_OVER = -1


struct OctetRingState(Movable):
    """The memory of a ring. Only `OctetRing` uses it."""

    var octets: List[UInt64]
    """The memory."""
    var written: UInt64
    """How many octets the first thread has added; atomic."""
    var taken: UInt64
    """How many octets the second thread has removed; atomic."""
    var seen_taken: UInt64
    """The latest value of `taken` that the first thread has read. Most entries
    find room by it, so that the threads seldom share a cache line.
    """
    var reserved: UInt64
    """The value of `written` after the reserved entry."""

    def __init__(out self, octets_max: Int):
        """Creates an empty ring with all its memory.

        Args:
            octets_max: How many octets of entries and their lengths may wait;
                a power of two, at least 64.
        """
        self.octets = List[UInt64](length=octets_max // 8, fill=0)
        self.written = 0
        self.taken = 0
        self.seen_taken = 0
        self.reserved = 0


@fieldwise_init
struct OctetRing(TrivialRegisterPassable):
    """A handle to a ring of entries of octets."""

    var state: PointerTo[OctetRingState]
    """The state, which stays in place."""

    @always_inline
    def octets_max(self) -> Int:
        """Returns the size of the memory.

        Returns:
            The number of octets.
        """
        return 8 * len(self.state[].octets)

    @always_inline
    def reserve(self, count: Int) -> Optional[OctetPointer]:
        """Reserves room for an entry. Call it on the first thread.

        Args:
            count: The length of the entry, in octets.

        Returns:
            Where to write the entry, aligned to 8 octets, before `publish`;
            `None` if there is no room.
        """
        ref s = self.state[]
        var octets_max = self.octets_max()
        var needed = _needed(count)
        var start = Int(s.written) & (octets_max - 1)
        var passed_over = 0
        if start + needed > octets_max:
            passed_over = octets_max - start
        var end = s.written + UInt64(passed_over + needed)
        if Int(end - s.seen_taken) > octets_max:
            s.seen_taken = Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
                Pointer(to=s.taken)
            )
            if Int(end - s.seen_taken) > octets_max:
                return None
        if passed_over > 0:
            self._length(start)[] = _PASS_OVER
            start = 0
        self._length(start)[] = count
        s.reserved = end
        return self._octets(start + _LENGTH_OCTETS)

    @always_inline
    def publish(self):
        """Makes the reserved entry visible to the second thread."""
        ref s = self.state[]
        Atomic[UInt64].store[ordering=Ordering.RELEASE](
            Pointer(to=s.written), s.reserved
        )

    @always_inline
    def seems_fuller_than(self, octets: Int) -> Bool:
        """Returns whether many octets wait. Call it on the first thread.

        Args:
            octets: How many octets are not many.

        Returns:
            True if more waited when the first thread last looked. It looks
            again then.
        """
        ref s = self.state[]
        if Int(s.written - s.seen_taken) <= octets:
            return False
        s.seen_taken = Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
            Pointer(to=s.taken)
        )
        return Int(s.written - s.seen_taken) > octets

    def waiting(self) -> Int:
        """Returns how many octets wait. Call it on the second thread.

        Returns:
            The octets of entries and their lengths; 0 if no entry waits.
        """
        return Int(
            Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
                Pointer(to=self.state[].written)
            )
            - self.state[].taken
        )

    def oldest(self) -> Optional[Span[UInt8, MutUntrackedOrigin]]:
        """Returns the oldest entry. Call it on the second thread.

        Returns:
            The entry, valid until `drop_oldest`; `None` if no entry waits.
        """
        while self.waiting() > 0:
            var start = Int(self.state[].taken) & (self.octets_max() - 1)
            var length = self._length(start)[]
            if length != _PASS_OVER:
                return Span[UInt8, MutUntrackedOrigin](
                    unsafe_ptr=self._octets(start + _LENGTH_OCTETS),
                    length=length,
                )
            self._take(self.octets_max() - start)
        return None

    def drop_oldest(self):
        """Frees the room of the entry that `oldest` returned. Call it on the
        second thread.
        """
        var start = Int(self.state[].taken) & (self.octets_max() - 1)
        self._take(_needed(self._length(start)[]))

    @always_inline
    def _take(self, octets: Int):
        # Until here the first thread does not write over them.
        Atomic[UInt64].store[ordering=Ordering.RELEASE](
            Pointer(to=self.state[].taken),
            self.state[].taken + UInt64(octets),
        )

    @always_inline
    def _octets(self, start: Int) -> OctetPointer:
        return (
            self.state[]
            .octets.unsafe_ptr()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[UInt8]()
            .unsafe_offset(start)
        )

    @always_inline
    def _length(self, start: Int) -> PointerTo[Int]:
        return self._octets(start).unsafe_bitcast[Int]()


@always_inline
def _needed(count: Int) -> Int:
    return (_LENGTH_OCTETS + count + ENTRY_UNIT - 1) & ~(ENTRY_UNIT - 1)
