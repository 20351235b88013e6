"""Counts the searches of `StaticFiles`, in the metrics of the worker."""

from flare.core import PointerTo

from .family import Family, FamilyKind
from .instruments import Counter, Series
from .registry_state import RegistryState, register, registry_of_thread
from .series_key import SeriesKey

comptime _SEARCHES: StaticString = "flare_file_searches"


struct FileResult:
    """The results of a search for a file."""

    comptime HIT = 0
    """It needed no look at the disk."""
    comptime RECHECK = 1
    """A kept file was still the same."""
    comptime MISS = 2
    """A file had to be read, or there is none."""
    comptime NAMES: List[StaticString] = ["hit", "recheck", "miss"]
    """The names, as the label has them."""


struct FileMeter(Movable):
    """The counters of one worker. Its calls have no effect outside of the workers
    of a server with metrics."""

    # The address of the registry that the counters belong to; 0 for none yet.
    var _registry: Int
    var _searches: List[Counter]

    def __init__(out self):
        """Creates a meter that counts nowhere yet."""
        self._registry = 0
        self._searches = []

    @no_inline
    def add(mut self, result: Int):
        """Counts a search.

        Args:
            result: One of `FileResult`.
        """
        var registry = registry_of_thread()
        if registry == 0:
            return
        if registry != self._registry:
            self._bind(registry)
        self._searches[result].add()

    def _bind(mut self, registry: Int):
        self._registry = registry
        self._searches.clear()
        for name in materialize[FileResult.NAMES]():
            var key = SeriesKey()
            key.add(name)
            self._searches.append(
                Counter(Series.of_known(registry, _SEARCHES, key))
            )


def register_file_families(registry: PointerTo[RegistryState]) raises:
    """Adds the families to a new registry.

    Args:
        registry: The registry.

    Raises:
        Error: Never: the names are new.
    """
    _ = register(
        registry,
        Family(
            _SEARCHES,
            "Searches of StaticFiles for a file.",
            FamilyKind.COUNTER,
            ["result"],
        ),
    )
