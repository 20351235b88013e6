"""Tests how kept connections are closed: each says goodbye where it can, and
none holds back the others or who asks meanwhile."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.http import ClientConfig, HttpClient, PoolLimits
from flare.http.client.call.client_state import ClientState
from flare.net import SocketAddr
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ms
from flare.sys.socket import send_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.tcp import TcpListener
from flare.tls import TlsContext, TlsListener, TlsStream

from tests.asserting import assert_equal, assert_true
from tests.client.stand import OK_ANSWER, Stand, ok_answers
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config

comptime _SLOW = 3
comptime _WAITED_MS_MAX = 900
"""Less than the goodbye of one connection may wait inside of TLS."""
comptime _CUT_ANSWER: StaticString = (
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"
)


def test_slow_peers_hold_back_nobody_who_closes_what_is_kept() raises:
    on_each_backend(_close_idle)


def test_slow_peers_hold_back_no_request_to_another_origin() raises:
    on_each_backend(_sweep)


def test_slow_peers_hold_back_no_request_to_their_own_origin() raises:
    on_each_backend(_take_idle)


def test_what_is_closed_unused_says_goodbye() raises:
    on_each_backend(_goodbye)


def test_who_closes_a_stream_beside_its_reader_waits_for_no_peer() raises:
    on_each_backend(_close_beside)


def _close_beside() raises:
    var client = HttpClient(config=ClientConfig(tls=client_config()))
    var peers = List[_Peer]()
    peers.append(_secure_peer(_CUT_ANSWER, reads_on=False))
    var stream = ArcPointer(client.open("GET", peers[0].url))
    assert_equal(stream[].status(), 200)
    var piece = List[UInt8](length=2, fill=0)
    assert_equal(stream[].read(Span(piece)), 2)

    def read() raises {var stream}:
        _ = stream[].read_all(100)

    var reading = spawn(read^)
    var octets = List[UInt8](length=64 * 1024, fill=0)
    var connection = stream[]._state[].exchange.state[].connection.value()
    var still = 0
    while still < 10:
        var taken = _fill(
            connection.state[].transport.tls.value().descriptor(), Span(octets)
        )
        still = still + 1 if taken == 0 else 0
        sleep(5)
    var began_ms = monotonic_ms()
    stream[].close()
    _assert_short(monotonic_ms() - began_ms)
    with assert_raises(contains="client."):
        reading^.join()
    assert_equal(client.statistics().open, 0)
    _end(peers^)


def _close_idle() raises:
    var client = HttpClient(config=ClientConfig(tls=client_config()))
    var peers = List[_Peer]()
    for _ in range(_SLOW):
        peers.append(_secure_peer(OK_ANSWER, reads_on=False))
        assert_equal(client.get(peers[len(peers) - 1].url).text(), "ok")
    _fill_all(client)
    var began_ms = monotonic_ms()
    client.close_idle()
    _assert_short(monotonic_ms() - began_ms)
    assert_equal(client.statistics().open, 0)
    _end(peers^)


def _sweep() raises:
    var config = ClientConfig(
        tls=client_config(), pool=PoolLimits(idle_timeout_ms=1)
    )
    var client = HttpClient(config=config^)
    var peers = List[_Peer]()
    for _ in range(_SLOW):
        peers.append(_secure_peer(OK_ANSWER, reads_on=False))
        assert_equal(client.get(peers[len(peers) - 1].url).text(), "ok")
    # The next look for those that idle too long.
    sleep(1_010)
    _fill_all(client)
    var stand = Stand(ok_answers(1))
    var began_ms = monotonic_ms()
    assert_equal(client.get(stand.url()).text(), "ok")
    _assert_short(monotonic_ms() - began_ms)
    assert_equal(client.statistics().idle, 1)
    _ = client^
    stand^.join()
    _end(peers^)


def _take_idle() raises:
    var config = ClientConfig(
        tls=client_config(), pool=PoolLimits(idle_timeout_ms=1)
    )
    var peer = _secure_peer(OK_ANSWER, reads_on=False)
    var client = HttpClient(config=config^)
    assert_equal(client.get(peer.url).text(), "ok")
    _fill_all(client)
    sleep(3)
    var began_ms = monotonic_ms()
    assert_equal(client.get(peer.url).text(), "ok")
    _assert_short(monotonic_ms() - began_ms)
    peer^.end()


def _goodbye() raises:
    var client = HttpClient(config=ClientConfig(tls=client_config()))
    var peers = List[_Peer]()
    for _ in range(3):
        peers.append(_secure_peer(OK_ANSWER, reads_on=True))
        assert_equal(client.get(peers[len(peers) - 1].url).text(), "ok")
    client.close_idle()
    while len(peers) > 0:
        # An end without a word would be an error there.
        peers.pop().join()


def _assert_short(waited_ms: Int) raises:
    assert_true(waited_ms < _WAITED_MS_MAX, String(waited_ms))


def _fill_all(client: HttpClient) raises:
    # The kernel takes nothing more for any kept connection, once the peers'
    # kernels have taken all that they will.
    var octets = List[UInt8](length=64 * 1024, fill=0)
    var pool = ClientState.pool_of(client._state)
    var still = 0
    while still < 10:
        var taken = 0
        for origin in pool.state[].origins:
            for connection in origin[].connections.idle:
                taken += _fill(
                    connection.state[].transport.tls.value().descriptor(),
                    Span(octets),
                )
        still = still + 1 if taken == 0 else 0
        sleep(5)


def _fill(descriptor: Int32, octets: Span[UInt8, _]) -> Int:
    var taken = 0
    while True:
        var count = send_octets(descriptor, octets, MSG_DONTWAIT)
        if count <= 0:
            return taken
        taken += count


@fieldwise_init
struct _Peer(Movable):
    var url: String
    var serving: JoinHandle[NoneType]

    def join(deinit self) raises:
        self.serving^.join()

    def end(deinit self):
        self.serving.cancel()
        try:
            self.serving^.join()
        except:
            pass


def _end(var peers: List[_Peer]):
    while len(peers) > 0:
        peers.pop().end()


def _secure_peer(answer: StaticString, *, reads_on: Bool) raises -> _Peer:
    # Serves any number of connections, one request on each.
    var plain = TcpListener.bind(SocketAddr.localhost(0))
    plain.set_receive_buffer_octets(20_000)
    var listener = TlsListener(plain^, TlsContext.for_servers(server_config()))
    var url = String("https://localhost:", listener.local_address().port)

    def serve() raises {var listener^, var answer, var reads_on}:
        var octets = List[UInt8](length=4096, fill=0)
        var held = List[TlsStream]()
        while True:
            var stream = listener.accept()
            _ = stream.read(Span(octets))
            stream.write_all(answer.as_bytes())
            if reads_on:
                assert_equal(stream.read(Span(octets)), 0)
                return
            held.append(stream^)

    return _Peer(url, spawn(serve^))


comptime TESTS = __functions_in_module()
"""Every test of this module."""
