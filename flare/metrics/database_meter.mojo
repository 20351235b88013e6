"""Counts the statements of databases, in the metrics of the worker that asks them.

The families have the names of OpenTelemetry's conventions. A registry has them
from the start, because families cannot follow a server. They are in its text
once a database has counted there.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.current import current_reactor

from .family import Family, FamilyKind, HistogramShape, HistogramUnit
from .instruments import Gauge, Histogram, Series
from .registry_state import (
    RegistryState,
    edges_of,
    register,
    registry_of_thread,
)
from .series_key import SeriesKey

comptime _DURATIONS: StaticString = "db_client_operation_duration_seconds"
comptime _CONNECTIONS: StaticString = "db_client_connection_count"
comptime _PENDING: StaticString = "db_client_connection_pending_requests"
comptime _MS = 1_000_000
# Those that OpenTelemetry advises for databases.
comptime _BOUNDS: List[Int] = [
    1 * _MS,
    5 * _MS,
    10 * _MS,
    50 * _MS,
    100 * _MS,
    500 * _MS,
    1000 * _MS,
    5000 * _MS,
    10_000 * _MS,
]


@fieldwise_init
struct DatabaseUse(ImplicitlyCopyable):
    """The present use of a database by one worker."""

    var busy: Int
    """Connections in use."""
    var idle: Int
    """Connections that wait for work."""
    var waiting: Int
    """Statements that wait for a connection."""


struct DatabaseMeterState(Movable):
    """The instruments of one database. Only `DatabaseMeter` uses it."""

    var system: StaticString
    """The name of the database system, as OpenTelemetry writes it."""
    var registry: Int
    """The address of the registry that it counts in; 0 for none yet."""
    var durations: Optional[Histogram]
    """The times of statements that succeeded."""
    var busy: Optional[Gauge]
    """Connections in use."""
    var idle: Optional[Gauge]
    """Connections that wait for work."""
    var waiting: Optional[Gauge]
    """Statements that wait for a connection."""
    var running: Int
    """How many statements have begun and not ended."""
    var shown: DatabaseUse
    """The share of this database in the gauges, which others use too."""

    def __init__(out self, system: StaticString):
        """Creates a meter that counts nowhere yet.

        Args:
            system: The name of the database system.
        """
        self.system = system
        self.registry = 0
        self.durations = None
        self.busy = None
        self.idle = None
        self.waiting = None
        self.running = 0
        self.shown = DatabaseUse(0, 0, 0)


@fieldwise_init
struct DatabaseMeter(TrivialRegisterPassable):
    """Counts for one database. Its calls have no effect outside of the workers of
    a server with metrics."""

    var state: PointerTo[DatabaseMeterState]
    """The heap state."""

    @staticmethod
    def create(system: StaticString) -> Self:
        """Creates a meter.

        Args:
            system: The name of the database system, such as `postgresql`.

        Returns:
            A handle.
        """
        return Self(heap_create(DatabaseMeterState(system)))

    def destroy(self):
        """Frees the meter."""
        self.show(DatabaseUse(0, 0, 0))
        heap_destroy(self.state)

    def begin(self) -> Int:
        """Returns the time at which a statement begins.

        Returns:
            Nanoseconds for `end`; 0 if the calling thread does not count.
        """
        if not self.counts():
            return 0
        self.state[].running += 1
        return current_reactor().value().clock_ns()

    def end(self, begun_ns: Int):
        """Counts a statement that succeeded.

        Args:
            begun_ns: The result of `begin`.
        """
        if begun_ns == 0:
            return
        self.state[].running -= 1
        if self.counts():
            self.state[].durations.unsafe_value().observe(
                current_reactor().value().clock_ns() - begun_ns
            )

    @no_inline
    def end(self, begun_ns: Int, error_type: StringSlice):
        """Counts a statement that failed.

        Args:
            begun_ns: The result of `begin`.
            error_type: The kind of the error, one of few.
        """
        if begun_ns == 0:
            return
        self.state[].running -= 1
        if self.counts():
            self._histogram(error_type).observe(
                current_reactor().value().clock_ns() - begun_ns
            )

    def running(self) -> Int:
        """Returns how many statements have begun and not ended.

        Returns:
            The number, with those that wait for a connection.
        """
        return self.state[].running

    def show(self, use: DatabaseUse):
        """Sets the present use.

        Args:
            use: The use.
        """
        if not self.counts():
            return
        ref s = self.state[]
        s.busy.unsafe_value().add(use.busy - s.shown.busy)
        s.idle.unsafe_value().add(use.idle - s.shown.idle)
        s.waiting.unsafe_value().add(use.waiting - s.shown.waiting)
        s.shown = use

    def counts(self) -> Bool:
        """Returns whether the calling thread counts.

        Returns:
            True on a worker of a server with metrics.
        """
        var registry = registry_of_thread()
        if registry != 0 and registry != self.state[].registry:
            self._bind(registry)
        return registry != 0

    @no_inline
    def _bind(self, registry: Int):
        ref s = self.state[]
        s.registry = registry
        s.durations = self._histogram("")
        s.busy = self._gauge(_CONNECTIONS, "used")
        s.idle = self._gauge(_CONNECTIONS, "idle")
        s.waiting = self._gauge(_PENDING, "")
        s.shown = DatabaseUse(0, 0, 0)

    def _histogram(self, kind: StringSlice) -> Histogram:
        var key = SeriesKey()
        key.add(self.state[].system)
        key.add(kind)
        return Histogram(
            Series.of_known(self.state[].registry, _DURATIONS, key)
        )

    def _gauge(
        self, name: StaticString, connection_state: StringSlice
    ) -> Gauge:
        var key = SeriesKey()
        key.add(self.state[].system)
        if connection_state.byte_length() > 0:
            key.add(connection_state)
        return Gauge(Series.of_known(self.state[].registry, name, key))


def register_database_families(registry: PointerTo[RegistryState]) raises:
    """Adds the families to a new registry.

    Args:
        registry: The registry.

    Raises:
        Error: Never: the names are new, and the bounds are edges.
    """
    var bounds = materialize[_BOUNDS]()
    var edges = edges_of(registry, HistogramUnit.SECONDS, bounds)
    _ = register(
        registry,
        Family(
            _DURATIONS,
            "Duration of database client operations.",
            FamilyKind.HISTOGRAM,
            ["db_system_name", "error_type"],
            HistogramShape(HistogramUnit.SECONDS, edges^),
        ),
    )
    _ = register(
        registry,
        Family(
            _CONNECTIONS,
            "Connections to databases.",
            FamilyKind.GAUGE,
            ["db_system_name", "db_client_connection_state"],
        ),
    )
    _ = register(
        registry,
        Family(
            _PENDING,
            "Requests that wait for a connection to a database.",
            FamilyKind.GAUGE,
            ["db_system_name"],
        ),
    )
