"""Tests what a handler learns of the servers that it asks meanwhile."""

from std.testing import assert_raises

from flare.http import (
    ClientConfig,
    ClientError,
    Cookie,
    CookieJar,
    Handler,
    HttpClient,
    Request,
    Response,
    ReverseProxy,
    ok,
)
from flare.net import SocketAddr
from flare.tcp import TcpListener
from flare.testing import TestClient

from tests.asserting import assert_equal
from tests.client.stand import OK_ANSWER, Ending, Reply, Stand, ok_answers
from tests.tcp.loops import on_each_backend

comptime _LONG_MS = 5_000
comptime _SHORT_MS = 30


def test_a_handler_asks_two_servers_at_once() raises:
    on_each_backend(_both)


def test_a_handler_learns_what_a_server_has_failed_with() raises:
    on_each_backend(_failures)


def test_a_handler_learns_that_nobody_listens() raises:
    on_each_backend(_nobody)


def test_a_reverse_proxy_keeps_no_cookies() raises:
    var proxy = ReverseProxy(
        "http://127.0.0.1:1", config=ClientConfig(cookies=CookieJar())
    )
    with assert_raises(contains="client.bad_config"):
        proxy.client.set_cookie("/", Cookie("mine", "1"))


@fieldwise_init
struct Gateway(Handler):
    """Answers with what two servers say, or with what one failed with."""

    var client: HttpClient
    var sound: String
    var doubtful: String
    var timeout_ms: Int

    def serve(self, req: Request) raises -> Response:
        var first = self.client.start("GET", self.sound)
        var second = self.client.start(
            "GET", self.doubtful, timeout_ms=self.timeout_ms
        )
        var text = String(first^.join().text())
        try:
            return ok(String(text, second^.join().text()))
        except e:
            var failure = ClientError.of(e)
            if not failure:
                raise e^
            var answer = ok(
                String(failure.value().kind, " ", failure.value().phase)
            )
            answer.status = 502
            return answer^


@fieldwise_init
struct Row(Copyable, Movable):
    """Holds how a server fails, and what its client reports."""

    var ending: Int
    var timeout_ms: Int
    var kind: Int


def _both() raises:
    var sound = Stand(ok_answers(3))
    var other = Stand(ok_answers(3))
    var gateway = TestClient(
        Gateway(HttpClient(), sound.url(), other.url(), _LONG_MS)
    )
    for _ in range(3):
        var response = gateway.get("/")
        assert_equal(response.status, 200)
        assert_equal(response.text(), "okok")
    assert_equal(sound.connections(), 1)
    assert_equal(other.connections(), 1)
    _ = gateway^
    sound^.join()
    other^.join()


def _failures() raises:
    var rows: List[Row] = [
        Row(Ending.CLOSE, _LONG_MS, ClientError.CLOSED),
        Row(Ending.RESET, _LONG_MS, ClientError.RESET),
        Row(Ending.HOLD, _SHORT_MS, ClientError.TIMEOUT),
    ]
    for row in rows:
        var sound = Stand(ok_answers(2))
        var other = Stand(
            [
                Reply("", row.ending),
                Reply(String(OK_ANSWER), Ending.KEEP),
            ]
        )
        var gateway = TestClient(
            Gateway(HttpClient(), sound.url(), other.url(), row.timeout_ms)
        )
        var response = gateway.get("/")
        assert_equal(response.status, 502)
        assert_equal(response.text(), String(row.kind, " head"))
        # The connection is given up, and the next request gets another.
        assert_equal(gateway.get("/").text(), "okok")
        assert_equal(other.connections(), 2)
        _ = gateway^
        sound^.join()
        other^.join()


def _nobody() raises:
    var nobody = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://127.0.0.1:", nobody.local_address().port)
    nobody.close()
    var sound = Stand(ok_answers(1))
    var gateway = TestClient(Gateway(HttpClient(), sound.url(), url, _LONG_MS))
    var response = gateway.get("/")
    assert_equal(response.text(), String(ClientError.REFUSED, " connect"))
    _ = gateway^
    sound^.join()


comptime TESTS = __functions_in_module()
