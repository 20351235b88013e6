"""Checks what a server counts, on a simulated network with its own clock."""

from flare.core import Erased
from flare.http import Request, Response, ResponseStream, Router, ok
from flare.http.server.records.request_metrics import RequestEnd
from flare.metrics import Metrics
from flare.runtime import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.counting_server import counting_server

comptime _NAME: StaticString = "http_server_request_duration_seconds"


def test_a_request_has_the_time_of_its_handler() raises:
    var metrics = Metrics()
    var server = _server(metrics)
    _ = server.exchange("GET /wait/40 HTTP/1.1\r\nHost: a\r\n\r\n")
    _ = server.exchange("GET /wait/0 HTTP/1.1\r\nHost: a\r\n\r\n")
    comptime LABELS: StaticString = (
        '{http_route="/wait/:ms",http_request_method="GET",'
        'http_response_status_code="200",url_scheme="http"'
    )
    assert_equal(_value(metrics, String("_count", LABELS, "}")), "2")
    var sum = Float64(_value(metrics, String("_sum", LABELS, "}")))
    assert_true(0.04 <= sum < 0.045, String(sum))
    assert_equal(
        _value(metrics, String("_bucket", LABELS, ',le="0.025"}')), "1"
    )
    assert_equal(_value(metrics, String("_bucket", LABELS, ',le="0.05"}')), "2")
    _end(server^)


def test_a_stream_is_counted_at_its_end() raises:
    var metrics = Metrics()
    var server = _server(metrics)
    var peer = server.connect()
    peer.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(10)
    assert_false("/stream" in metrics.text())
    server.advance(100)
    _ = server.receive(peer)
    var text = metrics.text()
    assert_true('http_route="/stream"' in text)
    assert_true('le="0.05"} 0' in text)
    assert_true('le="0.25"} 1' in text)
    peer.close()
    server.settle()
    _end(server^)


def test_a_refused_head_has_no_method_and_no_route() raises:
    var metrics = Metrics()
    var server = _server(metrics)
    # The second request of a connection that had a route before.
    _ = server.exchange(
        "GET /wait/0 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    )
    comptime LABELS: StaticString = (
        '{http_request_method="_OTHER",http_response_status_code="400",'
        'url_scheme="http"}'
    )
    assert_equal(_value(metrics, String("_count", LABELS)), "1")
    assert_equal(_value(metrics, String("_sum", LABELS)), "0")
    _end(server^)


def test_routes_at_the_same_address_are_told_apart() raises:
    # A program may build routers while it runs: the memory of a pattern may
    # then have another one.
    var metrics = Metrics()
    var server = _server(metrics)
    var worker = server.worker.state
    var pattern = List[UInt8](length=6, fill=0)
    for name in ["/first", "/other", "/first"]:
        for i in range(6):
            pattern[i] = name.as_bytes()[i]
        var exchange = worker[].take_exchange(worker.unsafe_bitcast[NoneType]())
        exchange[].route = StaticString(
            unsafe_from_utf8=Span[UInt8, ImmStaticOrigin](
                unsafe_ptr=pattern.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmStaticOrigin](),
                length=6,
            )
        )
        worker[].config.metrics.functions()[].record(
            Erased(unsafe_from_address=worker[].records.recorder),
            exchange,
            RequestEnd(200, True, False, 5),
        )
        worker[].give_exchange(exchange)
    _ = pattern
    for row in [(String("/first"), "2"), (String("/other"), "1")]:
        assert_equal(
            _value(
                metrics,
                String(
                    '_count{http_route="',
                    row[0],
                    '",http_request_method="_OTHER",',
                    'http_response_status_code="200",url_scheme="http"}',
                ),
            ),
            row[1],
        )
    _end(server^)


def test_many_routes_are_bounded() raises:
    var metrics = Metrics()
    var server = _server(metrics)
    for status in range(200, 600):
        for path in ["/status/", "/state/", "/code/"]:
            _ = server.exchange(
                String("GET ", path, status, " HTTP/1.1\r\nHost: a\r\n\r\n")
            )
    var text = metrics.text()
    assert_equal(text.count("_count{"), 1001)
    assert_equal(
        _value(
            metrics,
            (
                '_count{http_route="other",http_request_method="other",'
                'http_response_status_code="other",url_scheme="other"}'
            ),
        ),
        "200",
    )
    _end(server^)


comptime TESTS = __functions_in_module()


def _wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def _status(req: Request) raises -> Response:
    return Response(Int(req.param("status")), "")


def _stream(req: Request) raises -> Response:
    return Response.stream(_write)


def _write(req: Request, stream: ResponseStream) raises:
    stream.write_text("some")
    sleep(100)
    stream.write_text("more")


def _server(metrics: Metrics) raises -> TestServer[Router[]]:
    var router = Router()
    router.get("/wait/:ms", _wait)
    router.get("/status/:status", _status)
    router.get("/state/:status", _status)
    router.get("/code/:status", _status)
    router.get("/stream", _stream)
    return counting_server(router^, metrics)


def _end(var server: TestServer[Router[]]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def _value(metrics: Metrics, end: StringSlice) raises -> String:
    var sample = String(_NAME, end)
    var text = metrics.text()
    for line in text.split("\n"):
        if line.startswith(sample) and line.byte_length() > (
            sample.byte_length()
        ):
            return String(
                line[byte = sample.byte_length() + 1 : line.byte_length()]
            )
    raise Error("there is no ", sample, " in ", text)
