"""Buffers the log lines of one loop until a thread has written them.

The loop adds lines and never waits: a line without room is dropped and
counted. One other thread removes lines (`line_queue.mojo`). Positions count
octets since the start. A line and its header are contiguous, so the rest at
the end of the memory may be skipped.
"""

from std.atomic import Atomic, Ordering, fence
from std.memory import unsafe_memcpy

from flare.core import OctetPointer, PointerTo
from flare.sys.thread import Lock

comptime LineFunction = def(StringSlice[ImmUntrackedOrigin]) thin -> None
"""Writes one line of text, which comes without its end."""

comptime LINES_OCTETS_MAX = 64 * 1024
"""How many octets of lines and headers may wait; a power of two."""
comptime LINE_OCTETS_MAX = 4096
"""The length at which a line is cut off."""
comptime LINES_PER_SECOND_MAX = 100
"""How many lines per second are accepted that peers can cause."""

comptime _CUT: StaticString = "..."
comptime _PASS_OVER = -1


@fieldwise_init
struct _Header(TrivialRegisterPassable):
    var write: LineFunction
    # `_PASS_OVER` if no line follows before the end of the memory.
    var length: Int


comptime _HEADER_OCTETS = 16


struct Bell(Movable):
    """Wakes the thread that writes lines."""

    var lock: Lock
    """Guards `is_ending`; the thread sleeps on it."""
    var is_asleep: UInt32
    """1 while the thread sleeps or is about to; atomic."""
    var is_ending: Bool
    """Whether no more lines will come."""

    def __init__(out self):
        """Creates a bell that has not rung."""
        self.lock = Lock.create()
        self.is_asleep = 0
        self.is_ending = False


