"""Creates the metrics of a program, and shows them."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.memory import map_shared_sparse
from flare.sys.process import process_id

from .area import Area
from .buckets import BucketTable, EDGES
from .database_meter import register_database_families
from .file_meter import register_file_families
from .family import (
    Family,
    FamilyKind,
    HistogramShape,
    HistogramUnit,
    LABELS_MAX,
    is_label_name,
    is_metric_name,
)
from .instruments import (
    Counter,
    CounterFamily,
    Gauge,
    GaugeFamily,
    Histogram,
    HistogramFamily,
)
from .merging import write_family
from .metrics_text import MetricsFormat, MetricsText
from .registry_state import (
    AREA_OCTETS_MAX,
    RegistryState,
    edges_of,
    register,
)

comptime _MS = 1_000_000
comptime DURATION_BOUNDS: List[Int] = [
    5 * _MS,
    10 * _MS,
    25 * _MS,
    50 * _MS,
    75 * _MS,
    100 * _MS,
    250 * _MS,
    500 * _MS,
    750 * _MS,
    1000 * _MS,
    2500 * _MS,
    5000 * _MS,
    7500 * _MS,
    10_000 * _MS,
]
"""The bounds of times, in nanoseconds: those that OpenTelemetry advises for
requests."""
comptime SIZE_BOUNDS: List[Int] = [
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
]
"""The bounds of sizes, in octets."""
comptime RESERVED: List[StaticString] = [
    "flare_",
    "http_server_",
    "process_",
    "db_client_",
]
"""How the names of flare's own families begin."""


