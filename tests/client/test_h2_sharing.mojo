"""Tests how exchanges share a connection of HTTP/2."""

from std.memory import ArcPointer

from flare.http import ClientConfig, ClientTimeouts, HttpClient, Proxy
from flare.net import SocketAddr
from flare.runtime.task import JoinHandle
from flare.runtime.wait import sleep
from flare.tcp import TcpListener

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.h2_stand import Asked, H2Stand, require
from tests.proto_h2.machine_scene import number
from tests.tcp.loops import on_each_backend


def test_prior_knowledge_holds_for_hosts_without_a_proxy() raises:
    on_each_backend(_direct)


def test_exchanges_share_a_connection() raises:
    on_each_backend(_shared)


def test_a_connection_is_kept_and_used_again() raises:
    on_each_backend(_kept)


def test_requests_wait_at_the_limit_of_the_server() raises:
    on_each_backend(_limited)


def test_a_request_that_waits_long_opens_another_connection() raises:
    on_each_backend(_second)


def test_a_limit_of_none_is_waited_for() raises:
    on_each_backend(_none_at_first)


def test_a_refused_stream_is_sent_again() raises:
    on_each_backend(_refused)


def test_a_stream_that_is_always_refused_is_given_up() raises:
    on_each_backend(_always_refused)


def test_a_stream_that_was_reset_is_not_sent_again() raises:
    on_each_backend(_reset)


def test_streams_above_the_last_one_go_elsewhere() raises:
    on_each_backend(_going_away)


def test_a_connection_that_ended_while_idle_is_not_used() raises:
    on_each_backend(_ended_idle)


def test_a_request_on_a_dead_connection_is_repeated() raises:
    on_each_backend(_dead)


def test_a_deadline_of_one_exchange_harms_no_other() raises:
    on_each_backend(_deadline)


def test_a_dropped_exchange_harms_no_other() raises:
    on_each_backend(_dropped)


def test_a_cancelled_stream_counts_until_the_server_has_seen_it() raises:
    on_each_backend(_counted)


def test_a_connection_ages() raises:
    on_each_backend(_ages)


def test_while_the_first_connection_is_opened_no_other_is() raises:
    on_each_backend(_waiting_for_the_first)


def _direct() raises:
    var stand = H2Stand()
    var url = String("http://127.0.0.1:", stand.listener.local_address().port)
    var proxy = TcpListener.bind(SocketAddr.localhost(0))
    for is_direct in [True, False]:
        var config = ClientConfig(
            http2_prior_knowledge=True,
            timeouts=ClientTimeouts(total_ms=10_000),
        )
        config.proxies.http = Proxy(
            Proxy.HTTP, "127.0.0.1", proxy.local_address().port
        )
        if is_direct:
            config.proxies.direct = ["127.0.0.1"]
        stand.client = ArcPointer(HttpClient(url, config=config^))
        var asked = stand.ask("/a")
        if is_direct:
            var peer = stand.accept()
            peer.answer(peer.request())
            require(asked^, "200 ok")
            peer.leave()
            continue
        # A proxy speaks HTTP/1.1.
        var stream = proxy.accept()
        var head = List[UInt8](length=4096, fill=0)
        var count = stream.read(Span(head))
        var text = StringSlice(unsafe_from_utf8=Span(head)[:count])
        assert_true(text.startswith(String("GET ", url, "/a HTTP/1.1")))
        stream.write_all(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".as_bytes()
        )
        require(asked^, "200 ok")


def _shared() raises:
    var stand = H2Stand()
    var handles = List[JoinHandle[String]]()
    for i in range(20):
        handles.append(stand.ask(String("/", i)))
    var peer = stand.accept()
    var asked = List[Asked]()
    for _ in range(20):
        asked.append(peer.request())
    assert_equal(stand.statistics().connects, 1)
    # Answered in reverse, so that the fiber which reads waits longest.
    for i in range(19, -1, -1):
        peer.answer(asked[i], asked[i].text)
    for i in range(20):
        require(handles.pop(0), String("200 GET /", i))
    var found = stand.statistics()
    assert_equal(found.open, 1)
    assert_equal(found.idle, 1)
    assert_equal(found.requests, 20)
    peer.leave()


