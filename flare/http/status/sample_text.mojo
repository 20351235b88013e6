"""Writes the samples that viewers receive, as JSON.

A message has at most `MESSAGE_OCTETS_MAX` octets. It lists the routes whose
numbers have changed. If they do not fit, the rest follow in the next messages:
each begins where the one before ended.
"""

from flare.json import JsonOutput, JsonWriter
from flare.message import Method
from flare.metrics.buckets import BUCKETS
from flare.sys.clock import unix_ms

from ..server.records.slow_requests import SlowRequest
from .latency import HEAT_ROWS, quantile_us
from .route_rows import (
    ERRORS,
    RouteRow,
    RouteRows,
    RowNumbers,
    UPGRADES,
)
from .worker_rows import WorkerRows

comptime MESSAGE_OCTETS_MAX = 2048
"""The most octets of a message."""
comptime SLOW_TOLD_MAX = 4
"""The most slow requests in a message."""

comptime _WORKERS_TOLD_MAX = 12
# The end of a message, and the numbers of a route.
comptime _END_OCTETS = 8
comptime _NUMBERS_OCTETS = 56


struct SampleFacts(Movable):
    """The facts of a message beside its rows."""

    var number: Int
    """The number of the sample."""
    var created_ms: Int
    """When the registry was created, since 1970."""
    var slow_ns: Int
    """How long a slow request takes at least."""
    var interval_ms: Int
    """How long the second was, in milliseconds."""
    var now_ns: Int
    """The end of the second, by the monotonic clock."""
    var slow: List[SlowRequest]
    """Slow requests that viewers do not have yet."""
    var counts: Bool
    """Whether a server counts in the registry."""

    def __init__(out self, number: Int, created_ms: Int, slow_ns: Int):
        """Creates facts without a second.

        Args:
            number: The number of the sample.
            created_ms: When the registry was created, since 1970.
            slow_ns: How long a slow request takes at least.
        """
        self.number = number
        self.created_ms = created_ms
        self.slow_ns = slow_ns
        self.interval_ms = 0
        self.now_ns = 0
        self.slow = []
        self.counts = True


