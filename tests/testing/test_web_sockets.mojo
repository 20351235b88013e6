"""Tests conversations with WebSocket handlers without a network."""

from std.testing import assert_raises

from flare.http import Request, Response, Router, ok
from flare.http.app import App
from flare.http.state import State
from flare.http.handler import Handler
from flare.json import ToJson
from flare.message import HeaderMap
from flare.runtime import sleep
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.testing import TestClient, TestServer, TestWebSocket
from flare.ws import (
    WebSocket,
    WsCompression,
    WsConnection,
    WsError,
    WsFrame,
    WsHub,
    WsOpcode,
    WsOptions,
    websocket,
)

from tests.asserting import assert_equal, assert_false, assert_true


def test_messages_of_each_kind_are_echoed() raises:
    var client = TestClient(WebSocket(_echo))
    var ws = client.websocket("/")
    ws.send_text("hello")
    var octets: List[UInt8] = [0, 255, 128]
    ws.send_binary(Span(octets))
    ws.send_json(_Tally(12))
    ws.send_text("")
    var first = ws.recv_message()
    assert_true(first.is_text)
    assert_equal(String(first.as_text()), "hello")
    var second = ws.recv_message()
    assert_true(second.is_binary)
    assert_equal(List[UInt8](second.octets()), octets)
    assert_equal(ws.recv_text(), '{"sockets":12}')
    assert_equal(ws.recv_text(), "")
    assert_true(ws.is_open())
    assert_false(ws.close_code())
    ws.close()
    assert_false(ws.is_open())
    assert_equal(ws.close_code().value(), 1000)
    with assert_raises(contains="ws.closed code=1000"):
        ws.send_text("late")


def test_long_messages_pass_in_both_directions() raises:
    var client = TestClient(WebSocket(_echo))
    var ws = client.websocket("/")
    var text = String("0123456789abcdef") * 65_536
    ws.send_text(text)
    assert_equal(ws.recv_text(), text)
    ws.send_text(String(text, "!"))
    assert_equal(ws.recv_close(), 1009)


def test_frames_are_sent_and_received_one_by_one() raises:
    var client = TestClient(WebSocket(_echo_frames))
    var ws = client.websocket("/")
    ws.send_frame(WsFrame(WsOpcode.TEXT, _octets("one "), fin=False))
    ws.send_frame(WsFrame.ping("are you there?".as_bytes()))
    ws.send_frame(WsFrame(WsOpcode.CONTINUATION, _octets("two")))
    var first = ws.recv()
    assert_equal(first.opcode, WsOpcode.TEXT)
    assert_false(first.fin)
    assert_equal(first.text_payload(), "one ")
    var second = ws.recv()
    assert_equal(second.opcode, WsOpcode.CONTINUATION)
    assert_true(second.fin)
    assert_equal(second.text_payload(), "two")
    ws.send_frame(WsFrame.close(4001, "enough"))
    assert_equal(ws.close_code().value(), 4001)


def test_loop_ends_with_the_connection() raises:
    var client = TestClient(WebSocket(_count_down))
    var ws = client.websocket("/")
    ws.send_text("3")
    var seen = List[String]()
    for message in ws:
        seen.append(String(message.as_text()))
    assert_equal(seen, ["3", "2", "1"])
    assert_equal(ws.close_code().value(), 4000)
    assert_equal(ws.close_reason(), "lift-off")


def test_request_and_protocol_reach_the_handler() raises:
    var router = Router()
    router.get(
        "/rooms/:id", WebSocket(_greet, WsOptions(protocols=["v2", "v1"]))
    )
    var client = TestClient(router^)
    var headers = HeaderMap()
    headers.append("X-Name", "Mojo")
    var ws = client.websocket(
        "/rooms/7?from=here", protocols=["v1", "v3"], headers=headers
    )
    assert_equal(ws.protocol(), "v1")
    assert_equal(
        ws.recv_text(), "Mojo in 7 from /rooms/7?from=here at test speaks v1"
    )
    assert_equal(ws.recv_close(), 1000)
    assert_equal(client.websocket("/rooms/8").protocol(), "")


def test_block_closes() raises:
    var hub = WsHub()
    var client = TestClient(WebSocket(_echo, WsOptions(hub=hub)))
    with client.websocket("/") as ws:
        ws.send_text("hello")
        assert_equal(ws.recv_text(), "hello")
        assert_equal(Int(hub.statistics().sockets), 1)
    assert_equal(Int(hub.statistics().sockets), 0)
    assert_equal(hub.statistics().closed_with(1000), 1)
    with assert_raises(contains="of the block"):
        with client.websocket("/") as ws:
            ws.send_text("hello")
            raise Error("of the block")
    assert_equal(hub.statistics().closed_with(1011), 1)


