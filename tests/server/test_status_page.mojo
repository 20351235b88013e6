"""Asks for the status page of a server on a simulated network, whose clients
have addresses of 10.0.0.0/8."""

from flare.http import (
    AllowOnly,
    BasicAuth,
    FnHandler,
    Request,
    Response,
    Router,
    ServerConfig,
    StatusPage,
    ok,
)
from flare.http.server.records.log import LogSink
from flare.http.status.page_document import CONTENT_SECURITY_POLICY, DOCUMENT
from flare.json import Value, loads
from flare.metrics import Metrics
from flare.net import IpNetwork
from flare.runtime import sleep
from flare.testing.test_server import TestServer
from std.testing import assert_raises

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.counting_server import counting_server

comptime _BASIC: StaticString = "Authorization: Basic "
# `operator:secret` and `operator:Secret`.
comptime _RIGHT: StaticString = "b3BlcmF0b3I6c2VjcmV0"
comptime _WRONG: StaticString = "b3BlcmF0b3I6U2VjcmV0"


def test_the_page_has_its_policy_and_is_not_stored() raises:
    var server = _server(Metrics(), _near())
    var text = server.exchange(_asked("Accept: text/html,*/*;q=0.8\r\n"))
    assert_true(text.startswith("HTTP/1.1 200 OK\r\n"))
    assert_true(text.endswith(DOCUMENT))
    for field in [
        String("Content-Security-Policy: ", CONTENT_SECURITY_POLICY),
        String("Cache-Control: no-store"),
        String("X-Robots-Tag: noindex"),
        String("X-Content-Type-Options: nosniff"),
        String("Cross-Origin-Resource-Policy: same-origin"),
        String("Referrer-Policy: no-referrer"),
        String("Vary: Accept"),
        String("Content-Type: text/html; charset=utf-8"),
    ]:
        assert_true(String("\r\n", field, "\r\n") in text, field)
    _end(server^)


def test_a_stranger_is_refused() raises:
    var server = _server(Metrics(), StatusPage(Metrics()))
    for accept in ["text/html", "text/event-stream", "application/json", "*/*"]:
        var text = server.exchange(_asked(String("Accept: ", accept, "\r\n")))
        assert_true(text.startswith("HTTP/1.1 403 "), text)
        assert_true("for other addresses" in text)
        assert_true("\r\nCache-Control: no-store\r\n" in text)
    _end(server^)


def test_only_listed_networks_see_the_page() raises:
    var rows: List[Tuple[String, Int]] = [
        ("10.0.0.0/8", 200),
        ("11.0.0.0/8", 403),
        ("0.0.0.0/0", 200),
        ("::/0", 403),
    ]
    for row in rows:
        var metrics = Metrics()
        var page = StatusPage(metrics, allow=[IpNetwork.parse(row[0])])
        var server = _server(metrics, page^)
        assert_equal(_status(server, ""), row[1], row[0])
        _end(server^)


def test_what_a_proxy_forwards_is_refused() raises:
    var server = _server(Metrics(), _near())
    for field in [
        "Forwarded: for=127.0.0.1",
        "X-Forwarded-For: 127.0.0.1",
        "x-forwarded-for: ",
        "X-Forwarded-Host: a",
        "X-Forwarded-Proto: https",
        "Via: 1.1 proxy",
        "X-Real-IP: 10.0.0.1",
        "CF-Connecting-IP: 10.0.0.1",
        "CDN-Loop: a",
    ]:
        assert_equal(_status(server, String(field, "\r\n")), 403, field)
    for field in ["X-Forwarde: a", "Accept: */*", "X-Real-I: a"]:
        assert_equal(_status(server, String(field, "\r\n")), 200, field)
    # As nginx asks without further configuration.
    var old = server.exchange(
        "GET /-/flare HTTP/1.0\r\nHost: localhost\r\n\r\n"
    )
    assert_true(old.startswith("HTTP/1.1 403 "), old)
    _end(server^)


