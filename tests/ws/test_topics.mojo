"""Tests messages that reach all subscribers of a topic."""

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsError,
    WsFrame,
    WsHub,
    WsOpcode,
    WsOptions,
    WsOverflow,
    WsStatistics,
)

from tests.asserting import assert_equal, assert_false, assert_true

from .socket_peer import open_socket, received, send_frame


def test_message_reaches_the_others_in_order() raises:
    var hub = WsHub()
    var server = _server(hub)
    var a = open_socket(server)
    var b = open_socket(server)
    var outside = open_socket(server)
    send_frame(a, 0x81, "join room")
    send_frame(b, 0x81, "join room")
    server.settle()
    send_frame(a, 0x81, "say one")
    send_frame(a, 0x81, "say two")
    server.settle()
    send_frame(b, 0x81, "say three")
    assert_equal(received(server, b), "81:7 say one 81:7 say two")
    assert_equal(received(server, a), "81:9 say three")
    send_frame(b, 0x81, "echo all")
    assert_equal(received(server, a), "81:8 echo all")
    assert_equal(received(server, b), "81:8 echo all")
    send_frame(a, 0x81, "leave room")
    server.settle()
    send_frame(b, 0x81, "say four")
    assert_equal(received(server, a), "")
    assert_equal(received(server, outside), "")
    for peer in [a, b, outside]:
        peer.close()
    server.settle()
    _end(server^)
    _check_counts(hub.statistics())


def test_other_threads_publish_through_the_hub() raises:
    var hub = WsHub()
    var server = _server(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "join room")
    server.settle()
    # This thread is not on the loop of the worker, as any other thread.
    hub.publish("room", "from outside")
    hub.publish_binary("room", "octets".as_bytes())
    hub.publish("elsewhere", "lost")
    assert_equal(received(server, peer), "81:12 from outside 82:6 octets")
    peer.close()
    _end(server^)
    hub.publish("room", "nobody is left")


def test_large_topic_takes_several_turns() raises:
    var hub = WsHub()
    var server = _server(hub)
    var peers = List[Peer]()
    for _ in range(258):
        peers.append(open_socket(server))
        send_frame(peers[len(peers) - 1], 0x81, "join room")
    server.settle()
    hub.publish("room", "first")
    server.turn_now()
    # Some leave while the message is on its way.
    for i in range(0, 258, 3):
        peers[i].reset()
    hub.publish("room", "second")
    server.settle()
    for i in range(258):
        if i % 3 != 0:
            assert_equal(received(server, peers[i]), "81:5 first 81:6 second")
            peers[i].close()
    _end(server^)


def test_slow_subscriber_is_closed() raises:
    var hub = WsHub()
    var server = _server(hub)
    var slow = open_socket(server)
    var quick = open_socket(server)
    send_frame(slow, 0x81, "join room")
    send_frame(quick, 0x81, "join room")
    server.settle()
    var text = String("x") * 4096
    var got = 0
    for _ in range(400):
        hub.publish("room", text)
        server.settle()
        got += len(quick.received())
    assert_equal(got, 400 * (4096 + 4))
    # Its output and the octets being sent are left, and no message more.
    assert_true(server.worker.state[].budget.charged < 256 * 1024)
    assert_equal(hub.unsafe_alive_octets(), 0)
    # Its peer reads again, and finds why the messages have ended.
    assert_true(received(server, slow).endswith(" 88:6 (1013)"))
    server.advance(6_000)
    assert_true(slow.has_ended())
    assert_equal(hub.statistics().closed_with(1013), 1)
    quick.close()
    _end(server^)


def test_slow_subscriber_may_skip() raises:
    var hub = WsHub()
    var server = _server(hub)
    var slow = open_socket(server)
    send_frame(slow, 0x81, "skip room")
    server.settle()
    var text = String("x") * 4096
    for _ in range(400):
        hub.publish("room", text)
        server.settle()
    var frames = received(server, slow).count("81:4096")
    assert_true(0 < frames < 400)
    var skipped = Int(hub.statistics().skipped)
    assert_equal(frames + skipped, 400)
    send_frame(slow, 0x81, "skipped?")
    assert_equal(received(server, slow), _text(String(skipped)))
    hub.publish("room", "again")
    assert_equal(received(server, slow), "81:5 again")
    slow.close()
    _end(server^)