def test_message_of_a_topic_reaches_the_others() raises:
    var hub = WsHub()
    var router = Router()
    router.get("/room", WebSocket(_room, WsOptions(hub=hub)))
    router.get("/announce", _Announce(hub))
    var client = TestClient(router^)
    var a = client.websocket("/room")
    var b = client.websocket("/room")
    a.send_text("one")
    a.send_text("two")
    assert_equal(b.recv_text(), "one")
    assert_equal(b.recv_text(), "two")
    assert_false(a.has_message())
    b.send_text("three")
    assert_equal(a.recv_text(), "three")
    # A request is served in memory, outside of the loop of the WebSockets.
    assert_equal(client.get("/announce").status, 200)
    hub.publish("room", "from the test")
    for ws in [a, b]:
        assert_equal(ws.recv_text(), "from a request")
        assert_equal(ws.recv_text(), "from the test")
    b.close()
    assert_equal(Int(hub.statistics().sockets), 1)
    a.send_text("nobody is left")
    a.close()
    assert_equal(Int(hub.statistics().sockets), 0)


def test_sender_and_ping_of_a_handler_work() raises:
    var hub = WsHub()
    var client = TestClient(WebSocket(_ping_and_send, WsOptions(hub=hub)))
    var ws = client.websocket("/")
    ws.send_text("ping")
    assert_equal(ws.recv_text(), "pong")
    ws.send_text("send")
    assert_equal(ws.recv_text(), "from its sender")
    # Nobody receives, so that no pong is sent.
    ws.send_text("ping")
    ws.advance(20_000)
    assert_equal(ws.recv_text(), "no pong")
    ws.close()


def test_messages_are_compressed() raises:
    var text = String("again and again, ") * 1_000
    for mode in [
        WsCompression.SHARED,
        WsCompression.DEDICATED,
    ]:
        var hub = WsHub()
        var server = TestServer(
            WebSocket(_echo, WsOptions(compression=mode, hub=hub))
        )
        for offered in [
            WsCompression.OFF,
            WsCompression.SHARED,
            WsCompression.DEDICATED,
        ]:
            var ws = server.websocket("/", compression=offered)
            for _ in range(3):
                ws.send_text(text)
                assert_true(ws.has_message())
                assert_equal(ws.recv_text(), text)
                ws.send_text(text, compress=False)
                assert_equal(ws.recv_text(), text)
            ws.close()
            assert_equal(ws.close_code().value(), 1000)
        server.stop()
        assert_equal(server.remains(), "")
        assert_equal(hub.statistics().closed_with(1000), 3)


def test_time_passes_while_a_receive_waits() raises:
    var client = TestClient(WebSocket(_slow))
    var ws = client.websocket("/")
    ws.send_text("59000")
    assert_false(ws.has_message())
    assert_equal(ws.recv_text(), "59000")
    # Pings of the server are answered meanwhile.
    for _ in range(5):
        with assert_raises(contains="has ended after 15000 ms"):
            _ = client.websocket("/", timeout_ms=15_000).recv_message()
        ws.send_text("40000")
        assert_equal(ws.recv_text(), "40000")
    ws.send_text("40000")
    ws.advance(40_000)
    assert_true(ws.has_message())
    assert_equal(ws.recv_text(), "40000")
    # A client that answers no ping is given up.
    ws.send_text("100000")
    ws.advance(100_000)
    assert_equal(Int(ws.recv_close()), 1006)


def test_receive_without_a_message_leaves_the_connection_open() raises:
    var client = TestClient(WebSocket(_echo, WsOptions(ping_interval_ms=None)))
    var ws = client.websocket("/", timeout_ms=1_000)
    with assert_raises(
        contains=(
            "ws.timeout code=1006 clean=false: the wait for the server has"
            " ended after 1000 ms"
        )
    ):
        _ = ws.recv_message()
    with assert_raises(contains="ws.timeout"):
        _ = ws.recv_close()
    ws.send_text("still open")
    assert_equal(ws.recv_text(), "still open")


def test_pings_do_not_prolong_a_receive() raises:
    var client = TestClient(WebSocket(_echo))
    var ws = client.websocket("/", timeout_ms=100_000)
    with assert_raises(contains="has ended after 100000 ms"):
        _ = ws.recv_close()
    with assert_raises(contains="has ended after 100000 ms"):
        _ = ws.recv()
    ws.send_text("still open")
    assert_equal(ws.recv_text(), "still open")


