"""Tests what the peer learns of an end that came too early, and when the
server learns of the peer's."""

from flare.http.builders import ok
from flare.http.handler import FnHandler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

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


def test_content_is_awaited_no_longer_because_another_fiber_sends() raises:
    for pause_ms in [100, 700]:
        var server = _server()
        var peer = server.connect()
        peer.send(
            "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab"
        )
        for _ in range(1_400 // pause_ms):
            server.advance(pause_ms)
            _ = peer.received()
        assert_true(peer.has_ended(), String(pause_ms))
        _end(server^, peer)


def test_content_that_keeps_its_rate_is_taken_while_another_fiber_sends() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n"
    )
    for _ in range(10):
        server.advance(900)
        peer.send(String("x") * 400)
    var answer = String(unsafe_from_utf8=server.receive(peer))
    assert_true(answer.endswith("read\r\n0\r\n\r\n"), answer)
    _end(server^, peer)


def test_content_is_late_while_the_peer_reads_nothing() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "POST /flood HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab"
    )
    # The peer reads nothing: what is on the way fills its window.
    server.advance(1_500)
    ref fibers = server.worker.state[].reactor.state[].fibers
    assert_equal(fibers.busy(), 0, "the content was late")
    _end(server^, peer)


def test_a_stop_does_not_wait_for_content_that_nobody_reads() raises:
    for gap_ms in [50, 99, 101]:
        var server = _server()
        var peer = server.connect()
        peer.send(
            "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
        )
        server.settle()
        server.begin_stop()
        var waited_ms = 0
        while not server.worker.is_done():
            server.advance(gap_ms)
            waited_ms += gap_ms
            if not peer.has_ended():
                peer.send("x")
        assert_true(waited_ms < 2_500, String(waited_ms))
        assert_false(peer.is_reset())
        _end(server^, peer)


def test_who_must_make_room_in_the_midst_of_content_may_read_its_answer() raises:
    var server = _server(connections_max=1, idle_timeout_ms=60_000)
    var peer = server.connect()
    peer.send(
        "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nab"
    )
    server.advance(1_050)
    var other = server.connect()
    other.send("GET /early HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(200)
    assert_true(peer.has_ended())
    # Its slot is not free: what it still sends is not reset.
    assert_equal(len(other.received()), 0)
    peer.send("ab")
    server.settle()
    var answer = String(unsafe_from_utf8=server.receive(peer))
    assert_true(answer.endswith("early"), answer)
    peer.end_sending()
    answer = String(unsafe_from_utf8=server.receive(other))
    assert_true(answer.endswith("early"), answer)
    other.close()
    _end(server^, peer)


def test_who_reads_only_when_all_was_sent_gets_an_early_answer() raises:
    var server = _server()
    var peer = server.connect()
    var left = 250_000
    peer.send(
        String(
            "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: ",
            left,
            "\r\n\r\n",
        )
    )
    while left > 0:
        var count = min(left, peer.room())
        assert_true(count > 0, String(left, " octets are left"))
        peer.send(String("x") * count)
        left -= count
        server.settle()
    assert_true(len(server.receive(peer)) > 10 * _LENGTH_MAX)
    assert_false(peer.is_reset())
    _end(server^, peer)


def test_an_answered_request_is_not_refused() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "POST /early HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    server.settle()
    peer.send("bad\n")
    var answer = String(unsafe_from_utf8=server.receive(peer))
    assert_true(answer.endswith("early"), answer)
    assert_true(peer.has_ended())
    assert_equal(server.statistics().refused, 0)
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
    if req.path == "/large":
        return ok(String("x") * (10 * _LENGTH_MAX))
    if req.path == "/duplex":
        return Response.stream(_write_while_reading)
    if req.path == "/flood":
        return Response.stream(_flood_while_reading)
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


def _read_all(req: Request) raises:
    var piece = List[UInt8](length=10, fill=0)
    while req.body.read(Span(piece)) > 0:
        pass


def _write_while_reading(req: Request, stream: ResponseStream) raises:
    def tick() raises {var stream} -> Int:
        while True:
            sleep(500)
            stream.write_text("tick")

    var ticking = spawn(tick)
    _read_all(req)
    stream.write_text("read")
    _ = ticking^


def _flood_while_reading(req: Request, stream: ResponseStream) raises:
    def flood() raises {var stream} -> Int:
        while True:
            stream.write_text(String("x") * 10_000)

    var flooding = spawn(flood)
    _read_all(req)
    _ = flooding^


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
    *,
    body_octets_per_second_min: Int = 240,
    connections_max: Int = 1_000,
    idle_timeout_ms: Int = 1_000,
) raises -> TestServer[FnHandler]:
    return TestServer(
        FnHandler(_serve),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1_000_000,
            body_timeout_ms=1_000,
            idle_timeout_ms=idle_timeout_ms,
            max_connections=connections_max,
            body_octets_per_second_min=body_octets_per_second_min,
        ),
    )


def _end(var server: TestServer[FnHandler], peer: Peer) raises:
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()
