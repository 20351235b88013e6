"""Tests upgrades on streams of HTTP/2, against a server that does as each test
says (RFC 8441)."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.http import ClientConfig, ClientTimeouts, HttpClient
from flare.http.client.client_functions import RequestParts
from flare.http.client.requests import (
    await_upgrade_end,
    end_upgrade,
    end_upgrade_sending,
    open_upgrade,
)
from flare.http.client.upgrade.upgrade_state import ClientUpgrade
from flare.http.upgraded_stream import UpgradedStream
from flare.message import FormFields, HeaderMap
from flare.proto.h2.h2_event import H2Event
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in, sleep
from flare.sys.clock import monotonic_ms

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.h2_stand import Asked, Client, H2Peer, H2Stand
from tests.tcp.loops import on_each_backend

comptime _ENABLED: List[UInt8] = [0, 8, 0, 0, 0, 1]
# Longer than a text that lies in its struct.
comptime _PROTOCOL: StaticString = "a-protocol-with-a-name-of-39-characters"


def test_octets_go_both_ways() raises:
    on_each_backend(_both_ways)


def test_a_server_must_announce_it() raises:
    on_each_backend(_unannounced)


def test_the_settings_are_awaited() raises:
    on_each_backend(_late_settings)


def test_the_limit_of_the_settings_holds() raises:
    on_each_backend(_limit)


def test_a_field_of_the_configuration_asks_for_none() raises:
    on_each_backend(_configured)


def test_a_length_has_no_meaning() raises:
    on_each_backend(_length)


def test_a_refusal_is_read() raises:
    on_each_backend(_refusal)


def test_a_reset_ends_one_tunnel() raises:
    on_each_backend(_reset)


def test_the_end_of_a_stream() raises:
    on_each_backend(_ends)


def test_a_closed_window_holds_back_one_tunnel() raises:
    on_each_backend(_windows)


def test_a_server_that_takes_nothing_is_given_up() raises:
    on_each_backend(_stuck)


def test_a_reader_may_give_up_and_come_back() raises:
    on_each_backend(_patience)


def test_an_upgrade_outlives_its_client() raises:
    on_each_backend(_outlives)


def test_two_fibers_write_at_once() raises:
    on_each_backend(_writers)


def test_room_that_comes_while_its_writer_reads() raises:
    on_each_backend(_room_while_reading)


def test_the_end_is_awaited() raises:
    on_each_backend(_awaited_end)


struct _Tunnel(Movable):
    """A client's end of a tunnel."""

    var upgrade: ClientUpgrade

    def __init__(out self, upgrade: ClientUpgrade):
        self.upgrade = upgrade

    def __deinit__(deinit self):
        end_upgrade(self.upgrade)

    def stream(self) -> UpgradedStream:
        return UpgradedStream(unsafe_exchange=self.upgrade[].exchange)

    def end_sending(self) raises:
        end_upgrade_sending(self.upgrade)

    def await_end(self, timeout_ms: Int):
        await_upgrade_end(self.upgrade, timeout_ms)

    def write(self, octets: Span[UInt8, _]) raises:
        self.stream().write_all(octets)

    def unsent_octets(self) raises -> Int:
        return self.stream().unsent_octets()

    def status(self) -> Int:
        return self.upgrade[].status

    def refusal(self) -> String:
        return String(unsafe_from_utf8=Span(self.upgrade[].refusal))

    def read(self, count: Int = 1000) raises -> String:
        var piece = List[UInt8](length=count, fill=0)
        var taken = self.stream().read(Span(piece))
        return String(unsafe_from_utf8=Span(piece)[:taken])


comptime _Opening = JoinHandle[ArcPointer[_Tunnel]]


def _begin(client: Client) raises -> _Opening:
    """Asks for a tunnel on a fiber."""

    def run() raises {var client} -> ArcPointer[_Tunnel]:
        var headers = HeaderMap()
        headers.append("Upgrade", _PROTOCOL)
        headers.append("Connection", "Upgrade")
        headers.append("Sec-WebSocket-Key", "AAAA")
        headers.append("X-A", "1")
        return ArcPointer(
            _Tunnel(
                open_upgrade(
                    client[].unsafe_state(),
                    RequestParts("GET", "/talk", headers, FormFields(), 5_000),
                )
            )
        )

    return spawn(run^)


