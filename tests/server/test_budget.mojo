"""Lets clients make a worker buffer more than it may."""

from std.testing import assert_equal, assert_true

from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.middleware import AddHeader
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.buffered import buffered_octets
from flare.http.server.config import ServerConfig
from flare.http.server.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

comptime _CONTENT_OCTETS = 500_000
comptime _BUDGET = 4 * 1024 * 1024
# Who is in the middle when the budget is used up goes on to the next look:
# each may have received this much more by then.
comptime _OVERSHOOT = 1024 * 1024


def test_what_is_held_is_charged_and_comes_back() raises:
    var server = _server()
    var upload = server.connect()
    upload.send(_upload(_CONTENT_OCTETS, 400_000))
    var head = server.connect()
    head.send("GET / HTTP/1.1\r\nHost: a\r\nX-Long: ")
    server.settle()
    head.send(String("x") * 6_000)
    var trailers = server.connect()
    trailers.send(
        "POST /whole HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    server.settle()
    trailers.send(String("1\r\nx\r\n0\r\nX-Long: ", String("x") * 6_000))
    server.settle()
    var held = _held(server)
    assert_true(held >= 412_000, String(held))
    assert_true(held < 1_000_000, String(held))
    var reader = server.connect()
    reader.send(_get("/large"))
    server.settle()
    _ = reader.received(1)
    server.settle()
    assert_true(_held(server) >= held + 900_000, String(_held(server)))
    var stream = server.connect()
    held = _held(server)
    stream.send(_get("/stream"))
    server.settle()
    assert_true(_held(server) >= held + 64_000, String(_held(server)))
    server.turn_now()
    assert_equal(Int(server.statistics().buffered_octets), _held(server))
    for peer in [upload, head, trailers, reader, stream]:
        peer.reset()
    server.settle()
    assert_equal(_held(server), 0)
    _end(server^, [])


def test_uploads_that_each_hold_a_part_all_get_through() raises:
    var server = _server()
    var peers = List[Peer]()
    var held_max = 0
    for _ in range(30):
        var peer = server.connect()
        peer.send(_upload(_CONTENT_OCTETS, 200_000))
        peers.append(peer)
        server.settle()
        held_max = max(held_max, _held(server))
    assert_true(held_max <= _BUDGET, String(held_max))
    var answers = List[String]()
    for peer in peers:
        peer.send(String("x") * (_CONTENT_OCTETS - 200_000))
        server.settle()
        held_max = max(held_max, _held(server))
        answers.append(_text(peer.received()))
    assert_true(held_max <= _BUDGET + _OVERSHOOT, String(held_max))
    # Those before free the room that the others wait for.
    for i in range(len(peers)):
        answers[i] += _text(peers[i].received())
        assert_true(
            answers[i].startswith("HTTP/1.1 200"), String(i, answers[i])
        )
        assert_true(answers[i].endswith("500000"), answers[i])
    assert_equal(_held(server), 0)
    assert_equal(len(server.worker.state[].budget.waiting), 0)
    _end(server^, peers)


def test_other_requests_are_answered_while_uploads_wait() raises:
    var server = _server()
    var peers = _fill(server)
    var other = server.connect()
    other.send(_get("/"))
    server.settle()
    assert_true(_text(other.received()).startswith("HTTP/1.1 200"))
    peers.append(other)
    _end(server^, peers)


def test_contents_that_stop_make_room_for_those_that_come() raises:
    var server = _server()
    # Faster than is asked, as long as it lasts.
    var steady = server.connect()
    steady.send(_upload(_CONTENT_OCTETS, 300_000))
    server.settle()
    var silent = _fill(server)
    var dribbler = silent.pop()
    var late = server.connect()
    late.send(_upload(_CONTENT_OCTETS, _CONTENT_OCTETS))
    server.settle()
    assert_equal(_text(late.received()), "")
    for _ in range(40):
        steady.send(String("x") * 4_500)
        dribbler.send(String("x") * 100)
        server.advance(100)
    steady.send(String("x") * 20_000)
    server.settle()
    assert_true(_text(steady.received()).endswith("500000"))
    assert_true(_text(late.received()).endswith("500000"))
    assert_true(_held(server) <= _BUDGET // 4 * 3, String(_held(server)))
    var shed = 0
    for peer in silent:
        var answer = _text(peer.received())
        if answer != "":
            assert_true(answer.startswith("HTTP/1.1 503"), answer)
            assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
            shed += 1
    # Those whose parts find room are not in the way of others.
    assert_true(shed > 0 and shed < len(silent), String(shed))
    silent.append(steady)
    silent.append(late)
    silent.append(dribbler)
    _end(server^, silent)


def test_contents_that_wait_too_long_are_503_the_latest_first() raises:
    var server = _server()
    var peers = List[Peer]()
    # Each is complete, and its handler takes its time.
    for _ in range(6):
        var peer = server.connect()
        peer.send(
            _upload(_CONTENT_OCTETS, _CONTENT_OCTETS).replace("/whole", "/held")
        )
        server.settle()
        peers.append(peer)
    # The first of them is favoured, and fast enough to stay so.
    for peer in _fill(server):
        peers.append(peer)
    # Longer than `overload_timeout_ms`, shorter than `body_timeout_ms`.
    for i in range(59):
        peers[6].send(String("x") * 4_500)
        server.advance(100)
        if i == 48:
            for peer in peers:
                assert_equal(_text(peer.received()), "")
    var served = len(peers)
    for i in range(len(peers)):
        var answer = _text(peers[i].received())
        if answer == "":
            assert_equal(served, len(peers), "an earlier one was refused")
            continue
        served = min(served, i)
        assert_true(answer.startswith("HTTP/1.1 503"), answer)
        assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
    assert_true(served >= 7 and served < len(peers), String(served))
    server.advance(10_000)
    for i in range(6):
        assert_true(_text(peers[i].received()).endswith("500000"), String(i))
    _end(server^, peers)


def test_long_answers_to_any_method_are_503_over_twice_the_budget() raises:
    var server = _server()
    var peers = List[Peer]()
    for _ in range(20):
        var peer = server.connect()
        peer.send(_get("/late/large").replace("GET", "PUT"))
        server.settle()
        peers.append(peer)
    server.advance(500)
    var held = _held(server)
    assert_true(held > 2 * _BUDGET, String(held))
    assert_true(held <= 2 * _BUDGET + 1_100_000, String(held))
    for peer in peers:
        peer.reset()
    server.settle()
    _end(server^, [])


def test_long_answers_that_nobody_reads_leave_room_for_short_ones() raises:
    var server = _server()
    var readers = List[Peer]()
    for _ in range(20):
        var reader = server.connect()
        reader.send(_get("/large"))
        server.settle()
        _ = reader.received(1)
        server.settle()
        readers.append(reader)
    var held = _held(server)
    assert_true(held > _BUDGET, String(held))
    assert_true(held < _BUDGET + 1_100_000, String(held))
    var other = server.connect()
    other.send(_get("/"))
    other.send(_get("/large"))
    server.settle()
    var answers = _text(other.received())
    assert_true(answers.startswith("HTTP/1.1 200"), answers)
    var refused = answers.find("HTTP/1.1 503")
    assert_true(refused > 0, answers)
    assert_true(answers.find("\r\nRetry-After: 1\r\n") > refused, answers)
    # What may have changed something is told.
    other.send(_get("/large").replace("GET", "PUT"))
    var told = _text(server.receive(other))
    assert_true(told.startswith("HTTP/1.1 200"), String(told[byte=:100]))
    for reader in readers:
        reader.reset()
    server.settle()
    other.send(_get("/large"))
    assert_true(_text(server.receive(other)).startswith("HTTP/1.1 200"))
    _end(server^, [other])


def test_requests_are_503_over_a_quarter_more_than_the_budget() raises:
    var server = _server()
    var peers = List[Peer]()
    # Each adds what it changed, whatever there is room for.
    while _held(server) <= _BUDGET + _BUDGET // 4:
        var peer = server.connect()
        peer.send(_get("/large").replace("GET", "PUT"))
        server.settle()
        _ = peer.received(1)
        server.settle()
        peers.append(peer)
        assert_true(len(peers) < 20, String(_held(server)))
    var other = server.connect()
    other.send(_get("/"))
    server.settle()
    var answer = _text(other.received())
    assert_true(answer.startswith("HTTP/1.1 503"), answer)
    assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
    for peer in peers:
        peer.reset()
    server.settle()
    other.send(_get("/"))
    server.settle()
    assert_true(_text(other.received()).startswith("HTTP/1.1 200"))
    _end(server^, [other])


def test_streams_keep_to_a_small_buffer_where_the_budget_is_used_up() raises:
    var server = _server()
    var readers = List[Peer]()
    for _ in range(200):
        var reader = server.connect()
        reader.send(_get("/stream"))
        server.settle()
        readers.append(reader)
    # Each would hold 128 KiB, and the whole 25 MiB.
    assert_true(_held(server) < 2 * _BUDGET, String(_held(server)))
    for reader in readers:
        reader.reset()
    server.settle()
    assert_equal(_held(server), 0)
    _end(server^, [])


def test_content_over_the_whole_budget_is_413_at_once() raises:
    for octets in [3 * 1024 * 1024, 3 * 1024 * 1024 + 1]:
        var server = _server()
        var peer = server.connect()
        peer.send(_upload(octets, 0))
        server.settle()
        var answer = _text(peer.received())
        if octets == 3 * 1024 * 1024:
            assert_equal(answer, "")
        else:
            assert_true(answer.startswith("HTTP/1.1 413"), answer)
        _end(server^, [peer])
    # Bit by bit it takes no room.
    var server = _server()
    var peer = server.connect()
    var octets = 4 * 1024 * 1024
    peer.send(_upload(octets, octets).replace("/whole", "/pieces"))
    assert_true(_text(server.receive(peer)).endswith("4194304"))
    _end(server^, [peer])


def test_streams_of_another_protocol_wait_for_room_and_hold_no_loop() raises:
    var server = _server()
    var peers = List[Peer]()
    for _ in range(60):
        var peer = server.connect()
        peer.send(
            "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: echo\r\n\r\n"
        )
        server.settle()
        peers.append(peer)
    # Nobody reads what comes back.
    for _ in range(3):
        for peer in peers:
            peer.send(String("x") * 100_000)
        server.settle()
    assert_true(_held(server) > _BUDGET, String(_held(server)))
    assert_true(
        len(server.worker.state[].budget.waiting) <= 2 * len(peers),
        String(len(server.worker.state[].budget.waiting)),
    )
    for peer in peers:
        peer.reset()
    server.settle()
    assert_equal(_held(server), 0)
    _end(server^, [])


def test_streams_of_another_protocol_hold_nothing_once_all_is_read() raises:
    var server = _server()
    var peers = List[Peer]()
    for _ in range(5):
        var peer = server.connect()
        peer.send(
            "GET /late HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: late\r\n\r\n"
        )
        server.settle()
        for _ in range(4):
            peer.send(String("x") * 20_000)
            server.settle()
        peers.append(peer)
    assert_true(_held(server) >= 5 * 60_000, String(_held(server)))
    server.advance(200)
    for peer in peers:
        assert_true(_text(peer.received()).endswith("80000"))
        assert_true(not peer.is_closed())
    # The heads of their requests.
    assert_true(_held(server) < 5 * 1_000, String(_held(server)))
    for peer in peers:
        peer.reset()
    server.settle()
    _end(server^, [])


def test_who_sends_and_does_not_read_ends_before_others_are_refused() raises:
    for target in ["/large", "/echo", "/pipelined"]:
        var server = _server()
        var upload = server.connect()
        upload.send(_upload(_CONTENT_OCTETS, 200_000))
        var reader = server.connect()
        reader.send(_get("/stream"))
        server.settle()
        var peers = List[Peer]()
        for _ in range(60):
            peers.append(server.connect())
            _send_unread(server, peers[len(peers) - 1], target)
        assert_true(_held(server) >= _BUDGET, String(_held(server)))
        # Each that waited for the room of others is judged by itself.
        for _ in range(60):
            server.advance(100)
            assert_true(len(reader.received()) > 0)
            upload.send(String("x") * 4_500)
            if target == "/large":
                # Slower than is fair.
                for peer in peers:
                    _ = peer.received(1_000)
        assert_true(_held(server) < _BUDGET, String(target, _held(server)))
        var shed = Int(server.statistics().connections_shed)
        assert_true(shed > 0 and shed < 60, String(target, shed))
        var other = server.connect()
        other.send(_get("/"))
        server.settle()
        assert_true(_text(other.received()).startswith("HTTP/1.1 200"), target)
        # Neither a content that comes nor a peer that reads ends.
        upload.send(String("x") * 30_000)
        server.settle()
        assert_true(_text(upload.received()).endswith("500000"), target)
        assert_true(not reader.is_closed() and not reader.is_reset())
        for peer in peers:
            peer.reset()
        reader.reset()
        server.settle()
        assert_equal(_held(server), 0)
        _end(server^, [upload, other])


def test_answer_counts_though_what_stands_behind_its_request_waits() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(_get("/slow").replace("GET", "PUT"))
    server.settle()
    peer.send("GET /oth")
    server.settle()
    peer.send("er HTTP/1.1\r\nHo")
    var readers = _fill_with_answers(server)
    # Longer than `overload_timeout_ms`.
    server.advance(8_000)
    for _ in range(20):
        server.advance(100)
    var answer = _text(peer.received())
    assert_true(answer.startswith("HTTP/1.1 200"), answer)
    assert_true(answer.endswith("slow"), answer)
    for reader in readers:
        reader.reset()
    server.settle()
    _end(server^, [peer])


def test_503_in_place_of_a_long_answer_has_the_fields_of_middleware() raises:
    var server = TestServer(
        AddHeader(_Handler(), name="X-A", value="b"),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=_BUDGET,
        ),
    )
    var readers = List[Peer]()
    for _ in range(5):
        var reader = server.connect()
        reader.send(_get("/large"))
        server.settle()
        _ = reader.received(1)
        server.settle()
        readers.append(reader)
    var other = server.connect()
    other.send(_get("/large"))
    server.settle()
    var answer = _text(other.received())
    assert_true(answer.startswith("HTTP/1.1 503"), answer)
    assert_true(answer.find("\r\nX-A: b\r\n") > 0, answer)
    for reader in readers:
        reader.reset()
    other.close()
    server.stop()
    assert_equal(server.remains(), "")


struct _Handler(Handler):
    def __init__(out self):
        pass

    def serve(self, req: Request) raises -> Response:
        if req.path == "/whole":
            req.body.set_octets_max(1 << 40)
            return ok(String(len(req.body.octets())))
        if req.path == "/pieces":
            return _count(req)
        if req.path == "/held":
            req.body.set_octets_max(1 << 40)
            var octets = len(req.body.octets())
            sleep(10_000)
            return ok(String(octets))
        if req.path == "/late/large":
            sleep(500)
            return ok(List[UInt8](length=1_000_000, fill=120))
        if req.path == "/large":
            return ok(List[UInt8](length=1_000_000, fill=120))
        if req.path == "/slow":
            sleep(7_500)
            return ok("slow")
        if req.path == "/late":
            return Response.upgrade("late", _read_late)
        if req.path == "/echo":
            return Response.upgrade("echo", _echo)
        if req.path == "/stream":
            return Response.stream(_write_for_ever)
        return ok("other")


def _count(req: Request) raises -> Response:
    req.body.set_octets_max(1 << 40)
    var piece = List[UInt8](length=10_000, fill=0)
    var total = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String(total))
        total += count


