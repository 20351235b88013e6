"""Tests the routes of the document and of its page."""

from std.testing import assert_raises

from flare.http import HeaderMap, Request, Response, ok
from flare.json import loads
from flare.openapi import ApiRouter, OpenApi
from flare.openapi.page_text import SCRIPT_HASH, STYLE_HASH
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true

comptime PAGE_OCTETS_MAX = 14 * 1024


def hello(req: Request) raises -> Response:
    return ok("hello")


def test_the_document_is_published() raises:
    for http2 in [False, True]:
        var client = TestClient(published(), http2=http2)
        var answer = client.get("/openapi.json")
        assert_equal(answer.status, 200)
        assert_equal(field(answer, "Content-Type"), "application/json")
        assert_equal(field(answer, "Cache-Control"), "no-cache")
        assert_equal(field(answer, "X-Content-Type-Options"), "nosniff")
        var document = answer.json()
        assert_equal(document["info"]["title"].string_value(), "Shop")
        # Its own routes are no part of the API.
        assert_equal(len(document["paths"]), 1)
        assert_equal(client.request("HEAD", "/openapi.json", "").status, 200)


def test_a_client_that_has_it_gets_304() raises:
    var client = TestClient(published())
    for path in ["/openapi.json", "/docs"]:
        var headers = HeaderMap()
        headers.set("If-None-Match", field(client.get(path), "ETag"))
        var answer = client.get(path, headers)
        assert_equal(answer.status, 304, String(path))
        assert_equal(len(answer.body), 0)
        assert_equal(field(answer, "Cache-Control"), "no-cache")
        headers.set("If-None-Match", '"other"')
        assert_equal(client.get(path, headers).status, 200)


def test_the_page_is_one_document_that_asks_no_other_host() raises:
    var answer = TestClient(published()).get("/docs")
    assert_equal(answer.status, 200)
    assert_equal(field(answer, "Content-Type"), "text/html; charset=utf-8")
    var policy = field(answer, "Content-Security-Policy")
    assert_true(policy.startswith("default-src 'none'; "), policy)
    assert_true(policy.find("connect-src 'self'") > 0, policy)
    assert_true(policy.find(SCRIPT_HASH) > 0, policy)
    assert_true(policy.find(STYLE_HASH) > 0, policy)
    assert_true(policy.find("unsafe") < 0, policy)
    var text = String(answer.text())
    assert_true(text.find('data-document="./openapi.json"') > 0)
    assert_true(text.find("@document@") < 0)
    assert_true(text.find("http://") < 0)
    assert_true(text.find("https://") < 0)
    assert_true(text.byte_length() <= PAGE_OCTETS_MAX)


def test_the_places_are_those_of_the_program() raises:
    var api = ApiRouter()
    api.get("/", hello)
    api.publish(
        OpenApi("Shop", "1"), document="/a&b/api.json", page="/pages/api"
    )
    var client = TestClient(api^)
    assert_equal(client.get("/docs").status, 404)
    assert_equal(client.get("/a&b/api.json").status, 200)
    var text = String(client.get("/pages/api").text())
    # Escaped: it stands in an attribute.
    assert_true(text.find('data-document="../a&amp;b/api.json"') > 0, text)


def test_no_page() raises:
    var api = ApiRouter()
    api.publish(OpenApi("Shop", "1"), page="")
    assert_equal(len(api), 1)


def test_the_published_routes_are_mounted_with_the_others() raises:
    var outer = ApiRouter()
    outer.mount("/v1", published())
    outer.get("/more", hello)
    assert_equal(len(loads(outer.document(OpenApi("Shop", "1")))["paths"]), 2)
    var client = TestClient(outer^)
    assert_equal(client.get("/v1/openapi.json").status, 200)
    assert_equal(client.get("/v1/docs").status, 200)


def test_routes_after_publishing_are_refused() raises:
    var api = published()
    with assert_raises(contains="the document is published already"):
        api.get("/late", hello)
    with assert_raises(contains="the document is published already"):
        api.mount("/late", ApiRouter())
    with assert_raises(contains="the document is published already"):
        api.publish(OpenApi("Shop", "1"), document="/again.json")
    assert_equal(len(api), 3)


comptime TESTS = __functions_in_module()


def published() raises -> ApiRouter[]:
    var api = ApiRouter()
    api.get("/hello", hello)
    api.publish(OpenApi("Shop", "1"))
    return api^


def field(answer: Response, name: StringSlice) -> String:
    var value = answer.headers.get(name)
    return String(value.value()) if value else "none"