def _kept() raises:
    var stand = H2Stand()
    var first = stand.ask("/a")
    var peer = stand.accept()
    for i in range(3):
        var asked = peer.request()
        assert_equal(asked.id, 2 * i + 1)
        peer.answer(asked)
        require(first^, "200 ok")
        # What the server says meanwhile is seen before the next request.
        peer.frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        peer.frame(4, 0, 0, [0, 3, 0, 0, 0, 5])
        first = stand.ask("/next")
    _ = peer.request()
    _ = first^
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _limited() raises:
    var stand = H2Stand(connections_max=1)
    var warm = stand.ask("/warm")
    # MAX_CONCURRENT_STREAMS is 2.
    var peer = stand.accept([0, 3, 0, 0, 0, 2])
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var handles = List[JoinHandle[String]]()
    for i in range(7):
        handles.append(stand.ask(String("/", i)))
    for _ in range(7):
        var asked = peer.request()
        assert_true(len(peer.state[].machine.streams) <= 2)
        sleep(1)
        peer.answer(asked, asked.text)
    for i in range(7):
        require(handles.pop(0), String("200 GET /", i))
    assert_equal(stand.statistics().not_processed, 0)
    # A connection that was handed on is counted once.
    ref connections = stand.client[]._state[].pool.origins[0][].connections
    assert_equal(len(connections.shared), 0)
    assert_equal(len(connections.idle), 1)
    assert_equal(connections.open, 1)
    assert_equal(connections.openings, 0)
    assert_equal(stand.statistics().idle, 1)
    peer.leave()


def _second() raises:
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    var peer = stand.accept([0, 3, 0, 0, 0, 1])
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var slow = stand.ask("/slow")
    var held = peer.request()
    var quick = stand.ask("/quick")
    var other = stand.accept()
    other.answer(other.request())
    require(quick^, "200 ok")
    peer.answer(held)
    require(slow^, "200 ok")
    assert_equal(stand.statistics().connects, 2)
    peer.leave()
    other.leave()


def _none_at_first() raises:
    var stand = H2Stand(connections_max=1)
    var warm = stand.ask("/warm")
    var peer = stand.accept([0, 3, 0, 0, 0, 0])
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var first = stand.ask("/a")
    sleep(5)
    # The limit is 0 up to here.
    peer.frame(4, 0, 0, [0, 3, 0, 0, 0, 1])
    var asked = peer.request()
    assert_equal(asked.text, "GET /a")
    peer.answer(asked)
    require(first^, "200 ok")
    var late = stand.ask("/late", deadline_ms=30)
    peer.frame(4, 0, 0, [0, 3, 0, 0, 0, 0])
    sleep(2)
    _ = late^
    peer.leave()


def _refused() raises:
    for method in ["GET", "POST"]:
        var stand = H2Stand()
        var handle = stand.ask("/a", method, "content")
        var peer = stand.accept()
        var asked = peer.request()
        peer.frame(3, 0, asked.id, number(7))
        peer.forget(asked)
        asked = peer.request()
        assert_equal(asked.id, 3)
        assert_equal(peer.content_of(asked), "content")
        peer.answer(asked)
        require(handle^, "200 ok")
        assert_equal(stand.statistics().not_processed, 1)
        peer.leave()


def _always_refused() raises:
    var stand = H2Stand()
    var handle = stand.ask("/a")
    var peer = stand.accept()
    for _ in range(6):
        var asked = peer.request()
        peer.frame(3, 0, asked.id, number(7))
        peer.forget(asked)
    require(handle^, "client.not_processed head")
    peer.leave()


def _reset() raises:
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    var peer = stand.accept()
    peer.answer(peer.request())
    require(warm^, "200 ok")
    # The server may have done what the idempotent request asks for, and the
    # connection that has carried another one goes on.
    var reset = stand.ask("/reset")
    var asked = peer.request()
    peer.frame(3, 0, asked.id, number(2))
    peer.forget(asked)
    require(reset^, "client.reset head")
    assert_false(peer.next_frames())
    assert_equal(stand.statistics().requests, 2)
    peer.leave()


def _going_away() raises:
    var stand = H2Stand()
    var first = stand.ask("/first", "POST", "1")
    var second = stand.ask("/second", "POST", "2")
    var peer = stand.accept()
    var asked = peer.request()
    _ = peer.request()
    # The first one is processed.
    peer.frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 0])
    var other = stand.accept()
    var again = other.request()
    assert_equal(again.text, "POST /second")
    other.answer(again)
    require(second^, "200 ok")
    # Later requests take the new connection too.
    var third = stand.ask("/third")
    other.answer(other.request())
    require(third^, "200 ok")
    peer.answer(asked)
    require(first^, "200 ok")
    assert_equal(stand.statistics().open, 1)
    peer.leave()
    other.leave()


