"""Lets a server run out of everything, and stops it while clients wait."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer, SimulatedNetwork
from flare.runtime.reactor import ReactorConfig
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.handlers import Outcomes, Waiter

comptime _CONNECTIONS_MAX = 64


def test_requests_that_find_no_fiber_are_503() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes), reactor=ReactorConfig(fibers_max=2)
    )
    var peers: List[Peer] = [
        server.connect(),
        server.connect(),
        server.connect(),
    ]
    for peer in peers:
        peer.send(_get("/sleep?1000"))
        server.settle()
    var refused = _now(peers[2])
    assert_true(refused.startswith("HTTP/1.1 503"), refused)
    assert_true(refused.find("\r\nRetry-After: 1\r\n") > 0, refused)
    assert_true(_text(server, peers[0]).startswith("HTTP/1.1 200"))
    peers[2].send(_get("/"))
    assert_true(_text(server, peers[2]).startswith("HTTP/1.1 200"))
    _end(server^, peers)
    heap_destroy(outcomes)


def test_who_cannot_be_accepted_is_answered_503_after_the_bound() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        faults=SimulatedFaults(accept_errors=1000),
        config=ServerConfig(log=LogSink.nowhere(), overload_timeout_ms=3000),
    )
    var peers = List[Peer]()
    for _ in range(100):
        var peer = server.connect()
        peer.send(_get("/"))
        peers.append(peer)
    server.settle()
    server.advance(2_950)
    for peer in peers:
        assert_equal(_now(peer), "")
    # More are answered than one turn may answer.
    server.advance(500)
    for peer in peers:
        var answer = _now(peer)
        assert_true(answer.startswith("HTTP/1.1 503 "), answer)
        assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
        assert_true(answer.find("\r\nConnection: close\r\n") > 0, answer)
        assert_true(answer.endswith("\r\n\r\n"), answer)
        assert_true(peer.is_closed())
        assert_false(peer.is_reset())
    assert_equal(outcomes[].begun, 0)
    assert_equal(server.statistics().refused, 100)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_a_failing_accept_does_not_turn_more_often_than_it_pauses() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        faults=SimulatedFaults(accept_errors=1000),
        config=ServerConfig(log=LogSink.nowhere(), overload_timeout_ms=60_000),
    )
    var peer = server.connect()
    server.settle()
    var before = server.network.faults().failed_accepts.total()
    server.advance(10_000)
    # One attempt for each pause of 100 ms.
    var attempts = server.network.faults().failed_accepts.total() - before
    assert_true(attempts > 90 and attempts <= 100, String(attempts))
    server.network.state[].faults.accept_errors = 0
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_who_waits_when_the_server_stops_is_answered() raises:
    var outcomes = heap_create(Outcomes())
    for accept_errors in [0, 700]:
        var server = TestServer(
            Waiter(outcomes),
            faults=SimulatedFaults(accept_errors=accept_errors),
        )
        var peers = List[Peer]()
        for _ in range(20):
            var peer = server.connect()
            peer.send(_get("/"))
            peers.append(peer)
        server.stop()
        for peer in peers:
            _expect_last_answer(peer)
        _end(server^, peers)
    assert_equal(outcomes[].finished, 40)
    heap_destroy(outcomes)


def test_accept_that_fails_after_everything_was_cut_off_leaves_no_timer() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes),
        faults=SimulatedFaults(accept_errors=1000, late_cancels=1000),
    )
    server.turn_now()
    var peer = server.connect()
    server.begin_stop()
    server.abort()
    _end(server^, [peer])
    heap_destroy(outcomes)


def test_who_waits_for_a_slot_when_the_server_stops_is_answered() raises:
    var outcomes = heap_create(Outcomes())
    var server = _small(outcomes)
    var peers = List[Peer]()
    for _ in range(_CONNECTIONS_MAX + 5):
        var peer = server.connect()
        peer.send(_get("/sleep?100"))
        peers.append(peer)
    server.settle()
    assert_equal(outcomes[].begun, _CONNECTIONS_MAX)
    server.stop()
    for peer in peers:
        _expect_last_answer(peer)
    assert_true(server.network.now_ms() < 1500)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_nobody_new_is_accepted_once_the_server_stops() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send(_get("/sleep?1000"))
    server.settle()
    server.worker.stop()
    var late = server.connect()
    late.send(_get("/"))
    server.stop()
    _expect_last_answer(peer)
    assert_equal(_now(late), "")
    assert_equal(outcomes[].begun, 1)
    _end(server^, [peer, late])
    heap_destroy(outcomes)


def test_who_waits_at_the_end_of_the_shutdown_is_left() raises:
    var outcomes = heap_create(Outcomes())
    var server = _small(outcomes)
    var peers = List[Peer]()
    for _ in range(_CONNECTIONS_MAX + 5):
        var peer = server.connect()
        peer.send(_get("/sleep?50000"))
        peers.append(peer)
    server.settle()
    var before = server.network.now_ms()
    server.stop()
    var took_ms = server.network.now_ms() - before
    assert_true(took_ms >= 10_000 and took_ms < 10_500, String(took_ms))
    assert_equal(outcomes[].begun, _CONNECTIONS_MAX)
    assert_equal(outcomes[].cut_off, _CONNECTIONS_MAX)
    for peer in peers:
        peer.close()
    # Those in the listen queue stay there: their owner closes the listener.
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


def test_connections_that_idle_make_room_for_who_waits() raises:
    var outcomes = heap_create(Outcomes())
    var server = _small(outcomes)
    var peers = List[Peer]()
    for i in range(_CONNECTIONS_MAX):
        var peer = server.connect()
        peer.send(_get("/"))
        server.settle()
        assert_true(_now(peer).startswith("HTTP/1.1 200"))
        peers.append(peer)
        if i == 15:
            server.advance(500)
    var late = server.connect()
    late.send(_get("/"))
    server.settle()
    # Nobody has idled for a second yet.
    server.advance(400)
    assert_equal(_now(late), "")
    server.advance(300)
    assert_true(_now(late).startswith("HTTP/1.1 200"))
    for i in range(_CONNECTIONS_MAX):
        assert_equal(peers[i].is_closed(), i < 16, String(i))
    server.advance(5_000)
    # Nobody waits any more: the others may idle on.
    assert_false(peers[16].is_closed())
    peers.append(late)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_no_more_than_one_is_accepted_for_whom_there_is_no_slot() raises:
    # Whoever stays in the listen queue may still be accepted by others.
    var outcomes = heap_create(Outcomes())
    var server = _small(outcomes)
    var peers = List[Peer]()
    for _ in range(4 * _CONNECTIONS_MAX):
        var peer = server.connect()
        peer.send(_get("/sleep?500"))
        peers.append(peer)
    for _ in range(40):
        server.advance(100)
        assert_true(len(server.worker.state[].accepting.waiting) <= 1)
    for peer in peers:
        assert_true(_text(server, peer).startswith("HTTP/1.1 200"))
    _end(server^, peers)
    heap_destroy(outcomes)


def test_connections_end_with_their_response_while_somebody_waits() raises:
    var outcomes = heap_create(Outcomes())
    var server = _small(outcomes)
    var peers = List[Peer]()
    for _ in range(_CONNECTIONS_MAX + 1):
        var peer = server.connect()
        peer.send(_get("/sleep?500"))
        peers.append(peer)
        server.settle()
    server.advance(1200)
    for i in range(_CONNECTIONS_MAX):
        _expect_last_answer(peers[i])
    var late = _now(peers[_CONNECTIONS_MAX])
    assert_true(late.startswith("HTTP/1.1 200"), late)
    assert_equal(late.find("Connection: close"), -1)
    _end(server^, peers)
    heap_destroy(outcomes)


def test_a_turn_that_keeps_others_waiting_is_counted() raises:
    var clock = heap_create(Optional[SimulatedNetwork](None))
    var server = TestServer(Busy(clock))
    clock[] = server.network
    var peer = server.connect()
    for row in [("/99", 0), ("/100", 1), ("/5000", 2), ("/0", 2)]:
        peer.send(_get(row[0]))
        server.settle()
        assert_true(_now(peer).startswith("HTTP/1.1 200"))
        assert_equal(server.statistics().slow_turns, Int64(row[1]), row[0])
    _end(server^, [peer])
    heap_destroy(clock)


@fieldwise_init
struct Busy(Handler):
    """Keeps the loop for as many milliseconds as the path says."""

    var clock: PointerTo[Optional[SimulatedNetwork]]

    def serve(self, req: Request) raises -> Response:
        var duration_ms = Int(req.path[byte=1:])
        self.clock[].value().state[].now_ms += duration_ms
        return ok("done")


def _small(outcomes: PointerTo[Outcomes]) -> TestServer[Waiter]:
    return TestServer(
        Waiter(outcomes),
        config=ServerConfig(
            log=LogSink.nowhere(), max_connections=_CONNECTIONS_MAX
        ),
    )


def _expect_last_answer(peer: Peer) raises:
    var answer = _now(peer)
    assert_true(answer.startswith("HTTP/1.1 200"), answer)
    assert_true(answer.find("\r\nConnection: close\r\n") > 0, answer)
    assert_true(peer.is_closed())
    assert_false(peer.is_reset())


def _get(target: StringSlice) -> String:
    return String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _now(peer: Peer) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(peer.received())))


def _text(server: TestServer[Waiter], peer: Peer) -> String:
    var octets = server.receive(peer)
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _end[H: Handler](var server: TestServer[H], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    assert_equal(server.network.open_count(), 1, "only the listener is open")
    _ = server^


comptime TESTS = __functions_in_module()
