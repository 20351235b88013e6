"""Keeps the blocks of contents that wait, for later ones."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.http.body import Body
from flare.http.rate_budget import RateBudget
from flare.message import HeaderMap

from .h2_connection import UnsentContent

# As many as wait on a few busy connections.
comptime _SPARE_MAX = 1024


struct UnsentPool(Movable):
    """The blocks of one worker that are not in use."""

    var _spare: List[PointerTo[UnsentContent]]

    def __init__(out self):
        """Creates an empty pool."""
        self._spare = []

    def __deinit__(deinit self):
        """Frees the blocks."""
        for block in self._spare:
            heap_destroy(block)

    def take(mut self, timeout_ms: Int) -> PointerTo[UnsentContent]:
        """Takes a block, or makes one.

        Args:
            timeout_ms: How long the client may close its window.

        Returns:
            A content without octets, which `give` takes back.
        """
        if len(self._spare) == 0:
            return heap_create(UnsentContent(timeout_ms))
        var block = self._spare.pop()
        block[].budget = RateBudget(timeout_ms)
        return block

    def give(mut self, block: PointerTo[UnsentContent]):
        """Takes a block back, and frees its content.

        Args:
            block: The block.
        """
        if len(self._spare) >= _SPARE_MAX:
            heap_destroy(block)
            return
        ref unsent = block[]
        unsent.body = Body()
        unsent.sent = 0
        if unsent.gathered.capacity() > 0:
            unsent.gathered = Buffer()
        unsent.is_last = False
        unsent.trailers = HeaderMap()
        unsent.awaits_window = False
        self._spare.append(block)

    def trim(mut self, kept: Int) -> Bool:
        """Frees half of the blocks.

        Args:
            kept: How many stay at least.

        Returns:
            True if another call would free more.
        """
        var stays = max(kept, len(self._spare) // 2)
        while len(self._spare) > stays:
            heap_destroy(self._spare.pop())
        return len(self._spare) > kept
