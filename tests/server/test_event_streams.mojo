"""Tests event streams through a whole server and its network."""

from std.testing import assert_raises

from flare.http import (
    EventStream,
    Handler,
    Request,
    Response,
    event_stream,
    last_event_id,
    ok,
)
from flare.http.event_text import write_event
from flare.message import HeaderMap
from flare.runtime import deadline_in, sleep, spawn
from flare.testing import TestClient
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

comptime _END: StaticString = "0\r\n\r\n"


def test_the_fields_and_the_events_of_a_response() raises:
    for http2 in [False, True]:
        var client = TestClient(_Events(), http2=http2)
        var answer = client.get("/three")
        assert_equal(answer.status, 200)
        assert_equal(
            answer.headers.get("Content-Type").value(), "text/event-stream"
        )
        assert_equal(answer.headers.get("Cache-Control").value(), "no-store")
        assert_equal(answer.headers.get("X-Accel-Buffering").value(), "no")
        assert_equal(
            String(answer.text()),
            (
                "data: one\n\nevent: tick\nid: 2\ndata: two\ndata: lines\n\n"
                "id: \nretry: 500\ndata: \n\n:\n\n"
            ),
        )
        assert_equal(client.request("HEAD", "/three").status, 200)


def test_each_end_of_a_line_begins_another_one() raises:
    var rows: List[StaticString] = [
        "",
        "data: \n\n",
        "a",
        "data: a\n\n",
        "a\n",
        "data: a\ndata: \n\n",
        "a\r\nb\rc\nd",
        "data: a\ndata: b\ndata: c\ndata: d\n\n",
        "\r\r\n\n",
        "data: \ndata: \ndata: \ndata: \n\n",
        " a",
        "data:  a\n\n",
        "x\n\nevent: forged\ndata: y",
        "data: x\ndata: \ndata: event: forged\ndata: data: y\n\n",
    ]
    for i in range(0, len(rows), 2):
        assert_equal(
            write_event(rows[i], name="", id=None, retry_ms=None), rows[i + 1]
        )


def test_no_name_and_no_id_begins_another_field() raises:
    for text in [
        StaticString("\n"),
        "\r",
        "\0",
        "a\nb",
        "a\r\n\r\ndata: forged",
        "x\0",
    ]:
        with assert_raises(contains="http.bad_event"):
            _ = write_event("data", name=text, id=None, retry_ms=None)
        with assert_raises(contains="http.bad_event"):
            _ = write_event("data", name="", id=String(text), retry_ms=None)
    with assert_raises(contains="http.bad_event"):
        _ = write_event("data", name="", id=None, retry_ms=-1)
    with assert_raises(contains="http.bad_event"):
        _ = event_stream(_three, heartbeat_ms=0)


def test_a_silent_stream_has_a_heartbeat() raises:
    var server = TestServer(_Events())
    var peer = server.connect()
    peer.send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    assert_true(_text(peer.received()).endswith("\r\n\r\n"))
    server.advance(14_990)
    assert_equal(_text(peer.received()), "")
    server.advance(20)
    assert_equal(_text(peer.received()), "3\r\n:\n\n\r\n")
    for _ in range(3):
        server.advance(15_010)
        assert_equal(_text(peer.received()), "3\r\n:\n\n\r\n")
    peer.reset()
    server.settle()
    assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 0)
    _end(server^)


