"""Tests the spans of requests, without an exporter."""

from std.testing import assert_raises

from flare.http import (
    Handler,
    OtlpExporter,
    Request,
    Response,
    ResponseStream,
    Tracing,
    current_trace,
    ok,
)
from flare.http.spans.current_trace import trace_fields
from flare.http.tracing.exporting import close_feed
from flare.message import HeaderMap, TraceContext
from flare.runtime import spawn
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_false, assert_true

comptime PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_request_without_a_trace_begins_one() raises:
    for http2 in [False, True]:
        var client = TestClient(Tracing(_Shows()), http2=http2)
        var first = _trace_of(client.get("/"))
        var second = _trace_of(client.get("/"))
        assert_true(first.trace_high != second.trace_high)
        assert_true(first.trace_low != second.trace_low)
        assert_true(first.span_id != second.span_id)
        assert_true(first.span_id != 0)
        # Nobody reports it, so others need not either.
        assert_false(first.is_sampled)


def test_a_feed_is_not_closed_for_the_next_worker() raises:
    var exporter = OtlpExporter(service_name="a")
    var feed = exporter.open_feed().value()
    var opening = feed.state[].opening
    close_feed(feed, opening)
    var next = exporter.open_feed().value()
    assert_true(next.state == feed.state)
    close_feed(feed, opening)
    assert_true(next.state[].is_open)
    close_feed(next, next.state[].opening)
    assert_false(next.state[].is_open)


def test_a_request_continues_the_trace_that_it_names() raises:
    for http2 in [False, True]:
        var client = TestClient(Tracing(_Shows()), http2=http2)
        for flags in ["00", "01"]:
            var parent = String(PARENT[byte=:53], flags)
            var found = _trace_of(client.get("/", _fields(parent)))
            assert_equal(
                found.trace_id_text(), "0af7651916cd43dd8448eb211c80319c"
            )
            assert_true(found.span_id_text() != "b7ad6b7169203331")
            assert_equal(found.is_sampled, flags == "01")


def test_a_trace_that_is_malformed_or_not_trusted_is_not_continued() raises:
    var strict = TestClient(Tracing(_Shows(), trusts_incoming=False))
    var other = _trace_of(strict.get("/", _fields(PARENT)))
    assert_true(other.trace_id_text() != "0af7651916cd43dd8448eb211c80319c")
    var client = TestClient(Tracing(_Shows()))
    var zeros = String("00-", "0" * 32, "-", "0" * 16, "-01")
    for parent in [zeros, String(PARENT[byte=:54]), PARENT.upper()]:
        var found = _trace_of(client.get("/", _fields(parent)))
        assert_true(found.trace_high != 0 and found.span_id != 0, parent)
        assert_true(
            found.trace_id_text().lower() != "0af7651916cd43dd8448eb211c80319c"
        )
    # Nobody knows which of two is right.
    var twice = client.request_octets(
        String(
            "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: ",
            PARENT,
            "\r\nTraceparent: ",
            PARENT,
            "\r\n\r\n",
        ).as_bytes()
    )
    assert_true(
        _trace_of(twice).trace_id_text() != "0af7651916cd43dd8448eb211c80319c"
    )


def test_requests_to_others_continue_the_trace_with_its_state() raises:
    var client = TestClient(Tracing(_Forwards()))
    var rows: List[Tuple[String, String]] = [
        ("", ""),
        ("tracestate: a=1\r\n", "a=1"),
        ("tracestate: a=1,b=2\r\nTraceState: c=3\r\n", "a=1,b=2,c=3"),
        (String("tracestate: a=", "x" * 510, "\r\n"), String("a=", "x" * 510)),
        (
            String(
                "tracestate: a=", "x" * 500, "\r\ntracestate: b=3456789\r\n"
            ),
            String("a=", "x" * 500, ",b=3456789"),
        ),
        # A list that is too long, or not printable, is dropped whole.
        (String("tracestate: a=", "x" * 511, "\r\n"), ""),
        (
            String(
                "tracestate: a=", "x" * 500, "\r\ntracestate: b=34567890\r\n"
            ),
            "",
        ),
        ("tracestate: a=\xc3\xa9\r\n", ""),
    ]
    for row in rows:
        var text = _text_of(client, PARENT, row[0])
        var lines = text.split("|")
        var parent = TraceContext.parse(lines[0].as_bytes()).value()
        assert_equal(parent.trace_id_text(), "0af7651916cd43dd8448eb211c80319c")
        assert_true(parent.is_sampled)
        assert_equal(String(lines[1]), row[1])
    # The state belongs to a trace, which has ended here.
    var text = _text_of(client, "nothing", "tracestate: a=1\r\n")
    assert_equal(String(text.split("|")[1]), "")
    # And none of it is left for the next request.
    text = _text_of(client, PARENT, "")
    assert_equal(String(text.split("|")[1]), "")


