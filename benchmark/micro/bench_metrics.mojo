"""Measures what counting costs, and what a reader pays for all workers.

`request` is all that a server does for a request with metrics; `clock` is the
part of it that reads the clock.
"""

from std.benchmark import black_box

from measure import measure

from flare.core import Erased, PointerTo, heap_create
from flare.http.exchange import Exchange, ExchangeState
from flare.http.server.records.request_metrics import RequestEnd
from flare.http.server.records.server_metrics import (
    MetricsEntry,
    MetricsFunctions,
    ServerMetrics,
)
from flare.http.server.records.statistics import WorkerStatistics
from flare.message import Method
from flare.metrics import Metrics, MetricsFormat
from flare.runtime.current import set_current_reactor
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.runtime.start import open_reactor

comptime _WORKERS = 4
comptime _ROUTES = 50


def main() raises:
    """Prints the figures.

    Raises:
        Error: If the kernel offers no loop.
    """
    var metrics = Metrics()
    var orders = metrics.counter("orders_total", "Orders.")
    var kinds = metrics.counter("kinds_total", "Kinds.", labels=["kind"])
    var card = kinds.of("card")
    var times = metrics.histogram("order_seconds", "Orders.")
    var functions = ServerMetrics(metrics).functions()[]
    var first = functions.claim(functions.owner, _WORKERS, False)
    var reactor = open_reactor(ReactorConfig())[1].value()
    var recorders = List[Erased]()
    for worker in range(_WORKERS):
        recorders.append(
            functions.enter(
                functions.owner,
                MetricsEntry(
                    reactor,
                    heap_create(WorkerStatistics()),
                    first,
                    worker,
                    _WORKERS,
                    False,
                ),
            )
        )
    # This thread counts as the last worker.
    set_current_reactor(reactor)

    def count(i: Int) raises {imm} -> Int:
        orders.add(black_box(1))
        return i

    measure("metrics/counter", count)

    def count_labelled(i: Int) raises {imm} -> Int:
        card.add(black_box(1))
        return i

    measure("metrics/counter, labels bound before", count_labelled)

    def bind(i: Int) raises {imm} -> Int:
        kinds.of("late").add(black_box(1))
        return i

    measure("metrics/counter, labels bound each time", bind)

    def observe(i: Int) raises {imm} -> Int:
        times.observe(black_box(i & 0xFFFFF))
        return i

    measure("metrics/histogram", observe)

    def clock(i: Int) raises {imm} -> Int:
        return reactor.clock_ns()

    measure("metrics/clock", clock)
    requests(functions, reactor, recorders)

    def plain(i: Int) raises {imm} -> Int:
        return metrics.text().byte_length()

    measure("metrics/text of 4 workers with 50 routes", plain)

    def open(i: Int) raises {imm} -> Int:
        return metrics.text(MetricsFormat.OPEN_METRICS).byte_length()

    measure("metrics/text, OpenMetrics", open)
    set_current_reactor(None)


def requests(
    functions: MetricsFunctions, reactor: Reactor, recorders: List[Erased]
) raises:
    """Measures the recording of requests.

    Args:
        functions: The functions that a server calls.
        reactor: The loop.
        recorders: Those of all workers.

    Raises:
        Error: Never.
    """
    var patterns = List[PointerTo[String]]()
    var exchanges = List[Exchange]()
    for i in range(_ROUTES):
        patterns.append(heap_create(String("/api/v1/things/", i, "/:id")))
        var exchange = heap_create(ExchangeState())
        exchange[].begin()
        exchange[].head.method = Method.GET
        ref pattern = patterns[i][]
        exchange[].route = StaticString(
            unsafe_from_utf8=Span[UInt8, ImmStaticOrigin](
                unsafe_ptr=pattern.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmStaticOrigin](),
                length=pattern.byte_length(),
            )
        )
        exchange[].started_ns = reactor.clock_ns()
        exchanges.append(exchange)
        for recorder in recorders:
            functions.record(
                recorder,
                exchange,
                RequestEnd(200, True, False, reactor.clock_ns()),
            )
    var own = recorders[_WORKERS - 1]

    def record(i: Int) raises {imm} -> Int:
        functions.record(
            own,
            black_box(exchanges[0]),
            RequestEnd(200, True, False, reactor.clock_ns()),
        )
        return i

    measure("metrics/request", record)

    def record_many(i: Int) raises {imm} -> Int:
        functions.record(
            own,
            exchanges[i % _ROUTES],
            RequestEnd(200, True, False, reactor.clock_ns()),
        )
        return i

    measure("metrics/request, 50 routes in turn", record_many)
