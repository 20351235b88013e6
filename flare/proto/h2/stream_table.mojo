"""Stores the streams of a connection, and finds them by their numbers.

The table grows with the number of streams that are open at the same time, and
needs no memory before the first.
"""

from .stream_state import H2StreamState

comptime NO_SLOT = -1
"""The slot of no stream."""
comptime _SLOTS_MIN = 8
comptime _GROWTH = 4


struct StreamTurn(TrivialRegisterPassable):
    """The place of a stream in the schedule."""

    var next: Int16
    """The next slot of its ring, or of the free list."""
    var previous: Int16
    """The slot before it in its ring."""
    var urgency: UInt8
    """Its urgency, 0 to 7 (RFC 9218 section 4.1)."""
    var is_incremental: Bool
    """Whether its content is of use in parts (RFC 9218 section 4.2)."""
    var is_scheduled: Bool
    """Whether it is part of the schedule."""

    def __init__(out self):
        """Creates the place of a stream that has nothing to send."""
        self.next = Int16(NO_SLOT)
        self.previous = Int16(NO_SLOT)
        self.urgency = 3
        self.is_incremental = False
        self.is_scheduled = False


@fieldwise_init
struct StreamReceiving(TrivialRegisterPassable):
    """The window of content that is received on a stream."""

    var window: Int32
    """How much content the peer may still send."""
    var window_max: Int32
    """How much it may send if all content was taken."""
    var due: Int32
    """Content that was taken, and for which the peer has no new window yet."""
    var held: Int32
    """Content that was reported to the owner, and that it has not taken."""

    def __init__(out self, window: Int):
        """Creates the state before the first content.

        Args:
            window: How much content the peer may send.
        """
        self = Self(Int32(window), Int32(window), 0, 0)


struct StreamResponse(TrivialRegisterPassable):
    """The progress of the response, at either end of a stream."""

    var is_answered: Bool
    """Whether its final head was sent or received."""
    var is_head_request: Bool
    """Whether the method is HEAD."""
    var is_bodiless: Bool
    """Whether it has no content."""
    var is_tunnel: Bool
    """Whether a success opens a tunnel, whose octets are no content."""

    def __init__(out self):
        """Creates the state before the head."""
        self.is_answered = False
        self.is_head_request = False
        self.is_bodiless = False
        self.is_tunnel = False


struct H2Stream(ImplicitlyCopyable, Movable):
    """One stream. It fits one cache line of 64 octets."""

    var content_left: Int
    """How much content the peer has announced and not sent; -1 if it has
    announced no length."""
    var send_left: Int
    """How much content this end has announced and not sent; -1 if it has
    announced no length."""
    var queued_octets: Int
    """How much content its owner has ready to be sent."""
    var id: UInt32
    """The number of the stream; 0 if the slot is free."""
    var send_window: Int32
    """How much content the peer accepts; may be negative after a change of
    settings (RFC 9113 section 6.9.2)."""
    var receiving: StreamReceiving
    """The window of content that is received."""
    var state: UInt8
    """Its state, one of `H2StreamState`."""
    var turn: StreamTurn
    """Its place in the schedule."""
    var response: StreamResponse
    """How far the response is."""

    def __init__(out self):
        """Creates a free slot."""
        self.content_left = -1
        self.send_left = -1
        self.queued_octets = 0
        self.id = 0
        self.send_window = 0
        self.receiving = StreamReceiving(0)
        self.state = H2StreamState.IDLE
        self.turn = StreamTurn()
        self.response = StreamResponse()


