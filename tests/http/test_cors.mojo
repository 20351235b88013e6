"""Tests which pages of other origins may read responses."""

from std.testing import assert_raises

from flare.http import (
    Compress,
    Cors,
    CorsConfig,
    Handler,
    Request,
    Response,
    ResponseStream,
    Router,
    SecurityHeaders,
    ok,
    unauthorized,
    unprocessable,
)
from flare.message import HeaderMap
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true


def test_only_pages_of_listed_origins_may_read_responses() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("https://a.example", True),
        ("https://x.b.example", True),
        ("https://x.y.b.example", True),
        ("https://evilb.example", False),
        ("https://b.example", False),
        ("https://a.example.evil.net", False),
        ("https://evila.example", False),
        ("http://a.example", False),
        ("https://a.example:8443", False),
        ("https://a.example/", False),
        ("null", False),
        ("*", False),
    ]
    for http2 in [False, True]:
        var client = TestClient(Cors(_Inner(), _config()), http2=http2)
        for origin, is_allowed in rows:
            for path in ["/", "/raise", "/rejected", "/denied", "/own"]:
                var answer = client.get(path, _fields(origin))
                var text = String(path, " ", origin)
                assert_equal(
                    _value(answer, "Access-Control-Allow-Origin"),
                    origin if is_allowed else "",
                    text,
                )
                assert_equal(
                    _value(answer, "Access-Control-Allow-Credentials"),
                    "true" if is_allowed else "",
                    text,
                )
                assert_equal(
                    _value(answer, "Access-Control-Expose-Headers"),
                    "ETag, X-Total" if is_allowed else "",
                    text,
                )
                assert_equal(answer.headers.count("Vary"), 1, text)
                assert_equal(_value(answer, "Vary"), "Origin", text)
                assert_equal(
                    answer.headers.count("Access-Control-Allow-Origin"),
                    Int(is_allowed),
                    text,
                )


def test_every_answer_says_that_it_depends_on_the_origin() raises:
    var statuses: List[Tuple[String, Int]] = [
        ("/", 200),
        ("/raise", 500),
        ("/rejected", 422),
        ("/denied", 401),
        ("/stream", 500),
    ]
    for http2 in [False, True]:
        var client = TestClient(Cors(_Inner(), _config()), http2=http2)
        for path, status in statuses:
            for method in ["GET", "POST", "OPTIONS"]:
                var answer = client.request(method, path)
                assert_equal(answer.status, status, path)
                assert_equal(_value(answer, "Vary"), "Origin", path)
                assert_equal(
                    _value(answer, "Access-Control-Allow-Origin"), "", path
                )
        # Paths and methods that no route has.
        var router = Router()
        router.get("/", _nothing)
        var routed = TestClient(Cors(router^, _config()), http2=http2)
        assert_equal(_value(routed.get("/missing"), "Vary"), "Origin")
        assert_equal(_value(routed.request("PUT", "/"), "Vary"), "Origin")
        assert_equal(_value(routed.get("/a/%2e%2e"), "Vary"), "Origin")


def test_other_fields_of_vary_are_kept() raises:
    for http2 in [False, True]:
        var client = TestClient(
            Cors(SecurityHeaders(Compress(_Inner())), _config()), http2=http2
        )
        for path in ["/long", "/raise"]:
            var answer = client.get(path, _fields("https://a.example"))
            var all = String()
            for value in answer.headers.values("Vary"):
                all.write(value, ";")
            assert_equal(all, "Accept-Encoding;Origin;", path)
            assert_equal(
                _value(answer, "Access-Control-Allow-Origin"),
                "https://a.example",
            )
            assert_equal(_value(answer, "X-Frame-Options"), "DENY")
        for path in ["/varies", "/varies-on-all"]:
            assert_equal(client.get(path).headers.count("Vary"), 1, path)


