"""Looks at a status page for some seconds, on a simulated network."""

from flare.http import Request, Response, Router, StatusPage, ok
from flare.http.server.records.slow_requests import SLOW_REQUESTS
from flare.http.status.route_rows import ROWS_MAX
from flare.http.status.sample_text import MESSAGE_OCTETS_MAX
from flare.http.status.status_view import VIEWERS_MAX
from flare.json import Value, loads
from flare.metrics import Metrics
from flare.net import IpNetwork
from flare.runtime import sleep
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.counting_server import counting_server

comptime _EVENTS: StaticString = (
    "GET /-/flare HTTP/1.1\r\nHost: localhost\r\n"
    "Accept: text/event-stream\r\n\r\n"
)


def test_a_sample_says_what_happened_in_its_second() raises:
    var server = _server(Metrics())
    # Before anybody looks.
    _ask(server, "/wait/20", 5, 20)
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    var first = _messages(peer)
    assert_equal(len(first), 1)
    assert_true(first[0]["is_first"].bool_value())
    assert_true(first[0]["counts"].bool_value())
    assert_equal(first[0]["slow_ms"].int_value(), 100)
    var number = first[0]["number"].int_value()
    _ask(server, "/wait/10", 3, 10)
    _ask(server, "/fail", 1)
    _ask(server, "/nowhere", 1)
    server.advance(1001)
    var found = _messages(peer)
    assert_equal(len(found), 1)
    var sample = found[0]
    assert_equal(sample["number"].int_value(), number + 1)
    assert_true(990 <= sample["interval_ms"].int_value() <= 1050)
    assert_equal(sample["requests"].int_value(), 5)
    assert_equal(sample["errors"].int_value(), 1)
    assert_equal(sample["connections"].int_value(), 1)
    assert_equal(sample["window_s"].int_value(), 1)
    assert_equal(len(sample["latency_us"]), 3)
    var total = 0
    for i in range(1, len(sample["heat"]), 2):
        total += sample["heat"][i].int_value()
    assert_equal(total, 5)
    # The index of a row that had requests before is its place since then.
    assert_equal(_row(sample, "GET /wait/:ms")[1].int_value(), 3)
    assert_equal(_row(sample, "GET /fail")[2].int_value(), 1)
    assert_equal(_row(sample, "GET (no route)")[2].int_value(), 0)
    assert_equal(len(sample["workers"]), 1)
    assert_equal(sample["workers"][0][2].int_value(), 5)
    _leave(server, peer)
    _end(server^)


def test_only_changed_rows_are_sent() raises:
    var server = _server(Metrics())
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    _ = _messages(peer)
    _ask(server, "/fail", 2)
    server.advance(1001)
    assert_equal(len(_messages(peer)[0]["routes"]), 1)
    for _ in range(9):
        server.advance(1000)
        var sample = _messages(peer)[0]
        assert_equal(sample["requests"].int_value(), 0)
        assert_equal(len(sample["latency_us"]), 0)
        assert_equal(len(sample["heat"]), 0)
        assert_equal(len(sample["routes"]), 0)
    # The window has passed.
    server.advance(1000)
    var row = _messages(peer)[0]["routes"][0]
    assert_equal(len(row), 5)
    for i in range(1, 5):
        assert_equal(row[i].int_value(), 0)
    _leave(server, peer)
    _end(server^)


def test_no_message_is_longer_than_its_bound() raises:
    var server = _server(Metrics(), routes=300)
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    _ = _messages(peer)
    for i in range(300):
        _ask(server, String("/", i, "/a"), 1)
    var known = Dict[Int, Bool]()
    for _ in range(60):
        server.advance(1000)
        for message in _messages(peer):
            for row in message["routes"].elements():
                if len(row) == 6:
                    known[row[0].int_value()] = True
    assert_equal(len(known), ROWS_MAX)
    # Another viewer gets all names at once, in messages of the same bound.
    var other = server.connect()
    other.send(_EVENTS)
    server.settle()
    var rows = 0
    for message in _messages(other):
        rows += len(message["routes"])
    assert_equal(rows, ROWS_MAX)
    _leave(server, peer)
    _leave(server, other)
    _end(server^)