def _write_for_ever(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](length=50_000, fill=120)
    while True:
        stream.write_all(Span(piece))


def _read_late(req: Request, stream: UpgradedStream) raises:
    sleep(100)
    var piece = List[UInt8](length=50_000, fill=0)
    var total = 0
    while total < 80_000:
        total += stream.read(Span(piece))
    stream.write_all(String(total).as_bytes())
    _ = stream.read(Span(piece))


def _echo(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=50_000, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _get(target: StringSlice) -> String:
    return String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _upload(octets: Int, sent: Int) -> String:
    return String(
        "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: ",
        octets,
        "\r\n\r\n",
        String("x") * sent,
    )


def _send_unread(server: TestServer[_Handler], peer: Peer, target: StringSlice):
    """Lets a server hold 300,000 octets of a peer or for it, if it will."""
    if target == "/large":
        peer.send(_get(target))
        server.settle()
        _ = peer.received(1)
    elif target == "/echo":
        peer.send(
            "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: echo\r\n\r\n"
        )
    else:
        peer.send(_get("/large"))
        for _ in range(5_000):
            peer.send(_get("/large/and/so/on"))
    server.settle()
    if target == "/echo":
        for _ in range(3):
            peer.send(String("x") * 100_000)
            server.settle()


def _fill_with_answers(server: TestServer[_Handler]) -> List[Peer]:
    """Lets answers fill the budget that nobody reads."""
    var readers = List[Peer]()
    for _ in range(5):
        var reader = server.connect()
        reader.send(_get("/large").replace("GET", "PUT"))
        server.settle()
        _ = reader.received(1)
        server.settle()
        readers.append(reader)
    return readers^


def _fill(server: TestServer[_Handler]) -> List[Peer]:
    """Begins uploads, more than there is room for, and ends none."""
    var peers = List[Peer]()
    for _ in range(20):
        var peer = server.connect()
        peer.send(_upload(_CONTENT_OCTETS, 200_000))
        server.settle()
        peers.append(peer)
    return peers^


def _server() -> TestServer[_Handler]:
    return TestServer(
        _Handler(),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=_BUDGET,
        ),
    )


def _held(server: TestServer[_Handler]) -> Int:
    return buffered_octets(server.worker.state)


def _end(var server: TestServer[_Handler], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()
