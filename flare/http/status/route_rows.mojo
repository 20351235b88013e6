"""Adds the requests of all workers by method and route, once a second.

A row has the counts of its histogram since the start, and the changes of the
latest seconds. Their sum is the window, whose rate and quantiles are shown.
"""

from flare.core import PointerTo, equals, find_octet
from flare.metrics.area import Area, read_number
from flare.metrics.buckets import BUCKETS
from flare.metrics.family import Family
from flare.metrics.registry_state import RegistryState
from flare.metrics.series_key import KEY_END

from .latency import quantile_us

comptime ROWS_MAX = 256
"""The most rows; the last one has all further routes."""
comptime WINDOW_SAMPLES = 10
"""How many seconds the window of a row has."""
comptime ERRORS = BUCKETS
"""The cell after the buckets: answers with a status of 500 and more."""
comptime UPGRADES = BUCKETS + 1
"""The last cell: answers with 101, which end when their client leaves. Their
times are no latencies."""

comptime _CELLS = BUCKETS + 2
comptime _BLANK: UInt8 = 32
comptime _IGNORED = -1
# The kind of the answers of a series.
comptime _USUAL = 0
comptime _ERROR = 1
comptime _UPGRADE = 2
comptime _KINDS = 4


@fieldwise_init
struct _Change(TrivialRegisterPassable):
    var cell: Int
    var by: Int