@fieldwise_init
struct Metrics(TrivialRegisterPassable):
    """A registry of counters, gauges and histograms.

    Create it and its families before the server starts, pass it to
    `ServerConfig(metrics=…)`, and mount a `MetricsPage`. Copies refer to the
    same registry, which lives as long as the process.

    Each worker counts in memory of its own, without a lock. A reader adds the
    numbers of all workers, also if they are processes of their own. If such a
    process dies, its counts stay.
    """

    var _state: PointerTo[RegistryState]

    def __init__(
        out self, *, duration_bounds: List[Int] = materialize[DURATION_BOUNDS]()
    ) raises:
        """Creates a registry without families of the program.

        Args:
            duration_bounds: The bounds of histograms of times, those of
                requests included, in nanoseconds. Each must be an edge of a
                bucket: a number of two digits and zeros up to 2, in steps of a
                quarter up to 5, and of a half up to 10. `all_bounds` has
                every edge. By default those that OpenTelemetry advises.

        Raises:
            Error: `metrics.bad_bounds`, or `metrics.no_memory`.
        """
        var mapped = map_shared_sparse(AREA_OCTETS_MAX)
        if mapped < 0:
            raise Error("metrics.no_memory errno=", -mapped)
        self._state = heap_create(
            RegistryState(Area(mapped), duration_bounds.copy())
        )
        self._state[].others.state[].registry = Int(self._state)
        self._state[].areas[0].set_process(process_id())
        _ = edges_of(self._state, HistogramUnit.SECONDS, duration_bounds)
        register_database_families(self._state)
        register_file_families(self._state)

    def counter(self, name: StringSlice, help: StringSlice) raises -> Counter:
        """Creates a counter, or returns the one with this name.

        Args:
            name: The name; it ends in `_total`.
            help: Its meaning, for readers of the page.

        Returns:
            The counter.

        Raises:
            Error: `metrics.bad_name`, `metrics.name_taken`, `metrics.started`,
                or `metrics.too_many`.
        """
        return Counter(
            self._state, self._open(name, help, FamilyKind.COUNTER, [])
        )

    def counter(
        self, name: StringSlice, help: StringSlice, *, labels: List[String]
    ) raises -> CounterFamily:
        """Creates counters that differ in labels.

        Args:
            name: The name; it ends in `_total`.
            help: Their meaning.
            labels: The names of the labels; 1 to 4.

        Returns:
            The family.

        Raises:
            Error: `metrics.bad_label`, and the errors of a counter.
        """
        _check_labels(labels)
        return CounterFamily(
            self._state, self._open(name, help, FamilyKind.COUNTER, labels)
        )

    def gauge(self, name: StringSlice, help: StringSlice) raises -> Gauge:
        """Creates a gauge, or returns the one with this name.

        Args:
            name: The name.
            help: Its meaning, for readers of the page.

        Returns:
            The gauge.

        Raises:
            Error: `metrics.bad_name`, `metrics.name_taken`, `metrics.started`,
                or `metrics.too_many`.
        """
        return Gauge(self._state, self._open(name, help, FamilyKind.GAUGE, []))

    def gauge(
        self, name: StringSlice, help: StringSlice, *, labels: List[String]
    ) raises -> GaugeFamily:
        """Creates gauges that differ in labels.

        Args:
            name: The name.
            help: Their meaning.
            labels: The names of the labels; 1 to 4.

        Returns:
            The family.

        Raises:
            Error: `metrics.bad_label`, and the errors of a gauge.
        """
        _check_labels(labels)
        return GaugeFamily(
            self._state, self._open(name, help, FamilyKind.GAUGE, labels)
        )

    def histogram(
        self,
        name: StringSlice,
        help: StringSlice,
        *,
        unit: HistogramUnit = HistogramUnit.SECONDS,
        bounds: List[Int] = [],
    ) raises -> Histogram:
        """Creates a histogram, or returns the one with this name.

        Args:
            name: The name; it ends in the name of the unit, such as
                `_seconds`.
            help: Its meaning, for readers of the page.
            unit: The unit of its values.
            bounds: The bounds, in nanoseconds or octets; by default those of
                the registry, or powers of ten of octets. Each must be an edge
                of a bucket.

        Returns:
            The histogram.

        Raises:
            Error: `metrics.bad_bounds`, `metrics.bad_name`,
                `metrics.name_taken`, `metrics.started`, or `metrics.too_many`.
        """
        return Histogram(
            self._state, self._open_histogram(name, help, [], unit, bounds)
        )

    def histogram(
        self,
        name: StringSlice,
        help: StringSlice,
        *,
        labels: List[String],
        unit: HistogramUnit = HistogramUnit.SECONDS,
        bounds: List[Int] = [],
    ) raises -> HistogramFamily:
        """Creates histograms that differ in labels.

        Args:
            name: The name; it ends in the name of the unit.
            help: Their meaning.
            labels: The names of the labels; 1 to 4.
            unit: The unit of their values.
            bounds: The bounds, in nanoseconds or octets.

        Returns:
            The family.

        Raises:
            Error: `metrics.bad_label`, and the errors of a histogram.
        """
        _check_labels(labels)
        return HistogramFamily(
            self._state, self._open_histogram(name, help, labels, unit, bounds)
        )

    def text(self, format: MetricsFormat = MetricsFormat.PROMETHEUS) -> String:
        """Returns the numbers of all workers as text. Callable on any thread.

        Args:
            format: The format.

        Returns:
            The text. Each number was right at some moment of the call.
        """
        # Sources, which are called by their addresses, write to it too.
        var text = heap_create(MetricsText(format))
        var state = self._state
        for i in range(len(state[].families)):
            write_family(text, state, i)
        for i in range(len(state[].sources)):
            var source = state[].sources[i]
            source.write(source.owner, text)
        var whole = text[].end()
        heap_destroy(text)
        return whole^

    def unsafe_state(self) -> PointerTo[RegistryState]:
        """Returns the registry, for code that counts for a server.

        Returns:
            The state, which is never freed.
        """
        return self._state

    def _open(
        self,
        name: StringSlice,
        help: StringSlice,
        kind: UInt8,
        labels: List[String],
    ) raises -> Int:
        _check_name(name)
        var base = name
        if kind == FamilyKind.COUNTER:
            if not name.endswith("_total"):
                raise Error("metrics.bad_name no _total ends it: ", name)
            base = name[byte = : name.byte_length() - 6]
            _check_name(base)
        return register(self._state, Family(base, help, kind, labels))

    def _open_histogram(
        self,
        name: StringSlice,
        help: StringSlice,
        labels: List[String],
        unit: HistogramUnit,
        bounds: List[Int],
    ) raises -> Int:
        _check_name(name)
        if not name.endswith(String("_", unit.name)):
            raise Error("metrics.bad_name no unit ends it: ", name)
        var wanted = materialize[SIZE_BOUNDS]()
        if len(bounds) > 0:
            wanted = bounds.copy()
        elif unit == HistogramUnit.SECONDS:
            wanted = self._state[].duration_bounds.copy()
        var edges = edges_of(self._state, unit, wanted)
        return register(
            self._state,
            Family(
                name,
                help,
                FamilyKind.HISTOGRAM,
                labels,
                HistogramShape(unit, edges^),
            ),
        )


def all_bounds(unit: HistogramUnit = HistogramUnit.SECONDS) -> List[Int]:
    """Returns every possible bound of a histogram. With all of them, quantiles
    are right within 7 %, and each series takes 260 lines.

    Args:
        unit: The unit of the histogram.

    Returns:
        The bounds, in nanoseconds or octets.
    """
    var bounds = List[Int]()
    var table = BucketTable()
    for i in range(EDGES):
        # No size is a part of an octet.
        if table.edges[i] % unit.scale == 0:
            bounds.append(table.edges[i] // unit.scale)
    return bounds^


def _check_name(name: StringSlice) raises:
    if not is_metric_name(name):
        raise Error("metrics.bad_name ", name)
    for start in materialize[RESERVED]():
        if name.startswith(start):
            raise Error("metrics.bad_name belongs to the server: ", name)


def _check_labels(labels: List[String]) raises:
    if len(labels) < 1 or len(labels) > LABELS_MAX:
        raise Error("metrics.bad_label 1 to 4 are possible")
    for i in range(len(labels)):
        if not is_label_name(labels[i]) or labels[i] in labels[:i]:
            raise Error("metrics.bad_label ", labels[i])
