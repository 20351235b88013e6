"""Finds the file of a path, in a table of one worker.

A hit needs no lock and no system call, unless the knowledge is too old.
"""

from flare.core import Buffer, PointerTo, equals
from flare.core.xxhash import xxh64

from .served_file import ServedFile

comptime _PLACES_MIN = 64
# At most half of them are taken.
comptime _PLACES_MAX = 32_768
comptime _REFUSALS_MAX = 1_024
comptime _FREE: UInt64 = 0
comptime LONG_AGO_MS = -(1 << 60)
"""A time before any other, which can be subtracted."""


struct IndexEntry(Copyable, Movable):
    """The knowledge of a worker about a path."""

    var hash: UInt64
    """The hash of the path, never 0 except in free places."""
    var start: Int
    """Where the path begins among the octets of the index."""
    var octets: Int
    """Its length."""
    var checked_ms: Int
    """When this was last true."""
    var file: Optional[ServedFile]
    """The file; `None` if there is none."""

    def __init__(out self):
        """Creates a free place."""
        self.hash = _FREE
        self.start = 0
        self.octets = 0
        self.checked_ms = 0
        self.file = None


struct FileIndex(Movable):
    """A bounded table of paths as received. It is emptied when it is full: the
    store still has the files.
    """

    var _places: List[IndexEntry]
    var _paths: Buffer
    var _seed: UInt64
    var _count: Int
    var _refusals: Int
    var _evictions: UInt64
    var _swept_ms: Int

    def __init__(out self, seed: UInt64):
        """Creates an empty index.

        Args:
            seed: A random number, so that no client can choose paths that
                collide.
        """
        self._places = List[IndexEntry](length=_PLACES_MIN, fill=IndexEntry())
        self._paths = Buffer()
        self._seed = seed
        self._count = 0
        self._refusals = 0
        self._evictions = 0
        self._swept_ms = 0

    @always_inline
    def find(self, path: Span[UInt8, _]) -> Optional[PointerTo[IndexEntry]]:
        """Returns the entry of a path.

        Args:
            path: The path as received.

        Returns:
            The entry, which lives until the index next changes; or `None`.
        """
        var hash = self._hash(path)
        var mask = len(self._places) - 1
        var at = Int(hash) & mask
        while True:
            ref entry = self._places.unsafe_get(at)
            if entry.hash == hash:
                if equals(
                    self._paths.span()[
                        entry.start : entry.start + entry.octets
                    ],
                    path,
                ):
                    return (
                        Pointer(to=entry)
                        .unsafe_mut_cast[True]()
                        .unsafe_origin_cast[MutUntrackedOrigin]()
                    )
            elif entry.hash == _FREE:
                return None
            at = (at + 1) & mask

    def put(
        mut self, path: Span[UInt8, _], file: Optional[ServedFile], now_ms: Int
    ):
        """Stores the result of a search.

        Args:
            path: The path as received.
            file: The file; `None` if there is none.
            now_ms: The time.
        """
        var known = self.find(path)
        if known:
            if Bool(known.value()[].file) != Bool(file):
                self._refusals += -1 if file else 1
            known.value()[].file = file
            known.value()[].checked_ms = now_ms
            return
        if not file:
            if self._refusals == _REFUSALS_MAX:
                self._keep_files()
            self._refusals += 1
        if 2 * (self._count + 1) > len(self._places):
            self._grow()
        var entry = IndexEntry()
        entry.hash = self._hash(path)
        entry.start = len(self._paths)
        entry.octets = len(path)
        entry.checked_ms = now_ms
        entry.file = file
        self._paths.append(path)
        self._count += 1
        self._insert(entry^)

    def forget_evicted(mut self, evictions: UInt64, now_ms: Int, pause_ms: Int):
        """Drops the files that the store has evicted.

        Args:
            evictions: How often the store has evicted files.
            now_ms: The time.
            pause_ms: The least time between two looks at all entries.
        """
        if evictions == self._evictions or now_ms - self._swept_ms < pause_ms:
            return
        self._evictions = evictions
        self._swept_ms = now_ms
        for ref entry in self._places:
            if entry.file and entry.file.value().state[].is_evicted != 0:
                # As old as can be: the next request looks at the file.
                entry.file = None
                entry.checked_ms = LONG_AGO_MS
                self._refusals += 1

    def clear(mut self):
        """Forgets all paths."""
        self._places = List[IndexEntry](length=_PLACES_MIN, fill=IndexEntry())
        self._paths = Buffer()
        self._count = 0
        self._refusals = 0

    @always_inline
    def _hash(self, path: Span[UInt8, _]) -> UInt64:
        var hash = xxh64(path, self._seed)
        return hash if hash != _FREE else 1

    def _insert(mut self, var entry: IndexEntry):
        var mask = len(self._places) - 1
        var at = Int(entry.hash) & mask
        while self._places[at].hash != _FREE:
            at = (at + 1) & mask
        self._places[at] = entry^

    def _grow(mut self):
        if len(self._places) == _PLACES_MAX:
            return self.clear()
        self._rebuild(2 * len(self._places), keeps_refusals=True)

    def _keep_files(mut self):
        self._rebuild(len(self._places), keeps_refusals=False)
        self._refusals = 0

    def _rebuild(mut self, places: Int, *, keeps_refusals: Bool):
        var old = self._places^
        var paths = Buffer()
        swap(paths, self._paths)
        self._places = List[IndexEntry](length=places, fill=IndexEntry())
        self._count = 0
        for ref entry in old:
            if entry.hash == _FREE or not (entry.file or keeps_refusals):
                continue
            var kept = entry.copy()
            kept.start = len(self._paths)
            self._paths.append(
                paths.span()[entry.start : entry.start + entry.octets]
            )
            self._count += 1
            self._insert(kept^)