def sample_message(
    mut routes: RouteRows,
    mut workers: WorkerRows,
    heat: List[Int],
    edges: List[Int],
    facts: SampleFacts,
) raises -> String:
    """Writes the message about a second.

    Args:
        routes: The routes. Those that are written count as known.
        workers: The workers.
        heat: The row of the heat map, by bucket.
        edges: The edges of the buckets.
        facts: The second.

    Returns:
        A JSON object.

    Raises:
        Error: Never, as the text is a whole value.
    """
    var output = JsonOutput()
    var json = output.writer()
    ref second = routes.second
    var requests = second[UPGRADES]
    for i in range(BUCKETS):
        requests += second[i]
    json.begin_object()
    _write_number(json, "number", facts.number)
    var now_ms = unix_ms()
    _write_number(json, "time_ms", now_ms)
    _write_number(json, "interval_ms", facts.interval_ms)
    _write_number(json, "uptime_s", (now_ms - facts.created_ms) // 1000)
    _write_number(json, "requests", requests)
    _write_number(json, "errors", second[ERRORS])
    _write_number(json, "window_s", routes.window_s())
    json.key("latency_us")
    json.begin_array()
    for per_mille in [500, 990, 999]:
        var us = quantile_us(second, edges, per_mille=per_mille)
        if us:
            json.int(us.value())
    json.end_array()
    _write_heat(json, second, heat)
    write_totals(json, workers)
    _write_workers(json, workers)
    _write_slow(json, routes, facts)
    _write_changes(json, output, routes, edges)
    json.end_object()
    return output.take_text()


def first_messages(
    routes: RouteRows, facts: SampleFacts
) raises -> List[String]:
    """Writes the messages that a viewer must read before samples.

    Args:
        routes: The routes.
        facts: The number of the latest sample, and the limits.

    Returns:
        JSON objects.

    Raises:
        Error: Never, as the texts are whole values.
    """
    var messages = List[String]()
    var next = 0
    while len(messages) == 0 or next < len(routes.rows):
        var output = JsonOutput()
        var json = output.writer()
        json.begin_object()
        _write_number(json, "number", facts.number)
        if len(messages) == 0:
            json.key("is_first")
            json.bool(True)
            _write_number(json, "slow_ms", facts.slow_ns // 1_000_000)
            json.key("counts")
            json.bool(facts.counts)
        json.key("routes")
        json.begin_array()
        while next < len(routes.rows) and _has_room(
            output, routes.rows[next].name
        ):
            ref row = routes.rows[next]
            _write_route(json, next, row.shown, row.name)
            next += 1
        json.end_array()
        json.end_object()
        messages.append(output.take_text())
    return messages^


def method_label(method: Method) -> StaticString:
    """Returns a method as the metrics label it.

    Args:
        method: The method.

    Returns:
        The name; `_OTHER` if it has no number.
    """
    return "_OTHER" if method == Method.OTHER else method.name()


def _write_number(json: JsonWriter, key: StaticString, value: Int):
    json.key(key)
    json.int(value)


def _write_heat(json: JsonWriter, second: List[Int], heat: List[Int]) raises:
    var counts = List[Int](length=HEAT_ROWS, fill=0)
    for i in range(BUCKETS):
        counts[heat[i]] += second[i]
    json.key("heat")
    json.begin_array()
    for i in range(HEAT_ROWS):
        if counts[i] > 0:
            json.int(i)
            json.int(counts[i])
    json.end_array()


def write_totals(json: JsonWriter, workers: WorkerRows) raises:
    """Writes the present numbers of all workers, and their counts since the
    start.

    Args:
        json: The destination, within an object.
        workers: The workers.

    Raises:
        Error: Never, as the text is not deep.
    """
    ref sums = workers.sums
    _write_number(json, "connections", Int(sums.connections))
    _write_number(json, "active", Int(sums.requests_in_flight + sums.streams))
    json.key("totals")
    json.begin_object()
    _write_number(json, "requests", Int(sums.requests))
    _write_number(json, "accepted", Int(sums.connections_accepted))
    _write_number(json, "refused", Int(sums.refused))
    _write_number(json, "shed", Int(sums.connections_shed))
    _write_number(json, "failed", Int(sums.handler_errors))
    _write_number(json, "slow_turns", Int(sums.slow_turns))
    _write_number(json, "handshakes", Int(sums.handshakes))
    _write_number(json, "resumed", Int(sums.handshakes_resumed))
    _write_number(json, "streams", Int(sums.streams))
    _write_number(json, "fibers", Int(sums.fibers))
    _write_number(json, "memory", workers.resident_octets)
    _write_number(json, "descriptors", workers.descriptors)
    json.end_object()


def _write_workers(json: JsonWriter, mut workers: WorkerRows) raises:
    _write_number(json, "worker_count", len(workers.rows))
    json.key("workers")
    json.begin_array()
    var count = len(workers.rows)
    for i in range(min(count, _WORKERS_TOLD_MAX)):
        var index = (workers.next_told + i) % count
        ref row = workers.rows[index]
        json.begin_array()
        json.int(index)
        json.int(row.busy_per_mille)
        json.int(row.requests)
        json.int(Int(row.view.counters.connections))
        json.int(Int(row.view.counters.fibers))
        json.end_array()
    json.end_array()
    if count > _WORKERS_TOLD_MAX:
        workers.next_told = (workers.next_told + _WORKERS_TOLD_MAX) % count


def _write_slow(json: JsonWriter, routes: RouteRows, facts: SampleFacts) raises:
    if len(facts.slow) == 0:
        return
    var wall_ms = unix_ms() - facts.now_ns // 1_000_000
    json.key("slow")
    json.begin_array()
    for request in facts.slow:
        var name = RouteRow.name_of(
            method_label(request.method), request.route.as_bytes()
        )
        json.begin_array()
        json.int(wall_ms + request.ended_ns // 1_000_000)
        json.int(request.duration_ns // 1000)
        json.int(request.status)
        json.int(request.worker)
        json.int(request.request_id)
        # The number of its row takes less room than its name.
        json.int(routes.index_of(name))
        json.end_array()
    json.end_array()


def _write_changes(
    json: JsonWriter,
    output: JsonOutput,
    mut routes: RouteRows,
    edges: List[Int],
) raises:
    var count = len(routes.rows)
    if count == 0:
        return
    json.key("routes")
    json.begin_array()
    var first = routes.next_told % count
    for i in range(count):
        var index = (first + i) % count
        ref row = routes.rows[index]
        var numbers = RouteRow.numbers(row.window, edges)
        if numbers == row.shown and row.is_known:
            continue
        if not _has_room(output, row.name):
            routes.next_told = index
            break
        _write_route(json, index, numbers, "" if row.is_known else row.name)
        row.shown = numbers
        row.is_known = True
    json.end_array()


def _write_route(
    json: JsonWriter, index: Int, numbers: RowNumbers, name: StringSlice
) raises:
    json.begin_array()
    json.int(index)
    json.int(numbers.requests)
    json.int(numbers.errors)
    json.int(numbers.p50_us)
    json.int(numbers.p99_us)
    if name.byte_length() > 0:
        json.string(name)
    json.end_array()


def _has_room(output: JsonOutput, name: StringSlice) -> Bool:
    # A quote and a backslash take two octets; a name has no control octets.
    var needed = _NUMBERS_OCTETS + _END_OCTETS + name.byte_length()
    for octet in name.as_bytes():
        needed += Int(octet == UInt8(ord('"')) or octet == UInt8(ord("\\")))
    return output.unsafe_text().byte_length() + needed <= MESSAGE_OCTETS_MAX
