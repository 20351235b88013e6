"""Counts the searches and the files of a served folder."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.metrics.file_meter import FileMeter, FileResult

from ..server.records.statistics import add_counter, count


struct FileStatistics(ImplicitlyCopyable):
    """The counters of a `StaticFiles` and its copies.

    Each search for a file counts as a hit, a recheck or a miss. A request is
    one search, or two if a fallback is sent in place of a missing file.
    """

    var hits: Int64
    """How many searches needed no look at the disk."""
    var rechecks: Int64
    """How many got a kept file, after a look that it is still the same."""
    var misses: Int64
    """How many got a file that had to be read, or none."""
    var open_files: Int64
    """How many files are being sent from the disk."""
    var cached_files: Int64
    """How many files the cache keeps."""
    var cached_octets: Int64
    """The memory that these take."""
    var evictions: Int64
    """How many files have left the cache: replaced, or for others."""

    def __init__(out self):
        """Creates counters at zero."""
        self.hits = 0
        self.rechecks = 0
        self.misses = 0
        self.open_files = 0
        self.cached_files = 0
        self.cached_octets = 0
        self.evictions = 0

    def __init__(out self, *, copy: Self):
        """Copies all counters.

        Args:
            copy: The counters to copy.
        """
        self.hits = copy.hits
        self.rechecks = copy.rechecks
        self.misses = copy.misses
        self.open_files = copy.open_files
        self.cached_files = copy.cached_files
        self.cached_octets = copy.cached_octets
        self.evictions = copy.evictions


struct _CounterState(Movable):
    var owners: Int
    var counts: FileStatistics
    var meter: FileMeter

    def __init__(out self):
        self.owners = 1
        self.counts = FileStatistics()
        self.meter = FileMeter()


struct FileCounters(Movable):
    """A share in the counters of one worker. Its thread changes them; others may
    read them.
    """

    var _state: PointerTo[_CounterState]

    def __init__(out self):
        """Creates counters at zero."""
        self._state = heap_create(_CounterState())

    def __init__(out self, *, shared_with: Self):
        """Creates another share.

        Args:
            shared_with: The other share.
        """
        self._state = shared_with._state
        self._state[].owners += 1

    def __deinit__(deinit self):
        """Frees the counters with the last share."""
        self._state[].owners -= 1
        if self._state[].owners == 0:
            heap_destroy(self._state)

    @always_inline
    def counts(self) -> PointerTo[FileStatistics]:
        """Returns the counters.

        Returns:
            A pointer that is valid while there are shares.
        """
        return Pointer(to=self._state[].counts).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def add_search(self, result: Int):
        """Counts a search.

        Args:
            result: One of `FileResult`.
        """
        ref counts = self._state[].counts
        if result == FileResult.HIT:
            count(counts.hits)
        elif result == FileResult.RECHECK:
            count(counts.rechecks)
        else:
            count(counts.misses)
        self._state[].meter.add(result)

    def add_open_files(self, change: Int):
        """Counts files that were opened or closed.

        Args:
            change: The number to add.
        """
        count(self._state[].counts.open_files, change)

    def open_files(self) -> Int:
        """Returns how many files the worker has open.

        Returns:
            The number.
        """
        return Int(self._state[].counts.open_files)


def add_counters(mut sum: FileStatistics, s: PointerTo[FileStatistics]):
    """Adds the counters of a worker, which may be counting.

    Args:
        sum: The counters to add to.
        s: The counters of the worker.
    """
    add_counter(sum.hits, s[].hits)
    add_counter(sum.rechecks, s[].rechecks)
    add_counter(sum.misses, s[].misses)
    add_counter(sum.open_files, s[].open_files)
