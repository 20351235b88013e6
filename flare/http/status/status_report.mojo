"""Writes the state of a server once, for programs and terminals.

All counts are those since the start.
"""

from flare.core import PointerTo
from flare.json import JsonOutput, JsonWriter
from flare.message import HttpDate
from flare.metrics.registry_state import RegistryState
from flare.sys.clock import unix_ms

from ..server.records.server_metrics import server_state
from ..server.records.slow_requests import SlowRequest, SlowRequests
from .route_rows import RouteRow, RouteRows, RowNumbers
from .sample_text import method_label, write_totals
from .worker_rows import WorkerRows

comptime _NAME_COLUMNS = 40
comptime _NUMBER_COLUMNS = 12
comptime _NOTHING: StaticString = (
    "No server counts in these metrics: ServerConfig(metrics=…) is missing.\n"
)


struct StatusReport(Movable):
    """The state of the servers of a registry, since their start."""

    var registry: PointerTo[RegistryState]
    """The registry."""
    var routes: RouteRows
    """The routes."""
    var workers: WorkerRows
    """The workers."""
    var slow: List[SlowRequest]
    """The latest slow requests."""
    var slow_ns: Int
    """How long a slow request takes at least."""
    var counts: Bool
    """Whether a server counts in the registry."""
    var _now_ns: Int

    def __init__(
        out self,
        registry: PointerTo[RegistryState],
        slow: SlowRequests,
        own_route: StringSlice,
        now_ns: Int,
    ):
        """Creates a report from the present counts.

        Args:
            registry: The registry.
            slow: The slow requests of its servers.
            own_route: The route of the status page, which is not counted.
            now_ns: The time of the loop, in nanoseconds.
        """
        self._now_ns = now_ns
        self.registry = registry
        self.routes = RouteRows()
        self.workers = WorkerRows()
        self.slow = slow.after(0)
        self.slow_ns = slow.limit_ns()
        var servers = server_state(registry)
        self.counts = Bool(servers)
        if servers:
            self.routes.read(registry, servers.value()[].number, own_route)
            self.workers.read(registry)

    def json(self) raises -> String:
        """Returns the state as JSON.

        Returns:
            One object.

        Raises:
            Error: Never, as the text is a whole value.
        """
        var output = JsonOutput()
        var json = output.writer()
        var now_ms = unix_ms()
        json.begin_object()
        json.key("counts")
        json.bool(self.counts)
        json.key("time_ms")
        json.int(now_ms)
        json.key("uptime_s")
        json.int((now_ms - self.registry[].created_ms) // 1000)
        write_totals(json, self.workers)
        self._write_workers(json)
        self._write_routes(json)
        self._write_slow(json, now_ms)
        json.end_object()
        return output.take_text()

    def text(self) -> String:
        """Returns the state as a text of lines.

        Returns:
            The text. It has no octets of clients.
        """
        if not self.counts:
            return _NOTHING
        var now_ms = unix_ms()
        ref sums = self.workers.sums
        var text = String(HttpDate(now_ms // 1000), "\n\n")
        _write_pair(
            text, "uptime", _duration((now_ms - self.registry[].created_ms))
        )
        _write_pair(text, "workers", String(len(self.workers.rows)))
        _write_pair(text, "requests", String(sums.requests))
        _write_pair(
            text,
            "active",
            String(sums.requests_in_flight + sums.streams),
        )
        _write_pair(text, "connections", String(sums.connections))
        _write_pair(text, "refused", String(sums.refused))
        _write_pair(text, "slow turns", String(sums.slow_turns))
        _write_pair(
            text,
            "memory",
            String(self.workers.resident_octets // (1 << 20), " MiB"),
        )
        self._append_routes(text)
        self._append_slow(text, now_ms)
        return text^

    def _write_workers(self, json: JsonWriter) raises:
        json.key("workers")
        json.begin_array()
        for row in self.workers.rows:
            json.begin_object()
            json.key("process")
            json.int(row.view.process)
            json.key("cpu_ms")
            json.int(max(row.cpu_ns, 0) // 1_000_000)
            json.key("requests")
            json.int(Int(row.view.counters.requests))
            json.key("connections")
            json.int(Int(row.view.counters.connections))
            json.key("fibers")
            json.int(Int(row.view.counters.fibers))
            json.end_object()
        json.end_array()

    def _write_routes(self, json: JsonWriter) raises:
        json.key("routes")
        json.begin_array()
        for ref row in self.routes.rows:
            var numbers = self._numbers(row)
            json.begin_object()
            json.key("route")
            json.string(row.name)
            json.key("requests")
            json.int(numbers.requests)
            json.key("errors")
            json.int(numbers.errors)
            json.key("p50_us")
            json.int(numbers.p50_us)
            json.key("p99_us")
            json.int(numbers.p99_us)
            json.end_object()
        json.end_array()

    def _write_slow(self, json: JsonWriter, now_ms: Int) raises:
        json.key("slow")
        json.begin_array()
        for ref request in self.slow:
            json.begin_object()
            json.key("time_ms")
            json.int(self._wall_ms(request, now_ms))
            json.key("duration_us")
            json.int(request.duration_ns // 1000)
            json.key("status")
            json.int(request.status)
            json.key("worker")
            json.int(request.worker)
            json.key("request_id")
            json.int(request.request_id)
            json.key("route")
            json.string(_route_of(request))
            json.end_object()
        json.end_array()

    def _append_routes(self, mut text: String):
        text.write("\n", _left("route", _NAME_COLUMNS))
        for title in ["requests", "errors", "p50", "p99"]:
            text.write(_right(title, _NUMBER_COLUMNS))
        text.write("\n")
        for ref row in self.routes.rows:
            var numbers = self._numbers(row)
            text.write(_left(row.name, _NAME_COLUMNS))
            text.write(_right(String(numbers.requests), _NUMBER_COLUMNS))
            text.write(_right(String(numbers.errors), _NUMBER_COLUMNS))
            text.write(_right(time_text(numbers.p50_us), _NUMBER_COLUMNS))
            text.write(_right(time_text(numbers.p99_us), _NUMBER_COLUMNS))
            text.write("\n")

    def _append_slow(self, mut text: String, now_ms: Int):
        if len(self.slow) == 0:
            return
        text.write("\nslow requests, from ", time_text(self.slow_ns // 1000))
        text.write(" on\n")
        for ref request in self.slow:
            var seconds = (now_ms - self._wall_ms(request, now_ms)) // 1000
            text.write(_left(_route_of(request), _NAME_COLUMNS))
            text.write(
                _right(time_text(request.duration_ns // 1000), _NUMBER_COLUMNS)
            )
            text.write(_right(String(request.status), 5))
            text.write("   worker ", request.worker)
            text.write(" request ", request.request_id)
            text.write(", ", seconds, " s ago\n")

    def _wall_ms(self, request: SlowRequest, now_ms: Int) -> Int:
        return now_ms - (self._now_ns - request.ended_ns) // 1_000_000

    def _numbers(self, row: RouteRow) -> RowNumbers:
        return RouteRow.numbers(row.total, self.registry[].table.edges)


def time_text(us: Int) -> String:
    """Returns a time with a unit.

    Args:
        us: The time in microseconds.

    Returns:
        Two or three digits and a unit, such as `1.25 ms`; `-` for 0.
    """
    if us <= 0:
        return "-"
    var unit = "µs"
    var power = 1
    if us >= 1_000_000:
        unit = "s"
        power = 1_000_000
    elif us >= 1000:
        unit = "ms"
        power = 1000
    var whole = us // power
    if power == 1 or whole >= 100:
        return String(whole, " ", unit)
    var hundredths = us % power * 100 // power
    if whole >= 10:
        return String(whole, ".", hundredths // 10, " ", unit)
    return String(whole, ".", hundredths // 10, hundredths % 10, " ", unit)


def _route_of(request: SlowRequest) -> String:
    return RouteRow.name_of(
        method_label(request.method), request.route.as_bytes()
    )


def _write_pair(mut text: String, name: StringSlice, value: StringSlice):
    text.write(_left(name, 14), value, "\n")


def _duration(ms: Int) -> String:
    var seconds = ms // 1000
    var days = seconds // 86_400
    var text = String()
    if days > 0:
        text.write(days, " d ")
    if seconds >= 3600:
        text.write(seconds // 3600 % 24, " h ")
    text.write(seconds // 60 % 60, " min ", seconds % 60, " s")
    return text^


def _left(text: StringSlice, columns: Int) -> String:
    var blanks = max(columns - text.count_codepoints(), 1)
    return String(text, String(" ") * blanks)


def _right(text: StringSlice, columns: Int) -> String:
    var blanks = max(columns - text.count_codepoints(), 1)
    return String(String(" ") * blanks, text)
