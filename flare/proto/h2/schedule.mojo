"""Decides which stream sends next (RFC 9218 section 10).

Streams of a higher urgency come first. Among those of the same urgency, a
stream that is not incremental sends to its end, and incremental ones take turns
of a frame. If there are both kinds, they alternate.
"""

from std.bit import count_trailing_zeros

from .stream_table import NO_SLOT, H2StreamTable

comptime _URGENCIES = 8
comptime _RINGS = 2 * _URGENCIES


struct H2Schedule(Movable):
    """The streams that have content to send and a window for it. Each lies in a
    ring with the others of its priority."""

    # The stream of each ring whose turn it is. The ring of an urgency u has the
    # number 2 u, or 2 u + 1 for incremental streams.
    var _turns: Array[Int16, _RINGS]
    # The rings that are not empty.
    var _filled: UInt16
    # The urgencies whose incremental streams are next.
    var _alternate: UInt8

    def __init__(out self):
        """Creates an empty schedule."""
        self._turns = Array[Int16, _RINGS](fill=Int16(NO_SLOT))
        self._filled = 0
        self._alternate = 0

    @always_inline
    def is_empty(self) -> Bool:
        """Returns whether no stream has anything to send.

        Returns:
            True if `next` returns `NO_SLOT`.
        """
        return self._filled == 0

    def add(mut self, mut streams: H2StreamTable, slot: Int):
        """Adds a stream, which comes after all others of its priority.

        Args:
            streams: The streams.
            slot: The slot of a stream that is not part of the schedule.
        """
        var ring = _ring_of(streams, slot)
        streams[slot].turn.is_scheduled = True
        if self._filled & UInt16(1 << ring) == 0:
            self._filled |= UInt16(1 << ring)
            self._turns[ring] = Int16(slot)
            streams[slot].turn.next = Int16(slot)
            streams[slot].turn.previous = Int16(slot)
            return
        var first = Int(self._turns[ring])
        var last = Int(streams[first].turn.previous)
        streams[slot].turn.next = Int16(first)
        streams[slot].turn.previous = Int16(last)
        streams[last].turn.next = Int16(slot)
        streams[first].turn.previous = Int16(slot)

    def remove(mut self, mut streams: H2StreamTable, slot: Int):
        """Removes a stream.

        Args:
            streams: The streams.
            slot: The slot of a stream; it may be no part of the schedule.
        """
        if not streams[slot].turn.is_scheduled:
            return
        var ring = _ring_of(streams, slot)
        streams[slot].turn.is_scheduled = False
        var next = Int(streams[slot].turn.next)
        var previous = Int(streams[slot].turn.previous)
        if next == slot:
            self._filled &= ~UInt16(1 << ring)
            self._turns[ring] = Int16(NO_SLOT)
            return
        streams[previous].turn.next = Int16(next)
        streams[next].turn.previous = Int16(previous)
        if Int(self._turns[ring]) == slot:
            self._turns[ring] = Int16(next)

    def next(self) -> Int:
        """Returns the stream whose turn it is.

        Returns:
            Its slot; `NO_SLOT` if there is none.
        """
        if self._filled == 0:
            return NO_SLOT
        return Int(self._turns[self._next_ring()])

    def note_sent(mut self, mut streams: H2StreamTable, slot: Int):
        """Passes the turn on after a frame.

        Args:
            streams: The streams.
            slot: The slot that `next` returned.
        """
        var urgency = Int(streams[slot].turn.urgency)
        if streams[slot].turn.is_incremental:
            self._turns[2 * urgency + 1] = streams[slot].turn.next
            self._alternate &= ~UInt8(1 << urgency)
        else:
            self._alternate |= UInt8(1 << urgency)

    def _next_ring(self) -> Int:
        var first = Int(count_trailing_zeros(self._filled))
        var urgency = first // 2
        var incremental = 2 * urgency + 1
        if (
            first != incremental
            and self._filled & UInt16(1 << incremental) != 0
            and self._alternate & UInt8(1 << urgency) != 0
        ):
            return incremental
        return first


def _ring_of(streams: H2StreamTable, slot: Int) -> Int:
    return 2 * Int(streams[slot].turn.urgency) + Int(
        streams[slot].turn.is_incremental
    )
