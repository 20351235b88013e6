"""Lends octet buffers of one size whose addresses never change.

The kernel receives only into these. Memory is mapped in chunks up to a bound,
and stays mapped until the pool ends. `trim` returns the pages of long unused
buffers to the kernel; their next user gets new pages.
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
from flare.sys.memory import (
    at_address,
    give_pages_back,
    map_private,
    unmap,
)

comptime _CHUNK_BUFFERS = 64
# A call of the kernel for each: more at a time would hold the loop.
comptime _TRIMMED_MAX = 1024


struct BufferPoolState(Movable):
    """The state of a pool. Only `BufferPool` uses it."""

    var free: List[OctetPointer]
    """The unused buffers; the last one returned is lent first."""
    var cold: List[OctetPointer]
    """Unused buffers without pages, which are lent last."""
    var chunks: List[Int]
    """The addresses of the mappings."""
    var buffer_octets: Int
    """The size of each buffer."""
    var count_max: Int
    """The maximum number of buffers."""
    var count: Int
    """How many buffers there are."""
    var offered: Int
    """How many lent buffers wait for the next octets to arrive."""
    var excepted: Int
    """How many lent buffers the limit does not count."""
    var lender: MemoryLender
    """Takes growing buffers back."""

    def __init__(out self, buffer_octets: Int, count_max: Int):
        """Creates a pool without memory.

        Args:
            buffer_octets: The size of each buffer.
            count_max: The maximum number of buffers.
        """
        self.free = List[OctetPointer]()
        self.cold = List[OctetPointer]()
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
        """Creates a pool. Memory is mapped when buffers are taken.

        Args:
            buffer_octets: The size of each buffer, a multiple of 64.
            count_max: The most buffers; rounded up to whole chunks of 64.

        Returns:
            A handle. Call `destroy` after all buffers are returned.
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
            The buffer; `None` at the limit or if memory runs out.
        """
        if len(self.state[].free) == 0 and not self._grow():
            return None
        return self.state[].free.pop()

    def take_growing(self) -> Buffer:
        """Lends a buffer that can grow, by moving to the heap, and that
        returns itself.

        Returns:
            An empty buffer; without memory at the limit or if memory runs out.
            It must be destroyed before the pool.
        """
        var octets = self.take()
        if not octets:
            return Buffer()
        return self.make_growing(octets.value())

    def make_growing(self, buffer: OctetPointer) -> Buffer:
        """Makes a lent buffer one that can grow and that returns itself.

        Args:
            buffer: The result of `take`; only the returned buffer uses it
                afterwards.

        Returns:
            An empty buffer in this memory. It must be destroyed before the
            pool.
        """
        return Buffer(
            unsafe_lent=buffer,
            capacity=self.buffer_octets(),
            lender=Pointer(to=self.state[].lender).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )

    @always_inline
    def give(self, buffer: OctetPointer):
        """Returns a buffer to the pool.

        Args:
            buffer: The result of `take`; do not use it afterwards.
        """
        self.state[].free.append(buffer)

    @always_inline
    def buffer_octets(self) -> Int:
        """Returns the size of each buffer.

        Returns:
            The number of octets.
        """
        return self.state[].buffer_octets

    @always_inline
    def offer(self, change: Int):
        """Changes the number of buffers that a backend has lent to the kernel
        in advance.

        Args:
            change: The difference; negative after octets have arrived in some
                buffers.
        """
        self.state[].offered += change

    def except_from_limit(self, change: Int):
        """Changes how many lent buffers do not count towards the limit.

        Args:
            change: The difference; negative before the buffers are returned.
        """
        self.state[].excepted += change

    def available(self) -> Int:
        """Returns how many more receives can complete.

        Returns:
            The number of buffers that can be taken or are lent in advance.
        """
        ref s = self.state[]
        return (
            len(s.free)
            + len(s.cold)
            + max(s.count_max + s.excepted - s.count, 0)
            + s.offered
        )

    def is_exhausted(self) -> Bool:
        """Returns whether no octets can be received until a buffer is
        returned.

        Returns:
            True if the limit is reached and every buffer holds octets.
        """
        return self.available() <= 0

    def lent(self) -> Int:
        """Returns the number of buffers in use, without those lent in advance.

        Returns:
            The number.
        """
        ref s = self.state[]
        return s.count - len(s.free) - len(s.cold) - s.offered

    def trim(self, kept: Int) -> Bool:
        """Returns the pages of half of the unused buffers to the kernel, those
        unused for longest.

        Args:
            kept: How many unused buffers keep their pages.

        Returns:
            True if another call would return more.
        """
        ref s = self.state[]
        var spare = len(s.free) - kept
        if spare <= 0:
            return False
        var count = min(min((len(s.free) + 1) // 2, spare), _TRIMMED_MAX)
        for i in range(count):
            _ = give_pages_back(Int(s.free[i]), s.buffer_octets)
            s.cold.append(s.free[i])
        # A returned buffer always fits in the list: no memory is allocated.
        for i in range(count, len(s.free)):
            s.free[i - count] = s.free[i]
        s.free.shrink(len(s.free) - count)
        return len(s.free) > kept

    @no_inline
    def _grow(self) -> Bool:
        ref s = self.state[]
        if len(s.cold) > 0:
            s.free.append(s.cold.pop())
            return True
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
