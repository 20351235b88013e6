"""Counts for a program: counters, gauges and histograms.

An instrument without labels has the same place in each area. So has one whose
labels were bound before the server started. Others are found by a search.
"""

from flare.core import PointerTo

from .area import Area, change, change_together
from .place import Place
from .registry_state import RegistryState, place_of_thread
from .series_key import SeriesKey

# A thousand times as much, the unit of sizes, still fits an `Int`.
comptime _VALUE_MAX = 1 << 53


@fieldwise_init
struct Series(TrivialRegisterPassable):
    """One series of a family, in the areas of all threads."""

    var registry: PointerTo[RegistryState]
    """The registry."""
    var number: Int
    """The index of the family."""
    var area: Area
    """The area in which the labels were bound."""
    var offset: Int
    """The offset of the series there."""
    var is_common: Bool
    """Whether it has this offset in all areas."""

    @staticmethod
    def without_labels(registry: PointerTo[RegistryState], number: Int) -> Self:
        """Returns the only series of a family.

        Args:
            registry: The registry.
            number: The index of the family.

        Returns:
            The series.
        """
        var area = registry[].areas[0]
        var offset = area.series(registry[].families[number][], 0)
        return Self(registry, number, area, offset, True)

    @staticmethod
    def bound(
        registry: PointerTo[RegistryState], number: Int, key: SeriesKey
    ) -> Self:
        """Returns the series of some labels.

        Args:
            registry: The registry.
            number: The index of the family.
            key: The values of the labels.

        Returns:
            The series.
        """
        var is_common = len(registry[].claims) == 0
        var place = place_of_thread(registry)
        return Self(
            registry,
            number,
            place.area(),
            place.find(registry[].families[number], number, key.span()),
            is_common,
        )

    @staticmethod
    def of_known(registry: Int, name: StaticString, key: SeriesKey) -> Self:
        """Returns a series of a family that each registry has.

        Args:
            registry: The address of the registry.
            name: The name of the family, without the `_total` of a counter.
            key: The values of the labels.

        Returns:
            The series.
        """
        var state = PointerTo[RegistryState](unsafe_from_address=registry)
        var number = 0
        while state[].families[number][].name != name:
            number += 1
        return Self.bound(state, number, key)

    @always_inline
    def in_area(self, place: Place) -> Int:
        """Returns where a thread counts the series.

        Args:
            place: The place of the thread.

        Returns:
            The offset in the area of the thread.
        """
        if self.is_common or self.area == place.area():
            return self.offset
        return self._search(place)

    @always_inline
    def change_number(self, place: Place, offset: Int, by: Int):
        """Changes a number of the thread.

        Args:
            place: The place of the thread.
            offset: Where the number is.
            by: The number to add.
        """
        if place.state[].is_own:
            change(place.area().word(offset), by)
        else:
            change_together(place.area().word(offset), by)

    @no_inline
    def _search(self, place: Place) -> Int:
        # The labels were bound on another thread.
        var family = self.registry[].families[self.number]
        return place.find(
            family, self.number, self.area.key(family[], self.offset)
        )


struct Counter(TrivialRegisterPassable):
    """Counts events. Any thread may use it, and copies count together."""

    var _series: Series

    def __init__(out self, registry: PointerTo[RegistryState], number: Int):
        """Creates the counter of a family without labels.

        Args:
            registry: The registry.
            number: The index of the family.
        """
        self._series = Series.without_labels(registry, number)

    def __init__(out self, series: Series):
        """Creates the counter of a series.

        Args:
            series: The series.
        """
        self._series = series

    @always_inline
    def add(self, count: Int = 1):
        """Counts events.

        Args:
            count: How many; a negative number counts as 0.
        """
        var place = place_of_thread(self._series.registry)
        self._series.change_number(
            place, self._series.in_area(place), max(count, 0)
        )


