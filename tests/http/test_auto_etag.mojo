"""Tests the tags that are added to whole responses."""

from flare.http import (
    AutoETag,
    Compress,
    CompressionConfig,
    Request,
    Response,
    ResponseStream,
    not_found,
    ok,
)
from flare.http.handler import FnHandler
from flare.message import HeaderMap
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true


def test_a_client_that_has_the_content_gets_none() raises:
    var client = TestClient(AutoETag(FnHandler(_answer)))
    var first = client.get("/page")
    assert_equal(first.status, 200)
    assert_equal(String(first.text()), "content of /page")
    var tag = _value(first, "ETag")
    assert_true(tag.startswith('"') and tag.endswith('"'), tag)
    assert_equal(_value(client.get("/page"), "ETag"), tag)
    assert_true(_value(client.get("/other"), "ETag") != tag)
    for tags in [tag.copy(), String("W/", tag), String('"a", ', tag), "*"]:
        var again = client.get("/page", headers=_with("If-None-Match", tags))
        assert_equal(again.status, 304)
        assert_equal(len(again.body), 0)
        assert_equal(_value(again, "ETag"), tag)
        assert_equal(_value(again, "Content-Type"), "none")
        # These fields update what the client has.
        assert_equal(_value(again, "Cache-Control"), "max-age=60")
        assert_equal(_value(again, "Vary"), "Cookie")
    var other = client.get("/page", headers=_with("If-None-Match", '"a"'))
    assert_equal(other.status, 200)
    assert_equal(
        client.get("/page", headers=_with("If-Match", '"a"')).status, 412
    )
    assert_equal(
        client.get("/page", headers=_with("If-Match", tag)).status, 200
    )


def test_head_has_the_tag_of_get() raises:
    var client = TestClient(AutoETag(FnHandler(_answer)))
    var tag = _value(client.get("/page"), "ETag")
    assert_equal(_value(client.request("HEAD", "/page"), "ETag"), tag)
    assert_equal(
        client.request(
            "HEAD", "/page", headers=_with("If-None-Match", tag)
        ).status,
        304,
    )


def test_other_responses_stay_as_they_are() raises:
    var client = TestClient(AutoETag(FnHandler(_answer)))
    assert_equal(_value(client.get("/own"), "ETag"), '"own"')
    for path in ["/stream", "/missing", "/secret", "/empty-head"]:
        var method = "HEAD" if path == "/empty-head" else "GET"
        var any = client.request(
            method, path, headers=_with("If-None-Match", "*")
        )
        assert_equal(_value(any, "ETag"), "none", path)
        assert_true(any.status != 304, path)
    var posted = client.request(
        "POST", "/page", headers=_with("If-None-Match", "*")
    )
    assert_equal(posted.status, 200)
    assert_equal(_value(posted, "ETag"), "none")


def test_compression_weakens_the_tag_that_still_matches() raises:
    var config = CompressionConfig(content_octets_min=0)
    var client = TestClient(Compress(AutoETag(FnHandler(_answer)), config^))
    var fields = _with("Accept-Encoding", "gzip")
    var first = client.get("/long", headers=fields)
    var tag = _value(first, "ETag")
    assert_true(tag.startswith('W/"'), tag)
    fields.set("If-None-Match", tag)
    var again = client.get("/long", headers=fields)
    assert_equal(again.status, 304)
    assert_equal(_value(again, "ETag"), tag)
    assert_equal(_value(again, "Vary"), "Accept-Encoding")


def _answer(req: Request) raises -> Response:
    if req.path == "/missing":
        return not_found()
    if req.path == "/stream":

        def write(req: Request, stream: ResponseStream) raises {}:
            stream.write_all("streamed".as_bytes())

        return Response.stream(write)
    if req.path == "/empty-head":
        return ok()
    if req.path == "/long":
        return ok("content " * 100)
    var response = ok(String("content of ", req.path))
    response.headers.set("Cache-Control", "max-age=60")
    response.headers.set("Vary", "Cookie")
    if req.path == "/own":
        response.headers.set("ETag", '"own"')
    elif req.path == "/secret":
        response.headers.set("Cache-Control", "private, no-store")
    return response^


def _with(name: StringSlice, value: StringSlice) raises -> HeaderMap:
    var headers = HeaderMap()
    headers.set(name, value)
    return headers^


def _value(response: Response, name: StringSlice) raises -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String("none")


comptime TESTS = __functions_in_module()