def test_client_that_answers_no_ping_is_closed() raises:
    var hub = WsHub()
    var client = TestClient(WebSocket(_echo, WsOptions(hub=hub)))
    var ws = client.websocket("/")
    ws.advance(49_000)
    assert_equal(Int(hub.statistics().sockets), 1)
    # A ping may leave up to one part in 128 later.
    ws.advance(1_340)
    assert_equal(ws.recv_close(), 1011)
    assert_equal(Int(hub.statistics().sockets), 0)
    assert_equal(Int(hub.statistics().pings_lost), 1)


def test_connection_lives_as_long_as_anything_of_its_client() raises:
    var hub = WsHub()
    var ws = _opened(hub)
    ws.send_text("hello")
    assert_equal(ws.recv_text(), "hello")
    # The other one is open although no variable stands for it.
    assert_equal(Int(hub.statistics().sockets), 2)
    var copy = ws
    _ = ws^
    copy.send_text("again")
    assert_equal(copy.recv_text(), "again")
    _ = copy^
    assert_equal(Int(hub.statistics().sockets), 0)
    assert_equal(hub.statistics().closed_with(1001), 2)


def test_requests_and_sockets_share_the_state() raises:
    var router = Router[_Tally]()
    router.get("/count", _show_count)
    router.get("/ws", _count_sockets)
    var client = TestClient(App(state=_Tally(0), handler=router^))
    assert_equal(client.get("/count").text(), "0")
    assert_equal(client.websocket("/ws").recv_text(), "1")
    assert_equal(client.websocket("/ws").recv_text(), "2")
    assert_equal(client.get("/count").text(), "2")


def test_server_that_stops_says_so() raises:
    var server = TestServer(
        WebSocket(_echo),
        seed=3,
        faults=SimulatedFaults(short_receives=500, short_sends=500, delays=300),
    )
    var ws = server.websocket("/")
    var text = String("0123456789") * 1_000
    ws.send_text(text)
    assert_equal(ws.recv_text(), text)
    server.begin_stop()
    assert_equal(ws.recv_close(), 1001)
    with assert_raises(contains="ws.handshake"):
        _ = server.websocket("/")
    server.stop()
    assert_equal(server.remains(), "")


def _opened(hub: WsHub) raises -> TestWebSocket:
    var client = TestClient(WebSocket(_echo, WsOptions(hub=hub)))
    _ = client.websocket("/")
    return client.websocket("/")


def _octets(text: StringSlice) -> List[UInt8]:
    return List[UInt8](text.as_bytes())


def _echo(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def _echo_frames(ws: WsConnection) raises:
    while True:
        var frame = ws.recv()
        if frame.opcode == WsOpcode.CLOSE:
            return
        ws.send_frame(frame)


def _count_down(ws: WsConnection) raises:
    for i in reversed(range(1, Int(String(ws.recv_message().as_text())) + 1)):
        ws.send_text(String(i))
    ws.close(4000, "lift-off")


def _greet(req: Request, ws: WsConnection) raises:
    var name = req.headers.get("x-name")
    var text = String(name.value()) if name else String("none")
    text += String(" in ", req.param("id"), " from ", req.path, "?", req.query)
    text += String(" at ", req.headers.get("host").value())
    ws.send_text(String(text, " speaks ", ws.protocol()))


def _room(ws: WsConnection) raises:
    ws.subscribe("room")
    for message in ws:
        ws.publish("room", message.as_text())


@fieldwise_init
struct _Announce(Copyable, Handler):
    var hub: WsHub

    def serve(self, req: Request) raises -> Response:
        self.hub.publish("room", "from a request")
        return ok("done")


def _ping_and_send(ws: WsConnection) raises:
    for message in ws:
        if message.as_text() == "send":
            ws.sender().send_text("from its sender")
            continue
        try:
            _ = ws.ping()
            ws.send_text("pong")
        except e:
            if WsError.of(e).value().kind != WsError.TIMEOUT:
                raise e^
            ws.send_text("no pong")


def _slow(ws: WsConnection) raises:
    for message in ws:
        sleep(Int(String(message.as_text())))
        ws.send(message)


@fieldwise_init
struct _Tally(Copyable, ToJson):
    var sockets: Int


def _show_count(tally: State[_Tally]) raises -> Response:
    return ok(String(tally[].sockets))


def _count_sockets(req: Request, tally: State[_Tally]) raises -> Response:
    tally[].sockets += 1
    var count = tally[].sockets

    def tell(req: Request, ws: WsConnection) raises {var count}:
        ws.send_text(String(count))

    return websocket(req, tell)


comptime TESTS = __functions_in_module()