def test_a_client_that_a_proxy_hides_is_refused() raises:
    var rows: List[Tuple[String, Int]] = [
        ("PROXY TCP4 127.0.0.1 127.0.0.1 5 80\r\n", 200),
        ("PROXY TCP6 ::1 ::1 5 80\r\n", 200),
        ("PROXY TCP4 192.0.2.9 127.0.0.1 5 80\r\n", 403),
        ("PROXY UNKNOWN\r\n", 403),
        ("PROXY UNKNOWN ffff::1 ffff::2 5 80\r\n", 403),
    ]
    for row in rows:
        var metrics = Metrics()
        var config = ServerConfig(log=LogSink.nowhere())
        config.trusted_proxies = [IpNetwork.parse("10.0.0.0/8")]
        var router = Router()
        router.get("/-/flare", StatusPage(metrics))
        var server = TestServer(router^, config=config)
        var text = server.exchange(String(row[0], _asked("")))
        assert_equal(Int(text[byte=9:12]), row[1], row[0])
        _end(server^)


def test_other_names_of_the_host_are_refused() raises:
    var metrics = Metrics()
    var page = StatusPage(
        metrics,
        allow=[IpNetwork.parse("10.0.0.0/8")],
        hosts=[String("status.example")],
    )
    var server = _server(metrics, page^)
    var rows: List[Tuple[String, Int]] = [
        ("localhost", 200),
        ("LocalHost:8080", 200),
        ("a.localhost", 200),
        ("127.0.0.1", 200),
        ("10.1.2.3:80", 200),
        ("[::1]:8080", 200),
        ("status.example", 200),
        ("STATUS.example:8080", 200),
        ("evil.example", 403),
        ("status.example.evil.example", 403),
        ("evilstatus.example", 403),
        ("localhost.evil.example", 403),
        ("notlocalhost", 403),
        (".localhost", 403),
        ("2130706433", 403),
        ("127.0.0.1.evil.example", 403),
    ]
    for row in rows:
        var text = server.exchange(
            String("GET /-/flare HTTP/1.1\r\nHost: ", row[0], "\r\n\r\n")
        )
        assert_equal(Int(text[byte=9:12]), row[1], row[0])
    _end(server^)


def test_credentials_admit_from_anywhere() raises:
    var metrics = Metrics()
    var page = StatusPage(metrics, credentials=BasicAuth("operator", "secret"))
    var server = _server(metrics, page^)
    var rows: List[Tuple[String, Int]] = [
        ("", 401),
        (String(_BASIC, _RIGHT, "\r\n"), 200),
        (String("authorization: basic  ", _RIGHT, " \r\n"), 200),
        (String(_BASIC, _RIGHT, "\r\nX-Forwarded-For: 192.0.2.9\r\n"), 200),
        (String(_BASIC, _WRONG, "\r\n"), 401),
        (String(_BASIC, _RIGHT, "=\r\n"), 401),
        (String(_BASIC, "\r\n"), 401),
        (String("Authorization: Bearer ", _RIGHT, "\r\n"), 401),
        (String(_BASIC, _WRONG, "\r\n", _BASIC, _RIGHT, "\r\n"), 401),
        (String(_BASIC, _RIGHT, "\r\n", _BASIC, _RIGHT, "\r\n"), 401),
    ]
    for row in rows:
        assert_equal(_status(server, row[0]), row[1], row[0])
    var text = server.exchange(_asked(""))
    assert_true('\r\nWWW-Authenticate: Basic realm="restricted"' in text)
    _end(server^)


def test_credentials_and_networks_must_both_fit() raises:
    for row in [("10.0.0.0/8", 200), ("11.0.0.0/8", 403)]:
        var metrics = Metrics()
        var page = StatusPage(
            metrics,
            allow=[IpNetwork.parse(row[0])],
            credentials=BasicAuth("operator", "secret"),
        )
        var server = _server(metrics, page^)
        assert_equal(_status(server, String(_BASIC, _RIGHT, "\r\n")), row[1])
        assert_equal(_status(server, ""), 401 if row[1] == 200 else 403)
        _end(server^)