def _accept(stand: H2Stand) raises -> H2Peer:
    return stand.accept(materialize[_ENABLED]())


def _open(
    stand: H2Stand, peer: H2Peer
) raises -> Tuple[ArcPointer[_Tunnel], Asked]:
    var opening = _begin(stand.client)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    return (opening^.join(), asked^)


def _both_ways() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    assert_equal(asked.text, "GET /talk")
    assert_false(asked.ends)
    ref heads = peer.state[].machine.input.heads
    var fields = heads.head.fields(heads.octets.span())
    assert_equal(fields.get("upgrade").value(), _PROTOCOL)
    assert_equal(fields.get("x-a").value(), "1")
    assert_false("sec-websocket-key" in fields)
    assert_false("content-length" in fields)
    peer.head(asked.id, ":status: 200|x-b: 2")
    peer.data(asked.id, "hel")
    var tunnel = opening^.join()
    assert_equal(tunnel[].status(), 101)
    assert_equal(tunnel[].read(), "hel")
    peer.data(asked.id, "lo")
    assert_equal(tunnel[].read(1), "l")
    assert_equal(tunnel[].read(), "o")
    peer.state[].content = ""
    tunnel[].write("answer".as_bytes())
    while peer.state[].content != "answer":
        _ = peer.next()
    # Requests go on beside it.
    var other = stand.ask("/")
    peer.answer(peer.request(), "beside")
    assert_equal(other^.join(), "200 beside")
    assert_equal(stand.statistics().connects, 1)
    _ = tunnel^
    while True:
        var event = peer.next()
        if event.kind == H2Event.RESET:
            assert_equal(event.code, 8)
            break
    peer.leave()
    _ = stand^


def _unannounced() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = stand.accept()
    with assert_raises(contains="client.protocol"):
        # It notices once the settings are there.
        while not opening.is_done():
            _ = peer.next_frames()
        _ = opening^.join()
    var other = stand.ask("/")
    peer.answer(peer.request(), "beside")
    assert_equal(other^.join(), "200 beside")
    peer.leave()
    _ = stand^


def _late_settings() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    sleep(100)
    assert_false(opening.is_done())
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 204", ends=True)
    var tunnel = opening^.join()
    assert_equal(tunnel[].status(), 101)
    assert_equal(tunnel[].read(), "")
    peer.leave()
    _ = stand^
    # Another fiber reads them.
    stand = H2Stand()
    var slow = stand.ask("/slow")
    opening = _begin(stand.client)
    sleep(20)
    peer = _accept(stand)
    with deadline_in(3_000):
        var first = peer.request()
        var second = peer.request()
        assert_equal(second.text, "GET /talk")
        peer.head(second.id, ":status: 200", ends=True)
        assert_equal(opening^.join()[].status(), 101)
        peer.answer(first)
    assert_equal(slow^.join(), "200 ok")
    peer.leave()
    _ = stand^


def _limit() raises:
    var stand = H2Stand(connections_max=1)
    var opening = _begin(stand.client)
    var other = _begin(stand.client)
    sleep(20)
    var peer = stand.accept([0, 8, 0, 0, 0, 1, 0, 3, 0, 0, 0, 1])
    var first = peer.request()
    peer.head(first.id, ":status: 200", ends=True)
    assert_false(peer.next_frames())
    with deadline_in(3_000):
        if not opening.is_done():
            swap(opening, other)
        assert_equal(opening^.join()[].status(), 101)
        # The end of the first one makes room.
        var second = peer.request()
        peer.head(second.id, ":status: 200", ends=True)
        assert_equal(other^.join()[].status(), 101)
    peer.leave()
    _ = stand^


