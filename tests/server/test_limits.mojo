"""Lets clients be slow, greedy and many, in no time: the clock is virtual."""

from flare.core import SlotHandle, heap_create, heap_destroy
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.driver.starved import STARVED_SPARE, note_starved
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.reactor import ReactorConfig
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.handlers import Outcomes, Waiter


def test_idle_connection_ends_after_its_timeout() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var fresh = server.connect()
    var used = server.connect()
    used.send(_get("/"))
    assert_true(_text(server, used).startswith("HTTP/1.1 200"))
    server.advance(59_990)
    assert_false(fresh.is_closed())
    assert_false(used.is_closed())
    server.advance(20)
    assert_true(fresh.is_closed())
    assert_true(used.is_closed())
    _end(server^, [fresh, used])
    heap_destroy(outcomes)


def test_connections_that_found_no_buffer_and_ended_are_forgotten() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send(_get("/"))
    assert_true(_text(server, peer).startswith("HTTP/1.1 200"))
    var w = server.worker.state
    var live = w[].connections.handles()[0]
    w[].connections.find(live).value()[].window.is_starved = True
    note_starved(w, live)
    for _ in range(10_000):
        note_starved(w, SlotHandle(live.index, live.generation + 2))
        assert_true(len(w[].turn_end.starved) <= 2 + STARVED_SPARE)
    assert_true(
        w[].turn_end.starved[0] == live, "one that waits stays in its place"
    )
    w[].connections.find(live).value()[].window.is_starved = False
    w[].turn_end.starved.clear()
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_head_that_takes_too_long_is_408() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    # More octets do not buy more time.
    for _ in range(9):
        peer.send("G")
        server.advance(1000)
    assert_false(peer.is_closed())
    server.advance(1010)
    var answer = _text(server, peer)
    assert_true(answer.startswith("HTTP/1.1 408"), answer)
    assert_true(peer.is_closed())
    assert_equal(outcomes[].begun, 0)
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_empty_lines_are_no_request_that_could_take_too_long() raises:
    # What a client sends, whether an answer precedes the end, and when the end
    # comes: after the idle timeout (60 s) or that of the head (10 s).
    var rows: List[Tuple[String, String, Int]] = [
        ("\r\n", "", 60_000),
        ("\r\n\r\n", "", 60_000),
        ("\r\nG", "HTTP/1.1 408", 10_000),
        (_get("/") + "\r\n", "HTTP/1.1 200", 60_000),
    ]
    for row in rows:
        var outcomes = heap_create(Outcomes())
        var server = TestServer(Waiter(outcomes))
        var peer = server.connect()
        peer.send(row[0])
        server.settle()
        server.advance(row[2] - 10)
        assert_false(peer.is_closed(), row[0])
        server.advance(20)
        var answer = _text(server, peer)
        assert_true(answer.startswith(row[1]), answer)
        assert_equal(answer.count("HTTP/1.1"), 0 if row[1] == "" else 1)
        assert_true(peer.is_closed(), row[0])
        _end(server^, [peer])
        heap_destroy(outcomes)


def test_content_may_be_slow_but_neither_stop_nor_dribble() raises:
    # Octets that come every ten seconds, and whether they are enough: 240 a
    # second are asked for once 30 s are used up.
    var rows: List[Tuple[String, Int, Bool]] = [
        ("nothing comes", 0, False),
        ("an octet now and then", 1, False),
        ("a tenth of the lowest rate", 240, False),
        ("more than the lowest rate", 2600, True),
    ]
    for row in rows:
        var outcomes = heap_create(Outcomes())
        var server = TestServer(
            Waiter(outcomes), config=ServerConfig(log=LogSink.nowhere())
        )
        var peer = server.connect()
        var length = max(row[1], 1) * 20
        peer.send(
            String(
                "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                length,
                "\r\n\r\n",
            )
        )
        server.settle()
        for _ in range(20):
            server.advance(10_000)
            if not peer.is_closed():
                peer.send(String("x") * row[1])
            server.settle()
        var answer = _text(server, peer)
        var expected: StaticString = "HTTP/1.1 408"
        if row[2]:
            expected = "HTTP/1.1 200"
        assert_true(answer.startswith(expected), String(row[0], answer))
        assert_equal(peer.is_closed(), not row[2], row[0])
        assert_equal(outcomes[].cut_off, 0 if row[2] else 1, row[0])
        _end(server^, [peer])
        heap_destroy(outcomes)


