"""Keeps heap blocks that are used again and again, for one thread.

What a request needs for a moment (the block of a header map, a copy of a
content) comes from here and goes back here, so that serving allocates nothing
once it runs. A thread without a recycler allocates and frees instead.
"""

from .pointer import Erased, PointerTo, heap_create, heap_destroy

comptime _KINDS = 3
comptime _BLOCKS_MAX = 256


struct BlockKind:
    """Names what a block holds."""

    comptime HEADERS = 0
    """The lines of a `HeaderMap`."""
    comptime CONTENT = 1
    """A copied content."""
    comptime RECEIVED = 2
    """What a client has received besides status and header fields."""


struct RecyclerState(Movable):
    """Holds blocks nobody uses. Only `Recycler` touches it."""

    var blocks: List[List[Erased]]
    """The blocks of each kind."""
    var destroy: List[def(Erased) thin -> None]
    """What frees a block of each kind."""

    def __init__(out self):
        """Holds no block, with room for as many as there may be."""
        self.blocks = List[List[Erased]]()
        self.destroy = List[def(Erased) thin -> None]()
        for _ in range(_KINDS):
            self.blocks.append(List[Erased](capacity=_BLOCKS_MAX))
            self.destroy.append(_nothing)


@fieldwise_init
struct Recycler(TrivialRegisterPassable):
    """Lends the blocks of one thread."""

    var state: PointerTo[RecyclerState]
    """The heap state."""

    @staticmethod
    def create() -> Self:
        """Makes an empty recycler.

        Returns:
            A handle.
        """
        return Self(heap_create(RecyclerState()))

    def destroy(self):
        """Frees all blocks."""
        for kind in range(_KINDS):
            for block in self.state[].blocks[kind]:
                self.state[].destroy[kind](block)
        heap_destroy(self.state)

    def trim(self, kept: Int) -> Bool:
        """Frees half of the blocks of each kind.

        Args:
            kept: How many of a kind stay.

        Returns:
            True if another call would free more.
        """
        var goes_on = False
        for kind in range(_KINDS):
            ref blocks = self.state[].blocks[kind]
            var stays = max(kept, len(blocks) // 2)
            while len(blocks) > stays:
                self.state[].destroy[kind](blocks.pop())
            goes_on = goes_on or len(blocks) > kept
        return goes_on

    @always_inline
    def take(self, kind: Int) -> Optional[Erased]:
        """Takes a block out.

        Args:
            kind: What it holds, one of `BlockKind`.

        Returns:
            A block as it was given, or none.
        """
        ref blocks = self.state[].blocks.unsafe_get(kind)
        if len(blocks) == 0:
            return None
        return blocks.pop()

    @always_inline
    def give(
        self, kind: Int, block: Erased, destroy: def(Erased) thin -> None
    ) -> Bool:
        """Keeps a block for the next user.

        Args:
            kind: What it holds, one of `BlockKind`.
            block: The block.
            destroy: What frees it in the end.

        Returns:
            False if enough are kept; the caller then frees it.
        """
        ref blocks = self.state[].blocks.unsafe_get(kind)
        if len(blocks) >= _BLOCKS_MAX:
            return False
        self.state[].destroy.unsafe_get(kind) = destroy
        blocks.append(block)
        return True


def _nothing(block: Erased):
    pass
