"""Tests the client that needs no socket."""

from std.testing import assert_raises

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.body import Body
from flare.http.builders import created, no_content, ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.request_body import RequestBody
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.upgraded_stream import UpgradedStream
from flare.http.version import HttpVersion
from flare.message import HeaderMap
from flare.runtime.wait import sleep
from flare.testing.test_client import TestClient

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_response_is_what_a_function_returned() raises:
    for http2 in [False, True]:
        var client = TestClient(_hello, http2=http2)
        var response = client.get("/users/7")
        assert_equal(response.status, 200)
        assert_equal(String(response.text()), "hello /users/7")


def test_a_handler_sees_method_headers_and_content() raises:
    for http2 in [False, True]:
        var client = TestClient(_Describe("<"), http2=http2)
        var headers = HeaderMap()
        headers.append("X-Colour", "green")
        var response = client.post("/a?b=1", "content", headers)
        assert_equal(response.status, 201)
        assert_equal(String(response.text()), "<POST /a b=1 green test content")


def test_a_host_that_is_given_is_kept() raises:
    for http2 in [False, True]:
        var client = TestClient(_host, http2=http2)
        var headers = HeaderMap()
        headers.append("Host", "example.org")
        assert_equal(String(client.get("/", headers).text()), "example.org")
        assert_equal(String(client.delete("/").text()), "test")


def test_an_empty_content_is_complete() raises:
    for http2 in [False, True]:
        var client = TestClient(_Describe(">"), http2=http2)
        var response = client.put("/", "")
        assert_equal(String(response.text()), ">PUT /  none test ")


def test_a_handler_that_raises_becomes_500_without_its_text() raises:
    for http2 in [False, True]:
        var client = TestClient(_fail, http2=http2)
        var response = client.get("/")
        assert_equal(response.status, 500)
        assert_equal(String(response.text()).find("secret"), -1)


def test_a_handler_may_wait() raises:
    for http2 in [False, True]:
        var client = TestClient(_slow, http2=http2)
        assert_equal(client.get("/").status, 204)
        assert_equal(client.get("/").status, 204)


def test_what_cannot_be_a_request_is_refused_before_the_handler() raises:
    for http2 in [False, True]:
        var client = TestClient(_hello, http2=http2)
        with assert_raises(contains="path" if http2 else "target"):
            _ = client.get("/a b")
        with assert_raises(contains="method"):
            _ = client.request("G T", "/")


def test_octets_that_a_server_refuses_get_its_status() raises:
    var client = TestClient(_fail)
    var rows: List[Tuple[String, Int]] = [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nHost: a\r\n", 408),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 500),
    ]
    for row in rows:
        var response = client.request_octets(row[0].as_bytes())
        assert_equal(response.status, row[1], row[0])