def test_events_put_the_heartbeat_off() raises:
    var server = TestServer(_Events())
    var peer = server.connect()
    peer.send("GET /ticks?10000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    _ = peer.received()
    for _ in range(6):
        server.advance(10_000)
        assert_false(
            ":\n\n" in _text(peer.received()).replace("data: tick", "")
        )
    peer.reset()
    server.settle()
    _end(server^)


def test_a_heartbeat_can_be_another_or_none() raises:
    for row in [("/often", 10), ("/never", 0)]:
        var server = TestServer(_Events())
        var peer = server.connect()
        peer.send(String("GET ", row[0], " HTTP/1.1\r\nHost: a\r\n\r\n"))
        server.settle()
        _ = peer.received()
        server.advance(1_050)
        assert_equal(_text(peer.received()).count(":\n\n"), row[1])
        peer.reset()
        server.settle()
        _end(server^)


def test_a_client_that_leaves_ends_the_function() raises:
    for target in ["/silent", "/ticks?10", "/flood", "/crowd"]:
        var server = TestServer(_Events())
        var peer = server.connect()
        peer.send(String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"))
        server.settle()
        assert_true(server.worker.state[].reactor.state[].fibers.busy() > 0)
        peer.reset()
        server.settle()
        assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 0)
        _end(server^)


def test_a_server_that_stops_ends_the_response_properly() raises:
    for target in ["/silent", "/ticks?1000", "/crowd"]:
        var server = TestServer(_Events())
        var peer = server.connect()
        peer.send(String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"))
        server.settle()
        server.stop()
        assert_true(_text(peer.received()).endswith(_END), target)
        peer.close()
        server.settle()
        assert_equal(server.remains(), "", target)


def test_events_of_several_fibers_are_whole() raises:
    var server = TestServer(_Events())
    var peer = server.connect()
    peer.send("GET /flood HTTP/1.0\r\nHost: a\r\n\r\n")
    var text = String()
    for _ in range(3):
        server.settle()
        text += _text(peer.received())
        server.advance(5)
    var lines = text.split("\n\n")
    assert_true(len(lines) > 8, String(len(lines)))
    for i in range(1, len(lines) - 1):
        var line = lines[i]
        assert_true(
            line == ":" or line.count("data: ") == 1, String(line[byte=:20])
        )
    peer.reset()
    server.settle()


def test_a_deadline_ends_the_wait_for_another_fiber() raises:
    var server = TestServer(_Events())
    var peer = server.connect()
    peer.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    # The client reads nothing, so the first event is never whole.
    server.settle()
    server.advance(100)
    server.settle()
    assert_equal(server.statistics().handler_errors, 1)
    peer.reset()
    server.settle()
    _end(server^)


def test_the_last_id_of_a_client_is_read() raises:
    var client = TestClient(_Events())
    var rows: List[String] = ["", "none", "7", "7", "é", "é", "a b", "a b"]
    rows.append("x" * 1024)
    rows.append("x" * 1024)
    rows.append("x" * 1025)
    rows.append("none")
    for i in range(0, len(rows), 2):
        var headers = HeaderMap()
        headers.set("Last-Event-ID", rows[i])
        assert_equal(String(client.get("/last", headers).text()), rows[i + 1])
    assert_equal(String(client.get("/last").text()), "none")


comptime TESTS = __functions_in_module()


@fieldwise_init
struct _Events(Handler):
    def serve(self, req: Request) raises -> Response:
        if req.path == "/three":
            return event_stream(_three)
        if req.path == "/silent":
            return event_stream(_wait)
        if req.path == "/often":
            return event_stream(_wait, heartbeat_ms=100)
        if req.path == "/never":
            return event_stream(_wait, heartbeat_ms=None)
        if req.path == "/ticks":
            return event_stream(_tick)
        if req.path == "/flood":
            return event_stream(_flood, heartbeat_ms=1)
        if req.path == "/crowd":
            return event_stream(_crowd)
        if req.path == "/held":
            return event_stream(_hold)
        return ok(last_event_id(req).or_else("none"))


def _three(req: Request, events: EventStream) raises:
    events.send("one")
    events.send("two\nlines", name="tick", id=String("2"))
    events.send("", id=String(), retry_ms=500)
    events.comment()


def _wait(req: Request, events: EventStream) raises:
    sleep(1_000_000)


def _tick(req: Request, events: EventStream) raises:
    for i in range(1_000_000):
        events.send(String("tick ", i))
        sleep(Int(req.query))


def _flood(req: Request, events: EventStream) raises:
    var text = String("x") * 9_000
    while True:
        events.send(text)
        sleep(0)


def _crowd(req: Request, events: EventStream) raises:
    def flood() raises {var events}:
        while True:
            events.send("from a fiber")
            sleep(7)

    var other = spawn(flood^)
    while True:
        events.send("from the function")
        sleep(5)


def _hold(req: Request, events: EventStream) raises:
    def fill() raises {var events}:
        events.send(String("x") * 1_000_000)

    var other = spawn(fill^)
    sleep(0)
    with deadline_in(50):
        events.send("behind it")
    _ = other^


def _end(var server: TestServer[_Events]) raises:
    server.stop()
    assert_equal(server.remains(), "")


def _text(octets: List[UInt8]) -> String:
    return String(from_utf8_lossy=Span(octets))