def test_a_preflight_is_answered_before_the_handler() raises:
    for http2 in [False, True]:
        var client = TestClient(Cors(_Inner(), _config()), http2=http2)
        for path in ["/denied", "/raise", "/missing"]:
            var answer = client.request(
                "OPTIONS", path, "", _preflight("https://a.example", "PATCH")
            )
            assert_equal(answer.status, 204)
            assert_equal(
                _value(answer, "Access-Control-Allow-Origin"),
                "https://a.example",
            )
            assert_equal(
                _value(answer, "Access-Control-Allow-Credentials"), "true"
            )
            assert_equal(
                _value(answer, "Access-Control-Allow-Methods"),
                "GET, HEAD, POST, PUT, PATCH, DELETE",
            )
            assert_equal(_value(answer, "Access-Control-Max-Age"), "600")
            assert_equal(
                _value(answer, "Vary"),
                (
                    "Origin, Access-Control-Request-Method,"
                    " Access-Control-Request-Headers"
                ),
            )
            assert_equal(_value(answer, "Access-Control-Allow-Headers"), "")


def test_a_preflight_of_another_origin_gets_no_permission() raises:
    for http2 in [False, True]:
        var client = TestClient(Cors(_Inner(), _config()), http2=http2)
        for origin in ["https://evil.net", "https://evilb.example", "null"]:
            var answer = client.request(
                "OPTIONS", "/", "", _preflight(origin, "GET")
            )
            assert_equal(answer.status, 204)
            assert_equal(String(answer.text()), "")
            for field in answer.headers:
                assert_true(
                    not field.name.startswith("Access-Control-"),
                    String(field.name),
                )
            assert_true(_value(answer, "Vary").startswith("Origin, "))
        var twice = _preflight("https://a.example", "GET")
        twice.append("Origin", "https://a.example")
        var answer = client.request("OPTIONS", "/", "", twice)
        assert_equal(_value(answer, "Access-Control-Allow-Origin"), "")


def test_options_without_a_method_asked_for_is_no_preflight() raises:
    for http2 in [False, True]:
        var client = TestClient(Cors(_Inner(), _config()), http2=http2)
        var answer = client.request(
            "OPTIONS", "/denied", "", _fields("https://a.example")
        )
        assert_equal(answer.status, 401)
        var fields = HeaderMap()
        fields.append("Access-Control-Request-Method", "PUT")
        answer = client.request("OPTIONS", "/denied", "", fields)
        assert_equal(answer.status, 401)


def test_fields_that_a_page_asks_for_are_mirrored_or_listed() raises:
    # What it asks for, what it may send.
    var rows: List[Tuple[String, String]] = [
        ("x-one", "x-one"),
        ("content-type,x-one", "content-type,x-one"),
        ("x-one, x-two", "x-one, x-two"),
        ("x-one; x-two", ""),
        ("x-<one>", ""),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, ""),
    ]
    var config = _config()
    for http2 in [False, True]:
        var client = TestClient(Cors(_Inner(), config), http2=http2)
        for asked, allowed in rows:
            var fields = _preflight("https://a.example", "PUT")
            fields.append("Access-Control-Request-Headers", asked)
            var answer = client.request("OPTIONS", "/", "", fields)
            assert_equal(
                _value(answer, "Access-Control-Allow-Headers"), allowed
            )
    config.request_headers = List[String](["Content-Type", "X-One"])
    var client = TestClient(Cors(_Inner(), config))
    var fields = _preflight("https://a.example", "PUT")
    fields.append("Access-Control-Request-Headers", "x-other")
    assert_equal(
        _value(
            client.request("OPTIONS", "/", "", fields),
            "Access-Control-Allow-Headers",
        ),
        "Content-Type, X-One",
    )


def test_every_page_may_read_what_is_public() raises:
    for http2 in [False, True]:
        var client = TestClient(
            Cors(_Inner(), CorsConfig(origins=["*"])), http2=http2
        )
        # All answers are the same, so a cache may give any to any page.
        for path in ["/", "/raise"]:
            for origin in ["", "https://evil.net", "null"]:
                var answer = client.get(path, _fields(origin))
                assert_equal(_value(answer, "Access-Control-Allow-Origin"), "*")
                assert_equal(_value(answer, "Vary"), "")
                assert_equal(
                    _value(answer, "Access-Control-Allow-Credentials"), ""
                )
        var answer = client.request(
            "OPTIONS", "/", "", _preflight("null", "PUT")
        )
        assert_equal(_value(answer, "Access-Control-Allow-Origin"), "*")


