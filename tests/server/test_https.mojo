"""Serves TLS on a simulated network: every step of a connection may be cut,
delayed or broken, and minutes take no time."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server import HttpServer
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.transport.worker_parts import HANDSHAKE_STEPS_MAX
from flare.net import SocketAddr
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer
from flare.tls import TlsContext, TlsServerConfig

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.answers import read_answers
from tests.server.handlers import Outcomes, Waiter
from tests.server.secure_peer import SecurePeer
from tests.tls.certificates import client_config, identity_of, server_config

comptime _SEEDS = 60
comptime _BREAKING_SEEDS = 100
comptime _PIECE: StaticString = "0123456789abcdef"
# The versions, lengths and the like are those of RFC 8446 section 5.1.
comptime _RECORD: StaticString = "\x16\x03\x01\x02\x00\x01\x00\x01\x7c\x03\x03"


def test_requests_are_answered_whatever_the_network_does() raises:
    var contexts = _Contexts()
    var content = String(_PIECE) * 3_000
    for seed in range(_SEEDS):
        var outcomes = heap_create(Outcomes())
        var server = contexts.server(
            outcomes, seed=seed, faults=SimulatedFaults.frequent()
        )
        var peer = SecurePeer(server.connect(), contexts.client)
        peer.pump(server)
        peer.write(_get("/first"))
        peer.write(_get("/sleep?30"))
        peer.write(
            String(
                "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                content.byte_length(),
                "\r\n\r\n",
                content,
            )
        )
        peer.write(_get("/large"))
        peer.write(_get("/last"))
        peer.pump(server)
        var answers = read_answers(Span(peer.end.plaintext), List[Bool]())
        assert_equal(len(answers), 5, String("seed ", seed))
        assert_equal(answers[0].content, "/first")
        assert_equal(answers[1].content, "/sleep")
        assert_equal(answers[2].content, String("content ", content))
        assert_equal(answers[3].content.byte_length(), 1_000_000)
        assert_equal(answers[4].content, "/last")
        peer.close()
        peer.pump(server)
        assert_true(peer.end.has_ended, String("seed ", seed))
        assert_false(peer.end.error)
        _end(server^, outcomes)


def test_a_connection_may_break_at_any_moment() raises:
    var contexts = _Contexts()
    for seed in range(_BREAKING_SEEDS):
        var outcomes = heap_create(Outcomes())
        var server = contexts.server(
            outcomes, seed=seed, faults=SimulatedFaults.frequent(resets=30)
        )
        for i in range(4):
            var peer = SecurePeer(server.connect(), contexts.client)
            peer.pump(server)
            if peer.end.is_done:
                peer.write(_get("/sleep?20"))
                peer.write(_get("/large"))
                if i % 2 == 0:
                    peer.pump(server)
            if i % 3 == 0:
                peer.peer.reset()
            else:
                peer.peer.close()
        _end(server^, outcomes)


def test_an_idle_connection_holds_no_buffer() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var peer = SecurePeer(server.connect(), contexts.client)
    # In the middle of its handshake, behind it, and behind a request.
    for step in range(3):
        if step == 0:
            peer.push()
            server.settle()
        else:
            if step == 2:
                peer.write(_get("/large"))
            peer.pump(server)
        ref w = server.worker.state[]
        assert_equal(w.outputs.lent, 0, String(step))
        assert_equal(w.reactor.buffers().lent(), 0, String(step))
        assert_equal(w.reactor.large_buffers().lent(), 0, String(step))
        assert_equal(w.exchanges.lent, 0, String(step))
    peer.peer.close()
    _end(server^, outcomes)


def test_a_handshake_has_its_deadline_whatever_is_sent() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var silent = server.connect()
    var dribbling = server.connect()
    var half_done = SecurePeer(server.connect(), contexts.client)
    half_done.push()
    for i in range(9):
        server.advance(1_000)
        dribbling.send(_RECORD.as_bytes()[i : i + 1])
    server.advance(990)
    assert_false(silent.is_closed())
    assert_false(dribbling.is_closed())
    assert_true(half_done.peer.has_arrivals())
    assert_false(half_done.peer.has_ended())
    server.advance(20)
    assert_true(silent.is_closed())
    assert_true(dribbling.is_closed())
    assert_true(half_done.peer.has_ended())
    _end(server^, outcomes)


def test_behind_the_handshake_the_deadlines_of_requests_hold() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var idle = SecurePeer(server.connect(), contexts.client)
    idle.pump(server)
    var slow = SecurePeer(server.connect(), contexts.client)
    slow.pump(server)
    slow.write("GET / HTTP/1.1\r\n")
    server.settle()
    server.advance(9_990)
    slow.pump(server)
    assert_equal(slow.text(), "")
    server.advance(20)
    slow.pump(server)
    assert_true(slow.text().startswith("HTTP/1.1 408"))
    assert_true(slow.end.has_ended)
    server.advance(50_100)
    idle.pump(server)
    # It is told in order: nothing was cut off.
    assert_true(idle.end.has_ended)
    _end(server^, outcomes)


def test_the_last_answer_is_followed_by_the_word_that_it_was() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var peer = SecurePeer(server.connect(), contexts.client)
    peer.pump(server)
    peer.write("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    peer.pump(server)
    assert_true(peer.text().endswith("xxx"))
    assert_true(peer.end.has_ended)
    peer.peer.close()
    _end(server^, outcomes)


def test_handshakes_are_counted_and_go_on_with_a_session() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var first = SecurePeer(server.connect(), contexts.client)
    first.pump(server)
    first.write(_get("/"))
    first.pump(server)
    var taken = first.end.machine.take_session()
    var session = heap_create(taken.take())
    var second = SecurePeer(server.connect(), contexts.client, session)
    second.pump(server)
    assert_equal(server.statistics().handshakes, 2)
    assert_equal(server.statistics().handshakes_resumed, 1)
    assert_true(second.end.machine.is_resumed())
    first.peer.close()
    second.peer.close()
    heap_destroy(session)
    _end(server^, outcomes)


def test_a_server_that_stops_leaves_handshakes_a_second() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var silent = server.connect()
    var late = SecurePeer(server.connect(), contexts.client)
    late.push()
    var idle = SecurePeer(server.connect(), contexts.client)
    idle.pump(server)
    server.begin_stop()
    server.advance(500)
    # Who has begun may finish, and ask once.
    late.pump(server)
    late.write(_get("/late"))
    late.pump(server)
    var answer = late.text()
    assert_true(answer.endswith("/late"), answer)
    assert_true(answer.find("\r\nConnection: close\r\n") > 0, answer)
    assert_true(late.end.has_ended)
    idle.pump(server)
    assert_true(idle.end.has_ended)
    assert_false(silent.is_closed())
    server.advance(600)
    assert_true(silent.is_closed())
    _end(server^, outcomes)


def test_who_shakes_hands_for_long_makes_room_for_others() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var config = ServerConfig(log=LogSink.nowhere(), max_connections=8)
    var server = TestServer(
        Waiter(outcomes), config=config, tls=contexts.server_context
    )
    var silent = List[Peer]()
    for _ in range(8):
        silent.append(server.connect())
    server.settle()
    var late = SecurePeer(server.connect(), contexts.client)
    late.push()
    server.advance(900)
    assert_false(late.peer.has_arrivals())
    server.advance(300)
    late.pump(server)
    assert_true(late.end.is_done)
    late.write(_get("/late"))
    late.pump(server)
    assert_true(late.text().endswith("/late"))
    for peer in silent:
        assert_true(peer.is_closed())
    late.peer.close()
    _end(server^, outcomes)


def test_a_crowd_of_handshakes_takes_turns() raises:
    # Who is connected already is served between them.
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var guest = SecurePeer(server.connect(), contexts.client)
    guest.pump(server)
    var crowd = List[Peer]()
    for _ in range(100):
        crowd.append(server.connect())
    server.settle()
    for peer in crowd:
        var client = SecurePeer(peer, contexts.client)
        client.push()
    var answered = 0
    var turns = 0
    while answered < 100:
        guest.write(_get("/"))
        server.turn_now()
        guest.push()
        turns += 1
        var now_answered = 0
        for peer in crowd:
            now_answered += 1 if peer.has_arrivals() else 0
        assert_true(
            now_answered - answered <= HANDSHAKE_STEPS_MAX,
            String(turns, ": ", now_answered, " behind ", answered),
        )
        answered = now_answered
        assert_true(turns < 50, "they do not get their turns")
    guest.pump(server)
    var answers = read_answers(Span(guest.end.plaintext), List[Bool]())
    assert_equal(len(answers), turns)
    for peer in crowd:
        peer.close()
    server.settle()
    assert_equal(len(server.worker.state[].turn_end.handshakes.waiting), 0)
    guest.peer.close()
    _end(server^, outcomes)


def test_handshakes_that_wait_for_their_turn_may_leave() raises:
    var contexts = _Contexts()
    for how in range(4):
        var outcomes = heap_create(Outcomes())
        var server = contexts.server(outcomes)
        var crowd = List[Peer]()
        for _ in range(100):
            crowd.append(server.connect())
        server.settle()
        for peer in crowd:
            var client = SecurePeer(peer, contexts.client)
            client.push()
        for _ in range(3):
            server.turn_now()
        for i in range(len(crowd)):
            if how == 0:
                crowd[i].reset()
            elif how == 1:
                crowd[i].close()
            elif how == 2:
                # More than may wait: it is looked at, and is no handshake.
                crowd[i].send(String(_PIECE) * 4_000)
            elif i % 2 == 0:
                crowd[i].end_sending()
        server.settle()
        assert_equal(len(server.worker.state[].turn_end.handshakes.waiting), 0)
        for peer in crowd:
            peer.close()
        _end(server^, outcomes)


def test_an_end_without_a_word_cuts_a_waiting_handler_off() raises:
    # Also where a client may end its side in order, and wait.
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var config = ServerConfig(log=LogSink.nowhere(), half_close_allowed=True)
    var server = TestServer(
        Waiter(outcomes), config=config, tls=contexts.server_context
    )
    var orderly = SecurePeer(server.connect(), contexts.client)
    orderly.pump(server)
    orderly.write(_get("/sleep?100"))
    orderly.close()
    orderly.pump(server)
    assert_true(orderly.text().endswith("/sleep"))
    assert_true(orderly.end.has_ended)
    assert_equal(outcomes[].cut_off, 0)
    var abrupt = SecurePeer(server.connect(), contexts.client)
    abrupt.pump(server)
    abrupt.write(_get("/sleep?100"))
    server.settle()
    abrupt.peer.end_sending()
    abrupt.pump(server)
    assert_equal(abrupt.text(), "")
    assert_false(abrupt.end.has_ended)
    assert_equal(outcomes[].cut_off, 1)
    _end(server^, outcomes)


def test_a_response_that_breaks_off_is_not_followed_by_a_word() raises:
    var contexts = _Contexts()
    # In chunks, and up to the end of the connection.
    for text in [_get("/broken"), String("GET /broken HTTP/1.0\r\n\r\n")]:
        var server = TestServer(_Breaking(), tls=contexts.server_context)
        var peer = SecurePeer(server.connect(), contexts.client)
        peer.pump(server)
        peer.write(text)
        peer.pump(server)
        assert_false(peer.end.has_ended)
        assert_true(peer.peer.is_reset() or peer.peer.has_ended())
        server.stop()
        assert_equal(server.remains(), "")


def test_what_is_no_tls_is_told_apart_from_plain_http() raises:
    var contexts = _Contexts()
    var outcomes = heap_create(Outcomes())
    var server = contexts.server(outcomes)
    var plain = server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(plain.startswith("HTTP/1.1 400 Bad Request\r\n"), plain)
    var at = plain.find("\r\nDate: ")
    assert_true(at > 0 and plain.find(" GMT\r\n") == at + 33, plain)
    var other = server.connect()
    # A handshake message that is too short to be one.
    other.send("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")
    var octets = server.receive(other)
    # An alert is a record of type 21.
    assert_true(len(octets) >= 7 and octets[0] == 21)
    other.close()
    assert_equal(server.statistics().refused, 2)
    assert_equal(server.statistics().handshakes, 0)
    _end(server^, outcomes)


def test_a_server_tells_what_is_wrong_before_it_listens() raises:
    var tls = server_config()
    tls.application_protocols.append("h3")
    assert_true(_problem(tls^).startswith("http.bad_config TlsServerConfig."))
    tls = server_config()
    tls.handshake_timeout_ms = 1 << 31
    assert_true(_problem(tls^).startswith("http.bad_config TlsServerConfig."))
    tls = server_config()
    tls.handshake_timeout_ms = 0
    assert_true(_problem(tls^).startswith("tls.bad_config configure"))
    tls = server_config()
    tls.identities.append(identity_of("nobody"))
    assert_true(_problem(tls^).startswith("tls.bad_file configure"))


def test_a_server_without_tls_has_nothing_to_reload() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()
    try:
        handle.reload_tls()
        assert_true(False)
    except e:
        assert_true(String(e).startswith("http.no_tls"))
    server.listen_tls(SocketAddr.localhost(0), server_config())
    assert_equal(len(handle.local_addresses()), 2)
    handle.reload_tls()
    try:
        handle.reload_tls(server_config(), listener=1)
        assert_true(False)
    except e:
        assert_true(String(e).startswith("http.no_tls"))


struct _Contexts(Movable):
    var server_context: TlsContext
    var client: TlsContext

    def __init__(out self) raises:
        self.server_context = TlsContext.for_servers(server_config())
        self.client = TlsContext.for_clients(client_config())

    def server(
        self,
        outcomes: PointerTo[Outcomes],
        *,
        seed: Int = 1,
        faults: SimulatedFaults = SimulatedFaults(),
    ) -> TestServer[Waiter]:
        return TestServer(
            Waiter(outcomes),
            seed=seed,
            faults=faults,
            tls=self.server_context,
        )


@fieldwise_init
struct _Breaking(Handler):
    def serve(self, req: Request) raises -> Response:
        return Response.stream(_break_off)


def _break_off(req: Request, stream: ResponseStream) raises:
    stream.write_text("half")
    raise Error("the other half is lost")


def _get(path: StringSlice) -> String:
    return String("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _problem(var tls: TlsServerConfig) raises -> String:
    try:
        _ = HttpServer.bind_tls(SocketAddr.localhost(0), tls^)
    except e:
        return String(e)
    return String()


def _end(var server: TestServer[Waiter], outcomes: PointerTo[Outcomes]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


comptime TESTS = __functions_in_module()
