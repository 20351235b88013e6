"""Keeps the blocks of contents that wait, for later ones."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.rate_budget import RateBudget

from .h2_connection import UnsentContent

# As many as wait on a few busy connections. They take about 50 KiB.
comptime _SPARE_MAX = 256


struct UnsentPool(Movable):
    """The blocks of one worker that are not in use, as a list."""

    var _first: Optional[PointerTo[UnsentContent]]
    var _count: Int

    def __init__(out self):
        """Creates an empty pool."""
        self._first = None
        self._count = 0

    def __deinit__(deinit self):
        """Frees the blocks."""
        var found = self._first
        while found:
            var block = found.unsafe_value()
            found = block[].next
            heap_destroy(block)

    @always_inline
    def take(mut self, timeout_ms: Int) -> PointerTo[UnsentContent]:
        """Takes a block, or makes one.

        Args:
            timeout_ms: How long the client may close its window.

        Returns:
            A content without octets, which `give` takes back.
        """
        if not self._first:
            return heap_create(UnsentContent(timeout_ms))
        var block = self._first.unsafe_value()
        self._first = block[].next
        self._count -= 1
        block[].next = None
        block[].budget = RateBudget(timeout_ms)
        return block

    def give(mut self, block: PointerTo[UnsentContent]):
        """Takes a block back, and frees its content.

        Args:
            block: The block.
        """
        if self._count == _SPARE_MAX:
            heap_destroy(block)
            return
        block[] = UnsentContent(0)
        block[].next = self._first
        self._first = block
        self._count += 1
