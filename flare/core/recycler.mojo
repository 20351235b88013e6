"""Recycles heap blocks, for one thread.

Short-lived memory of a request comes from here and returns here: the block of
a header map, a copy of a content. So a warm server allocates no memory. On a
thread without a recycler, blocks are allocated and freed.
"""

from .pointer import Erased, PointerTo, heap_create, heap_destroy

comptime _KINDS = 8
# Blocks of the further kinds are freed only with the recycler.
comptime _TRIMMED_KINDS = 7
comptime _BLOCKS_MAX = 256


struct BlockKind:
    """The kinds of blocks."""

    comptime HEADERS = 0
    """The lines of a `HeaderMap`."""
    comptime CONTENT = 1
    """A copied content."""
    comptime RECEIVED = 2
    """The parts of a response that a client has received, apart from status
    and header fields.
    """
    comptime MESSAGE = 3
    """A received message of a WebSocket."""
    comptime CODECS = 4
    """The codecs that the WebSockets of a thread share."""
    comptime VALUES = 5
    """The values that middleware has set for a request."""
    comptime SPAN = 6
    """The span of a request that is traced."""
    comptime UPGRADE = 7
    """The exchange of a connection that a client has upgraded. A handle may
    outlive the connection, so such blocks are kept for as long as the thread.
    """


struct RecyclerState(Movable):
    """The unused blocks. Only `Recycler` uses it."""

    var blocks: List[List[Erased]]
    """The blocks of each kind."""
    var destroy: List[def(Erased) thin -> None]
    """The function that frees a block, for each kind."""

    def __init__(out self):
        """Creates the state without blocks, with room for the maximum number of
        blocks.
        """
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
        """Creates an empty recycler.

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
        """Frees half of the unused blocks of each kind.

        Args:
            kept: The number of blocks of each kind to keep.

        Returns:
            True if another call would free more.
        """
        var goes_on = False
        for kind in range(_TRIMMED_KINDS):
            ref blocks = self.state[].blocks[kind]
            var stays = max(kept, len(blocks) // 2)
            while len(blocks) > stays:
                self.state[].destroy[kind](blocks.pop())
            goes_on = goes_on or len(blocks) > kept
        return goes_on

    @always_inline
    def take(self, kind: Int) -> Optional[Erased]:
        """Returns an unused block.

        Args:
            kind: The kind, one of `BlockKind`.

        Returns:
            The block, with its previous content; `None` without an unused
            block.
        """
        ref blocks = self.state[].blocks.unsafe_get(kind)
        if len(blocks) == 0:
            return None
        return blocks.pop()

    @always_inline
    def give(
        self, kind: Int, block: Erased, destroy: def(Erased) thin -> None
    ) -> Bool:
        """Keeps a block for its next user.

        Args:
            kind: The kind, one of `BlockKind`.
            block: The block.
            destroy: The function that frees the block.

        Returns:
            False if the recycler is full; the caller must then free the block.
        """
        ref blocks = self.state[].blocks.unsafe_get(kind)
        if len(blocks) >= _BLOCKS_MAX and kind < _TRIMMED_KINDS:
            return False
        self.state[].destroy.unsafe_get(kind) = destroy
        blocks.append(block)
        return True


def _nothing(block: Erased):
    pass
