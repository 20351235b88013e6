"""Tests what handlers read from requests."""

from std.testing import assert_raises

from flare.http import (
    Body,
    HttpVersion,
    Method,
    NoState,
    Request,
    Response,
    Router,
    ok,
)
from flare.testing import TestClient
from tests.asserting import assert_equal, assert_false, assert_true
from tests.http.support import asked, asked_octets


def test_members_are_read_like_fields() raises:
    assert_equal(
        asked_octets(
            TestClient(_members),
            "GET /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-One: 1\r\n\r\n",
        ),
        "200 GET|/a%20b?c=d|/a%20b|c=d|HTTP/1.1|2|1",
    )
    assert_equal(
        asked_octets(TestClient(_members), "GET / HTTP/1.0\r\n\r\n"),
        "200 GET|/|/||HTTP/1.0|0|",
    )


def test_an_absolute_target_has_a_path_and_a_query() raises:
    assert_equal(
        asked_octets(
            TestClient(_members),
            "GET http://h/p?q HTTP/1.1\r\nHost: h\r\n\r\n",
        ),
        "200 GET|http://h/p?q|/p|q|HTTP/1.1|1|",
    )


def test_the_authority_is_that_of_the_target_or_of_host() raises:
    var rows: List[Tuple[String, String]] = [
        ("GET / HTTP/1.1\r\nHost: a.example:81\r\n\r\n", "a.example:81"),
        ("GET / HTTP/1.0\r\n\r\n", ""),
        (
            "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "b.example",
        ),
        (
            "GET http://b.example:8 HTTP/1.1\r\nX: y\r\nHost: a\r\n\r\n",
            "b.example:8",
        ),
        ("GET https://[::1]/ HTTP/1.0\r\n\r\n", "[::1]"),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "a"),
    ]
    for row in rows:
        # Whoever reads Host is not told otherwise.
        var host = row[1] if row[0].find("Host") >= 0 else String("none")
        assert_equal(
            asked_octets(TestClient(_authority), row[0]),
            String("200 ", row[1], "|", host),
        )


def test_octets_over_127_and_lone_percent_signs_are_read() raises:
    var client = TestClient(_routed())
    var rows: List[Tuple[String, String]] = [
        ("/text/café", "200 café"),
        ("/text/caf%C3é", "400 Bad Request"),
        ("/text/é/", "404 not found"),
        ("/query?q=100%", "200 100%"),
        ("/query?q=100%&q=%41", "200 100%"),
        ("/query?%=1&q=é%4", "200 é%4"),
        ("/text/100%", "400 request target is not valid"),
    ]
    for row in rows:
        assert_equal(
            asked_octets(
                client,
                String("GET ", row[0], " HTTP/1.1\r\nHost: h\r\n\r\n"),
            ),
            row[1],
            row[0],
        )


def test_methods_compare_with_texts() raises:
    var client = TestClient(_method)
    assert_equal(
        asked_octets(client, "PURGE / HTTP/1.1\r\nHost: h\r\n\r\n"),
        "200 PURGE False False True",
    )
    assert_equal(
        asked_octets(client, "POST / HTTP/1.1\r\nHost: h\r\n\r\n"),
        "200 POST False True False",
    )


def test_query_parameters_are_decoded() raises:
    assert_equal(
        asked_octets(
            TestClient(_query),
            "GET /?a=1&b=x%20y+z&a=2&c HTTP/1.1\r\nHost: h\r\n\r\n",
        ),
        "200 1|x y z||none",
    )


def test_the_content_is_read_as_text_and_octets() raises:
    var client = TestClient(_content)
    assert_equal(
        asked_octets(
            client,
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
        ),
        "200 hello 5 declared 5",
    )
    assert_equal(
        asked_octets(
            client,
            (
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:"
                " chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
            ),
        ),
        "200 hello 5 declared -1",
    )


def test_octets_that_are_not_utf8_are_never_given_as_text() raises:
    # Each is cut off or malformed: walking over it would leave the view.
    for bad in ["%F0", "a%F0%9F%98", "%80", "%C0%AF", "%ED%A0%80", "%FF"]:
        var octets = _decoded(bad)
        assert_equal(
            asked(TestClient(_routed()), String("/text/", bad)),
            "400 Bad Request",
            bad,
        )
        assert_equal(
            asked(TestClient(_routed()), String("/octets/", bad)),
            String("200 ", len(octets)),
            bad,
        )
        var content = Body(Span(octets))
        assert_equal(TestClient(_text).post("/", content).status, 400, bad)
        assert_equal(TestClient(_body_text).post("/", content).status, 400, bad)
        var echoed = TestClient(_octets).post("/", Body(Span(octets)))
        assert_equal(echoed.status, 200, bad)
        with assert_raises(contains="http.not_utf8"):
            _ = echoed.text()
    assert_equal(
        asked(TestClient(_routed()), "/text/%F0%9F%98%80"), "200 \U0001F600"
    )
    assert_equal(TestClient(_text).post("/", "\U0001F600").text(), "\U0001F600")


