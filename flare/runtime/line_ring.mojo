"""Buffers the log lines of one loop until a thread has written them.

The loop adds lines and never waits: a line without room is dropped and
counted. One other thread removes lines (`line_queue.mojo`). An entry of the
ring is the function that writes a line, and the line.
"""

from std.atomic import Atomic, Ordering, fence
from std.memory import unsafe_memcpy

from flare.core import PointerTo
from flare.sys.thread import Lock

from .octet_ring import OctetRing, OctetRingState

comptime LineFunction = def(StringSlice[ImmUntrackedOrigin]) thin -> None
"""Writes one line of text, which comes without its end."""

comptime LINES_OCTETS_MAX = 64 * 1024
"""How many octets of lines and headers may wait; a power of two."""
comptime LINE_OCTETS_MAX = 4096
"""The length at which a line is cut off."""
comptime LINES_PER_SECOND_MAX = 100
"""How many lines per second are accepted that peers can cause."""

comptime _CUT: StaticString = "..."
# The size of a `LineFunction`.
comptime _FUNCTION_OCTETS = 8


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

    var entries: OctetRingState
    """The lines."""
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
        self.entries = OctetRingState(LINES_OCTETS_MAX)
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
        var octets = line.as_bytes()
        var count = _cut_length(octets)
        var room = count
        if count < len(octets):
            room += _CUT.byte_length()
        var entry = self._entries().reserve(_FUNCTION_OCTETS + room)
        if not entry:
            self.drop()
            return False
        entry.value().unsafe_bitcast[LineFunction]()[] = write
        var text = entry.value().unsafe_offset(_FUNCTION_OCTETS)
        unsafe_memcpy(dest=text, src=octets.unsafe_ptr(), count=count)
        if room > count:
            unsafe_memcpy(
                dest=text.unsafe_offset(count),
                src=_CUT.unsafe_ptr(),
                count=room - count,
            )
        self._entries().publish()
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
        return self._entries().waiting() > 0

    def write_all(self):
        """Writes the waiting lines. Call it on the writing thread."""
        while True:
            var entry = self._entries().oldest()
            if not entry:
                return
            ref octets = entry.value()
            var write = octets.unsafe_ptr().unsafe_bitcast[LineFunction]()[]
            write(
                StringSlice[ImmUntrackedOrigin](
                    unsafe_from_utf8=Span[UInt8, ImmUntrackedOrigin](
                        unsafe_ptr=octets.unsafe_ptr().unsafe_offset(
                            _FUNCTION_OCTETS
                        ),
                        length=len(octets) - _FUNCTION_OCTETS,
                    )
                )
            )
            self._entries().drop_oldest()

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
    def _entries(self) -> OctetRing:
        return OctetRing(
            Pointer(to=self.state[].entries).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )


def _cut_length(octets: Span[UInt8, _]) -> Int:
    if len(octets) <= LINE_OCTETS_MAX:
        return len(octets)
    var count = LINE_OCTETS_MAX
    # Not in the middle of a character.
    while count > 0 and octets[count] & 0xC0 == 0x80:
        count -= 1
    return count
