"""Owns a block of octets of one length."""

from std.memory import unsafe_memset

from .pointer import OctetPointer, allocate_octets, free_octets


struct OctetBlock(Movable, Sized):
    """Owns the octets through which a content passes, a piece at a time.

    A `List` of 64 KiB would do, but Mojo's allocator keeps what is freed of it
    for ever; the memory of a block goes back to the kernel.
    """

    var _octets: OctetPointer
    var _length: Int

    def __init__(out self, *, length: Int):
        """Makes a block of zeros.

        Args:
            length: How many octets; at least 1.
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
            Octets.
        """
        return self._length

    @always_inline
    def span(mut self) -> Span[UInt8, origin_of(self)]:
        """Views the octets, which may be written.

        Returns:
            A view that is valid while the block lives.
        """
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self._octets.unsafe_origin_cast[origin_of(self)](),
            length=self._length,
        )
