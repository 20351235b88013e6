"""Checks the answers to probes, over a virtual clock."""

from std.ffi import _Global

from flare.http import (
    App,
    FnHandler,
    Health,
    HealthCheck,
    Request,
    Response,
    State,
    ok,
)
from flare.runtime import sleep
from flare.testing import TestClient
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

comptime LIVE: StaticString = "GET /-/live HTTP/1.1\r\nHost: a\r\n\r\n"
comptime READY: StaticString = "GET /-/ready HTTP/1.1\r\nHost: a\r\n\r\n"


def test_other_paths_reach_the_handler() raises:
    for http2 in [False, True]:
        var client = TestClient(Health(FnHandler(_home)), http2=http2)
        for path in ["/", "/-/", "/-/live/", "/-/livE", "/x/-/ready"]:
            assert_equal(client.get(path).text(), "home")
        for path in ["/-/live", "/-/ready", "/-/live?x"]:
            var answer = client.get(path)
            assert_equal(answer.status, 200)
            assert_equal(answer.text(), "ok\n")
            assert_equal(
                answer.headers.get("Cache-Control").value(), "no-store"
            )
            assert_equal(client.post(path, "").status, 405)
        var other = TestClient(
            Health(FnHandler(_home), live_path="/alive", ready_path="/ready"),
            http2=http2,
        )
        assert_equal(other.get("/-/live").text(), "home")
        assert_equal(other.get("/alive").text(), "ok\n")
        assert_equal(other.get("/ready").text(), "ok\n")


def test_a_check_that_fails_is_named_without_its_error() raises:
    var server = _server([HealthCheck("good", _good), HealthCheck("bad", _bad)])
    var answer = server.exchange(READY)
    assert_true(answer.startswith("HTTP/1.1 503 "), answer)
    assert_true(answer.endswith("\r\n\r\nbad\n"), answer)
    assert_false("secret" in answer)
    # The loop turns all the same.
    assert_true(server.exchange(LIVE).startswith("HTTP/1.1 200 "))
    assert_equal(Int(server.statistics().handler_errors), 0)
    _end(server^)


def test_results_are_used_for_a_second() raises:
    var server = _server([HealthCheck("good", _good)])
    var before = _RUNS.get_or_create_ptr()[]
    for _ in range(5):
        assert_true(server.exchange(READY).startswith("HTTP/1.1 200 "))
    assert_equal(_RUNS.get_or_create_ptr()[], before + 1)
    server.advance(999)
    _ = server.exchange(READY)
    assert_equal(_RUNS.get_or_create_ptr()[], before + 1)
    server.advance(2)
    _ = server.exchange(READY)
    assert_equal(_RUNS.get_or_create_ptr()[], before + 2)
    _end(server^)


def test_requests_at_the_same_time_share_a_run() raises:
    var server = _server([HealthCheck("slow", _slow)])
    var before = _RUNS.get_or_create_ptr()[]
    var first = server.connect()
    first.send(READY)
    server.settle()
    var others = [server.connect(), server.connect(), server.connect()]
    for other in others:
        other.send(READY)
    server.settle()
    server.advance(501)
    for peer in [first, others[0], others[1], others[2]]:
        var answer = server.receive(peer)
        assert_true(
            StringSlice(unsafe_from_utf8=Span(answer)).startswith(
                "HTTP/1.1 200 "
            )
        )
        peer.close()
    server.settle()
    assert_equal(_RUNS.get_or_create_ptr()[], before + 1)
    _end(server^)


def test_a_run_whose_client_leaves_counts_for_nothing() raises:
    var server = _server([HealthCheck("slow", _slow)])
    var before = _RUNS.get_or_create_ptr()[]
    var first = server.connect()
    first.send(READY)
    server.settle()
    var other = server.connect()
    other.send(READY)
    server.settle()
    first.close()
    server.advance(100)
    server.advance(501)
    var answer = server.receive(other)
    assert_true(
        StringSlice(unsafe_from_utf8=Span(answer)).startswith("HTTP/1.1 200 ")
    )
    assert_equal(_RUNS.get_or_create_ptr()[], before + 2)
    other.close()
    server.settle()
    _end(server^)


def test_a_check_may_wait_for_a_second() raises:
    var server = _server([HealthCheck("stuck", _stuck)])
    var peer = server.connect()
    peer.send(READY)
    server.advance(999)
    assert_equal(len(peer.received()), 0)
    server.advance(3)
    var answer = server.receive(peer)
    var text = String(StringSlice(unsafe_from_utf8=Span(answer)))
    assert_true(text.startswith("HTTP/1.1 503 "), text)
    assert_true(text.endswith("\r\n\r\nstuck\n"), text)
    peer.close()
    server.settle()
    _end(server^)


def test_a_stopping_server_is_live_and_not_ready() raises:
    for probe, status, content in [
        (LIVE, StaticString("200"), StaticString("ok\n")),
        (READY, StaticString("503"), StaticString("stopping\n")),
    ]:
        var server = _server([HealthCheck("good", _good)])
        var peer = server.connect()
        peer.send(READY)
        var answer = server.receive(peer)
        assert_true(
            StringSlice(unsafe_from_utf8=Span(answer)).startswith(
                "HTTP/1.1 200 "
            )
        )
        server.begin_stop()
        peer.send(probe)
        answer = server.receive(peer)
        var text = String(StringSlice(unsafe_from_utf8=Span(answer)))
        assert_true(text.startswith(String("HTTP/1.1 ", status)), text)
        assert_true(text.endswith(content), text)
        peer.close()
        _end(server^)


def test_a_check_reads_the_state() raises:
    var client = TestClient(
        App(
            state=7,
            handler=Health(
                FnHandler(_home), ready=[HealthCheck("state", _has_seven)]
            ),
        )
    )
    assert_equal(client.get("/-/ready").status, 200)


comptime TESTS = __functions_in_module()

comptime _RUNS = _Global[StorageType=Int, "flare_tests_health_runs", _no_runs]


def _no_runs() -> Int:
    return 0


def _home(req: Request) raises -> Response:
    return ok("home")


def _good(req: Request) raises:
    _RUNS.get_or_create_ptr()[] += 1


def _bad(req: Request) raises:
    raise Error("a secret")


def _slow(req: Request) raises:
    _RUNS.get_or_create_ptr()[] += 1
    sleep(500)


def _stuck(req: Request) raises:
    sleep(60_000)


def _has_seven(req: Request) raises:
    if State[Int].of(req)[] != 7:
        raise Error("another state")


def _server(
    var ready: List[HealthCheck],
) -> TestServer[Health[FnHandler]]:
    return TestServer(Health(FnHandler(_home), ready=ready^))


def _end(var server: TestServer[Health[FnHandler]]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