def _ended_idle() raises:
    for ending in range(3):
        var stand = H2Stand()
        var first = stand.ask("/a")
        var peer = stand.accept()
        peer.answer(peer.request())
        require(first^, "200 ok")
        if ending == 0:
            peer.frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 0])
        elif ending == 1:
            peer.leave()
        else:
            peer.reset_connection()
        var second = stand.ask("/b", "POST", "1")
        var other = stand.accept()
        var asked = other.request()
        assert_equal(asked.id, 1)
        other.answer(asked)
        require(second^, "200 ok")
        assert_equal(stand.statistics().stale, 0)
        if ending == 0:
            peer.leave()
        other.leave()


def _dead() raises:
    for method in ["GET", "POST"]:
        var stand = H2Stand()
        var first = stand.ask("/a")
        var peer = stand.accept()
        peer.answer(peer.request())
        require(first^, "200 ok")
        var second = stand.ask("/b", method)
        _ = peer.request()
        peer.leave()
        if method == "GET":
            var other = stand.accept()
            other.answer(other.request())
            require(second^, "200 ok")
            assert_equal(stand.statistics().stale, 1)
            other.leave()
        else:
            require(second^, "client.closed head")


def _deadline() raises:
    var stand = H2Stand()
    # The first one reads for all.
    var short = stand.ask("/short", deadline_ms=20)
    var long = stand.ask("/long")
    var peer = stand.accept()
    _ = peer.request()
    var asked = peer.request()
    require(short^, "client.timeout head")
    # The server learns that the stream is cancelled, and is asked whether it
    # has seen that.
    assert_equal(peer.next().code, 8)
    peer.answer(asked)
    require(long^, "200 ok")
    var next = stand.ask("/next")
    peer.answer(peer.request())
    require(next^, "200 ok")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _dropped() raises:
    var stand = H2Stand()
    var dropped = stand.ask("/dropped")
    var kept = stand.ask("/kept")
    var peer = stand.accept()
    _ = peer.request()
    var asked = peer.request()
    # The fiber that reads is cancelled.
    _ = dropped^
    assert_equal(peer.next().code, 8)
    peer.answer(asked)
    require(kept^, "200 ok")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _counted() raises:
    var stand = H2Stand(connections_max=1)
    var warm = stand.ask("/warm")
    var peer = stand.accept([0, 3, 0, 0, 0, 2])
    var asked = peer.request()
    peer.answer(asked)
    require(warm^, "200 ok")
    var held = stand.ask("/held")
    var short = stand.ask("/short", deadline_ms=20)
    var first = peer.request()
    _ = peer.request()
    require(short^, "client.timeout head")
    var waiting = stand.ask("/waiting")
    sleep(20)
    # It waits: the server may not have seen that a stream is cancelled.
    assert_equal(peer.next().code, 8)
    assert_equal(stand.statistics().requests, 3)
    # The answer to PING is in this flush.
    peer.frame(6, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])
    peer.answer(first)
    require(held^, "200 ok")
    var last = peer.request()
    assert_equal(last.text, "GET /waiting")
    peer.answer(last)
    require(waiting^, "200 ok")
    peer.leave()


def _ages() raises:
    var stand = H2Stand()
    var first = stand.ask("/a")
    var peer = stand.accept()
    peer.answer(peer.request())
    require(first^, "200 ok")
    ref pool = stand.client[]._state[].pool
    pool.limits.age_max_ms = 1
    sleep(5)
    var second = stand.ask("/b")
    var other = stand.accept()
    other.answer(other.request())
    require(second^, "200 ok")
    # The old one was closed with a GOAWAY.
    var has_seen = False
    try:
        while True:
            var event = peer.next()
            has_seen = has_seen or event.kind == 5
    except e:
        assert_equal(String(e), "gone")
    assert_true(has_seen)
    peer.leave()
    other.leave()


def _waiting_for_the_first() raises:
    var stand = H2Stand()
    var handles = List[JoinHandle[String]]()
    for i in range(5):
        handles.append(stand.ask(String("/", i)))
    sleep(150)
    assert_equal(stand.statistics().connects, 1)
    var peer = stand.accept()
    for _ in range(5):
        var asked = peer.request()
        peer.answer(asked, asked.text)
    for i in range(5):
        require(handles.pop(0), String("200 GET /", i))
    peer.leave()


comptime TESTS = __functions_in_module()
