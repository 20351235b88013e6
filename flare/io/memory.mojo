"""Reads from memory and writes to memory, in pieces of any size.

With a small piece size they show what a program makes of octets that come one
by one.
"""

from std.memory import unsafe_memcpy

from flare.core import PointerTo, heap_create, heap_destroy

from .stream import Reader, Writer


struct _ReaderState(Movable):
    var octets: List[UInt8]
    var position: Int
    var piece_octets_max: Int

    def __init__(out self, var octets: List[UInt8], piece_octets_max: Int):
        self.octets = octets^
        self.position = 0
        self.piece_octets_max = piece_octets_max


struct MemoryReader(Movable, Reader):
    """Gives the octets of a list, then ends."""

    var _state: PointerTo[_ReaderState]

    def __init__(
        out self, var octets: List[UInt8], *, piece_octets_max: Int = Int.MAX
    ):
        """Begins at the first octet.

        Args:
            octets: What to give.
            piece_octets_max: The most that one `read` gives; at least 1.
        """
        self._state = heap_create(
            _ReaderState(octets^, max(piece_octets_max, 1))
        )

    def __deinit__(deinit self):
        """Frees the octets."""
        heap_destroy(self._state)

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Returns the next octets.

        Args:
            into: Where to put them.

        Returns:
            How many there were; 0 at the end.

        Raises:
            Error: Never.
        """
        ref s = self._state[]
        var count = min(
            min(len(into), s.piece_octets_max), len(s.octets) - s.position
        )
        if count > 0:
            unsafe_memcpy(
                dest=into.unsafe_ptr(),
                src=s.octets.unsafe_ptr().unsafe_offset(s.position),
                count=count,
            )
            s.position += count
        return count


struct _WriterState(Movable):
    var octets: List[UInt8]
    var piece_octets_max: Int

    def __init__(out self, piece_octets_max: Int):
        self.octets = List[UInt8]()
        self.piece_octets_max = piece_octets_max


struct MemoryWriter(Movable, Writer):
    """Keeps what is written to it."""

    var _state: PointerTo[_WriterState]

    def __init__(out self, *, piece_octets_max: Int = Int.MAX):
        """Begins without octets.

        Args:
            piece_octets_max: The most that one `write` takes; 0 takes nothing.
        """
        self._state = heap_create(_WriterState(piece_octets_max))

    def __deinit__(deinit self):
        """Frees the octets."""
        heap_destroy(self._state)

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Keeps the next octets.

        Args:
            octets: What to write.

        Returns:
            How many were taken.

        Raises:
            Error: Never.
        """
        var count = min(len(octets), self._state[].piece_octets_max)
        self._state[].octets.extend(octets[0:count])
        return count

    def octets(self) -> List[UInt8]:
        """Copies what was written so far.

        Returns:
            All octets in order.
        """
        return self._state[].octets.copy()