struct Gauge(TrivialRegisterPassable):
    """A number that grows and shrinks. Each worker has its own; a reader adds
    them. That of a worker which died is 0.
    """

    var _series: Series

    def __init__(out self, registry: PointerTo[RegistryState], number: Int):
        """Creates the gauge of a family without labels.

        Args:
            registry: The registry.
            number: The index of the family.
        """
        self._series = Series.without_labels(registry, number)

    def __init__(out self, series: Series):
        """Creates the gauge of a series.

        Args:
            series: The series.
        """
        self._series = series

    @always_inline
    def add(self, change: Int = 1):
        """Changes the number of the calling worker.

        Args:
            change: The number to add; negative to subtract.
        """
        var place = place_of_thread(self._series.registry)
        self._series.change_number(place, self._series.in_area(place), change)

    def set(self, value: Int):
        """Sets the number of the calling worker. Threads that are no workers
        have one number together.

        Args:
            value: The number.
        """
        var place = place_of_thread(self._series.registry)
        var number = place.area().word(self._series.in_area(place))
        change(number, value - Int(number[]))


struct Histogram(TrivialRegisterPassable):
    """Counts values by size."""

    var _series: Series
    var _scale: Int

    def __init__(out self, registry: PointerTo[RegistryState], number: Int):
        """Creates the histogram of a family without labels.

        Args:
            registry: The registry.
            number: The index of the family.
        """
        self = Self(Series.without_labels(registry, number))

    def __init__(out self, series: Series):
        """Creates the histogram of a series.

        Args:
            series: The series.
        """
        self._series = series
        self._scale = series.registry[].families[series.number][].unit.scale

    @always_inline
    def observe(self, value: Int):
        """Counts a value.

        Args:
            value: Nanoseconds or octets, by the unit of the histogram. A
                negative one counts as 0, one over 2^53 as 2^53.
        """
        var place = place_of_thread(self._series.registry)
        var series = self._series.in_area(place)
        var scaled = min(max(value, 0), _VALUE_MAX) * self._scale
        var bucket = self._series.registry[].table.bucket_of(scaled)
        self._series.change_number(place, series, scaled)
        self._series.change_number(place, series + 8 + 8 * bucket, 1)


@fieldwise_init
struct CounterFamily(TrivialRegisterPassable):
    """Counters that differ in labels. Values that are known should be bound
    before the server starts: then counting needs no search.
    """

    var _registry: PointerTo[RegistryState]
    var _number: Int

    def of(self, *values: String) raises -> Counter:
        """Returns the counter of some values of the labels.

        Args:
            values: One for each label. 128 octets of each are kept.

        Returns:
            The counter. If 1,000 others were counted before, it is that of the
            values `other`.

        Raises:
            Error: `metrics.bad_label` if the values are not as many as the
                labels.
        """
        var key = SeriesKey()
        for value in values:
            key.add(value)
        return Counter(_bound(self._registry, self._number, key))


@fieldwise_init
struct GaugeFamily(TrivialRegisterPassable):
    """Gauges that differ in labels."""

    var _registry: PointerTo[RegistryState]
    var _number: Int

    def of(self, *values: String) raises -> Gauge:
        """Returns the gauge of some values of the labels.

        Args:
            values: One for each label. 128 octets of each are kept.

        Returns:
            The gauge. If 1,000 others were used before, it is that of the
            values `other`.

        Raises:
            Error: `metrics.bad_label` if the values are not as many as the
                labels.
        """
        var key = SeriesKey()
        for value in values:
            key.add(value)
        return Gauge(_bound(self._registry, self._number, key))


@fieldwise_init
struct HistogramFamily(TrivialRegisterPassable):
    """Histograms that differ in labels."""

    var _registry: PointerTo[RegistryState]
    var _number: Int

    def of(self, *values: String) raises -> Histogram:
        """Returns the histogram of some values of the labels.

        Args:
            values: One for each label. 128 octets of each are kept.

        Returns:
            The histogram. If 1,000 others were used before, it is that of the
            values `other`.

        Raises:
            Error: `metrics.bad_label` if the values are not as many as the
                labels.
        """
        var key = SeriesKey()
        for value in values:
            key.add(value)
        return Histogram(_bound(self._registry, self._number, key))


def _bound(
    registry: PointerTo[RegistryState], number: Int, key: SeriesKey
) raises -> Series:
    if key.values() != len(registry[].families[number][].labels):
        raise Error("metrics.bad_label as many values as labels are needed")
    return Series.bound(registry, number, key)
