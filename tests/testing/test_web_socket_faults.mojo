"""Tests what a test sees of WebSocket handlers and clients that are at fault."""

from std.testing import assert_raises

from flare.http import Request, Response, UpgradedStream, ok, unauthorized
from flare.message import HeaderMap
from flare.proto.ws import accept_value
from flare.runtime import sleep
from flare.testing import TestClient, TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsError,
    WsFrame,
    WsHub,
    WsOpcode,
    WsOptions,
    websocket,
)

from tests.asserting import assert_equal, assert_false, assert_true


def test_handler_that_raises_closes_with_1011_once() raises:
    var client = TestClient(WebSocket(_raise))
    var ws = client.websocket("/")
    ws.send_text("now")
    var frame = ws.recv()
    assert_equal(frame.opcode, WsOpcode.CLOSE)
    # The code, and no text of the error.
    assert_equal(frame.payload, [UInt8(1011 >> 8), UInt8(1011 & 255)])
    with assert_raises(contains="ws.closed code=1011 clean=true"):
        _ = ws.recv()
    assert_equal(ws.recv_close(), 1011)
    with assert_raises(contains="ws.closed code=1011"):
        ws.send_text("late")


def test_handler_that_begins_with_a_continuation_is_at_fault() raises:
    # `WsConnection` refuses it: the handler raises.
    var client = TestClient(WebSocket(_continue))
    assert_equal(client.websocket("/").recv_close(), 1011)


def test_malformed_frame_of_a_handler_is_an_error() raises:
    var rows: List[Tuple[String, String, Int]] = [
        ("continuation", "continuation", 1002),
        ("masked", "mask", 1002),
        ("reserved", "reserved", 1002),
        ("not-UTF-8", "UTF-8", 1007),
        ("cut", "ws.closed code=1006", 1006),
        ("nothing", "ws.closed code=1006", 1006),
    ]
    for row in rows:
        var client = TestClient(_malformed)
        var ws = client.websocket("/" + row[0])
        assert_equal(ws.has_message(), row[0] in ["not-UTF-8", "cut"], row[0])
        with assert_raises(contains=row[1]):
            _ = ws.recv_message()
        assert_false(ws.is_open())
        assert_equal(Int(ws.close_code().value()), row[2], row[0])


def test_refused_handshake_shows_its_status() raises:
    var client = TestClient(_choose)
    var rows: List[Tuple[String, Int, String]] = [
        ("/401", 401, "no credentials"),
        ("/200", 200, "a page"),
        ("/500", 500, ""),
        ("/426", 426, ""),
    ]
    for row in rows:
        try:
            _ = client.websocket(row[0])
            raise Error("accepted")
        except e:
            var error = WsError.of(e)
            assert_true(Bool(error), String(e))
            assert_equal(error.value().kind, WsError.HANDSHAKE)
            assert_equal(error.value().status, row[1])
            assert_true(row[2] in error.value().detail, error.value().detail)
    var foreign = HeaderMap()
    foreign.append("Origin", "https://example.com")
    with assert_raises(
        contains="ws.handshake code=1006 clean=false status=403"
    ):
        _ = client.websocket("/", headers=foreign)
    var own = HeaderMap()
    own.append("Origin", "http://example.com")
    own.append("Host", "example.com")
    var ws = client.websocket("/", headers=own)
    ws.send_text("hello")
    assert_equal(ws.recv_text(), "hello")
    # A request that offers no upgrade needs no server.
    assert_equal(client.get("/").status, 426)


def test_handshake_that_breaks_a_rule_is_refused() raises:
    var client = TestClient(_choose)
    with assert_raises(contains="status=101: the accept value is wrong"):
        _ = client.websocket("/wrong-accept")
    with assert_raises(contains="status=101: a subprotocol without an offer"):
        _ = client.websocket("/protocol")
    with assert_raises(contains="target"):
        _ = client.websocket("/a b")


def test_handshake_waits_for_the_handler_up_to_the_limit() raises:
    var client = TestClient(_late)
    with assert_raises(contains="ws.timeout"):
        _ = client.websocket("/", timeout_ms=2_999)
    var ws = client.websocket("/", timeout_ms=3_100)
    assert_equal(ws.recv_text(), "at last")


def test_malformed_octets_of_the_test_get_1002() raises:
    var hub = WsHub()
    var client = TestClient(WebSocket(_echo, WsOptions(hub=hub)))
    var reserved: List[UInt8] = [0xF1, 0x80, 0, 0, 0, 0]
    var rows: List[Tuple[String, List[UInt8]]] = [
        ("not masked", WsFrame.text("hello").encode()),
        ("reserved", reserved.copy()),
        (
            "continuation",
            WsFrame(WsOpcode.CONTINUATION, []).encode(mask=UInt32(7)),
        ),
    ]
    for row in rows:
        var ws = client.websocket("/")
        ws.send_octets(Span(row[1]))
        assert_equal(ws.recv_close(), 1002, row[0])
    assert_equal(hub.statistics().closed_with(1002), 3)
    var whole = client.websocket("/")
    var octets = WsFrame.text("octet by octet").encode(mask=UInt32(0x1234567))
    for i in range(len(octets)):
        assert_false(whole.has_message())
        whole.send_octets(Span(octets)[i : i + 1])
    assert_equal(whole.recv_text(), "octet by octet")


