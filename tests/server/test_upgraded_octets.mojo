"""Tests reading the octets of an upgraded connection in place."""

from flare.http.handler import FnHandler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true

comptime _HEAD: StaticString = (
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
    "Upgrade: lengths\r\n\r\n"
)


def test_octets_are_awaited_and_changed_in_place() raises:
    var server = TestServer(FnHandler(_serve))
    var peer = server.connect()
    # The first piece comes with the head, which is copied.
    peer.send(String(_HEAD, "3ab"))
    server.settle()
    assert_true(_text(server, peer).endswith("\r\n\r\n"))
    peer.send("c2d")
    assert_equal(_text(server, peer), "ABC")
    peer.send("e0")
    assert_equal(_text(server, peer), "DE")
    # Several in one receive.
    peer.send("1f2gh5ijk")
    assert_equal(_text(server, peer), "FGH")
    peer.send("lm")
    assert_equal(_text(server, peer), "IJKLM")
    _end(server^, peer)


def test_end_of_the_peer_gives_the_octets_that_are_left() raises:
    var server = TestServer(FnHandler(_serve))
    var peer = server.connect()
    peer.send(String(_HEAD, "9four"))
    peer.end_sending()
    assert_true(_text(server, peer).endswith("\r\n\r\nleft: 9four"))
    _end(server^, peer)


def test_octets_that_arrive_one_by_one_do_not_pile_up() raises:
    var server = TestServer(FnHandler(_serve))
    var peer = server.connect()
    peer.send(_HEAD)
    server.settle()
    for _ in range(3000):
        peer.send("1")
        server.settle()
        peer.send("x")
        server.settle()
    var text = _text(server, peer)
    assert_equal(text.count("X"), 3000)
    assert_true(server.worker.state[].reactor.buffers().lent() < 8)
    _end(server^, peer)


def test_octets_that_have_not_arrived_cannot_be_consumed() raises:
    var server = TestServer(FnHandler(_serve))
    for length in ["-", "+"]:
        var peer = server.connect()
        peer.send(String(_HEAD, length, "abc"))
        assert_true(_text(server, peer).endswith("\r\n\r\nhttp.not_received"))
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")


def _serve(req: Request) raises -> Response:
    return Response.upgrade("lengths", _shout_pieces)


def _shout_pieces(req: Request, stream: UpgradedStream) raises:
    while True:
        var octets = stream.unsafe_await_octets()
        if len(octets) == 0:
            return
        var length = Int(octets[0]) - 48
        if length < 0:
            _consume_too_much(stream, octets)
            return
        octets = stream.unsafe_await_octets(more_than=length)
        if len(octets) <= length:
            stream.write_all("left: ".as_bytes())
            stream.write_all(octets)
            return
        for i in range(1, 1 + length):
            octets[i] -= 32
        stream.write_all(octets[1 : 1 + length])
        stream.consume_octets(1 + length)


def _consume_too_much(
    stream: UpgradedStream, octets: Span[UInt8, MutUntrackedOrigin]
) raises:
    var count = -1 if octets[0] == 45 else len(octets) + 1
    try:
        stream.consume_octets(count)
    except e:
        stream.write_all("http.not_received".as_bytes())
        if not String(e).startswith("http.not_received"):
            raise Error(e)


def _text(mut server: TestServer[FnHandler], peer: Peer) raises -> String:
    server.settle()
    return String(unsafe_from_utf8=Span(peer.received()))


def _end(var server: TestServer[FnHandler], peer: Peer) raises:
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()
