"""Lends octet buffers of one size whose addresses never change.

The kernel receives only into these. Memory is mapped in chunks, never given
back before the pool ends, and bounded.
"""

from flare.core import (
    Buffer,
    Erased,
    MemoryLender,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.sys.memory import at_address, map_private, unmap

comptime _CHUNK_BUFFERS = 64


struct BufferPoolState(Movable):
    """Holds the free list. Only `BufferPool` touches it."""

    var free: List[OctetPointer]
    """The buffers nobody uses; the last one given back is lent first."""
    var chunks: List[Int]
    """The addresses of the mappings."""
    var buffer_octets: Int
    """The size of each buffer."""
    var count_max: Int
    """How many buffers there may be."""
    var count: Int
    """How many buffers there are."""
    var offered: Int
    """Of those that are lent: how many wait for whatever arrives next."""
    var excepted: Int
    """Of those that are lent: how many the limit does not count."""
    var lender: MemoryLender
    """What growing buffers give themselves back to."""

    def __init__(out self, buffer_octets: Int, count_max: Int):
        """Makes a pool without memory.

        Args:
            buffer_octets: The size of each buffer.
            count_max: How many there may be.
        """
        self.free = List[OctetPointer]()
        self.chunks = List[Int]()
        self.buffer_octets = buffer_octets
        self.count_max = count_max
        self.count = 0
        self.offered = 0
        self.excepted = 0
        self.lender = MemoryLender(None, _give_back)


@fieldwise_init
struct BufferPool(TrivialRegisterPassable):
    """Lends buffers to one thread."""

    var state: PointerTo[BufferPoolState]
    """The heap state."""

    @staticmethod
    def create(buffer_octets: Int, count_max: Int) -> Self:
        """Makes a pool; memory is mapped when buffers are asked for.

        Args:
            buffer_octets: The size of each buffer, a multiple of 64.
            count_max: How many there may be; rounded up to whole chunks of 64.

        Returns:
            A handle; call `destroy` when every buffer is back.
        """
        var pool = Self(heap_create(BufferPoolState(buffer_octets, count_max)))
        pool.state[].lender.owner = pool.state.unsafe_bitcast[NoneType]()
        return pool

    def destroy(self):
        """Unmaps all buffers."""
        for chunk in self.state[].chunks:
            _ = unmap(chunk, _CHUNK_BUFFERS * self.state[].buffer_octets)
        heap_destroy(self.state)

    @always_inline
    def take(self) -> Optional[OctetPointer]:
        """Lends a buffer.

        Returns:
            The buffer, or none at the limit or when memory has run out.
        """
        if len(self.state[].free) == 0 and not self._grow():
            return None
        return self.state[].free.pop()

    def take_growing(self) -> Buffer:
        """Lends a buffer that grows, on the heap then, and gives itself back.

        Returns:
            An empty buffer; without memory at the limit or when memory has run
            out. It must die before the pool does.
        """
        var octets = self.take()
        if not octets:
            return Buffer()
        return Buffer(
            unsafe_lent=octets.value(),
            capacity=self.buffer_octets(),
            lender=Pointer(to=self.state[].lender).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )

    @always_inline
    def give(self, buffer: OctetPointer):
        """Takes a buffer back.

        Args:
            buffer: What `take` returned; not used afterwards.
        """
        self.state[].free.append(buffer)

    @always_inline
    def buffer_octets(self) -> Int:
        """Tells the size of each buffer.

        Returns:
            Octets.
        """
        return self.state[].buffer_octets

    @always_inline
    def offer(self, change: Int):
        """Counts the buffers that a backend has lent to the kernel in advance.

        Args:
            change: How many more; negative where octets have come in some.
        """
        self.state[].offered += change

    def except_from_limit(self, change: Int):
        """Changes how many lent buffers the limit does not count, because
        something else bounds who keeps them for long.

        Args:
            change: How many more; negative before they are given back.
        """
        self.state[].excepted += change

    def available(self) -> Int:
        """Counts what receives may still be completed in.

        Returns:
            The buffers that can be taken, and those on offer.
        """
        ref s = self.state[]
        return (
            len(s.free) + max(s.count_max + s.excepted - s.count, 0) + s.offered
        )

    def is_exhausted(self) -> Bool:
        """Tells whether nothing can be received before a buffer is given back.

        Returns:
            True if the limit is reached and every buffer holds octets.
        """
        return self.available() <= 0

    def lent(self) -> Int:
        """Counts the buffers in use; those on offer are not yet.

        Returns:
            The count.
        """
        return (
            self.state[].count - len(self.state[].free) - self.state[].offered
        )

    @no_inline
    def _grow(self) -> Bool:
        ref s = self.state[]
        if s.count >= s.count_max + s.excepted:
            return False
        var chunk = map_private(_CHUNK_BUFFERS * s.buffer_octets)
        if chunk < 0:
            return False
        s.chunks.append(chunk)
        s.count += _CHUNK_BUFFERS
        # Giving back never allocates: there is room for every buffer.
        s.free.reserve(s.count)
        for i in range(_CHUNK_BUFFERS - 1, -1, -1):
            s.free.append(at_address(chunk + i * s.buffer_octets))
        return True


def _give_back(owner: Erased, octets: OctetPointer):
    BufferPool(owner.unsafe_bitcast[BufferPoolState]()).give(octets)