def test_peer_that_does_not_read_is_left_after_the_write_timeout() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send(_get("/large"))
    server.settle()
    assert_equal(outcomes[].finished, 1)
    server.advance(29_990)
    assert_equal(server.worker.state[].connections.lent(), 1)
    server.advance(20)
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_peer_that_reads_slowly_gets_everything() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send(_get("/large"))
    var count = 0
    for _ in range(40):
        server.settle()
        count += len(peer.received())
        server.advance(20_000)
        if count > 1_000_000:
            break
    assert_true(count > 1_000_000, String(count))
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_peer_that_reads_an_octet_now_and_then_is_left() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send(_get("/large"))
    server.settle()
    for _ in range(8):
        _ = peer.received(1)
        server.advance(10_000)
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_handler_that_waits_too_long_is_500() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send(_get("/sleep?100000"))
    server.settle()
    server.advance(59_900)
    assert_equal(len(peer.received()), 0)
    server.advance(200)
    assert_true(_text(server, peer).startswith("HTTP/1.1 500"))
    assert_equal(outcomes[].cut_off, 1)
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_refused_peer_is_listened_to_for_a_while() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send("bad\r\n\r\n")
    server.settle()
    # What still comes must not break the connection: the answer would be lost.
    for _ in range(20):
        peer.send("more of the same")
        server.settle()
    assert_false(peer.is_reset())
    assert_true(_text(server, peer).startswith("HTTP/1.1 400"))
    assert_equal(server.worker.state[].connections.lent(), 1)
    server.advance(2_010)
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_connections_over_the_limit_wait() raises:
    var outcomes = heap_create(Outcomes())
    # The slab rounds up to whole chunks of 64.
    var server = TestServer(
        Waiter(outcomes),
        config=ServerConfig(log=LogSink.nowhere(), max_connections=64),
    )
    var peers = List[Peer]()
    for _ in range(64):
        peers.append(server.connect())
        server.settle()
    var late = server.connect()
    late.send(_get("/"))
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 64)
    assert_equal(len(late.received()), 0)
    var later = server.connect()
    later.send(_get("/"))
    peers[7].close()
    assert_true(_now(server, late).startswith("HTTP/1.1 200"))
    assert_equal(_now(server, later).byte_length(), 0)
    peers[8].close()
    assert_true(_now(server, later).startswith("HTTP/1.1 200"))
    peers.append(late)
    peers.append(later)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_requests_over_the_limit_are_503() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        config=ServerConfig(log=LogSink.nowhere(), max_requests_in_flight=1),
    )
    var first = server.connect()
    var second = server.connect()
    first.send(_get("/sleep?1000"))
    server.settle()
    second.send(_get("/"))
    var refused = _now(server, second)
    assert_true(refused.startswith("HTTP/1.1 503"), refused)
    assert_true(refused.find("\r\nRetry-After: 1\r\n") > 0)
    assert_true(_text(server, first).startswith("HTTP/1.1 200"))
    second.send(_get("/"))
    assert_true(_text(server, second).startswith("HTTP/1.1 200"))
    _end(server^, [first, second])
    heap_destroy(outcomes)


def test_last_request_of_a_connection_says_so() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        config=ServerConfig(log=LogSink.nowhere(), max_keepalive_requests=3),
    )
    var peer = server.connect()
    for i in range(3):
        assert_false(peer.is_closed())
        peer.send(_get("/"))
        var closes = _text(server, peer).find("Connection: close") > 0
        assert_equal(closes, i == 2)
    assert_true(peer.is_closed())
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_peer_that_did_not_ask_for_the_end_is_listened_to_for_a_moment() raises:
    # What it sent before it knew would reset the connection, and the reset
    # would take the answer with it.
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        config=ServerConfig(log=LogSink.nowhere(), max_keepalive_requests=1),
    )
    var silent = server.connect()
    var eager = server.connect()
    var closing = server.connect()
    silent.send(_get("/"))
    eager.send(_get("/"))
    closing.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 2)
    eager.send(_get("/"))
    server.advance(110)
    assert_equal(server.worker.state[].connections.lent(), 1)
    assert_false(eager.is_reset())
    assert_true(_text(server, eager).startswith("HTTP/1.1 200"))
    server.advance(2000)
    assert_equal(server.worker.state[].connections.lent(), 0)
    assert_equal(outcomes[].begun, 3)
    _end(server^, [silent, eager, closing])
    heap_destroy(outcomes)