def test_fields_of_another_trace_do_not_pass() raises:
    var client = TestClient(Tracing(_Replaces(), trusts_incoming=False))
    var text = _text_of(client, PARENT, "tracestate: a=1\r\n")
    var lines = text.split("|")
    var parent = TraceContext.parse(lines[0].as_bytes()).value()
    assert_true(parent.trace_id_text() != "0af7651916cd43dd8448eb211c80319c")
    assert_equal(String(lines[1]), "")


def test_a_trace_is_known_wherever_the_handler_works() raises:
    for http2 in [False, True]:
        var client = TestClient(Tracing(_Spawns()), http2=http2)
        var text = String(client.get("/").text())
        var ids = text.split(" ")
        assert_equal(len(ids), 4)
        for id in ids:
            assert_equal(String(id), String(ids[0]))
        assert_equal(ids[0].byte_length(), 16)


def test_without_tracing_there_is_no_trace() raises:
    assert_false(Bool(current_trace()))
    var headers = HeaderMap()
    trace_fields(headers)
    assert_equal(len(headers), 0)
    var client = TestClient(_Shows())
    assert_equal(String(client.get("/", _fields(PARENT)).text()), "none")


def test_the_outer_one_of_two_counts() raises:
    var client = TestClient(Tracing(Tracing(_Shows())))
    var found = _trace_of(client.get("/", _fields(PARENT)))
    assert_equal(found.trace_id_text(), "0af7651916cd43dd8448eb211c80319c")


def test_errors_pass_through() raises:
    for http2 in [False, True]:
        var client = TestClient(Tracing(_Shows()), http2=http2)
        for _ in range(3):
            assert_equal(client.get("/raise").status, 500)
            assert_equal(client.get("/").status, 200)


def test_what_is_out_of_bounds_is_refused() raises:
    for share in [-0.1, 1.1, FloatLiteral.nan]:
        with assert_raises(contains="http.bad_share"):
            _ = Tracing(_Shows(), sampled_share=share)
    with assert_raises(contains="message.bad_url"):
        _ = OtlpExporter(service_name="a", url="collector")
    with assert_raises(contains="http.bad_exporter the scheme"):
        _ = OtlpExporter(service_name="a", url="ws://a/b")
    with assert_raises(contains="http.bad_exporter service_name"):
        _ = OtlpExporter(service_name="")
    for delay_ms in [0, -1, 60_001]:
        with assert_raises(contains="http.bad_exporter delay_ms"):
            _ = OtlpExporter(service_name="a", delay_ms=delay_ms)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct _Shows(Handler):
    def serve(self, req: Request) raises -> Response:
        if req.path == "/raise":
            raise Error("raised")
        var trace = current_trace()
        if not trace:
            return ok("none")
        return ok(trace.value().traceparent())


@fieldwise_init
struct _Forwards(Handler):
    def serve(self, req: Request) raises -> Response:
        var headers = HeaderMap()
        trace_fields(headers)
        var state = headers.get("tracestate")
        return ok(
            String(
                headers.get("traceparent").value(),
                "|",
                state.value() if state else StringSlice(""),
            )
        )


@fieldwise_init
struct _Replaces(Handler):
    def serve(self, req: Request) raises -> Response:
        # As a proxy, which begins with the fields of its client.
        var headers = HeaderMap()
        for name in ["traceparent", "tracestate"]:
            headers.set(name, req.headers.get(name).value())
        trace_fields(headers)
        var state = headers.get("tracestate")
        return ok(
            String(
                headers.get("traceparent").value(),
                "|",
                state.value() if state else StringSlice(""),
            )
        )


@fieldwise_init
struct _Spawns(Handler):
    def serve(self, req: Request) raises -> Response:
        var own = _span_id()
        var outer = spawn(_span_id).join()
        var inner = spawn(_in_a_fiber).join()

        var ids = String(own, " ", outer, " ", inner, " ")

        def write(req: Request, stream: ResponseStream) raises {var ids}:
            stream.write_text(ids)
            stream.write_text(_span_id())

        return Response.stream(write)


def _in_a_fiber() raises -> String:
    return spawn(_span_id).join()


def _span_id() raises -> String:
    var trace = current_trace()
    return trace.value().span_id_text() if trace else "none"


def _fields(parent: StringSlice) raises -> HeaderMap:
    var headers = HeaderMap()
    headers.set("traceparent", parent)
    return headers^


def _text_of[
    H: Handler
](
    client: TestClient[H], parent: StringSlice, lines: StringSlice
) raises -> String:
    var octets = String(
        "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: ",
        parent,
        "\r\n",
        lines,
        "\r\n",
    )
    return String(client.request_octets(octets.as_bytes()).text())


def _trace_of(response: Response) raises -> TraceContext:
    return TraceContext.parse(response.text().as_bytes()).value()
