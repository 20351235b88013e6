"""Describes the series of one name, and checks names.

The grammar is that of the Prometheus text format 0.0.4 and of OpenMetrics
1.0.0.
"""

from flare.core import OctetSet, equals

from .buckets import BUCKETS

comptime LABELS_MAX = 4
"""The most labels of a family."""
comptime LABEL_OCTETS_MAX = 128
"""The most octets that are kept of the value of a label."""
comptime SERIES_MAX = 1000
"""The most label sets of a family that one worker counts apart. Further ones
count together, with `other` for each label."""
comptime FAMILY_HEAD_OCTETS = 64
"""The octets before the series of a family in an area."""

comptime _FIRST_OCTETS = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
)
comptime _NAME_OCTETS = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
)
comptime _COLON: UInt8 = 58
comptime _LINE_OCTETS = 64


struct FamilyKind:
    """The types of families."""

    comptime COUNTER: UInt8 = 0
    """Only grows."""
    comptime GAUGE: UInt8 = 1
    """Grows and shrinks; the workers' values are added."""
    comptime HISTOGRAM: UInt8 = 2
    """Counts values by size."""


@fieldwise_init
struct HistogramUnit(Equatable, ImplicitlyCopyable):
    """The unit of the values of a histogram."""

    comptime SECONDS = Self("seconds", 9, 1)
    """Times: given in nanoseconds, told from 1 µs to 100 s, shown in
    seconds."""
    comptime BYTES = Self("bytes", 3, 1000)
    """Sizes: given in octets, told from 1 octet to 100 MB."""

    var name: StaticString
    """The end of the name of such a family."""
    var decimals: Int
    """The digits of its numbers after the decimal point."""
    var scale: Int
    """The factor by which a value is multiplied before it is counted."""

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two units are the same.

        Args:
            other: The other unit.

        Returns:
            True if their names are equal.
        """
        return self.name == other.name


struct HistogramShape(Copyable, Movable):
    """How a histogram is shown."""

    var unit: HistogramUnit
    """Its unit."""
    var bounds: List[Int]
    """The edges to show, by index."""

    def __init__(
        out self,
        unit: HistogramUnit = HistogramUnit.SECONDS,
        var bounds: List[Int] = [],
    ):
        """Creates a shape.

        Args:
            unit: The unit.
            bounds: The edges to show, by index.
        """
        self.unit = unit
        self.bounds = bounds^


struct Family(Movable):
    """The series of one name."""

    var name: String
    """The name, without the `_total` of a counter."""
    var help: String
    """The meaning of the series, as a text."""
    var kind: UInt8
    """One of `FamilyKind`."""
    var labels: List[String]
    """The names of the labels."""
    var unit: HistogramUnit
    """The unit of a histogram."""
    var bounds: List[Int]
    """The edges that a histogram shows, by index."""
    var offset: Int
    """Where the family begins in each area."""
    var stride: Int
    """The octets of one series."""

    def __init__(
        out self,
        name: StringSlice,
        help: StringSlice,
        kind: UInt8,
        labels: List[String],
        shown: HistogramShape = HistogramShape(),
    ):
        """Creates a description.

        Args:
            name: The name, without the `_total` of a counter.
            help: The meaning of the series.
            kind: One of `FamilyKind`.
            labels: The names of the labels.
            shown: How a histogram is shown.
        """
        self.name = String(name)
        self.help = String(help)
        self.kind = kind
        self.labels = labels.copy()
        self.unit = shown.unit
        self.bounds = shown.bounds.copy()
        self.offset = 0
        var octets = 8 * Self.words_of(kind)
        if len(labels) > 0:
            octets += 8 + len(labels) * (LABEL_OCTETS_MAX + 1) + 7
        self.stride = octets // _LINE_OCTETS * _LINE_OCTETS + _LINE_OCTETS
        if len(labels) == 0 and kind != FamilyKind.HISTOGRAM:
            self.stride = 8

    @staticmethod
    def words_of(kind: UInt8) -> Int:
        """Returns how many numbers a series has.

        Args:
            kind: The kind of its family.

        Returns:
            1, or the sum and the buckets of a histogram.
        """
        return 1 + BUCKETS if kind == FamilyKind.HISTOGRAM else 1

    def key_offset(self) -> Int:
        """Returns where in a series its key is.

        Returns:
            The offset of the length, which the octets follow.
        """
        return 8 * Self.words_of(self.kind)

    def octets(self) -> Int:
        """Returns how much of an area the family takes.

        Returns:
            The octets; one series more than `SERIES_MAX` if it has labels.
        """
        var count = SERIES_MAX + 1 if len(self.labels) > 0 else 1
        var octets = FAMILY_HEAD_OCTETS + count * self.stride
        return (octets + _LINE_OCTETS - 1) // _LINE_OCTETS * _LINE_OCTETS

    def is_like(self, other: Self) -> Bool:
        """Returns whether two descriptions differ at most in help.

        Args:
            other: The other one.

        Returns:
            True if type, name, labels, unit and bounds are the same.
        """
        return (
            self.name == other.name
            and self.kind == other.kind
            and self.labels == other.labels
            and self.unit == other.unit
            and self.bounds == other.bounds
        )

    def sample_names(self) -> List[String]:
        """Returns the names that lines of the family, or of a later version of
        it, begin with.

        Returns:
            The names, of which no two families may share any.
        """
        var names: List[String] = [self.name.copy()]
        var ends: List[StaticString] = []
        if self.kind == FamilyKind.COUNTER:
            ends = ["_total", "_created"]
        elif self.kind == FamilyKind.HISTOGRAM:
            ends = ["_bucket", "_sum", "_count", "_created"]
        for end in ends:
            names.append(String(self.name, end))
        return names^


def is_metric_name(name: StringSlice) -> Bool:
    """Returns whether a text may be the name of a family.

    Args:
        name: The text.

    Returns:
        True for letters, digits, `_` and `:` that do not begin with a digit.
    """
    return _is_name(name, allows_colon=True)


def is_label_name(name: StringSlice) -> Bool:
    """Returns whether a text may be the name of a label.

    Args:
        name: The text.

    Returns:
        False also for names that Prometheus reserves: those that begin with
        `__`, `le` and `quantile`.
    """
    return (
        _is_name(name, allows_colon=False)
        and not name.startswith("__")
        and not equals(name.as_bytes(), "le".as_bytes())
        and not equals(name.as_bytes(), "quantile".as_bytes())
    )


def _is_name(name: StringSlice, *, allows_colon: Bool) -> Bool:
    var octets = name.as_bytes()
    if len(octets) == 0 or len(octets) > LABEL_OCTETS_MAX:
        return False
    for i in range(len(octets)):
        var octet = octets[i]
        if allows_colon and octet == _COLON:
            continue
        if i == 0 and not (octet in materialize[_FIRST_OCTETS]()):
            return False
        if not (octet in materialize[_NAME_OCTETS]()):
            return False
    return True