struct LineRingState(Movable):
    """The lines of one loop. Only `LineRing` uses it."""

    var octets: List[UInt64]
    """The memory."""
    var written: UInt64
    """How many octets the loop has added; atomic."""
    var taken: UInt64
    """How many octets the thread has removed; atomic."""
    var dropped: UInt64
    """How many lines were dropped; atomic."""
    var reported: UInt64
    """How many dropped lines were reported; used by the writing thread only."""
    var second: Int
    """The second of the latest line that a peer caused."""
    var second_lines: Int
    """How many such lines came in that second."""
    var bell: PointerTo[Bell]
    """Wakes the thread."""

    def __init__(out self, bell: PointerTo[Bell]):
        """Creates an empty ring with all its memory.

        Args:
            bell: Wakes the thread.
        """
        self.octets = List[UInt64](length=LINES_OCTETS_MAX // 8, fill=0)
        self.written = 0
        self.taken = 0
        self.dropped = 0
        self.reported = 0
        self.second = -1
        self.second_lines = 0
        self.bell = bell


@fieldwise_init
struct LineRing(TrivialRegisterPassable):
    """A ring for the log lines of one loop."""

    var state: PointerTo[LineRingState]
    """The heap state."""

    def put(self, write: LineFunction, line: StringSlice) -> Bool:
        """Adds a line. Call it on the loop's thread.

        Args:
            write: Writes the line, on another thread.
            line: The line without its end; a longer one is cut off.

        Returns:
            False if there is no room: the line is dropped and counted.
        """
        ref s = self.state[]
        var octets = line.as_bytes()
        var count = _cut_length(octets)
        var room = count
        if count < len(octets):
            room += _CUT.byte_length()
        var needed = _HEADER_OCTETS + _round_up(room)
        var start = Int(s.written) & (LINES_OCTETS_MAX - 1)
        var passed_over = 0
        if start + needed > LINES_OCTETS_MAX:
            passed_over = LINES_OCTETS_MAX - start
        var taken = Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
            Pointer(to=s.taken)
        )
        if Int(s.written - taken) + passed_over + needed > LINES_OCTETS_MAX:
            self.drop()
            return False
        if passed_over > 0:
            self._header(start)[] = _Header(write, _PASS_OVER)
            start = 0
        self._header(start)[] = _Header(write, room)
        var text = self._octets(start + _HEADER_OCTETS)
        unsafe_memcpy(dest=text, src=octets.unsafe_ptr(), count=count)
        if room > count:
            unsafe_memcpy(
                dest=text.unsafe_offset(count),
                src=_CUT.unsafe_ptr(),
                count=room - count,
            )
        Atomic[UInt64].store[ordering=Ordering.RELEASE](
            Pointer(to=s.written), s.written + UInt64(passed_over + needed)
        )
        self._ring_bell()
        return True

    def put_of_peer(
        self, write: LineFunction, line: StringSlice, now_ms: Int
    ) -> Bool:
        """Adds a line that a peer can cause; at most 100 per second.

        Args:
            write: Writes the line, on another thread.
            line: The line without its end.
            now_ms: The loop's clock.

        Returns:
            False if the line is dropped, because of its rate or for lack of
            room.
        """
        ref s = self.state[]
        var second = now_ms // 1000
        if second != s.second:
            s.second = second
            s.second_lines = 0
        s.second_lines += 1
        if s.second_lines > LINES_PER_SECOND_MAX:
            self.drop()
            return False
        return self.put(write, line)

    def drop(self):
        """Counts a dropped line. Call it on the loop's thread."""
        Atomic[UInt64].store[ordering=Ordering.RELEASE](
            Pointer(to=self.state[].dropped), self.state[].dropped + 1
        )
        self._ring_bell()

    @always_inline
    def dropped(self) -> Int:
        """Returns how many lines were dropped since the start.

        Returns:
            The number.
        """
        return Int(
            Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
                Pointer(to=self.state[].dropped)
            )
        )

    def has_lines(self) -> Bool:
        """Returns whether lines are waiting. Call it on the writing thread.

        Returns:
            True if `write_all` would write.
        """
        return (
            Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
                Pointer(to=self.state[].written)
            )
            != self.state[].taken
        )

    def write_all(self):
        """Writes the waiting lines. Call it on the writing thread."""
        ref s = self.state[]
        while self.has_lines():
            var start = Int(s.taken) & (LINES_OCTETS_MAX - 1)
            var header = self._header(start)[]
            var passed = LINES_OCTETS_MAX - start
            if header.length != _PASS_OVER:
                passed = _HEADER_OCTETS + _round_up(header.length)
                header.write(
                    StringSlice[ImmUntrackedOrigin](
                        unsafe_from_utf8=Span[UInt8, ImmUntrackedOrigin](
                            unsafe_ptr=self._octets(start + _HEADER_OCTETS),
                            length=header.length,
                        )
                    )
                )
            # Until here the loop does not write over the line.
            Atomic[UInt64].store[ordering=Ordering.RELEASE](
                Pointer(to=s.taken), s.taken + UInt64(passed)
            )

    def _ring_bell(self):
        ref bell = self.state[].bell[]
        # Either the thread sees what was put in before it sleeps, or this sees
        # that it is about to.
        fence[ordering=Ordering.SEQUENTIAL]()
        if (
            Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
                Pointer(to=bell.is_asleep)
            )
            == 0
        ):
            return
        bell.lock.acquire()
        bell.lock.wake_one()
        bell.lock.release()

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
    def _header(self, start: Int) -> PointerTo[_Header]:
        return self._octets(start).unsafe_bitcast[_Header]()


def _cut_length(octets: Span[UInt8, _]) -> Int:
    if len(octets) <= LINE_OCTETS_MAX:
        return len(octets)
    var count = LINE_OCTETS_MAX
    # Not in the middle of a character.
    while count > 0 and octets[count] & 0xC0 == 0x80:
        count -= 1
    return count


@always_inline
def _round_up(octets: Int) -> Int:
    return (octets + _HEADER_OCTETS - 1) & ~(_HEADER_OCTETS - 1)
