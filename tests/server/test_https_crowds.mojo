"""Lets crowds shake hands that do not mean it: who does is not held up."""

from flare.core import heap_create, heap_destroy
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer
from flare.tls import TlsContext

from tests.asserting import assert_equal, assert_true
from tests.server.handlers import Outcomes, Waiter
from tests.server.secure_peer import SecurePeer
from tests.tls.certificates import client_config, server_config

comptime _CROWD = 400
# Octets that begin a handshake and are not enough for a step of it.
comptime _BEGINNING: StaticString = "\x16\x03\x01"


def test_who_has_left_takes_no_turn_of_a_handshake() raises:
    var client = TlsContext.for_clients(client_config())
    for resets in [True, False]:
        var outcomes = heap_create(Outcomes())
        var server = TestServer(
            Waiter(outcomes), tls=TlsContext.for_servers(server_config())
        )
        var crowd = List[Peer]()
        for _ in range(_CROWD):
            crowd.append(server.connect())
        server.settle()
        for peer in crowd:
            peer.send(_BEGINNING)
        server.turn_now()
        for peer in crowd:
            if resets:
                peer.reset()
            else:
                peer.close()
        var guest = SecurePeer(server.connect(), client)
        guest.push()
        var turns = 0
        while not guest.peer.has_arrivals():
            server.turn_now()
            turns += 1
            assert_true(turns < 10, String("it waits behind who has left"))
        guest.pump(server)
        assert_true(guest.end.is_done)
        assert_equal(len(server.worker.state[].turn_end.handshakes.waiting), 0)
        guest.peer.close()
        server.stop()
        assert_equal(server.remains(), "")
        _ = server^
        heap_destroy(outcomes)


def test_what_came_in_front_of_an_end_is_answered_when_it_is_its_turn() raises:
    var client = TlsContext.for_clients(client_config())
    for says_so in [True, False]:
        var outcomes = heap_create(Outcomes())
        var server = TestServer(
            Waiter(outcomes), tls=TlsContext.for_servers(server_config())
        )
        var late = SecurePeer(server.connect(), client)
        late.push()
        server.settle()
        var crowd = List[SecurePeer]()
        for _ in range(_CROWD // 4):
            crowd.append(SecurePeer(server.connect(), client))
        server.settle()
        for i in range(len(crowd)):
            crowd[i].push()
        server.turn_now()
        assert_true(len(server.worker.state[].turn_end.handshakes.waiting) > 0)
        late.push()
        assert_true(late.end.is_done)
        late.write("GET /late HTTP/1.1\r\nHost: a\r\n\r\n")
        if says_so:
            late.close()
        else:
            late.peer.end_sending()
        late.pump(server)
        var answer = late.text()
        assert_true(answer.endswith("/late"), answer)
        for i in range(len(crowd)):
            crowd[i].peer.close()
        server.stop()
        assert_equal(server.remains(), "")
        _ = server^
        heap_destroy(outcomes)


def test_who_ends_in_the_midst_of_a_handshake_that_waits_is_gone() raises:
    var client = TlsContext.for_clients(client_config())
    var outcomes = heap_create(Outcomes())
    var server = TestServer(
        Waiter(outcomes), tls=TlsContext.for_servers(server_config())
    )
    var half_done = List[SecurePeer]()
    for i in range(_CROWD // 20):
        half_done.append(SecurePeer(server.connect(), client))
        half_done[i].push()
    server.settle()
    var crowd = List[SecurePeer]()
    for _ in range(_CROWD // 4):
        crowd.append(SecurePeer(server.connect(), client))
    server.settle()
    for i in range(len(crowd)):
        crowd[i].push()
    server.turn_now()
    for i in range(len(half_done)):
        half_done[i].peer.send(_BEGINNING)
        half_done[i].peer.end_sending()
        crowd[len(crowd) - 1 - i].peer.end_sending()
    server.turn_now()
    # Whose handshake cannot become complete leaves the queue at once.
    assert_true(crowd[len(crowd) - 1].peer.has_ended())
    for i in range(len(crowd)):
        crowd[i].peer.end_sending()
    server.settle()
    for i in range(len(crowd)):
        assert_true(crowd[i].peer.has_ended(), String(i))
    for i in range(len(half_done)):
        assert_true(half_done[i].peer.has_ended(), String(i))
    assert_equal(server.worker.state[].connections.lent(), 0)
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


comptime TESTS = __functions_in_module()