def test_close_of_the_client_reaches_the_handler() raises:
    var hub = WsHub()
    var server = TestServer(WebSocket(_report, WsOptions(hub=hub)))
    var log = server.websocket("/log")
    server.websocket("/").close(4000, "enough")
    assert_equal(log.recv_text(), "4000 enough")
    server.websocket("/").close()
    assert_equal(log.recv_text(), "1000 ")
    server.websocket("/").reset()
    assert_equal(log.recv_text(), "1006 ")
    with assert_raises(contains="ws.bad_call"):
        server.websocket("/").close(1006)
    log.close()
    server.stop()
    assert_equal(server.remains(), "")


def test_message_before_the_close_is_not_lost_silently() raises:
    var client = TestClient(WebSocket(_echo))
    var ws = client.websocket("/")
    ws.send_text("hello")
    with assert_raises(contains="a message arrives before the Close"):
        _ = ws.recv_close()


def test_handler_that_ignores_the_close_delays_nothing() raises:
    var client = TestClient(WebSocket(_ignore))
    var ws = client.websocket("/")
    ws.close(4000)
    assert_equal(ws.close_code().value(), 4000)
    # Both ends are over, and a send is refused.
    with assert_raises(contains="ws.closed code=4000"):
        ws.send_text("late")


def test_request_in_memory_says_how_to_open_a_websocket() raises:
    var client = TestClient(WebSocket(_echo))
    var headers = HeaderMap()
    headers.append("Connection", "upgrade")
    headers.append("Upgrade", "websocket")
    headers.append("Sec-WebSocket-Version", "13")
    headers.append("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    for _ in range(2):
        with assert_raises(contains="TestClient.websocket"):
            _ = client.get("/", headers)
        # From now on the thread has a loop of its own.
        sleep(1)
    var ws = client.websocket("/")
    ws.send_text("hello")
    assert_equal(ws.recv_text(), "hello")


def _echo(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def _raise(ws: WsConnection) raises:
    _ = ws.recv_message()
    raise Error("a secret")


def _continue(ws: WsConnection) raises:
    ws.send_frame(WsFrame(WsOpcode.CONTINUATION, [UInt8(120)]))


def _ignore(ws: WsConnection) raises:
    sleep(60_000)


def _report(req: Request, ws: WsConnection) raises:
    if req.path == "/log":
        ws.subscribe("log")
    for _ in ws:
        pass
    ws.publish("log", String(ws.close_code().value(), " ", ws.close_reason()))


def _late(req: Request) raises -> Response:
    sleep(3_000)
    return websocket(req, _greet)


def _greet(req: Request, ws: WsConnection) raises:
    ws.send_text("at last")


def _echo_too(req: Request, ws: WsConnection) raises:
    _echo(ws)


def _choose(req: Request) raises -> Response:
    if req.path == "/401":
        var response = unauthorized("Bearer")
        response.body = "no credentials"
        return response^
    if req.path == "/200":
        return ok("a page")
    if req.path == "/500":
        raise Error("on purpose")
    if req.path == "/426":
        return Response.upgrade("other", _speak)
    if req.path == "/wrong-accept":
        var response = Response.upgrade("websocket", _speak)
        response.headers.set("Sec-WebSocket-Accept", "abc")
        return response^
    if req.path == "/protocol":
        var response = _accepted(req)
        response.headers.set("Sec-WebSocket-Protocol", "chat")
        return response^
    return websocket(req, _echo_too)


def _malformed(req: Request) raises -> Response:
    return _accepted(req)


def _accepted(req: Request) raises -> Response:
    var response = Response.upgrade("websocket", _speak)
    response.headers.set(
        "Sec-WebSocket-Accept",
        accept_value(req.headers.get("sec-websocket-key").value().as_bytes()),
    )
    return response^


def _speak(req: Request, stream: UpgradedStream) raises:
    var octets: List[UInt8] = []
    if req.path == "/continuation":
        octets = [0x80, 1, 120]
    elif req.path == "/masked":
        octets = [0x81, 0x81, 0, 0, 0, 0, 120]
    elif req.path == "/reserved":
        octets = [0xF1, 1, 120]
    elif req.path == "/not-UTF-8":
        octets = [0x81, 1, 255]
    elif req.path == "/cut":
        octets = [0x81, 5, 120]
    stream.write_all(Span(octets))


comptime TESTS = __functions_in_module()