def test_slow_subscriber_may_take_the_latest() raises:
    var hub = WsHub()
    var server = _server(hub)
    var slow = open_socket(server)
    send_frame(slow, 0x81, "latest price")
    send_frame(slow, 0x81, "latest other")
    server.settle()
    for i in range(2_000):
        hub.publish("price", String("price ", i, " ", String(".") * 200))
        hub.publish("other", String("other ", i, " ", String(".") * 200))
        server.settle()
    assert_true(Int(hub.statistics().skipped) > 2_000)
    assert_true(server.worker.state[].budget.charged < 64 * 1024)
    var octets = List[UInt8]()
    while True:
        server.settle()
        var more = slow.received()
        if len(more) == 0:
            break
        octets.extend(Span(more))
    var text = String(from_utf8_lossy=Span(octets))
    assert_true("price 1999 " in text)
    assert_true("other 1999 " in text)
    assert_false("price 1998 " in text)
    slow.close()
    _end(server^)


def test_latest_messages_are_bounded_too() raises:
    var hub = WsHub()
    var server = _server(hub)
    var slow = open_socket(server)
    for i in range(8):
        send_frame(slow, 0x81, String("latest ", i))
    server.settle()
    hub.publish_binary("0", Span(List[UInt8](length=200_000, fill=7)))
    server.settle()
    for i in range(8):
        hub.publish(String(i), "short")
        server.settle()
    # Each takes the place of a short one.
    for i in range(8):
        hub.publish_binary(String(i), Span(List[UInt8](length=100_000, fill=7)))
        server.settle()
        assert_true(hub.unsafe_alive_octets() < 512 * 1024)
    assert_true(" 88:" in received(server, slow))
    slow.close()
    _end(server^)


def test_message_waits_for_the_end_of_another() raises:
    var hub = WsHub()
    var server = _server(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "join room")
    send_frame(peer, 0x81, "part")
    assert_equal(received(server, peer), "1:4 part")
    hub.publish("room", "news")
    assert_equal(received(server, peer), "")
    send_frame(peer, 0x81, "rest")
    assert_equal(received(server, peer), "80:4 rest 81:4 news")
    peer.close()
    _end(server^)


def test_short_messages_are_bounded_by_the_memory_they_take() raises:
    var hub = WsHub()
    var server = _server(hub)
    var slow = open_socket(server)
    send_frame(slow, 0x81, "skip room")
    server.settle()
    hub.publish_binary("room", Span(List[UInt8](length=200_000, fill=7)))
    # 64 KiB of them fill the output.
    for i in range(40_000):
        hub.publish("room", "x")
        if i % 200 == 0:
            server.settle()
    server.settle()
    # Each occupies a block, however short it is.
    assert_true(Int(hub.statistics().skipped) > 15_000)
    slow.close()
    server.settle()
    _end(server^)


def test_messages_that_are_held_have_a_bound_together() raises:
    var hub = WsHub()
    var server = TestServer(
        WebSocket(_converse, WsOptions(hub=hub, held_octets_max=1 << 30)),
        config=ServerConfig(log=LogSink.nowhere()),
    )
    var slow = open_socket(server)
    send_frame(slow, 0x81, "skip room")
    server.settle()
    var text = String("x") * 250_000
    for _ in range(300):
        hub.publish("room", text)
        server.settle()
    assert_true(hub.unsafe_alive_octets() > 60 << 20)
    assert_true(hub.unsafe_alive_octets() < (64 << 20) + 300_000)
    assert_true(Int(hub.statistics().skipped) > 20)
    # One that holds little may hold a little more.
    for _ in range(300):
        hub.publish("room", String("x") * 1_000)
        server.settle()
    var other = open_socket(server)
    send_frame(other, 0x81, "skip news")
    server.settle()
    var before = hub.unsafe_alive_octets()
    for _ in range(400):
        hub.publish("news", String("x") * 4096)
        server.settle()
    var more = hub.unsafe_alive_octets() - before
    assert_true(2 * 4096 < more <= 16 << 10, String(more))
    # A subscriber of the latest message misses some, and is not closed.
    var latest = open_socket(server)
    send_frame(latest, 0x81, "latest news")
    server.settle()
    for _ in range(100):
        hub.publish("news", String("x") * 20_000)
        server.settle()
    var text_of_latest = received(server, latest)
    assert_true("88:" not in text_of_latest)
    assert_true("81:20000" in text_of_latest)
    latest.close()
    other.close()
    slow.close()
    server.settle()
    assert_equal(hub.unsafe_alive_octets(), 0)
    _end(server^)


