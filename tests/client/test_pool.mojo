"""Tests how connections are kept, shared, waited for and given up."""

from std.memory import ArcPointer

from flare.core import heap_create, heap_destroy
from flare.http import (
    ClientConfig,
    ClientError,
    ClientTimeouts,
    HttpClient,
    PoolLimits,
    RetryPolicy,
)
from flare.net import SocketAddr
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import sleep
from flare.tcp import TcpListener, TcpStream

from tests.asserting import assert_equal, assert_true
from tests.client.stand import (
    OK_ANSWER,
    Ending,
    Reply,
    Stand,
    ok_answers,
    read_request,
)
from tests.tcp.loops import on_each_backend


def test_a_connection_carries_one_request_after_the_other() raises:
    on_each_backend(_reused)


def test_a_connection_that_the_server_closed_is_not_used() raises:
    on_each_backend(_closed_meanwhile)


def test_a_request_on_a_dead_connection_is_repeated_where_it_may_be() raises:
    on_each_backend(_dead)


def test_a_request_that_ends_each_connection_is_repeated_once() raises:
    on_each_backend(_poisonous)


def test_a_repeated_request_takes_no_kept_connection() raises:
    on_each_backend(_repeated_beside)


def test_what_came_while_a_connection_idled_is_no_answer() raises:
    on_each_backend(_unasked)


def test_a_request_finds_out_that_its_connection_has_ended() raises:
    on_each_backend(_ended_meanwhile)


def test_who_finds_no_connection_waits_in_order() raises:
    on_each_backend(_in_order)


def test_who_waits_too_long_or_is_cancelled_leaves_the_queue() raises:
    on_each_backend(_leaves)


def test_a_connection_idles_and_ages_no_longer_than_it_may() raises:
    on_each_backend(_idles)


def test_a_failure_is_repeated_as_the_policy_says() raises:
    on_each_backend(_repeated)


def test_a_copy_has_connections_of_its_own() raises:
    on_each_backend(_copied)


def test_requests_that_are_started_run_beside_each_other() raises:
    on_each_backend(_started)


def _started() raises:
    var stand = Stand(ok_answers(2))
    var other = Stand(ok_answers(1))
    var client = HttpClient(stand.url())
    var first = client.start("GET", "/a")
    var second = client.start("POST", other.url("/b"), "{}")
    var dropped = client.start("GET", "/never")
    _ = dropped^
    assert_equal(first^.join().text(), "ok")
    assert_equal(second^.join().text(), "ok")
    assert_equal(client.get("/c").text(), "ok")
    _ = client^
    stand^.join()
    other^.join()


def _reused() raises:
    var stand = Stand(ok_answers(20))
    var client = HttpClient(stand.url())
    for _ in range(20):
        assert_equal(client.get("/").text(), "ok")
    assert_equal(stand.connections(), 1)
    var found = client.statistics()
    assert_equal(found.requests, 20)
    assert_equal(found.connects, 1)
    assert_equal(found.open, 1)
    assert_equal(found.idle, 1)
    client.close_idle()
    assert_equal(client.statistics().open, 0)
    stand^.join()