def test_requests_wait_where_receive_buffers_run_out() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        reactor=ReactorConfig(receive_buffers_max=64, fibers_max=1024),
    )
    var peers = List[Peer]()
    for _ in range(100):
        var peer = server.connect()
        peer.send(_get("/sleep?1000"))
        peers.append(peer)
    server.settle()
    assert_equal(outcomes[].begun, 64)
    for peer in peers:
        assert_true(_text(server, peer).startswith("HTTP/1.1 200"))
    assert_equal(outcomes[].finished, 100)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_peers_that_leave_are_noticed_where_receive_buffers_run_out() raises:
    for is_reset in [True, False]:
        var outcomes = heap_create(Outcomes())
        var server = TestServer(
            Waiter(outcomes),
            reactor=ReactorConfig(receive_buffers_max=64, fibers_max=1024),
        )
        var peers = List[Peer]()
        for _ in range(100):
            var peer = server.connect()
            peer.send(_get("/sleep?20000"))
            peers.append(peer)
        server.settle()
        assert_equal(outcomes[].begun, 64)
        for peer in peers:
            if is_reset:
                peer.reset()
            else:
                peer.close()
        server.advance(100)
        assert_equal(outcomes[].cut_off, outcomes[].begun)
        var late = server.connect()
        late.send(_get("/"))
        server.settle()
        assert_true(_text(server, late).startswith("HTTP/1.1 200"))
        peers.append(late)
        _end(server^, peers)
        heap_destroy(outcomes)


def test_content_in_front_of_an_end_counts_where_receive_buffers_run_out() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        reactor=ReactorConfig(receive_buffers_max=64, fibers_max=1024),
    )
    var peers = List[Peer]()
    var sender = server.connect()
    sender.send(
        "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc"
    )
    server.settle()
    peers.append(sender)
    for _ in range(100):
        var peer = server.connect()
        peer.send(_get("/sleep?1000"))
        peers.append(peer)
    server.settle()
    sender.send("def")
    sender.end_sending()
    server.advance(100)
    assert_false(sender.is_closed())
    for peer in peers:
        assert_true(_text(server, peer).startswith("HTTP/1.1 200"))
    _end(server^, peers)
    heap_destroy(outcomes)


def test_many_are_accepted_in_one_turn_where_room_is_scarce() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        config=ServerConfig(log=LogSink.nowhere(), max_connections=100),
    )
    server.settle()
    var peers = List[Peer]()
    for _ in range(60):
        peers.append(server.connect())
    for _ in range(4):
        server.turn_now()
    assert_equal(server.worker.state[].connections.lent(), 60)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_failing_accepts_are_tried_again() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes), faults=SimulatedFaults(accept_errors=700)
    )
    var peers = List[Peer]()
    for _ in range(20):
        var peer = server.connect()
        peer.send(_get("/"))
        peers.append(peer)
    for peer in peers:
        assert_true(_text(server, peer).startswith("HTTP/1.1 200"))
    assert_true(server.network.faults().failed_accepts.total() > 10)
    _end(server^, peers)
    heap_destroy(outcomes)


def _get(target: StringSlice) -> String:
    return String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _now(server: TestServer[Waiter], peer: Peer) -> String:
    server.settle()
    return String(StringSlice(unsafe_from_utf8=Span(peer.received())))


def _text(server: TestServer[Waiter], peer: Peer) -> String:
    var octets = server.receive(peer)
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _end(var server: TestServer[Waiter], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    assert_equal(server.network.open_count(), 1, "only the listener is open")
    _ = server^


comptime TESTS = __functions_in_module()
