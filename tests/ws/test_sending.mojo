"""Tests the ways to send besides whole messages."""

from std.testing import assert_raises

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.proto.ws import WsRole
from flare.runtime import spawn
from flare.runtime.wait import deadline_in, sleep
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsError,
    WsFrame,
    WsHub,
    WsOptions,
)

from tests.asserting import assert_equal, assert_true
from tests.proto_ws.peer import frame

from .socket_peer import open_socket, received, send_close, send_frame


def test_message_of_unknown_length_is_not_torn_apart() raises:
    var hub = WsHub()
    var server = _server[_write_in_pieces](hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    assert_equal(received(server, peer), "1:3 one")
    send_frame(peer, 0x89, "between")
    hub.publish("room", "news")
    assert_equal(received(server, peer), "8a:7 between")
    server.advance(1_000)
    assert_equal(received(server, peer), "0:3 two 80:0 81:4 news 81:6 beside")
    peer.close()
    _end(server^)


def test_peer_that_reads_a_long_frame_slowly_is_alive() raises:
    var server = _server[_send_long_and_receive](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    var octets = 0
    var seconds = 0
    while octets < 4_000_010 and seconds < 3_600:
        server.advance(5_000)
        seconds += 5
        octets += len(peer.received())
    # No ping could be sent meanwhile, but perhaps one after it.
    assert_true(seconds > 60, String(seconds))
    assert_true(octets == 4_000_010 or octets == 4_000_020, String(octets))
    send_frame(peer, 0x81, "moved")
    assert_equal(received(server, peer), "81:5 after")
    peer.close()
    _end(server^)


def test_pong_that_is_refused_holds_nobody_back() raises:
    var server = _server[_send_long_pong](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    assert_equal(received(server, peer), "82:65400 81:5 after 88:2 (1000)")
    peer.close()
    _end(server^)


def test_message_that_fails_closes_the_connection() raises:
    var server = _server[_fail_in_pieces](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    assert_equal(received(server, peer), "2:3 one 88:2 (1011)")
    send_close(peer, 1011)
    server.settle()
    assert_true(peer.has_ended())
    _end(server^)


def test_round_trip_of_a_ping_is_measured() raises:
    var server = _server[_ping](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    assert_true(received(server, peer).startswith("89:8 "))
    # A foreign pong is a sign of life only.
    send_frame(peer, 0x8A, "foreign!")
    assert_equal(received(server, peer), "")
    var payload: List[UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
    peer.send(Span(frame(WsRole.SERVER, 0x8A, Span(payload))))
    assert_equal(received(server, peer), "81:8 answered")
    # A deadline of the program is none of the connection.
    send_frame(peer, 0x81, "soon")
    assert_true(received(server, peer).startswith("89:8 "))
    server.advance(200)
    assert_equal(received(server, peer), "81:26 net.timeout wait errno=110")
    # The next one is not answered.
    send_frame(peer, 0x81, "again")
    assert_true(received(server, peer).startswith("89:8 "))
    server.advance(21_000)
    assert_equal(received(server, peer), "81:61")
    # The last one meets the end of the connection.
    send_frame(peer, 0x81, "again")
    assert_true(received(server, peer).startswith("89:8 "))
    send_close(peer, 1000)
    assert_equal(received(server, peer), "88:2 (1000)")
    assert_true(peer.has_ended())
    _end(server^)


def test_sender_outlives_the_connection() raises:
    var hub = WsHub()
    var server = _server[_give_sender](hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "go")
    assert_equal(received(server, peer), "81:4 text 82:6 binary")
    send_close(peer, 1000)
    server.settle()
    assert_true(peer.has_ended())
    server.advance(1_000)
    assert_equal(Int(hub.statistics().published), 2)
    _end(server^)


def test_fibers_send_by_turns() raises:
    var server = _server[_send_beside](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    var text = received(server, peer)
    # Each message is longer than the output takes at once.
    assert_equal(text, "82:200000 82:200000 82:200000 82:200000 88:2 (1000)")
    peer.close()
    _end(server^)


def test_fiber_that_sends_on_and_on_holds_no_other_back() raises:
    var server = _server[_send_on_and_on](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    var text = received(server, peer)
    assert_true(text.endswith(" 82:200000 88:2 (1000)"))
    assert_true(" 81:6 beside 82:200000 " in text)
    peer.close()
    _end(server^)


def test_pongs_that_fill_the_output_do_not_hinder_a_message() raises:
    var server = _server[_receive_and_send_beside](WsHub())
    var peer = open_socket(server)
    # The peer reads no pong, until another fiber has begun to send.
    for _ in range(3_000):
        send_frame(peer, 0x89, String("x") * 120)
    server.advance(2_000)
    var text = received(server, peer)
    # While the message is written, a flood is answered in part.
    assert_true(text.count("8a:120") > 2_000)
    assert_equal(text.count("81:6 beside"), 1)
    send_close(peer, 1000)
    assert_equal(received(server, peer), "88:2 (1000)")
    _end(server^)


def test_pongs_behind_a_message_that_nobody_reads_are_bounded() raises:
    var server = _server[_send_long_beside](WsHub())
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    server.settle()
    for _ in range(3_000):
        send_frame(peer, 0x89, String("x") * 120)
    send_frame(peer, 0x89, "last")
    var text = received(server, peer)
    assert_true(text.startswith("82:400000 8a:"), text)
    # All pongs that wait take 4 KiB.
    assert_true(text.count("8a:120") < 40, text)
    assert_true(text.endswith("8a:4 last"), text)
    peer.close()
    _end(server^)


def _send_long_beside(ws: WsConnection) raises:
    _ = ws.recv_message()

    def send() raises {var ws}:
        ws.send_binary(Span(List[UInt8](length=400_000, fill=7)))

    var other = spawn(send)
    for _ in ws:
        pass
    other^.join()


def _send_on_and_on(ws: WsConnection) raises:
    _ = ws.recv_message()

    def send() raises {var ws}:
        ws.send_text("beside")

    var other = spawn(send)
    for _ in range(20):
        ws.send_binary(Span(List[UInt8](length=200_000, fill=7)))
    other^.join()


def _receive_and_send_beside(ws: WsConnection) raises:
    def send() raises {var ws}:
        sleep(1_000)
        ws.send_text("beside")

    var other = spawn(send)
    for _ in ws:
        pass
    other^.join()


def _write_in_pieces(ws: WsConnection) raises:
    ws.subscribe("room")
    _ = ws.recv_message()

    def wait_and_send() raises {var ws}:
        sleep(100)
        ws.send_text("beside")

    var other = spawn(wait_and_send)
    with ws.message_writer(is_text=True) as writer:
        writer.write_all("one".as_bytes())
        sleep(500)
        writer.write_all("".as_bytes())
        writer.write_all("two".as_bytes())
    other^.join()
    _ = ws.recv_message()


def test_octets_that_wait_for_the_peer_are_counted() raises:
    var hub = WsHub()
    var server = _server[_count_buffered](hub)
    var peer = open_socket(server)
    var outputs = server.worker.state[].outputs.lent
    send_frame(peer, 0x81, "begin")
    server.settle()
    # An idle connection keeps no memory for the look.
    assert_equal(server.worker.state[].outputs.lent, outputs)
    send_frame(peer, 0x82, "moved")
    # A frame of 3 + 2 octets, and within a message 1 + 2, a held frame of
    # 4 + 2, and the end of the message.
    assert_equal(
        received(server, peer),
        (
            "81:3 one 1:1 a 80:0 81:4 news 81:18 idle 0 then 5 8 14 82:5 moved"
            " 88:2 (1000)"
        ),
    )
    peer.close()
    _end(server^)


def _count_buffered(ws: WsConnection) raises:
    ws.subscribe("room")
    _ = ws.recv_message()
    var text = String("idle ", ws.buffered_octets(), " then")
    var message = ws.recv_message()
    ws.send_text("one")
    text.write(" ", ws.buffered_octets())
    with ws.message_writer(is_text=True) as writer:
        writer.write_all("a".as_bytes())
        text.write(" ", ws.buffered_octets())
        ws.publish("room", "news", including_self=True)
        text.write(" ", ws.buffered_octets())
    ws.send_text(text)
    var octets = message^.into_octets()
    assert_equal(len(octets), 5)
    ws.send_binary(Span(octets))


def _send_long_and_receive(ws: WsConnection) raises:
    _ = ws.recv_message()

    def send() raises {var ws}:
        ws.send_binary(Span(List[UInt8](length=4_000_000, fill=7)))

    var sending = spawn(send)
    for _ in ws:
        ws.send_text("after")
        break
    sending^.join()
    _ = ws.recv_message()


def _send_long_pong(ws: WsConnection) raises:
    _ = ws.recv_message()
    # It leaves no room for a pong.
    ws.send_binary(Span(List[UInt8](length=65_400, fill=7)))
    var octets = List[UInt8](length=126, fill=7)
    with assert_raises(contains="ws.bad_call"):
        ws.send_frame(WsFrame.pong(Span(octets)))
    ws.send_text("after")


def _fail_in_pieces(ws: WsConnection) raises:
    _ = ws.recv_message()
    with ws.message_writer() as writer:
        writer.write_all("one".as_bytes())
        raise Error("no more")


def _ping(ws: WsConnection) raises:
    while True:
        var message = ws.recv_message()
        var is_soon = message.as_text() == "soon"
        try:
            with deadline_in(100 if is_soon else 60_000):
                assert_true(ws.ping() >= 0)
            ws.send_text("answered")
        except e:
            var own = WsError.of(e)
            if own and own.value().kind == WsError.CLOSED:
                assert_equal(Int(own.value().code), 1000)
                return
            assert_true(ws.is_open())
            ws.send_text(String(e))


def _give_sender(ws: WsConnection) raises:
    var sender = ws.sender()
    _ = ws.recv_message()
    sender.send_text("text")
    sender.send_binary("binary".as_bytes())

    def later() raises {var sender^}:
        sleep(500)
        sender.send_text("lost")

    spawn(later^)^.detach()
    _ = ws.recv_message()


def _send_beside(ws: WsConnection) raises:
    _ = ws.recv_message()

    def send() raises {var ws}:
        ws.send_binary(Span(List[UInt8](length=200_000, fill=7)))

    var one = spawn(send)
    var two = spawn(send)
    var three = spawn(send)
    send()
    one^.join()
    two^.join()
    three^.join()


def _server[
    function: def(WsConnection) raises thin -> None
](hub: WsHub) raises -> TestServer[WebSocket]:
    return TestServer(
        WebSocket(function, WsOptions(hub=hub)),
        config=ServerConfig(log=LogSink.nowhere()),
    )


def _end(var server: TestServer[WebSocket]) raises:
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()