def _closed_meanwhile() raises:
    var stand = Stand(
        [
            Reply(String(OK_ANSWER), Ending.CLOSE),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url())
    assert_equal(client.get("/").text(), "ok")
    while stand.seen[].open > 0:
        sleep(0)
    # Even what must not be repeated goes out, because nothing went wrong.
    assert_equal(client.post("/", "1").text(), "ok")
    assert_equal(stand.connections(), 2)
    assert_equal(client.statistics().stale, 0)
    stand^.join()


def _unasked() raises:
    comptime FORGED: StaticString = (
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    )
    for number in range(2):
        var method: StaticString = "GET" if number == 0 else "POST"
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var port = listener.local_address().port
        var client = heap_create(HttpClient(String("http://127.0.0.1:", port)))

        def ask() raises {var client, var method} -> String:
            return String(client[].request(method, "/").text())

        var first = spawn(ask)
        var stream = listener.accept()
        assert_true(read_request(stream).byte_length() > 0)
        stream.write_all(OK_ANSWER.as_bytes())
        assert_equal(first^.join(), "ok")
        # On the loopback it is there when this returns.
        stream.write_all(FORGED.as_bytes())

        def answer() raises {var listener^}:
            var other = listener.accept()
            assert_true(read_request(other).byte_length() > 0)
            other.write_all(OK_ANSWER.as_bytes())

        var answering = spawn(answer^)
        var second = spawn(ask)
        assert_equal(second^.join(), "ok", method)
        answering^.join()
        _ = stream^
        heap_destroy(client)


def _ended_meanwhile() raises:
    for ending in [Ending.CLOSE, Ending.RESET]:
        var stand = Stand(
            [
                Reply(String(OK_ANSWER), ending),
                Reply(String(OK_ANSWER), Ending.KEEP),
            ]
        )
        var client = HttpClient(stand.url())
        assert_equal(client.get("/").text(), "ok")
        while stand.seen[].open > 0:
            sleep(0)
        assert_equal(client.get("/").text(), "ok")
        assert_equal(stand.connections(), 2)
        stand^.join()


def _dead() raises:
    # The connection ends when the second request has come.
    for method in ["GET", "POST"]:
        var stand = Stand(
            [
                Reply(String(OK_ANSWER), Ending.KEEP),
                Reply("", Ending.CLOSE),
                Reply(String(OK_ANSWER), Ending.KEEP),
            ]
        )
        var client = HttpClient(stand.url())
        assert_equal(client.get("/").text(), "ok")
        var kind = -1
        try:
            assert_equal(client.request(method, "/").text(), "ok")
        except e:
            kind = ClientError.of(e).value().kind
        if method == "GET":
            assert_equal(kind, -1)
            assert_equal(client.statistics().stale, 1)
        else:
            assert_equal(kind, ClientError.CLOSED)
            assert_equal(client.get("/").text(), "ok")
        assert_equal(stand.connections(), 2, method)
        stand^.join()


def _poisonous() raises:
    for method in ["GET", "DELETE", "PUT"]:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var url = String("http://127.0.0.1:", listener.local_address().port)
        var client = heap_create(HttpClient(url, config=_limited(3)))
        var seen = ArcPointer(0)

        def accept() raises {var listener^, var seen}:
            for _ in range(4):
                _answer_beside(listener.accept(), seen, 100)

        def ask() raises {var client}:
            assert_equal(client[].get("/").text(), "ok")

        var accepting = spawn(accept^)
        var asking = List[JoinHandle[NoneType]]()
        for _ in range(3):
            asking.append(spawn(ask))
        while len(asking) > 0:
            asking.pop().join()
        assert_equal(client[].statistics().idle, 3)
        var kind = -1
        try:
            _ = client[].request(method, "/poison", "1")
        except e:
            kind = ClientError.of(e).value().kind
        assert_equal(kind, ClientError.CLOSED)
        assert_equal(seen[], 2, method)
        assert_equal(client[].statistics().stale, 1)
        # The others are as good as they were.
        assert_equal(client[].statistics().idle, 2)
        accepting^.join()
        heap_destroy(client)


def _repeated_beside() raises:
    # Ended once, it waits, and is handed the connection of the other one; ended
    # twice, it comes back when that connection is idle.
    for ended in [1, 2]:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var url = String("http://127.0.0.1:", listener.local_address().port)
        var config = _limited(1)
        config.retry = RetryPolicy(retries_max=1, delay_ms=100)
        var client = heap_create(HttpClient(url, config=config^))
        var seen = ArcPointer(0)

        def accept() raises {var listener^, var seen, var ended}:
            for _ in range(ended + 2):
                _answer_beside(listener.accept(), seen, ended)

        def repeat() raises {var client}:
            assert_equal(client[].request("PUT", "/poison", "1").text(), "ok")

        def ask() raises {var client}:
            assert_equal(client[].get("/").text(), "ok")

        var accepting = spawn(accept^)
        ask()
        var repeating = spawn(repeat)
        var asking = spawn(ask)
        repeating^.join()
        asking^.join()
        assert_equal(seen[], ended + 1)
        var found = client[].statistics()
        assert_equal(found.connects, ended + 2)
        assert_equal(found.open, 1)
        assert_equal(found.idle, 1)
        accepting^.join()
        heap_destroy(client)


def _answer_beside(
    var stream: TcpStream, seen: ArcPointer[Int], ended_max: Int
) raises:
    def answer() raises {var stream^, var seen, var ended_max}:
        while True:
            var request = read_request(stream)
            if request.byte_length() == 0:
                return
            if "/poison" in request:
                seen[] += 1
                if seen[] <= ended_max:
                    return
            stream.write_all(OK_ANSWER.as_bytes())

    spawn(answer^).detach()


def _limited(origin_max: Int, waiting_max: Int = 100) -> ClientConfig:
    return ClientConfig(
        pool=PoolLimits(
            connections_per_origin_max=origin_max,
            waiting_per_origin_max=waiting_max,
        ),
        timeouts=ClientTimeouts(total_ms=5_000),
    )


def _in_order() raises:
    var stand = Stand(ok_answers(10))
    var client = heap_create(HttpClient(stand.url(), config=_limited(1, 9)))
    var order = ArcPointer(List[Int]())
    var asking = List[JoinHandle[NoneType]]()
    for i in range(10):

        def ask() raises {var client, var order, var i}:
            assert_equal(client[].get(String("/", i)).text(), "ok")
            order[].append(i)

        asking.append(spawn(ask^))
    sleep(0)
    # One has the connection, nine wait; a further one finds no place.
    var kind = -1
    try:
        _ = client[].get("/more")
    except e:
        kind = ClientError.of(e).value().kind
    assert_equal(kind, ClientError.QUEUE_FULL)
    while len(asking) > 0:
        asking.pop(0).join()
    for i in range(10):
        assert_equal(order[][i], i)
        assert_true(stand.request(i).startswith(String("GET /", i, " ")))
    assert_equal(stand.connections(), 1)
    heap_destroy(client)
    stand^.join()


def _leaves() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://127.0.0.1:", listener.local_address().port)
    var client = heap_create(HttpClient(url, config=_limited(1)))

    def hold() raises {var client} -> String:
        return String(client[].get("/slow").text())

    var holding = spawn(hold)
    var stream = listener.accept()
    assert_true(read_request(stream).byte_length() > 0)
    var failure = Optional[Error](None)
    try:
        _ = client[].get("/", timeout_ms=20)
    except e:
        failure = e^
    var late = ClientError.of(failure.value()).value().copy()
    assert_equal(late.kind, ClientError.TIMEOUT)
    assert_equal(late.phase, "queue")

    def wait() raises {var client} -> Int:
        try:
            _ = client[].get("/cancelled")
        except e:
            return ClientError.of(e).value().kind
        return -1

    def wait_on() raises {var client} -> String:
        return String(client[].get("/last").text())

    var waiting = spawn(wait)
    var last = spawn(wait_on)
    sleep(0)
    sleep(0)
    waiting.cancel()
    assert_equal(waiting^.join(), ClientError.CANCELLED)
    stream.write_all(OK_ANSWER.as_bytes())
    assert_equal(holding^.join(), "ok")
    assert_true(read_request(stream).startswith("GET /last "))
    stream.write_all(OK_ANSWER.as_bytes())
    assert_equal(last^.join(), "ok")
    heap_destroy(client)


def _idles() raises:
    var rows: List[PoolLimits] = [
        PoolLimits(idle_timeout_ms=1),
        PoolLimits(age_max_ms=1),
        PoolLimits(idle_connections_max=0),
    ]
    for limits in rows:
        var stand = Stand(ok_answers(2))
        var client = HttpClient(stand.url(), config=ClientConfig(pool=limits))
        assert_equal(client.get("/").text(), "ok")
        sleep(3)
        assert_equal(client.get("/").text(), "ok")
        assert_equal(stand.connections(), 2)
        stand^.join()


def _repeated() raises:
    comptime BUSY: StaticString = (
        "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy"
    )
    var config = ClientConfig(
        retry=RetryPolicy(retries_max=2, delay_ms=1, delay_max_ms=2)
    )
    var stand = Stand(
        [
            Reply(String(BUSY), Ending.KEEP),
            Reply("", Ending.CLOSE),
            Reply(String(OK_ANSWER), Ending.KEEP),
            Reply(String(BUSY), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url(), config=config.copy())
    assert_equal(client.get("/").text(), "ok")
    assert_equal(client.statistics().requests, 3)
    # What must not be repeated is not.
    var response = client.post("/", "1")
    assert_equal(response.status, 503)
    assert_equal(response.text(), "busy")
    stand^.join()
    var nobody = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://127.0.0.1:", nobody.local_address().port)
    nobody.close()
    var lonely = HttpClient(url, config=config^)
    var kind = -1
    try:
        # Nothing was sent, so even this is tried again.
        _ = lonely.post("/", "1")
    except e:
        kind = ClientError.of(e).value().kind
    assert_equal(kind, ClientError.REFUSED)
    assert_equal(lonely.statistics().retries, 2)


def _copied() raises:
    var stand = Stand(
        [
            Reply(String(OK_ANSWER), Ending.KEEP),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url())
    assert_equal(client.get("/").text(), "ok")
    var copied = client.copy()
    assert_equal(copied.statistics().open, 0)
    _ = client^
    assert_equal(copied.get("/").text(), "ok")
    assert_equal(stand.connections(), 2)
    stand^.join()


comptime TESTS = __functions_in_module()