def test_viewers_share_the_samples() raises:
    var server = _server(Metrics())
    var peers = List[Peer]()
    for _ in range(VIEWERS_MAX):
        var peer = server.connect()
        peer.send(_EVENTS)
        peers.append(peer)
        server.settle()
        server.advance(30)
    for peer in peers:
        _ = _messages(peer)
    server.advance(2000)
    var samples = List[String]()
    for peer in peers:
        var texts = _texts(peer)
        assert_equal(len(texts), 2)
        if len(samples) == 0:
            samples = texts.copy()
        assert_equal(texts[0], samples[0])
        assert_equal(texts[1], samples[1])
    # Each has a fiber, and one for the heartbeat.
    var fibers = server.worker.state[].reactor.state[].fibers
    assert_equal(fibers.busy(), 2 * VIEWERS_MAX)
    # One more is one too many, by either way.
    for query in ["?format=events", "?format=json&since=0"]:
        var text = _get(server, String("/-/flare", query))
        assert_true(text.startswith("HTTP/1.1 503 "), text)
        assert_true("\r\nRetry-After: 10\r\n" in text)
        assert_equal(fibers.busy(), 2 * VIEWERS_MAX, query)
    _leave(server, peers[3])
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    assert_true(_messages(peer)[0]["is_first"].bool_value())
    peers[3] = peer
    for left in peers:
        _leave(server, left)
    _end(server^)


def test_a_poll_continues_where_the_one_before_ended() raises:
    var server = _server(Metrics())
    var first = _poll(server, 0)
    assert_equal(len(first), 1)
    assert_true(first[0]["is_first"].bool_value())
    var number = first[0]["number"].int_value()
    assert_equal(len(_poll(server, number)), 0)
    for _ in range(3):
        server.advance(1001)
        var messages = _poll(server, number)
        assert_equal(len(messages), 1)
        number += 1
        assert_equal(messages[0]["number"].int_value(), number)
        assert_equal(messages[0]["requests"].int_value(), 0)
    # The latest ones are kept, for a poll that is late.
    var again = _poll(server, number - 2)
    assert_equal(len(again), 2)
    # After a pause, and for a number of another worker, all begins anew.
    assert_true(_poll(server, number + 5)[0]["is_first"].bool_value())
    server.advance(20_000)
    var anew = _poll(server, number)
    assert_true(anew[0]["is_first"].bool_value())
    _end(server^)


def test_without_a_viewer_nothing_is_sampled() raises:
    var server = _server(Metrics())
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    server.advance(2500)
    assert_equal(len(_messages(peer)), 3)
    _leave(server, peer)
    # No timer of a sampler is armed, and no fiber waits.
    assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 0)
    server.advance(10_000)
    assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 0)
    # The next viewer begins with no history.
    peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    assert_true(_messages(peer)[0]["is_first"].bool_value())
    _leave(server, peer)
    _end(server^)


def test_a_server_that_stops_ends_the_events() raises:
    var server = _server(Metrics())
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    server.advance(1500)
    _ = peer.received()
    server.stop()
    var octets = peer.received()
    var text = String(StringSlice(unsafe_from_utf8=Span(octets)))
    assert_true(text.endswith("0\r\n\r\n"), text)
    assert_equal(server.remains(), "")


