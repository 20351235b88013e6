"""Tests what the peer learns of an end that came too early, and when the
server learns of the peer's."""

from std.testing import assert_equal, assert_false, assert_true

from flare.http.builders import ok
from flare.http.handler import FnHandler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

comptime _LENGTH_MAX = 400_000


def test_octets_that_were_written_and_not_sent_are_a_loss() raises:
    for request in [
        "GET /stream?N HTTP/1.0\r\n\r\n",
        (
            "GET /upgrade?N HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: raw\r\n\r\n"
        ),
    ]:
        var lost = 0
        for length in range(4_000, _LENGTH_MAX, 12_000):
            var server = _server()
            var peer = server.connect()
            peer.send(request.replace("?N", String("?", length)))
            server.settle()
            var has_written = (
                server.worker.state[].reactor.state[].fibers.busy() == 0
            )
            server.abort()
            server.settle()
            var answer = String(unsafe_from_utf8=peer.received())
            var end = answer.find("\r\n\r\n")
            var is_whole = len(answer.as_bytes()) - end - 4 == length
            assert_equal(peer.is_reset(), not is_whole, String(length))
            lost += Int(has_written and not is_whole)
            _end(server^, peer)
        assert_true(lost > 0, "every function was still writing")


def test_reset_is_noticed_while_a_handler_that_reads_bit_by_bit_sleeps() raises:
    for is_ended in [False, True]:
        var server = _server()
        var peer = server.connect()
        peer.send(
            "POST /sleep HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n"
        )
        peer.send(String("x") * peer.room())
        server.advance(1000)
        ref fibers = server.worker.state[].reactor.state[].fibers
        assert_equal(fibers.busy(), 1)
        if is_ended:
            # The end stands behind content that the handler has yet to read.
            peer.end_sending()
            server.advance(1000)
            assert_equal(fibers.busy(), 1)
        else:
            peer.reset()
            server.advance(1000)
            assert_equal(fibers.busy(), 0)
        _end(server^, peer)


def test_octets_one_by_one_keep_a_rate_as_large_pieces_do() raises:
    for per_second in [1_800, 1_100]:
        var server = _server(body_octets_per_second_min=1_500)
        var peer = server.connect()
        peer.send(
            "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n"
        )
        var sent = 0
        for ms in range(20_000):
            var due = min(ms * per_second // 1000, 20_000)
            while sent < due:
                peer.send("x")
                sent += 1
            server.advance(1)
            if peer.has_ended():
                break
        var answer = String(unsafe_from_utf8=server.receive(peer))
        var wanted = "200" if per_second > 1_500 else "408"
        assert_equal(String(answer[byte=9:12]), wanted)
        _end(server^, peer)


def test_content_that_nobody_reads_is_no_idleness_while_it_comes() raises:
    for pause_ms in [900, 1_100]:
        var server = _server()
        var peer = server.connect()
        peer.send(
            "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n"
        )
        for _ in range(10):
            server.advance(pause_ms)
            peer.send(String("x") * 1_000)
        server.settle()
        assert_true(String(unsafe_from_utf8=peer.received()).endswith("early"))
        assert_equal(peer.has_ended(), pause_ms > 1_000)
        # Its answer must not be lost with what it still sends.
        assert_false(peer.is_reset())
        _end(server^, peer)


def test_a_request_is_refused_once_however_often_it_is_read() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "POST /insist HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n"
    )
    var answer = String(unsafe_from_utf8=server.receive(peer))
    assert_true(answer.startswith("HTTP/1.1 413"), answer)
    assert_equal(server.statistics().refused, 1)
    _end(server^, peer)


def _serve(req: Request) raises -> Response:
    if req.path == "/stream":
        return Response.stream(_write)
    if req.path == "/upgrade":
        return Response.upgrade("raw", _write_raw)
    if req.path == "/early":
        return ok("early")
    if req.path == "/sleep":
        var piece = List[UInt8](length=10, fill=0)
        _ = req.body.read(Span(piece))
        sleep(30_000)
        return ok("slept")
    if req.path == "/insist":
        for _ in range(10):
            try:
                _ = req.body.octets()
            except:
                pass
        return ok("insisted")
    var piece = List[UInt8](length=10, fill=0)
    var count = 0
    while True:
        var read = req.body.read(Span(piece))
        if read == 0:
            return ok(String(count))
        count += read


def _write(req: Request, stream: ResponseStream) raises:
    var left = Int(req.query)
    while left > 0:
        var piece = String("x") * min(left, 1_000)
        stream.write_text(piece)
        left -= piece.byte_length()


def _write_raw(req: Request, stream: UpgradedStream) raises:
    var left = Int(req.query)
    while left > 0:
        var piece = String("x") * min(left, 1_000)
        stream.write_all(piece.as_bytes())
        left -= piece.byte_length()


def _server(
    *, body_octets_per_second_min: Int = 240
) raises -> TestServer[FnHandler]:
    return TestServer(
        FnHandler(_serve),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1_000_000,
            body_timeout_ms=1_000,
            idle_timeout_ms=1_000,
            body_octets_per_second_min=body_octets_per_second_min,
        ),
    )


def _end(var server: TestServer[FnHandler], peer: Peer) raises:
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()