def test_any_route_can_have_the_same_rules() raises:
    var near = AllowOnly(FnHandler(_private), networks=_own_networks())
    var known = AllowOnly(
        FnHandler(_private), credentials=BasicAuth("operator", "secret")
    )
    var router = Router()
    router.get("/local", AllowOnly(FnHandler(_private)))
    router.get("/near", near^)
    router.get("/known", known^)
    var server = TestServer(router^, config=ServerConfig(log=LogSink.nowhere()))
    var right = String(_BASIC, _RIGHT, "\r\n")
    var wrong = String(_BASIC, _WRONG, "\r\n")
    var rows: List[Tuple[String, String, Int]] = [
        # The clients of the simulated network have other addresses.
        (String("/local"), String(), 403),
        (String("/near"), String(), 200),
        (String("/near"), String("X-Forwarded-For: 10.0.0.9\r\n"), 403),
        (String("/known"), String(), 401),
        (String("/known"), right, 200),
        (String("/known"), wrong, 401),
    ]
    for path, fields, status in rows:
        var text = server.exchange(
            String(
                "GET ", path, " HTTP/1.1\r\nHost: localhost\r\n", fields, "\r\n"
            )
        )
        assert_equal(Int(text[byte=9:12]), status, String(path, " ", fields))
        assert_equal("private" in text, status == 200)
        assert_true(status == 200 or "no-store" in text)
    _end(server^)


def test_bad_rules_are_refused() raises:
    with assert_raises(contains="http.bad_access credentials"):
        _ = StatusPage(Metrics(), credentials=BasicAuth("operator", ""))
    with assert_raises(contains="http.bad_access credentials"):
        _ = StatusPage(Metrics(), credentials=BasicAuth("a:b", "secret"))
    with assert_raises(contains="http.bad_access hosts"):
        _ = StatusPage(Metrics(), hosts=[String()])


def test_pages_of_other_sites_get_no_numbers() raises:
    var server = _server(Metrics(), _near())
    var rows: List[Tuple[String, Int]] = [
        ("Sec-Fetch-Site: same-origin\r\n", 200),
        ("Sec-Fetch-Site: none\r\n", 200),
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 403),
        ("Origin: http://localhost\r\n", 200),
        ("Origin: http://evil.example\r\n", 403),
        ("Origin: null\r\n", 403),
    ]
    for row in rows:
        assert_equal(
            _status(server, String("Accept: application/json\r\n", row[0])),
            row[1],
            row[0],
        )
    # A link of another site may lead here.
    assert_equal(
        _status(server, "Accept: text/html\r\nSec-Fetch-Site: cross-site\r\n"),
        200,
    )
    _end(server^)


