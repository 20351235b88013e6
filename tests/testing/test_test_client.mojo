"""Tests the client that needs no socket."""

from std.testing import assert_equal, assert_raises

from flare.http.builders import created, no_content, ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.message import HeaderMap
from flare.runtime.wait import sleep
from flare.testing.test_client import TestClient


def test_the_response_is_what_a_function_returned() raises:
    var client = TestClient(_hello)
    var response = client.get("/users/7")
    assert_equal(response.status, 200)
    assert_equal(String(response.text()), "hello /users/7")


def test_a_handler_sees_method_headers_and_content() raises:
    var client = TestClient(_Describe("<"))
    var headers = HeaderMap()
    headers.append("X-Colour", "green")
    var response = client.post("/a?b=1", "content", headers)
    assert_equal(response.status, 201)
    assert_equal(String(response.text()), "<POST /a b=1 green test content")


def test_a_host_that_is_given_is_kept() raises:
    var client = TestClient(_host)
    var headers = HeaderMap()
    headers.append("Host", "example.org")
    assert_equal(String(client.get("/", headers).text()), "example.org")
    assert_equal(String(client.delete("/").text()), "test")


def test_an_empty_content_is_complete() raises:
    var client = TestClient(_Describe(">"))
    var response = client.put("/", "")
    assert_equal(String(response.text()), ">PUT /  none test ")


def test_a_handler_that_raises_becomes_500_without_its_text() raises:
    var client = TestClient(_fail)
    var response = client.get("/")
    assert_equal(response.status, 500)
    assert_equal(String(response.text()).find("secret"), -1)


def test_a_handler_may_wait() raises:
    var client = TestClient(_slow)
    assert_equal(client.get("/").status, 204)
    assert_equal(client.get("/").status, 204)


def test_what_cannot_be_a_request_is_refused_before_the_handler() raises:
    var client = TestClient(_hello)
    with assert_raises(contains="target"):
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
