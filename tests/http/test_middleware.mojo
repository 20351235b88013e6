"""Tests handlers that go around handlers."""

from std.ffi import _Global
from std.testing import assert_raises

from flare.http import (
    AddHeader,
    CatchErrors,
    Compress,
    Handler,
    LogSink,
    Logger,
    RequestId,
    Request,
    Response,
    SecureOnly,
    SecurityHeaders,
    ok,
)
from flare.message import HeaderMap
from flare.testing import TestClient
from tests.asserting import assert_equal, assert_true
from tests.http.support import asked


def test_a_logger_writes_method_target_and_status() raises:
    for http2 in [False, True]:
        var client = TestClient(Logger(_Inner(), LogSink(_keep)), http2=http2)
        assert_equal(asked(client, "/a?b=1"), "200 inner")
        var line = _LINE.get_or_create_ptr()[]
        assert_true(line.startswith("GET /a?b=1 200 "), line)
        assert_true(line.endswith(" us"), line)


def test_a_logger_writes_errors_and_passes_them_on() raises:
    for http2 in [False, True]:
        var client = TestClient(Logger(_Inner(), LogSink(_keep)), http2=http2)
        assert_equal(
            asked(client, "/raise", "POST"), "500 Internal Server Error"
        )
        var line = _LINE.get_or_create_ptr()[]
        assert_true(line.startswith("POST /raise 500 "), line)


def test_a_header_is_added_where_it_is_missing() raises:
    for http2 in [False, True]:
        var client = TestClient(
            AddHeader(_Inner(), name="Server", value="flare"), http2=http2
        )
        assert_equal(_value(client.get("/"), "server"), "flare")
        var own = client.get("/own")
        assert_equal(_value(own, "Server"), "own")
        assert_equal(own.headers.count("Server"), 1)


def test_a_header_that_is_none_is_refused_at_once() raises:
    with assert_raises(contains="message.bad_header_name"):
        _ = AddHeader(_Inner(), name="two words", value="x")
    with assert_raises(contains="message.bad_header_value"):
        _ = AddHeader(_Inner(), name="A", value="x\r\nB: y")


def test_security_headers_are_added_where_they_are_missing() raises:
    for http2 in [False, True]:
        var client = TestClient(SecurityHeaders(_Inner()), http2=http2)
        var response = client.get("/")
        assert_equal(_value(response, "X-Content-Type-Options"), "nosniff")
        assert_equal(_value(response, "X-Frame-Options"), "DENY")
        assert_equal(_value(response, "Referrer-Policy"), "same-origin")
        var own = client.get("/own")
        assert_equal(_value(own, "X-Frame-Options"), "SAMEORIGIN")
        assert_equal(own.headers.count("X-Frame-Options"), 1)


def test_a_request_without_tls_is_sent_to_the_authority_it_is_for() raises:
    var client = TestClient(SecureOnly(_Inner()))
    var rows: List[Tuple[String, String]] = [
        ("GET /a HTTP/1.1\r\nHost: a.test:80\r\n", "https://a.test/a"),
        (
            "GET http://b.test/a?c HTTP/1.1\r\nHost: a.test\r\n",
            "https://b.test/a?c",
        ),
        ("GET http://b.test HTTP/1.0\r\n", "https://b.test"),
        (
            "GET /é?q=100% HTTP/1.1\r\nHost: a.test\r\n",
            "https://a.test/%C3%A9?q=100%25",
        ),
    ]
    for row in rows:
        var answer = client.request_octets(String(row[0], "\r\n").as_bytes())
        assert_equal(answer.status, 308)
        assert_equal(answer.headers.get("Location").value(), row[1])


def test_errors_are_answered_by_the_users_function() raises:
    for http2 in [False, True]:
        var client = TestClient(CatchErrors(_Inner(), _explain), http2=http2)
        assert_equal(asked(client, "/"), "200 inner")
        assert_equal(asked(client, "/raise"), "200 caught on purpose at /raise")


def test_each_response_has_a_request_id() raises:
    for http2 in [False, True]:
        var client = TestClient(RequestId(_Inner()), http2=http2)
        var text = _value(client.get("/"), "X-Request-Id")
        assert_true(text.endswith("-0-1"), text)
        var headers = HeaderMap()
        headers.set("X-Request-Id", "from-outside")
        var other = _value(client.get("/", headers), "X-Request-Id")
        assert_true(other.endswith("-0-2"), other)


def test_an_incoming_request_id_is_kept_only_where_trusted() raises:
    for http2 in [False, True]:
        var client = TestClient(
            RequestId(_Inner(), trusts_incoming=True), http2=http2
        )
        var rows: List[Tuple[String, Bool]] = [
            ("from-outside", True),
            ("x" * 64, True),
            ("x" * 65, False),
            ("two words", False),
        ]
        for row in rows:
            var headers = HeaderMap()
            headers.set("X-Request-Id", row[0])
            var text = _value(client.get("/", headers), "X-Request-Id")
            assert_equal(text == row[0], row[1], row[0])


def test_an_answer_to_an_error_has_the_fields_too() raises:
    for http2 in [False, True]:
        var client = TestClient(
            AddHeader(
                SecurityHeaders(RequestId(Compress(_Inner()))),
                name="Server",
                value="flare",
            ),
            http2=http2,
        )
        var response = client.get("/raise")
        assert_equal(response.status, 500)
        assert_equal(_value(response, "Server"), "flare")
        assert_equal(_value(response, "X-Frame-Options"), "DENY")
        assert_equal(_value(response, "Vary"), "Accept-Encoding")
        assert_true(_value(response, "X-Request-Id").byte_length() > 4)
        assert_equal(_value(client.get("/own"), "Server"), "own")
        # What a function outside answers is its own.
        var caught = TestClient(
            CatchErrors(SecurityHeaders(_Inner()), _explain), http2=http2
        ).get("/raise")
        assert_equal(caught.status, 200)
        assert_equal(_value(caught, "X-Frame-Options"), "")


def test_middleware_nests() raises:
    for http2 in [False, True]:
        var client = TestClient(
            SecurityHeaders(
                CatchErrors(Logger(_Inner(), LogSink(_keep)), _explain)
            ),
            http2=http2,
        )
        var response = client.get("/raise")
        assert_equal(String(response.text()), "caught on purpose at /raise")
        assert_equal(_value(response, "X-Frame-Options"), "DENY")
        assert_true(
            _LINE.get_or_create_ptr()[].startswith("GET /raise 500 "), "logged"
        )


def _no_line() -> String:
    return String()


def _keep(line: StringSlice[ImmUntrackedOrigin]):
    try:
        _LINE.get_or_create_ptr()[] = String(line)
    except:
        pass


def _value(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String()


def _explain(req: Request, error: Error) raises -> Response:
    return ok(String("caught ", error, " at ", req.path))


@fieldwise_init
struct _Inner(Handler):
    def serve(self, req: Request) raises -> Response:
        if req.path == "/raise":
            raise Error("on purpose")
        var response = ok("inner")
        if req.path == "/own":
            response.headers.set("Server", "own")
            response.headers.set("X-Frame-Options", "SAMEORIGIN")
        return response^


comptime _LINE = _Global["flare.tests.http.line", _no_line]
comptime TESTS = __functions_in_module()