def test_the_format_follows_the_wish() raises:
    var server = _server(Metrics(), _near())
    var rows: List[Tuple[String, String, String]] = [
        ("", "", "text/plain; charset=utf-8"),
        ("", "Accept: */*\r\n", "text/plain; charset=utf-8"),
        ("", "Accept: text/html\r\n", "text/html; charset=utf-8"),
        ("", "Accept: application/json\r\n", "application/json"),
        ("?format=json", "Accept: text/html\r\n", "application/json"),
        ("?format=json&since=0", "", "application/json"),
        ("?format=text", "Accept: text/html\r\n", "text/plain; charset=utf-8"),
        ("?format=x", "Accept: text/html\r\n", "text/plain; charset=utf-8"),
    ]
    for row in rows:
        var text = server.exchange(_asked(row[1], query=row[0]))
        assert_true(text.startswith("HTTP/1.1 200 "), text)
        assert_true(
            String("\r\nContent-Type: ", row[2], "\r\n") in text, row[0]
        )
    var refused = server.exchange(
        "POST /-/flare HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    )
    assert_true(refused.startswith("HTTP/1.1 405 "), refused)
    var head = server.exchange(
        "HEAD /-/flare?format=events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert_true("\r\nContent-Type: text/event-stream\r\n" in head)
    _end(server^)


def test_an_object_has_all_counts_since_the_start() raises:
    var server = _server(Metrics(), slow_ms=30)
    for ms in [0, 10, 40]:
        _ = server.exchange(
            String("GET /wait/", ms, " HTTP/1.1\r\nHost: a\r\n\r\n")
        )
    _ = server.exchange("GET /fail HTTP/1.1\r\nHost: a\r\n\r\n")
    _ = server.exchange("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
    # The page does not count itself.
    _ = server.exchange(_asked(""))
    var found = _object(server, "?format=json")
    assert_true(found["counts"].bool_value())
    assert_equal(found["totals"]["requests"].int_value(), 7)
    assert_equal(found["totals"]["failed"].int_value(), 1)
    assert_equal(found["connections"].int_value(), 1)
    assert_equal(len(found["workers"]), 1)
    assert_equal(len(found["routes"]), 3)
    assert_equal(found["routes"][0]["route"].string_value(), "GET /wait/:ms")
    assert_equal(found["routes"][0]["requests"].int_value(), 3)
    assert_equal(found["routes"][0]["errors"].int_value(), 0)
    var p50 = found["routes"][0]["p50_us"].int_value()
    assert_true(9000 <= p50 <= 11_300, String(p50))
    var p99 = found["routes"][0]["p99_us"].int_value()
    assert_true(36_000 <= p99 <= 45_000, String(p99))
    assert_equal(found["routes"][1]["route"].string_value(), "GET /fail")
    assert_equal(found["routes"][1]["errors"].int_value(), 1)
    assert_equal(found["routes"][2]["route"].string_value(), "GET (no route)")
    assert_equal(len(found["slow"]), 1)
    var slow = found["slow"][0]
    assert_equal(slow["route"].string_value(), "GET /wait/:ms")
    assert_equal(slow["status"].int_value(), 200)
    assert_equal(slow["worker"].int_value(), 0)
    assert_equal(slow["request_id"].int_value(), 3)
    assert_true(40_000 <= slow["duration_us"].int_value() < 41_000)
    var text = server.exchange(_asked(""))
    assert_true("GET /wait/:ms" in text)
    assert_true("worker 0 request 3" in text)
    _end(server^)


def test_a_registry_without_a_server_says_so() raises:
    var router = Router()
    router.get(
        "/-/flare",
        StatusPage(Metrics(), allow=[IpNetwork.parse("10.0.0.0/8")]),
    )
    var server = TestServer(router^)
    assert_true("ServerConfig" in server.exchange(_asked("")))
    assert_false(_object(server, "?format=json")["counts"].bool_value())
    _end(server^)


comptime TESTS = __functions_in_module()


def _private(req: Request) raises -> Response:
    return ok("private")


def _own_networks() raises -> List[IpNetwork]:
    return [IpNetwork.parse("10.0.0.0/8")]


def _wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def _fail(req: Request) raises -> Response:
    raise Error("of the test")


def _near() raises -> StatusPage:
    return StatusPage(Metrics(), allow=[IpNetwork.parse("10.0.0.0/8")])


def _server(
    metrics: Metrics, var page: StatusPage
) raises -> TestServer[Router[]]:
    var router = Router()
    router.get("/wait/:ms", _wait)
    router.get("/fail", _fail)
    router.get("/-/flare", page^)
    return counting_server(router^, metrics)


def _server(metrics: Metrics, *, slow_ms: Int) raises -> TestServer[Router[]]:
    return _server(
        metrics,
        StatusPage(
            metrics, allow=[IpNetwork.parse("10.0.0.0/8")], slow_ms=slow_ms
        ),
    )


def _asked(fields: StringSlice, *, query: StringSlice = "") -> String:
    return String(
        "GET /-/flare",
        query,
        " HTTP/1.1\r\nHost: localhost\r\n",
        fields,
        "\r\n",
    )


def _status(server: TestServer, fields: StringSlice) raises -> Int:
    return Int(server.exchange(_asked(fields))[byte=9:12])


def _object(server: TestServer, query: StringSlice) raises -> Value:
    var text = server.exchange(_asked("", query=query))
    return loads(text[byte = text.find("\r\n\r\n") + 4 :])


def _end(var server: TestServer[_]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
