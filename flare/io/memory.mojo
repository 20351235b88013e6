"""Readers and writers in memory, with pieces of a chosen size.

A small piece size tests how a program handles octets that arrive one by one.
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
    """A reader of the octets of a list."""

    var _state: PointerTo[_ReaderState]

    def __init__(
        out self, var octets: List[UInt8], *, piece_octets_max: Int = Int.MAX
    ):
        """Creates a reader at the first octet of a list.

        Args:
            octets: The octets to read.
            piece_octets_max: The most octets that one `read` returns; at least
                1.
        """
        self._state = heap_create(
            _ReaderState(octets^, max(piece_octets_max, 1))
        )

    def __deinit__(deinit self):
        """Frees the octets."""
        heap_destroy(self._state)

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads the next octets.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end.

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
    """A writer that keeps the octets."""

    var _state: PointerTo[_WriterState]

    def __init__(out self, *, piece_octets_max: Int = Int.MAX):
        """Creates a writer without octets.

        Args:
            piece_octets_max: The most octets that one `write` takes; 0 takes
                none.
        """
        self._state = heap_create(_WriterState(piece_octets_max))

    def __deinit__(deinit self):
        """Frees the octets."""
        heap_destroy(self._state)

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Writes octets.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken.

        Raises:
            Error: Never.
        """
        var count = min(len(octets), self._state[].piece_octets_max)
        self._state[].octets.extend(octets[0:count])
        return count

    def octets(self) -> List[UInt8]:
        """Returns a copy of the octets written so far.

        Returns:
            All octets in order.
        """
        return self._state[].octets.copy()
