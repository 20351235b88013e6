"""Holds a block that a fiber shares with the fibers that it spawns."""

from flare.core import Erased, PointerTo


struct FiberLocalState(Movable):
    """The first field of a block that fibers hold. Only `FiberLocal` uses it.
    """

    var holders: Int
    """How many fibers and others hold the block."""
    var free: def(Erased) thin -> None
    """Called with the block when no holder is left."""

    def __init__(out self, free: def(Erased) thin -> None):
        """Creates the head of a block that one holds.

        Args:
            free: Called with the block when no holder is left.
        """
        self.holders = 1
        self.free = free


@fieldwise_init
struct FiberLocal(TrivialRegisterPassable):
    """A handle to a block that fibers of one thread hold."""

    var state: PointerTo[FiberLocalState]
    """The head of the block."""

    @always_inline
    def hold(self) -> Self:
        """Adds a holder.

        Returns:
            The same handle.
        """
        self.state[].holders += 1
        return self

    @always_inline
    def release(self):
        """Removes a holder; the last one frees the block."""
        self.state[].holders -= 1
        if self.state[].holders == 0:
            self.state[].free(self.state.unsafe_bitcast[NoneType]())
