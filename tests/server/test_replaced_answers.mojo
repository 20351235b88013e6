"""Checks when the server answers something else than its handler would."""

from flare.http import (
    AddHeader,
    Compress,
    RequestId,
    ResponseStream,
    SecurityHeaders,
    UpgradedStream,
)
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.answers import read_answers


def test_a_status_that_is_no_final_response_becomes_a_500() raises:
    var rows: List[Tuple[Int, Int]] = [
        (-1, 500),
        (0, 500),
        (99, 500),
        (100, 500),
        (101, 500),
        (103, 500),
        (199, 500),
        (200, 200),
        (599, 599),
        (600, 500),
        (1000, 500),
    ]
    var server = TestServer(Statuses())
    for row in rows:
        # The second request shows that the connection still speaks HTTP.
        var text = server.exchange(
            String(
                "GET /?",
                row[0],
                " HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /?204 HTTP/1.1\r\nHost: a\r\n\r\n",
            )
        )
        var answers = read_answers(text.as_bytes(), [])
        assert_equal(len(answers), 2, text)
        assert_equal(answers[0].status, row[1], text)
        assert_equal(answers[1].status, 204, text)
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def test_content_that_is_no_text_is_a_400_and_no_error_of_the_handler() raises:
    var server = TestServer(Echo())
    for status in [200, 400]:
        var octets = List[UInt8](
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ".as_bytes()
        )
        var content = _smile(4 if status == 200 else 3)
        octets.extend(
            Span(List[UInt8](String(len(content), "\r\n\r\n").as_bytes()))
        )
        octets.extend(Span(content))
        var answer = server.exchange(Span(octets))
        var answers = read_answers(Span(answer), [])
        assert_equal(len(answers), 1)
        assert_equal(answers[0].status, status)
        assert_false(answers[0].closes)
    assert_equal(server.statistics().handler_errors, 0)
    # The block of the refused request is used again; nothing of it stays.
    var after = server.exchange("POST /raise HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(after.startswith("HTTP/1.1 500"), after)
    assert_equal(server.statistics().handler_errors, 1)
    server.stop()
    _ = server^


def test_answers_of_the_server_carry_the_fields_of_middleware() raises:
    var server = TestServer(
        AddHeader(
            RequestId(SecurityHeaders(Compress(Failing()))),
            name="X-Added",
            value="yes",
        )
    )
    var rows: List[Tuple[String, Int, String]] = [
        ("GET /ok", 200, ""),
        ("GET /raise", 500, ""),
        ("POST /text", 400, "x"),
        ("POST /json", 400, "{"),
        ("GET /stream", 500, ""),
        ("GET /status", 500, ""),
        ("GET /framing", 500, ""),
        ("GET /upgrade", 426, ""),
        # Nothing of an earlier answer stays.
        ("GET /own", 500, ""),
        ("GET /ok", 200, ""),
    ]
    for row in rows:
        var octets = List[UInt8](
            String(
                row[0],
                " HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                row[2].byte_length(),
                "\r\n\r\n",
            ).as_bytes()
        )
        if row[0] == "POST /text":
            octets.append(0xFF)
        else:
            octets.extend(row[2].as_bytes())
        var answer = server.exchange(Span(octets))
        var text = String(StringSlice(unsafe_from_utf8=Span(answer)))
        assert_true(text.startswith(String("HTTP/1.1 ", row[1], " ")), text)
        for field in [
            "X-Added: yes\r\n",
            "X-Request-Id: ",
            "X-Content-Type-Options: nosniff\r\n",
            "X-Frame-Options: DENY\r\n",
            "Referrer-Policy: same-origin\r\n",
        ]:
            assert_equal(text.count(field), 1, String(row[0], " ", field, text))
        var is_varied = row[0] in ("GET /raise", "POST /json", "GET /stream")
        if is_varied:
            assert_equal(text.count("Vary: Accept-Encoding\r\n"), 1, text)
        assert_equal(text.count("X-Own"), Int(row[0] == "GET /own"), text)
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


@fieldwise_init
struct Failing(Handler):
    """Fails in the way that the path names."""

    def serve(self, req: Request) raises -> Response:
        """Answers, or fails.

        Args:
            req: The request.

        Returns:
            A response that cannot always be sent.

        Raises:
            Error: In some of the ways.
        """
        if req.path == "/raise":
            raise Error("on purpose")
        if req.path == "/own":
            req.error_headers().set("X-Own", "set by the program")
            raise Error("on purpose")
        if req.path == "/json":
            _ = req.json()
        if req.path == "/stream":
            return Response.stream(_fail)
        if req.path == "/upgrade":
            return Response.upgrade("x", _speak)
        var response = ok(req.text())
        if req.path == "/status":
            response.status = 999
        if req.path == "/framing":
            response.headers.set("Content-Length", "7")
        return response^


def _fail(req: Request, stream: ResponseStream) raises:
    raise Error("on purpose")


def _speak(req: Request, stream: UpgradedStream) raises:
    pass


@fieldwise_init
struct Statuses(Handler):
    """Answers with the status that the query names."""

    def serve(self, req: Request) raises -> Response:
        """Answers.

        Args:
            req: The request.

        Returns:
            A response without content.

        Raises:
            Error: If the query is no number.
        """
        return Response(status=Int(req.query))


@fieldwise_init
struct Echo(Handler):
    """Answers with the content as text."""

    def serve(self, req: Request) raises -> Response:
        """Answers.

        Args:
            req: The request.

        Returns:
            The content.

        Raises:
            Error: If it is no text, or the path says so.
        """
        if req.path == "/raise":
            raise Error("http.not_utf8 in words only")
        return ok(req.text())


def _smile(octets: Int) -> List[UInt8]:
    # The first octets of U+1F600.
    var whole: List[UInt8] = [0xF0, 0x9F, 0x98, 0x80]
    return List[UInt8](Span(whole)[:octets])


comptime TESTS = __functions_in_module()
