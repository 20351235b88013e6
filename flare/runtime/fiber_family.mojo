"""Tracks which fibers descend from one another, in builds with assertions.

A fiber that a handler has spawned may hold views of the request and may
outlive it. With `-D ASSERT=all`, the memory of such views is kept until the
last fiber of the family has ended. A mistake then shows itself instead of
exposing octets of another request.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.driver import ASSERTS_ALL

comptime TRACKS_FAMILIES = ASSERTS_ALL
"""Whether fibers track their families."""


@fieldwise_init
struct _Kept(TrivialRegisterPassable):
    var owner: Erased
    var release: def(Erased) thin -> None


struct FiberFamilyState(Movable):
    """The state of a fiber and its descendants. Only `FiberFamily` uses it."""

    var living: Int
    """How many of the fibers have not ended."""
    var kept: List[_Kept]
    """The objects to release after all have ended."""

    def __init__(out self):
        """Creates the family of one fiber."""
        self.living = 1
        self.kept = List[_Kept]()


@fieldwise_init
struct FiberFamily(TrivialRegisterPassable):
    """A fiber and its descendants."""

    var state: PointerTo[FiberFamilyState]
    """The heap state."""

    @staticmethod
    def create() -> Self:
        """Creates the family of a fiber with its first descendant.

        Returns:
            A handle, valid until the last fiber has left.
        """
        return Self(heap_create(FiberFamilyState()))

    def join(self):
        """Counts another descendant."""
        self.state[].living += 1

    def leave(self):
        """Counts a fiber that has ended. The last one releases the kept
        objects.
        """
        self.state[].living -= 1
        if self.state[].living > 0:
            return
        for kept in self.state[].kept:
            kept.release(kept.owner)
        heap_destroy(self.state)

    def has_others(self) -> Bool:
        """Returns whether fibers live besides one that is about to leave.

        Returns:
            True if another fiber lives.
        """
        return self.state[].living > 1

    def keep(self, owner: Erased, release: def(Erased) thin -> None):
        """Keeps an object until the last fiber has ended.

        Args:
            owner: The object.
            release: Called with the object, in the loop.
        """
        self.state[].kept.append(_Kept(owner, release))
