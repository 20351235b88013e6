"""Allocates a block of octets of a fixed length."""

from std.memory import unsafe_memset

from .pointer import OctetPointer, allocate_octets, free_octets


struct OctetBlock(Movable, Sized):
    """A block of memory through which content passes piece by piece.

    Unlike a `List` of 64 KiB, the memory of a block returns to the kernel.
    Mojo's allocator never returns freed memory of that size.
    """

    var _octets: OctetPointer
    var _length: Int

    def __init__(out self, *, length: Int):
        """Allocates a block of zeros.

        Args:
            length: The number of octets; at least 1.
        """
        self._octets = allocate_octets(length)
        self._length = length
        unsafe_memset(self._octets, 0, length)

    def __deinit__(deinit self):
        """Frees the memory."""
        free_octets(self._octets, self._length)

    @always_inline
    def __len__(self) -> Int:
        """Returns the length of the block.

        Returns:
            The number of octets.
        """
        return self._length

    @always_inline
    def span(mut self) -> Span[UInt8, origin_of(self)]:
        """Returns a writable view of the octets.

        Returns:
            A view that is valid while the block lives.
        """
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self._octets.unsafe_origin_cast[origin_of(self)](),
            length=self._length,
        )