def test_slow_requests_name_their_row() raises:
    var server = _server(Metrics())
    var peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    _ = _messages(peer)
    _ask(server, "/wait/99", 1, 99)
    _ask(server, "/wait/101", 1, 101)
    server.advance(1000)
    var sample = _messages(peer)[0]
    assert_equal(len(sample["slow"]), 1)
    var slow = sample["slow"][0]
    assert_true(101_000 <= slow[1].int_value() < 102_000)
    assert_equal(slow[2].int_value(), 200)
    assert_equal(slow[3].int_value(), 0)
    assert_equal(slow[4].int_value(), 3)
    assert_equal(
        slow[5].int_value(), _row(sample, "GET /wait/:ms")[0].int_value()
    )
    # Of more than are kept, the latest remain; a message tells some of them.
    for _ in range(SLOW_REQUESTS + 10):
        _ask(server, "/wait/100", 1, 100)
    var told = 0
    server.advance(100)
    for _ in range(12):
        server.advance(1000)
        for message in _messages(peer):
            if "slow" in message:
                assert_true(0 < len(message["slow"]) <= 4)
                told += len(message["slow"])
    assert_true(SLOW_REQUESTS <= told <= SLOW_REQUESTS + 10, String(told))
    # An event stream that has ended is not slow.
    _leave(server, peer)
    peer = server.connect()
    peer.send(_EVENTS)
    server.settle()
    _ = _messages(peer)
    server.advance(1500)
    assert_false("slow" in _messages(peer)[0])
    _leave(server, peer)
    _end(server^)


comptime TESTS = __functions_in_module()


def _wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def _fail(req: Request) raises -> Response:
    raise Error("of the test")


def _some(req: Request) raises -> Response:
    return ok("some")


def _long_pattern(i: Int) -> String:
    # About as long as a label may be.
    return String("/", i, "/:", String("x") * (90 + i % 30))


def _server(
    metrics: Metrics, *, routes: Int = 0
) raises -> TestServer[Router[]]:
    var router = Router()
    router.get("/wait/:ms", _wait)
    router.get("/fail", _fail)
    for i in range(routes):
        router.get(_long_pattern(i), _some)
    router.get(
        "/-/flare",
        StatusPage(metrics, allow=[IpNetwork.parse("10.0.0.0/8")]),
    )
    return counting_server(router^, metrics)


def _get(server: TestServer, target: StringSlice, wait_ms: Int = 0) -> String:
    """Sends a request, and returns the answer. `exchange` would wait for the
    end of event streams, too."""
    var peer = server.connect()
    peer.send(String("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    server.settle()
    if wait_ms > 0:
        server.advance(wait_ms)
    var octets = peer.received()
    peer.close()
    server.settle()
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _ask(
    server: TestServer, path: StringSlice, count: Int, wait_ms: Int = 0
) raises:
    for _ in range(count):
        assert_true(_get(server, path, wait_ms).startswith("HTTP/1.1 "))


def _poll(server: TestServer, number: Int) raises -> List[Value]:
    var text = _get(server, String("/-/flare?format=json&since=", number))
    return loads(text[byte = text.find("\r\n\r\n") + 4 :])[
        "messages"
    ].elements()


def _texts(peer: Peer) raises -> List[String]:
    """Returns the data of the events that have arrived."""
    var text = _content(peer.received())
    var found = List[String]()
    for line in text.split("\n"):
        if line.startswith("data: "):
            found.append(String(line[byte=6:]))
            assert_true(line.byte_length() - 6 <= MESSAGE_OCTETS_MAX)
    return found^


def _content(octets: List[UInt8]) raises -> String:
    """Returns the content of whole chunks, without a head before them."""
    var text = StringSlice(unsafe_from_utf8=Span(octets))
    var at = 0
    if text.startswith("HTTP/"):
        at = text.find("\r\n\r\n") + 4
    var content = String()
    while at < len(octets):
        var size = 0
        while octets[at] != 13:
            var digit = Int(octets[at])
            size = 16 * size + digit - (48 if digit < 58 else 87)
            at += 1
        content += text[byte = at + 2 : at + 2 + size]
        at += size + 4
    return content^


def _messages(peer: Peer) raises -> List[Value]:
    var found = List[Value]()
    for text in _texts(peer):
        found.append(loads(text))
    return found^


def _row(sample: Value, name: StringSlice) raises -> Value:
    for row in sample["routes"].elements():
        if len(row) == 6 and row[5].string_value() == name:
            return row
    raise Error("no row ", name)


def _leave(server: TestServer, peer: Peer):
    peer.reset()
    server.settle()


def _end(var server: TestServer[_]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