def test_worker_that_does_not_keep_up_bounds_its_inbox() raises:
    var hub = WsHub()
    var server = _server(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "join room")
    server.settle()
    var text = String("x") * 250_000
    var taken = 0
    try:
        # The loop of the worker has no turn meanwhile.
        for _ in range(400):
            hub.publish("room", text)
            taken += 1
        raise Error("all were taken")
    except e:
        assert_equal(WsError.of(e).value().kind, WsError.BUSY)
    assert_true(200 < taken < 300)
    server.settle()
    hub.publish("room", "later")
    peer.close()
    server.settle()
    _end(server^)


def test_misuse_is_refused() raises:
    var hub = WsHub()
    var server = _server(hub)
    var peer = open_socket(server)
    for i in range(64):
        send_frame(peer, 0x81, String("join ", i))
    send_frame(peer, 0x81, "join 3")
    server.settle()
    send_frame(peer, 0x81, "join 64")
    assert_equal(
        received(server, peer),
        _text("ws.bad_call code=1006 clean=false: too many subscriptions"),
    )
    send_frame(peer, 0x81, String("join ", String("x") * 256))
    assert_equal(
        received(server, peer),
        _text(
            "ws.bad_call code=1006 clean=false: the name of a topic is too long"
        ),
    )
    try:
        hub.publish("a", String("x") * 262_145)
        raise Error("the message was taken")
    except e:
        assert_equal(WsError.of(e).value().kind, WsError.BAD_CALL)
    peer.close()
    _end(server^)


def _check_counts(counts: WsStatistics) raises:
    assert_equal(Int(counts.sockets), 0)
    assert_equal(Int(counts.opened), 3)
    assert_equal(Int(counts.messages_received), 8)
    assert_equal(Int(counts.published), 5)
    assert_equal(counts.closed_with(1006), 3)


def _converse(ws: WsConnection) raises:
    for message in ws:
        var text = String(message.as_text())
        var rest = String(text.removeprefix(text.split(" ")[0]).strip())
        try:
            if text.startswith("join "):
                ws.subscribe(rest)
            elif text.startswith("skip "):
                ws.subscribe(rest, WsOverflow.SKIP)
            elif text.startswith("latest "):
                ws.subscribe(rest, WsOverflow.LATEST)
            elif text.startswith("leave "):
                ws.unsubscribe(rest)
            elif text == "part":
                ws.send_frame(WsFrame(WsOpcode.TEXT, _list(text), fin=False))
            elif text == "rest":
                ws.send_frame(WsFrame(WsOpcode.CONTINUATION, _list(text)))
            elif text == "skipped?":
                ws.send_text(String(ws.skipped()))
            else:
                ws.publish(
                    "room", text, including_self=text.startswith("echo ")
                )
        except e:
            ws.send_text(String(e))


def _list(text: String) -> List[UInt8]:
    return List[UInt8](text.as_bytes())


def _text(text: String) -> String:
    var length = text.byte_length()
    return String("81:", length, " ", text) if length <= 32 else String(
        "81:", length
    )


def _server(hub: WsHub) raises -> TestServer[WebSocket]:
    return TestServer(
        WebSocket(_converse, WsOptions(hub=hub)),
        config=ServerConfig(log=LogSink.nowhere()),
    )


def _end(var server: TestServer[WebSocket]) raises:
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()