def test_a_target_holds_visible_ascii_only() raises:
    # So `url`, `path` and `query` are text without being checked again.
    for place in ["/", "/?", "http://h/"]:
        for octet in range(256):
            var request = List[UInt8](String("GET ", place, "a").as_bytes())
            request.append(UInt8(octet))
            request.extend(" HTTP/1.1\r\nHost: h\r\n\r\n".as_bytes())
            var answer = TestClient(_members).request_octets(Span(request))
            if octet < 0x21 or octet == 0x7F:
                assert_equal(answer.status, 400, String(place, octet))
            elif octet > 0x7F and place == "http://h/":
                var shown = String("|/a%", hex(octet, prefix="").upper(), "|")
                assert_true(shown in String(answer.text()), shown)
            elif chr(octet).is_ascii_digit():
                assert_equal(answer.status, 200, String(place, octet))


def test_an_error_after_one_about_utf8_is_still_a_500() raises:
    assert_equal(
        asked(TestClient(_other_error), "/", "POST"), "200 empty is text"
    )
    assert_equal(
        TestClient(_other_error).post("/", Body(Span([UInt8(0xF0)]))).status,
        500,
    )


def test_a_request_without_network_has_no_peer() raises:
    assert_equal(
        asked_octets(TestClient(_peer), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        "200 net.closed",
    )


def test_versions_compare() raises:
    assert_true(HttpVersion.HTTP_1_0 < HttpVersion.HTTP_1_1)
    assert_false(HttpVersion.HTTP_1_1 < HttpVersion.HTTP_1_1)
    assert_true(HttpVersion(1, 9) < HttpVersion(2, 0))


def _members(req: Request) raises -> Response:
    var one = req.headers.get("x-one")
    var text = String(
        req.method,
        "|",
        req.url,
        "|",
        req.path,
        "|",
        req.query,
        "|",
        req.version,
        "|",
        len(req.headers),
        "|",
    )
    if one:
        text.write(one.value())
    return ok(text^)


def _method(req: Request) raises -> Response:
    return ok(
        String(
            req.method_text(),
            " ",
            req.method == "GET",
            " ",
            req.method == Method.POST,
            " ",
            req.method == Method.OTHER,
        )
    )


def _query(req: Request) raises -> Response:
    var parameters = req.query_parameters()
    return ok(
        String(
            parameters.get("a").value(),
            "|",
            parameters.get("b").value(),
            "|",
            parameters.get("c").value(),
            "|",
            parameters.get("d").or_else("none"),
        )
    )


def _q(req: Request) raises -> Response:
    return ok(req.query_parameters().get("q").value())


def _authority(req: Request) raises -> Response:
    var host = String("none")
    if req.headers.get("Host"):
        host = String(req.headers.get("Host").value())
    return ok(String(req.authority, "|", host))


def _content(req: Request) raises -> Response:
    return ok(
        String(
            req.text(),
            " ",
            len(req.body.octets()),
            " declared ",
            req.body.declared_octets().or_else(-1),
        )
    )


def _decoded(text: StringSlice) raises -> List[UInt8]:
    var octets = List[UInt8]()
    var at = 0
    while at < text.byte_length():
        if text.as_bytes()[at] == UInt8(ord("%")):
            octets.append(UInt8(atol(text[byte = at + 1 : at + 3], 16)))
            at += 3
        else:
            octets.append(text.as_bytes()[at])
            at += 1
    return octets^


def _routed() raises -> Router[NoState]:
    var router = Router()
    router.get("/text/:word", _parameter)
    router.get("/octets/:word", _parameter_octets)
    router.get("/query", _q)
    return router^


def _parameter(req: Request) raises -> Response:
    return ok(req.param("word"))


def _parameter_octets(req: Request) raises -> Response:
    return ok(String(len(req.param_octets("word"))))


def _text(req: Request) raises -> Response:
    return ok(req.text())


def _body_text(req: Request) raises -> Response:
    return ok(req.body.text())


def _octets(req: Request) raises -> Response:
    return ok(Body(req.body.octets()))


def _other_error(req: Request) raises -> Response:
    try:
        _ = req.text()
    except:
        raise Error("something else")
    return ok("empty is text")


def _peer(req: Request) raises -> Response:
    try:
        _ = req.peer()
    except e:
        return ok(String(String(e).split(" ")[0]))
    return ok("a peer")


comptime TESTS = __functions_in_module()
