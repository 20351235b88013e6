"""Finds the series of a thread by their labels.

A worker has a place of its own, which its loop leads to. All other threads of
a process share one, under a lock.
"""

from flare.core import PointerTo, heap_create
from flare.core.xxhash import xxh64
from flare.sys.thread import Lock

from .area import Area
from .family import Family, SERIES_MAX
from .series_key import SeriesKey

# Twice as many as there can be series.
comptime _TABLE = 2048


struct _Index(Copyable, Movable):
    # The series of one family: 1 more than the index of a series, or 0.
    var slots: List[UInt16]
    # How many series are in it.
    var count: Int

    def __init__(out self):
        self.slots = List[UInt16]()
        self.count = 0


struct PlaceState(Movable):
    """Where a thread counts. Only `Place` uses it."""

    var registry: Int
    """The address of the registry to which the area belongs."""
    var area: Area
    """The area."""
    var is_own: Bool
    """Whether one thread alone writes the area."""
    var lock: Lock
    """Guards new series, unless one thread alone adds them."""
    var indexes: List[_Index]
    """The series of each family."""

    def __init__(out self, registry: Int, area: Area, is_own: Bool):
        """Creates a place whose series are not looked up yet.

        Args:
            registry: The address of the registry.
            area: The area.
            is_own: Whether one thread alone writes the area.
        """
        self.registry = registry
        self.area = area
        self.is_own = is_own
        self.lock = Lock.create()
        self.indexes = List[_Index]()


@fieldwise_init
struct Place(TrivialRegisterPassable):
    """A handle to where a thread counts."""

    var state: PointerTo[PlaceState]
    """The heap state."""

    @staticmethod
    def create(registry: Int, area: Area, *, is_own: Bool) -> Self:
        """Creates a place for an area.

        Args:
            registry: The address of the registry.
            area: The area.
            is_own: Whether one thread alone writes the area.

        Returns:
            A handle; the place is never freed.
        """
        return Self(heap_create(PlaceState(registry, area, is_own)))

    @always_inline
    def area(self) -> Area:
        """Returns the area in which the thread counts.

        Returns:
            The area.
        """
        return self.state[].area

    @no_inline
    def find(
        self, family: PointerTo[Family], number: Int, key: Span[UInt8, _]
    ) -> Int:
        """Returns the series with a key, and adds it if there is none.

        Args:
            family: The family; it has labels.
            number: The index of the family.
            key: The key.

        Returns:
            The offset of the series. It is that of the others if there is no
            room for a further series.
        """
        if self.state[].is_own:
            return self._find(family, number, key)
        self.state[].lock.acquire()
        var series = self._find(family, number, key)
        self.state[].lock.release()
        return series

    def _find(
        self, family: PointerTo[Family], number: Int, key: Span[UInt8, _]
    ) -> Int:
        ref s = self.state[]
        while len(s.indexes) <= number:
            s.indexes.append(_Index())
        ref index = s.indexes[number]
        if len(index.slots) == 0:
            index.slots = List[UInt16](length=_TABLE, fill=0)
        # Those of a process that had the area before.
        for i in range(index.count, s.area.series_count(family[])):
            var series = s.area.series(family[], i)
            _insert(index, i, s.area.key(family[], series))
        var slot = Int(xxh64(key)) & (_TABLE - 1)
        while index.slots[slot] != 0:
            var found = Int(index.slots[slot]) - 1
            if s.area.has_key(family[], found, key):
                return s.area.series(family[], found)
            slot = (slot + 1) & (_TABLE - 1)
        if index.count == SERIES_MAX:
            var others = SeriesKey.of_others(len(family[].labels))
            _insert(index, SERIES_MAX, others.span())
            return s.area.publish(family[], others.span())
        if index.count > SERIES_MAX:
            return s.area.series(family[], SERIES_MAX)
        index.slots[slot] = UInt16(index.count + 1)
        index.count += 1
        return s.area.publish(family[], key)


def _insert(mut index: _Index, number: Int, key: Span[UInt8, _]):
    var slot = Int(xxh64(key)) & (_TABLE - 1)
    while index.slots[slot] != 0:
        slot = (slot + 1) & (_TABLE - 1)
    index.slots[slot] = UInt16(number + 1)
    index.count = number + 1