def _configured() raises:
    var stand = H2Stand()
    var headers = HeaderMap()
    headers.append("Upgrade", "h2c")
    stand.client = ArcPointer(
        HttpClient(
            String("http://127.0.0.1:", stand.listener.local_address().port),
            config=ClientConfig(http2_prior_knowledge=True, headers=headers^),
        )
    )
    var asking = stand.ask("/")
    var peer = stand.accept()
    var asked = peer.request()
    assert_true(asked.ends)
    peer.answer(asked)
    assert_equal(asking^.join(), "200 ok")
    peer.leave()
    _ = stand^


def _length() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200|content-length: 0")
    var tunnel = opening^.join()
    peer.data(asked.id, "octets", ends=True)
    assert_equal(tunnel[].read(), "octets")
    assert_equal(tunnel[].read(), "")
    peer.leave()
    _ = stand^


def _refusal() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 403")
    peer.data(asked.id, "not you", ends=True)
    var refused = opening^.join()
    assert_equal(refused[].status(), 403)
    assert_equal(refused[].refusal(), "not you")
    var other = stand.ask("/")
    peer.answer(peer.request(), "beside")
    assert_equal(other^.join(), "200 beside")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()
    _ = stand^


def _reset() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var first = opening^.join()
    var second = _open(stand, peer)
    peer.data(asked.id, "last")
    peer.frame(3, 0, asked.id, [0, 0, 0, 8])
    assert_equal(first[].read(), "last")
    with assert_raises(contains="http.content cut off"):
        _ = first[].read()
    with assert_raises(contains="http.content cut off"):
        first[].write("x".as_bytes())
    peer.data(second[1].id, "here")
    assert_equal(second[0][].read(), "here")
    peer.reset_connection()
    with assert_raises(contains="http.content cut off"):
        _ = second[0][].read()
    _ = stand^


def _ends() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    tunnel[].write("all".as_bytes())
    tunnel[].end_sending()
    peer.state[].content = ""
    while not peer.next().ends:
        pass
    assert_equal(peer.state[].content, "all")
    # It reads on.
    peer.data(asked.id, "more", ends=True)
    assert_equal(tunnel[].read(), "more")
    assert_equal(tunnel[].read(), "")
    _ = tunnel^
    # Both ends have ended: no reset.
    assert_false(peer.next_frames())
    peer.leave()
    _ = stand^


def _windows() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()

    def write() raises {var tunnel}:
        tunnel[].write(Span(List[UInt8](length=300_000, fill=97)))

    peer.state[].content = ""
    var writing = spawn(write^)
    while peer.state[].content.byte_length() < 65_535:
        _ = peer.next()
    assert_false(peer.next_frames())
    var other = stand.ask("/")
    peer.answer(peer.request(), "beside")
    assert_equal(other^.join(), "200 beside")
    while peer.state[].content.byte_length() < 300_000:
        peer.machine().release(
            asked.slot, peer.machine().held_octets(asked.slot), peer.output()
        )
        _ = peer.next()
    writing^.join()
    peer.leave()
    _ = stand^


def _stuck() raises:
    var stand = H2Stand(timeouts=ClientTimeouts(write_ms=200))
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    var began_ms = monotonic_ms()

    def read() raises {var peer}:
        try:
            while True:
                _ = peer.next()
        except e:
            if "gone" not in String(e) and "cancelled" not in String(e):
                raise e^

    var reading = spawn(read)
    with assert_raises(contains="http.content cut off"):
        tunnel[].write(Span(List[UInt8](length=300_000, fill=97)))
    assert_true(monotonic_ms() - began_ms >= 200)
    assert_true(monotonic_ms() - began_ms < 3_000)
    _ = tunnel^
    _ = stand^
    reading.cancel()
    reading^.join()
    peer.leave()