def test_chunked_content_is_decoded() raises:
    var client = TestClient(_Describe(""))
    comptime REQUEST: StaticString = (
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    var response = client.request_octets(REQUEST.as_bytes())
    assert_equal(String(response.text()), "POST /  none h abcde")


def test_content_is_read_bit_by_bit_up_to_the_limit() raises:
    for http2 in [False, True]:
        var client = TestClient(_count, http2=http2)
        var rows: List[Tuple[String, Int, Int]] = [
            ("/", 300_000, 200),
            ("/?limit=5", 5, 200),
            ("/?limit=5", 6, 413),
            ("/", 10 << 20, 200),
            ("/", (10 << 20) + 1, 413),
            ("/?limit=20000000", (10 << 20) + 1, 200),
            ("/unread", (10 << 20) + 1, 200),
        ]
        for row in rows:
            var response = client.post(row[0], String("x") * row[1])
            assert_equal(response.status, row[2], String(row[0], " ", row[1]))
            if row[2] == 200:
                assert_equal(String(response.text()), String(row[1]))


def test_trailers_of_a_request_are_there() raises:
    var client = TestClient(_sum_of_request)
    comptime REQUEST: StaticString = (
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\nX-Sum: 17\r\n\r\n"
    )
    var response = client.request_octets(REQUEST.as_bytes())
    assert_equal(String(response.text()), "17")


def test_a_streamed_response_is_whole() raises:
    for http2 in [False, True]:
        var client = TestClient(_stream, http2=http2)
        var response = client.get("/lines")
        assert_equal(response.status, 202)
        assert_equal(String(response.text()), "line 0\nline 1\nline 2\n")
        assert_equal(
            String(response.headers.get("content-type").value()), "text/plain"
        )
        assert_equal(String(client.trailers().get("x-count").value()), "3")
        # Those of one response are not those of the next one.
        response = client.get("/counted")
        assert_equal(String(response.text()), "abc")
        assert_equal(
            String(response.headers.get("content-length").value()), "3"
        )
        # HTTP/1.1 has no trailers after content of a known length.
        assert_equal(len(client.trailers()), 1 if http2 else 0)


def test_no_function_is_called_in_the_answer_to_head() raises:
    for http2 in [False, True]:
        var client = TestClient(_stream, http2=http2)
        var response = client.request("HEAD", "/raises")
        assert_equal(response.status, 200)
        assert_equal(len(response.body), 0)
        assert_equal(client.get("/no_content").status, 204)


def test_a_stream_that_fails_is_500_or_broken_off() raises:
    for http2 in [False, True]:
        var client = TestClient(_stream, http2=http2)
        assert_equal(client.get("/raises").status, 500)
        assert_equal(client.get("/bad_status").status, 500)
        for path in ["/raises_later", "/short", "/long", "/bad_trailer"]:
            with assert_raises(contains="http.broken_off "):
                _ = client.get(path)
        with assert_raises(contains="on purpose"):
            _ = client.get("/raises_later")
        # Nothing of it is left in the next answer.
        assert_equal(String(client.get("/counted").text()), "abc")


def test_a_stream_reads_the_request_while_it_answers() raises:
    for http2 in [False, True]:
        var client = TestClient(_stream, http2=http2)
        assert_equal(
            String(client.post("/echo", "both ways").text()), "both ways"
        )


def test_a_stream_kept_beyond_its_end_is_refused() raises:
    for http2 in [False, True]:
        var kept = heap_create(_Memory())
        var client = TestClient(_Keep(kept), http2=http2)
        assert_equal(String(client.get("/keep").text()), "kept")
        for _ in range(2):
            with assert_raises(contains="http.stream_over"):
                kept[].stream.value().write_text("late")
            with assert_raises(contains="http.stream_over"):
                _ = kept[].body.value().octets()
            assert_equal(client.get("/no").status, 500)
        # Nor may it write into another response.
        assert_equal(String(client.get("/write").text()), "http.stream_over")
        heap_destroy(kept)


def test_a_body_kept_beyond_its_request_tells_no_length() raises:
    for http2 in [False, True]:
        var kept = heap_create(_Memory())
        var client = TestClient(_Keep(kept), http2=http2)
        assert_equal(String(client.post("/length", "abc").text()), "3")
        # The block of the first request serves the second one.
        assert_equal(
            String(client.post("/kept-length", "four").text()), "none 4"
        )
        assert_false(kept[].body.value().declared_octets())
        # The client owns the block.
        _ = client^
        heap_destroy(kept)


def test_trailers_of_a_request_follow_its_content() raises:
    for http2 in [False, True]:
        var client = TestClient(_sum_of_request, http2=http2)
        var trailers = HeaderMap()
        trailers.set("X-Sum", "17")
        for content in ["", "abc", "x" * 200_000]:
            var response = client.request(
                "POST", "/", content, trailers=trailers
            )
            assert_equal(String(response.text()), "17")
        trailers.set("Content-Type", "text/plain")
        with assert_raises(contains="trailer"):
            _ = client.request("POST", "/", "abc", trailers=trailers)


def test_an_upgrade_is_101_and_speaks_to_what_follows_the_request() raises:
    var client = TestClient(_upgrade)
    comptime REQUEST: StaticString = (
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n"
        "Upgrade: other, Shout\r\n\r\nhello"
    )
    var response = client.request_octets(REQUEST.as_bytes())
    assert_equal(response.status, 101)
    assert_equal(String(response.headers.get("upgrade").value()), "shout")
    assert_equal(String(response.text()), "HELLO!")


def test_an_upgrade_that_was_not_offered_is_refused() raises:
    for http2 in [False, True]:
        var client = TestClient(_upgrade, http2=http2)
        var headers = HeaderMap()
        headers.set("Connection", "upgrade")
        for protocol in ["whisper", "shouts"]:
            headers.set("Upgrade", protocol)
            var response = client.get("/", headers)
            # HTTP/2 cannot say which protocol is required.
            assert_equal(response.status, 400 if http2 else 426)
            assert_equal("upgrade" in response.headers, not http2)


def test_interim_responses_are_checked_and_dropped() raises:
    for http2 in [False, True]:
        var client = TestClient(_inform, http2=http2)
        assert_equal(String(client.get("/103").text()), "page")
        assert_equal(client.get("/200").status, 500)


def test_a_request_over_http2_is_one() raises:
    var client = TestClient(_version, http2=True)
    var headers = HeaderMap()
    headers.append("Connection", "close")
    headers.append("Cookie", "a=1")
    headers.append("Cookie", "b=2")
    var response = client.get("/", headers)
    assert_equal(String(response.text()), "HTTP/2.0 False a=1; b=2")
    assert_equal(response.version(), HttpVersion.HTTP_2)
    assert_equal(String(response.headers.get("content-length").value()), "23")
    # Fields of one connection of HTTP/1.1 are none of HTTP/2.
    assert_false(response.headers.get("keep-alive"))
    var plain = TestClient(_version, http2=False)
    assert_equal(plain.get("/", headers).version(), HttpVersion.HTTP_1_1)


def test_content_over_http2_is_longer_than_its_windows() raises:
    var client = TestClient(_stream, http2=True)
    var content = List[UInt8]()
    for i in range(3_000_000):
        content.append(UInt8(i % 251))
    var response = client.post("/echo", Body(content.copy()))
    assert_true(response.body.octets() == Span(content))
    # More pieces than a client takes from a stranger.
    response = client.post("/octets", Span(content)[:20_000])
    assert_true(response.body.octets() == Span(content)[:20_000])


def test_requests_over_http2_share_a_connection_that_stays_whole() raises:
    var client = TestClient(_stream, http2=True)
    var headers = HeaderMap()
    headers.set("X-Same", "a value that the table holds from its second use")
    for i in range(300):
        assert_equal(client.get("/counted", headers).status, 200)
        assert_equal(client.get("/raises", headers).status, 500)
        with assert_raises(contains="http.broken_off "):
            _ = client.get("/raises_later", headers)
        headers.set("X-Other", String(i))


def test_octets_of_http1_are_refused_over_http2() raises:
    var client = TestClient(_hello, http2=True)
    with assert_raises(contains="http.wrong_version"):
        _ = client.request_octets(
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes()
        )


def test_a_head_over_http2_that_is_too_long_is_refused() raises:
    for http2 in [False, True]:
        var client = TestClient(_hello, http2=http2)
        var headers = HeaderMap()
        for _ in range(100):
            headers.append("X-Same", String("v") * 100)
        assert_equal(client.get("/", headers).status, 431)
        assert_equal(client.get("/").status, 200)


def test_a_response_over_http2_with_framing_is_500() raises:
    var client = TestClient(_framing, http2=True)
    for path in ["/coding", "/long", "/interim"]:
        assert_equal(client.get(path).status, 500, path)
    assert_equal(client.get("/").status, 200)


def _version(req: Request) raises -> Response:
    var response = ok(
        String(
            req.version,
            " ",
            "connection" in req.headers,
            " ",
            req.headers.get("cookie").value(),
        )
    )
    response.headers.set("Keep-Alive", "timeout=5")
    return response^


def _framing(req: Request) raises -> Response:
    var response = ok("text")
    if req.path == "/coding":
        response.headers.set("Transfer-Encoding", "chunked")
    if req.path == "/long":
        response.headers.set("Content-Length", "5")
    if req.path == "/interim":
        response.status = 103
    return response^


def _hello(req: Request) raises -> Response:
    return ok(String("hello ", req.path))


def _host(req: Request) raises -> Response:
    return ok(req.headers.get("host").value())


def _fail(req: Request) raises -> Response:
    raise Error("a secret")


def _slow(req: Request) raises -> Response:
    sleep(1)
    sleep(0)
    return no_content()


def _count(req: Request) raises -> Response:
    if req.path == "/unread":
        return ok(String(req.body.declared_octets().value()))
    var limit = req.query_parameters().get("limit")
    if limit:
        req.body.set_octets_max(Int(limit.value()))
    var piece = List[UInt8](length=100_000, fill=0)
    var count = 0
    while True:
        var read = req.body.read(Span(piece))
        if read == 0:
            return ok(String(count))
        count += read


def _sum_of_request(req: Request) raises -> Response:
    return ok(String(req.body.trailers().get("X-Sum").value()))


def _stream(req: Request) raises -> Response:
    if req.path == "/lines":
        return Response.stream(_lines, status=202, content_type="text/plain")
    if req.path == "/counted":
        return Response.stream(_three_octets, length=3)
    if req.path == "/raises":
        return Response.stream(_raise)
    if req.path == "/no_content":
        return Response.stream(_raise, status=204)
    if req.path == "/raises_later":
        return Response.stream(_raise_later)
    if req.path == "/short":
        return Response.stream(_three_octets, length=4)
    if req.path == "/long":
        return Response.stream(_two_writes, length=3)
    if req.path == "/bad_status":
        return Response.stream(_three_octets, status=99)
    if req.path == "/octets":
        return Response.stream(_echo_octets)
    if req.path == "/bad_trailer":
        return Response.stream(_bad_trailer)
    return Response.stream(_echo)


def _lines(req: Request, stream: ResponseStream) raises:
    for i in range(3):
        stream.write_text(String("line ", i, "\n"))
        sleep(0)
    stream.set_trailer("X-Count", "3")


def _three_octets(req: Request, stream: ResponseStream) raises:
    stream.set_trailer("X-Sum", "dropped where the length is given")
    stream.write_text("abc")


def _two_writes(req: Request, stream: ResponseStream) raises:
    stream.write_text("ab")
    stream.write_text("cd")


def _raise(req: Request, stream: ResponseStream) raises:
    raise Error("on purpose")


def _raise_later(req: Request, stream: ResponseStream) raises:
    stream.flush()
    raise Error("on purpose")


def _bad_trailer(req: Request, stream: ResponseStream) raises:
    stream.write_text("abc")
    stream.set_trailer("Content-Length", "3")


def _echo(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](length=4, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _echo_octets(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](length=1, fill=0)
    while req.body.read(Span(piece)) > 0:
        stream.write_all(Span(piece))


def _upgrade(req: Request) raises -> Response:
    return Response.upgrade("shout", _shout)


def _shout(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=4, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            stream.write_all("!".as_bytes())
            return
        var text = StringSlice(from_utf8=Span(piece)[:count])
        stream.write_all(text.upper().as_bytes())


def _inform(req: Request) raises -> Response:
    var hints = HeaderMap()
    hints.set("Link", "</a.css>")
    req.inform(Int(req.path[byte=1:]), hints)
    return ok("page")


struct _Memory(Movable):
    var stream: Optional[ResponseStream]
    var body: Optional[RequestBody[ImmUntrackedOrigin]]

    def __init__(out self):
        self.stream = None
        self.body = None


@fieldwise_init
struct _Keep(Handler):
    var memory: PointerTo[_Memory]

    def serve(self, req: Request) raises -> Response:
        var memory = self.memory

        def keep(req: Request, stream: ResponseStream) raises {var memory}:
            memory[].stream = stream
            memory[].body = rebind[RequestBody[ImmUntrackedOrigin]](req.body)
            stream.write_text("kept")

        def write(req: Request, stream: ResponseStream) raises {var memory}:
            try:
                memory[].stream.value().write_text("late")
            except e:
                var text = String(e)
                stream.write_text(text[byte = : text.find(" ")])

        if req.path == "/keep":
            return Response.stream(keep)
        if req.path == "/length":
            memory[].body = rebind[RequestBody[ImmUntrackedOrigin]](req.body)
            return ok(String(memory[].body.value().declared_octets().value()))
        if req.path == "/kept-length":
            var length = memory[].body.value().declared_octets()
            return ok(
                String(
                    String(length.value()) if length else "none",
                    " ",
                    req.body.declared_octets().value(),
                )
            )
        if req.path == "/no":
            raise Error("on purpose")
        return Response.stream(write)


@fieldwise_init
struct _Describe(Handler):
    var before: String

    def serve(self, req: Request) raises -> Response:
        var colour = String("none")
        var header = req.headers.get("x-colour")
        if header:
            colour = String(header.value())
        return created(
            String(
                self.before,
                req.method_text(),
                " ",
                req.path,
                " ",
                req.query,
                " ",
                colour,
                " ",
                req.headers.get("host").value(),
                " ",
                req.text(),
            )
        )


comptime TESTS = __functions_in_module()
