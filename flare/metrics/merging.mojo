"""Adds the numbers of all areas, and writes them.

Series with the same key are one. The buckets of a histogram fold into
those between its bounds. Each bound is the edge of a bucket, so that no value is
counted on its wrong side.
"""

from flare.core import PointerTo

from .area import Area, read_number
from .buckets import BUCKETS
from .family import Family, FamilyKind
from .metrics_text import MetricsText
from .registry_state import RegistryState


struct _Merged(Movable):
    # The series of one family, with `width` numbers each: one, or the sum and
    # the shown buckets of a histogram.
    var width: Int
    var keys: List[Span[UInt8, MutUntrackedOrigin]]
    var numbers: List[Int]
    var index_of: Dict[String, Int]
    # In which shown bucket each bucket is.
    var shown: List[Int]

    def __init__(out self, family: Family):
        self.width = 1
        self.keys = []
        self.numbers = []
        self.index_of = {}
        self.shown = []
        if family.kind == FamilyKind.HISTOGRAM:
            self.width = 2 + len(family.bounds)
            var bound = 0
            for bucket in range(BUCKETS):
                while (
                    bound < len(family.bounds) and family.bounds[bound] < bucket
                ):
                    bound += 1
                self.shown.append(bound)

    def add(mut self, family: Family, area: Area, index: Int):
        var series = area.series(family, index)
        var at = self._place(family, area, series)
        if self.width == 1:
            self.numbers[at] += read_number(area.word(series))
            return
        # The sum last: it never has a value that no bucket has.
        for bucket in range(BUCKETS):
            var count = read_number(area.word(series + 8 + 8 * bucket))
            if count != 0:
                self.numbers[at + 1 + self.shown[bucket]] += count
        self.numbers[at] += read_number(area.word(series))

    def _place(mut self, family: Family, area: Area, series: Int) -> Int:
        var key = Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=PointerTo[UInt8](unsafe_from_address=area.address),
            length=0,
        )
        if len(family.labels) > 0:
            key = area.key(family, series)
        var text = String(StringSlice(unsafe_from_utf8=key))
        var found = self.index_of.get(text)
        if found:
            return found.value() * self.width
        self.index_of[text] = len(self.keys)
        self.keys.append(key)
        for _ in range(self.width):
            self.numbers.append(0)
        return (len(self.keys) - 1) * self.width


def write_family(
    text: PointerTo[MetricsText],
    state: PointerTo[RegistryState],
    number: Int,
):
    """Writes the series of a family.

    Args:
        text: The destination.
        state: The registry.
        number: The index of the family.
    """
    ref s = state[]
    ref family = s.families[number][]
    var merged = _Merged(family)
    s.lock.acquire()
    var areas = s.areas.copy()
    s.lock.release()
    for area in areas:
        for i in range(area.series_count(family)):
            merged.add(family, area, i)
    if len(merged.keys) == 0:
        return
    if family.kind == FamilyKind.HISTOGRAM:
        _write_histogram(text, state, family, merged)
        return
    var type: StaticString = "gauge"
    var end: StaticString = ""
    if family.kind == FamilyKind.COUNTER:
        type = "counter"
        end = "_total"
    text[].begin(family.name, type, family.help)
    for i in range(len(merged.keys)):
        text[].begin_sample(family.name, end)
        text[].labels(family.labels, merged.keys[i])
        text[].end_sample(merged.numbers[i])


def _write_histogram(
    text: PointerTo[MetricsText],
    state: PointerTo[RegistryState],
    family: Family,
    merged: _Merged,
):
    var decimals = family.unit.decimals
    text[].begin(family.name, "histogram", family.help, family.unit.name)
    for i in range(len(merged.keys)):
        var at = i * merged.width
        var total = 0
        for k in range(merged.width - 1):
            total += merged.numbers[at + 1 + k]
            text[].begin_sample(family.name, "_bucket")
            text[].labels(family.labels, merged.keys[i])
            if k < len(family.bounds):
                text[].bound(state[].table.edges[family.bounds[k]], decimals)
            else:
                text[].last_bound()
            text[].end_sample(total)
        text[].begin_sample(family.name, "_sum")
        text[].labels(family.labels, merged.keys[i])
        text[].end_sample(merged.numbers[at], decimals)
        text[].begin_sample(family.name, "_count")
        text[].labels(family.labels, merged.keys[i])
        text[].end_sample(total)
