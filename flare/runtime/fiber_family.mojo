"""Knows which fibers descend from one another, in builds with assertions.

A fiber that a handler has spawned may hold views of the request, and may live
longer. With `-D ASSERT=all` what such views refer to can so be kept until the
last fiber of the family has ended, and shows a mistake instead of the octets of
somebody else.
"""

from std.sys.defines import get_defined_string

from flare.core import Erased, PointerTo, heap_create, heap_destroy

comptime TRACKS_FAMILIES = get_defined_string["ASSERT", "safe"]() == "all"
"""Whether fibers know their families."""


@fieldwise_init
struct _Kept(TrivialRegisterPassable):
    var owner: Erased
    var release: def(Erased) thin -> None


struct FiberFamilyState(Movable):
    """Holds a fiber and its descendants. Only `FiberFamily` touches it."""

    var living: Int
    """How many of them have not ended."""
    var kept: List[_Kept]
    """What is released when all of them have."""

    def __init__(out self):
        """Makes the family of one fiber."""
        self.living = 1
        self.kept = List[_Kept]()


@fieldwise_init
struct FiberFamily(TrivialRegisterPassable):
    """Names a fiber and its descendants."""

    var state: PointerTo[FiberFamilyState]
    """The heap state."""

    @staticmethod
    def create() -> Self:
        """Makes the family of a fiber that has its first descendant.

        Returns:
            A handle; it is gone when the last fiber has left.
        """
        return Self(heap_create(FiberFamilyState()))

    def join(self):
        """Counts one more descendant."""
        self.state[].living += 1

    def leave(self):
        """Notes that a fiber has ended; the last one releases what is kept."""
        self.state[].living -= 1
        if self.state[].living > 0:
            return
        for kept in self.state[].kept:
            kept.release(kept.owner)
        heap_destroy(self.state)

    def has_others(self) -> Bool:
        """Returns whether fibers live beside one that is about to leave.

        Returns:
            True if any does.
        """
        return self.state[].living > 1

    def keep(self, owner: Erased, release: def(Erased) thin -> None):
        """Keeps something until the last fiber has ended.

        Args:
            owner: What is kept.
            release: Called with it, in the loop.
        """
        self.state[].kept.append(_Kept(owner, release))