def test_null_is_an_origin_only_if_it_is_listed() raises:
    var client = TestClient(
        Cors(_Inner(), CorsConfig(origins=["https://a.example", "null"]))
    )
    var answer = client.get("/", _fields("null"))
    assert_equal(_value(answer, "Access-Control-Allow-Origin"), "null")
    assert_equal(_value(answer, "Vary"), "Origin")


def test_a_private_network_is_open_only_by_choice() raises:
    var fields = _preflight("https://a.example", "GET")
    fields.append("Access-Control-Request-Private-Network", "true")
    comptime NAME: StaticString = "Access-Control-Allow-Private-Network"
    var config = _config()
    var client = TestClient(Cors(_Inner(), config))
    assert_equal(_value(client.request("OPTIONS", "/", "", fields), NAME), "")
    config.private_network = True
    client = TestClient(Cors(_Inner(), config))
    var answer = client.request("OPTIONS", "/", "", fields)
    assert_equal(_value(answer, NAME), "true")
    assert_equal(answer.headers.count("Vary"), 2)
    fields.set("Origin", "https://evil.net")
    assert_equal(_value(client.request("OPTIONS", "/", "", fields), NAME), "")


def test_a_configuration_that_opens_too_much_is_refused_at_once() raises:
    var rows: List[Tuple[CorsConfig, String]] = [
        (CorsConfig(origins=[]), "http.bad_cors origins"),
        (CorsConfig(origins=["*"], credentials=True), "http.bad_cors cred"),
        (CorsConfig(origins=["null"], credentials=True), "http.bad_cors cred"),
        (
            CorsConfig(origins=["https://a.example", "*"]),
            "http.bad_cors origins",
        ),
        (CorsConfig(origins=["https://a.example/"]), "message.bad_origin"),
        (CorsConfig(origins=["https://*"]), "message.bad_origin"),
        (CorsConfig(origins=["*"], methods=["GET, PUT"]), "http.bad_cors met"),
        (
            CorsConfig(
                origins=["https://a.example"],
                credentials=True,
                exposed_headers=["*"],
            ),
            "http.bad_cors exp",
        ),
        (
            CorsConfig(
                origins=["*"],
                request_headers=List[String](["X-One\r\nX-Two"]),
            ),
            "http.bad_cors request",
        ),
        (CorsConfig(origins=["*"], max_age_seconds=-1), "http.bad_cors max"),
        (CorsConfig(origins=["*"], max_age_seconds=86401), "http.bad_cors max"),
    ]
    for config, text in rows:
        with assert_raises(contains=text):
            _ = Cors(_Inner(), config)
    for seconds in [0, 86400]:
        _ = Cors(_Inner(), CorsConfig(origins=["*"], max_age_seconds=seconds))


comptime TESTS = __functions_in_module()


def _config() -> CorsConfig:
    return CorsConfig(
        origins=["https://a.example", "https://*.b.example"],
        credentials=True,
        exposed_headers=["ETag", "X-Total"],
    )


def _fields(origin: StringSlice) raises -> HeaderMap:
    var fields = HeaderMap()
    if origin:
        fields.append("Origin", origin)
    return fields^


def _preflight(origin: StringSlice, method: StringSlice) raises -> HeaderMap:
    var fields = _fields(origin)
    fields.append("Access-Control-Request-Method", method)
    return fields^


def _value(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String()


def _fail(req: Request, stream: ResponseStream) raises:
    raise Error("on purpose")


def _nothing(req: Request) raises -> Response:
    return ok()


@fieldwise_init
struct _Inner(Handler):
    def serve(self, req: Request) raises -> Response:
        if req.path == "/raise":
            raise Error("on purpose")
        if req.path == "/rejected":
            return unprocessable("no number")
        if req.path == "/stream":
            return Response.stream(_fail)
        if req.path == "/denied":
            return unauthorized("Bearer")
        var response = ok("inner")
        if req.path == "/own":
            response.headers.set("Access-Control-Allow-Origin", "*")
            response.headers.set("Access-Control-Allow-Credentials", "true")
        elif req.path == "/long":
            response = ok("long " * 1000)
        elif req.path == "/varies":
            response.headers.set("Vary", "Accept, origin")
        elif req.path == "/varies-on-all":
            response.headers.set("Vary", "*")
        return response^