@fieldwise_init
struct RowNumbers(Equatable, ImplicitlyCopyable):
    """The numbers of a row, as a viewer sees them."""

    var requests: Int
    """The requests."""
    var errors: Int
    """Those whose status was 500 or more."""
    var p50_us: Int
    """The median of their times, in microseconds; 0 without one."""
    var p99_us: Int
    """The 99th percentile of their times, in microseconds; 0 without one."""

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two rows show the same numbers.

        Args:
            other: The other row.

        Returns:
            True if all numbers are equal.
        """
        return (
            self.requests == other.requests
            and self.errors == other.errors
            and self.p50_us == other.p50_us
            and self.p99_us == other.p99_us
        )


struct RouteRow(Copyable, Movable):
    """The requests of one method and route."""

    var name: String
    """Method and pattern."""
    var total: List[Int]
    """The counts since the start, by cell."""
    var window: List[Int]
    """The counts of the latest seconds, by cell."""
    var shown: RowNumbers
    """The numbers of the window that viewers have."""
    var is_known: Bool
    """Whether viewers have the name."""
    var _sums: List[Int]
    var _changes: List[List[_Change]]

    def __init__(out self, var name: String):
        """Creates a row without counts.

        Args:
            name: Method and pattern.
        """
        self.name = name^
        self.total = List[Int](length=_CELLS, fill=0)
        self.window = List[Int](length=_CELLS, fill=0)
        self.shown = RowNumbers(0, 0, 0, 0)
        self.is_known = False
        self._sums = List[Int](length=_CELLS, fill=0)
        self._changes = []
        for _ in range(WINDOW_SAMPLES):
            self._changes.append([])

    @staticmethod
    def name_of(method: StringSlice, route: Span[UInt8, _]) -> String:
        """Returns the name of a row.

        Args:
            method: The method.
            route: The pattern; empty for requests without a route.

        Returns:
            A text without control octets.
        """
        var octets = List[UInt8](method.as_bytes())
        octets.append(_BLANK)
        for octet in route:
            octets.append(max(octet, _BLANK))
        if len(route) == 0:
            octets.extend("(no route)".as_bytes())
        return String(from_utf8_lossy=Span(octets))

    @staticmethod
    def numbers(cells: List[Int], edges: List[Int]) -> RowNumbers:
        """Returns the numbers of some counts.

        Args:
            cells: The counts by cell: `total` or `window`.
            edges: The edges of the buckets.

        Returns:
            The numbers.
        """
        var requests = cells[UPGRADES]
        for i in range(BUCKETS):
            requests += cells[i]
        return RowNumbers(
            requests,
            cells[ERRORS],
            quantile_us(cells, edges, per_mille=500).or_else(0),
            quantile_us(cells, edges, per_mille=990).or_else(0),
        )

    def _advance(mut self, second: Int, mut sum: List[Int]):
        """Turns the sums of this moment into the changes of a second."""
        ref changes = self._changes[second % WINDOW_SAMPLES]
        for change in changes:
            self.window[change.cell] -= change.by
        changes.clear()
        for i in range(_CELLS):
            var by = self._sums[i] - self.total[i]
            # A series may be read while its worker counts.
            if by > 0:
                changes.append(_Change(i, by))
                self.window[i] += by
                sum[i] += by
                self.total[i] = self._sums[i]


struct RouteRows(Movable):
    """The rows of all routes."""

    var rows: List[RouteRow]
    """The rows, in the order of their first request."""
    var second: List[Int]
    """The counts of the latest second over all rows, by cell."""
    var next_told: Int
    """The row with which the next message begins."""
    var _seconds: Int
    var _index_of: Dict[String, Int]
    # By area and series: the row, times `_KINDS`, and the kind of its answers.
    var _known: List[List[Int]]

    def __init__(out self):
        """Creates the rows before the first request."""
        self.rows = []
        self.second = List[Int](length=_CELLS, fill=0)
        self.next_told = 0
        self._seconds = 0
        self._index_of = Dict[String, Int]()
        self._known = []

    def read(
        mut self,
        state: PointerTo[RegistryState],
        number: Int,
        own_route: StringSlice,
    ):
        """Reads the counts of all workers. After the first call, `total` has
        all earlier counts; further calls note changes.

        Args:
            state: The registry.
            number: The index of the family of requests.
            own_route: The route of the status page, which is not counted;
                empty for none.
        """
        ref family = state[].families[number][]
        state[].lock.acquire()
        var areas = state[].areas.copy()
        state[].lock.release()
        for ref row in self.rows:
            for i in range(_CELLS):
                row._sums[i] = 0
        for i in range(len(areas)):
            self._add_area(family, areas[i], i, own_route)
        for i in range(_CELLS):
            self.second[i] = 0
        var is_first = self._seconds == 0
        for ref row in self.rows:
            if is_first:
                row.total = row._sums.copy()
            else:
                row._advance(self._seconds, self.second)
        self._seconds += 1

    def window_s(self) -> Int:
        """Returns how much time the windows of the rows have.

        Returns:
            Seconds, up to `WINDOW_SAMPLES`; 0 after the first look.
        """
        return min(max(self._seconds - 1, 0), WINDOW_SAMPLES)

    def index_of(self, name: StringSlice) -> Int:
        """Returns the index of a row.

        Args:
            name: Method and pattern.

        Returns:
            The index; -1 if there is none.
        """
        return self._index_of.get(String(name)).or_else(-1)

    def _add_area(
        mut self, family: Family, area: Area, index: Int, own_route: StringSlice
    ):
        while len(self._known) <= index:
            self._known.append([])
        for i in range(area.series_count(family)):
            var series = area.series(family, i)
            if i == len(self._known[index]):
                var new = self._place_of(area.key(family, series), own_route)
                self._known[index].append(new)
            var place = self._known[index][i]
            if place == _IGNORED:
                continue
            ref sums = self.rows[place // _KINDS]._sums
            var kind = place % _KINDS
            var all = 0
            for bucket in range(BUCKETS):
                var count = read_number(area.word(series + 8 + 8 * bucket))
                all += count
                if kind != _UPGRADE:
                    sums[bucket] += count
            if kind == _ERROR:
                sums[ERRORS] += all
            elif kind == _UPGRADE:
                sums[UPGRADES] += all

    def _place_of(mut self, key: Span[UInt8, _], own_route: StringSlice) -> Int:
        # The labels are route, method, status and scheme.
        var route_end = find_octet(key, KEY_END, 0)
        var method_end = find_octet(key, KEY_END, route_end + 1)
        var status_end = find_octet(key, KEY_END, method_end + 1)
        var route = key[:route_end]
        if len(route) > 0 and equals(route, own_route.as_bytes()):
            return _IGNORED
        var status = key[method_end + 1 : status_end]
        var kind = _USUAL
        if len(status) > 0 and status[0] == UInt8(ord("5")):
            kind = _ERROR
        elif equals(status, "101".as_bytes()):
            kind = _UPGRADE
        var method = String(from_utf8_lossy=key[route_end + 1 : method_end])
        var name = RouteRow.name_of(method, route)
        return self._row_of(name^) * _KINDS + kind

    def _row_of(mut self, var name: String) -> Int:
        var found = self._index_of.get(name)
        if found:
            return found.value()
        if len(self.rows) == ROWS_MAX - 1:
            name = "other routes"
        if len(self.rows) == ROWS_MAX:
            return ROWS_MAX - 1
        self._index_of[name] = len(self.rows)
        self.rows.append(RouteRow(name^))
        return len(self.rows) - 1