struct H2StreamTable(Movable, Sized):
    """The streams that are open, or whose owners are not done with them."""

    var _slots: List[H2Stream]
    # Open addressing: a slot plus one, or 0. Its length is twice that of the
    # slots.
    var _places: List[UInt16]
    var _free: Int
    var _count: Int
    var _slots_max: Int

    def __init__(out self, slots_max: Int):
        """Creates an empty table.

        Args:
            slots_max: The most streams; at most 32,767.
        """
        self._slots = []
        self._places = []
        self._free = NO_SLOT
        self._count = 0
        self._slots_max = slots_max

    @always_inline
    def __len__(self) -> Int:
        """Returns how many streams there are.

        Returns:
            The number.
        """
        return self._count

    def slots(self) -> Int:
        """Returns how many slots there are.

        Returns:
            The number; each stream has a slot below it.
        """
        return len(self._slots)

    def is_full(self) -> Bool:
        """Returns whether there is no room for another stream.

        Returns:
            True if `insert` may not be called.
        """
        return self._count >= self._slots_max

    @always_inline
    def __getitem__(self, slot: Int) -> ref[MutUntrackedOrigin] H2Stream:
        """Returns a stream.

        Args:
            slot: Its slot.

        Returns:
            A reference that is valid until the next insertion.
        """
        debug_assert(slot >= 0 and slot < len(self._slots), "no such slot")
        return (
            self._slots.unsafe_ptr()
            .unsafe_offset(slot)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()[]
        )

    @always_inline
    def find(self, id: Int) -> Int:
        """Returns the slot of a stream.

        Args:
            id: The number of the stream; not 0.

        Returns:
            The slot; `NO_SLOT` if there is no such stream.
        """
        if self._count == 0:
            return NO_SLOT
        var place = self._place_of(UInt32(id))
        while True:
            var found = self._places.unsafe_get(place)
            if found == 0:
                return NO_SLOT
            if self._slots.unsafe_get(Int(found) - 1).id == UInt32(id):
                return Int(found) - 1
            place = self._after(place)

    @always_inline
    def insert(mut self, id: Int) -> Int:
        """Adds a stream; there must be room.

        Args:
            id: The number of the stream, of which there is none.

        Returns:
            Its slot.
        """
        debug_assert(not self.is_full(), "the table is full")
        if self._free == NO_SLOT:
            self._grow()
        var slot = self._free
        ref stream = self[slot]
        self._free = Int(stream.turn.next)
        stream = H2Stream()
        stream.id = UInt32(id)
        self._count += 1
        self._put(slot)
        return slot

    @always_inline
    def remove(mut self, slot: Int):
        """Removes a stream.

        Args:
            slot: Its slot, which is free afterwards.
        """
        ref stream = self[slot]
        var place = self._place_of(stream.id)
        while Int(self._places.unsafe_get(place)) != slot + 1:
            place = self._after(place)
        self._close_gap(place)
        stream = H2Stream()
        stream.turn.next = Int16(self._free)
        self._free = slot
        self._count -= 1

    def release_memory(mut self):
        """Frees the memory of an empty table."""
        debug_assert(self._count == 0, "there are streams")
        self._slots = []
        self._places = []
        self._free = NO_SLOT

    @always_inline
    def _place_of(self, id: UInt32) -> Int:
        # Neighbours are spread, and so are numbers that a peer chooses with a
        # power of two between them.
        comptime FACTOR: UInt32 = 0x9E3779B1
        return Int((id * FACTOR) >> 16) & (len(self._places) - 1)

    @always_inline
    def _after(self, place: Int) -> Int:
        return (place + 1) & (len(self._places) - 1)

    @always_inline
    def _put(mut self, slot: Int):
        var place = self._place_of(self._slots.unsafe_get(slot).id)
        while self._places.unsafe_get(place) != 0:
            place = self._after(place)
        self._places.unsafe_get(place) = UInt16(slot + 1)

    @always_inline
    def _close_gap(mut self, var gap: Int):
        """Moves later entries of the same run forward, so that no search ends
        at the gap."""
        var place = gap
        while True:
            place = self._after(place)
            var found = self._places.unsafe_get(place)
            if found == 0:
                break
            var wanted = self._place_of(
                self._slots.unsafe_get(Int(found) - 1).id
            )
            # It may move if the gap lies between its first place and its own.
            var mask = len(self._places) - 1
            if (place - wanted) & mask >= (place - gap) & mask:
                self._places.unsafe_get(gap) = found
                gap = place
        self._places.unsafe_get(gap) = 0

    @no_inline
    def _grow(mut self):
        var before = len(self._slots)
        var count = min(max(before * _GROWTH, _SLOTS_MIN), self._slots_max)
        var places = 2 * _SLOTS_MIN
        while places < 2 * count:
            places *= 2
        self._places = List[UInt16](length=places, fill=0)
        self._slots.reserve(count)
        for slot in range(before):
            self._put(slot)
        for slot in range(before, count):
            self._slots.append(H2Stream())
            self._slots[slot].turn.next = Int16(
                slot + 1 if slot + 1 < count else NO_SLOT
            )
        self._free = before