def _patience() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    tunnel[].stream().set_read_timeout_ms(50)
    with assert_raises(contains="net.timeout read"):
        _ = tunnel[].read()
    with assert_raises(contains="net.timeout"):
        with deadline_in(20):
            _ = tunnel[].read()
    # A part that does not suffice is not taken.
    peer.data(asked.id, "ab")
    with assert_raises(contains="net.timeout read"):
        _ = tunnel[].stream().unsafe_await_octets(more_than=2)
    tunnel[].stream().set_read_timeout_ms(None)

    def read() raises {var tunnel} -> String:
        _ = tunnel[].stream().unsafe_await_octets(more_than=2)
        return tunnel[].read()

    var reading = spawn(read^)
    sleep(50)
    peer.data(asked.id, "c")
    assert_equal(reading^.join(), "abc")
    # A wait that others shorten ends.
    for _ in range(2):
        var waiting = _failing_read(tunnel)
        # One that waits while another fiber reads, then the one that reads.
        var other = stand.ask("/")
        var second = peer.request()
        sleep(20)
        tunnel[].stream().set_read_timeout_ms(100)
        assert_true("net.timeout read" in waiting^.join())
        tunnel[].stream().set_read_timeout_ms(None)
        peer.answer(second)
        assert_equal(other^.join(), "200 ok")
    peer.leave()
    _ = stand^


def _outlives() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    _ = stand^
    peer.data(asked.id, "still")
    assert_equal(tunnel[].read(), "still")
    _ = tunnel^
    with assert_raises(contains="gone"):
        while True:
            _ = peer.next()
    peer.leave()


def _writers() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    var fibers = List[JoinHandle[NoneType]]()
    for _ in range(5):
        fibers.append(_writer(tunnel))
    peer.state[].content = ""
    while peer.state[].content.byte_length() < 100 * 8192:
        var event = peer.next()
        if event.kind == H2Event.DATA:
            peer.machine().release(event.slot, event.length, peer.output())
    while len(fibers) > 0:
        fibers.pop().join()
    assert_equal(tunnel[].unsent_octets(), 0)
    peer.leave()
    _ = stand^


def _room_while_reading() raises:
    comptime WINDOW = 256 * 1024
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = stand.accept(materialize[_ENABLED](), WINDOW)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    tunnel[].stream().set_read_timeout_ms(None)
    var reading = _failing_read(tunnel)
    peer.state[].content = ""
    var writing = _writer(tunnel, 2 * WINDOW // 8192)
    while peer.state[].content.byte_length() < WINDOW:
        _ = peer.next()
    sleep(20)
    # The window opens, and with it comes a question. While the one fiber sends
    # the answer, the other one waits for room, and reads.
    peer.machine().release(asked.slot, WINDOW, peer.output())
    with deadline_in(3_000):
        while peer.state[].content.byte_length() < 2 * WINDOW:
            _ = peer.next()
    writing^.join()
    peer.data(asked.id, "read")
    assert_equal(reading^.join(), "read")
    peer.leave()
    _ = stand^


def _failing_read(
    tunnel: ArcPointer[_Tunnel],
) raises -> JoinHandle[String]:
    def read() raises {var tunnel} -> String:
        try:
            return tunnel[].read()
        except e:
            return String(e)

    return spawn(read^)


def _writer(
    tunnel: ArcPointer[_Tunnel], count: Int = 20
) raises -> JoinHandle[NoneType]:
    def write() raises {var tunnel, var count}:
        for _ in range(count):
            tunnel[].write(Span(List[UInt8](length=8192, fill=97)))

    return spawn(write^)


def _awaited_end() raises:
    var stand = H2Stand()
    var opening = _begin(stand.client)
    var peer = _accept(stand)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var tunnel = opening^.join()
    peer.data(asked.id, "dropped")
    peer.data(asked.id, "", ends=True)
    tunnel[].await_end(2_000)
    _ = tunnel^
    # The end is answered with this end's.
    assert_true(peer.next().ends)
    assert_false(peer.next_frames())
    # Without an end, the wait is bounded.
    var second = _open(stand, peer)
    var began_ms = monotonic_ms()
    second[0][].await_end(100)
    assert_true(monotonic_ms() - began_ms < 2_000)
    peer.leave()
    _ = stand^


comptime TESTS = __functions_in_module()
