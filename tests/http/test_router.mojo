"""Tests which handler answers, and what answers without one."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.http import Handler, Request, Response, Router, no_content, ok
from flare.testing import TestClient
from tests.asserting import assert_equal
from tests.http.support import Answer, asked, asked_octets


def test_method_and_path_choose_the_handler() raises:
    var client = TestClient(_router())
    assert_equal(asked(client, "/"), "200 root /")
    assert_equal(asked(client, "/users/7"), "200 user /users/:id 7")
    assert_equal(asked(client, "/users/me"), "200 me /users/me")
    assert_equal(asked(client, "/users/7", "PUT"), "200 put /users/{id} 7")
    assert_equal(asked(client, "/files/a/b"), "200 file /files/* a/b")
    assert_equal(asked(client, "/files/"), "200 file /files/* ")
    assert_equal(asked(client, "/", "PURGE"), "200 purge /")


def test_every_verb_registers_its_own_method() raises:
    var router = Router()
    router.get("/", Answer("get", ""))
    router.post("/", Answer("post", ""))
    router.put("/", Answer("put", ""))
    router.patch("/", Answer("patch", ""))
    router.delete("/", Answer("delete", ""))
    router.head("/", Answer("head", ""))
    router.options("/", Answer("options", ""))
    assert_equal(len(router), 7)
    var client = TestClient(router^)
    var methods: List[String] = [
        "GET",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "HEAD",
        "OPTIONS",
    ]
    for method in methods:
        assert_equal(
            asked(client, "/", method), String("200 ", method.lower(), " /")
        )


def test_a_path_without_route_is_404() raises:
    var client = TestClient(_router())
    assert_equal(asked(client, "/nowhere"), "404 not found")
    assert_equal(asked(client, "/users/"), "404 not found")
    assert_equal(asked(client, "/users/7/"), "404 not found")
    assert_equal(asked(TestClient(Router()), "/"), "404 not found")


def test_a_method_that_the_path_lacks_is_405_with_allow() raises:
    var client = TestClient(_router())
    assert_equal(
        asked(client, "/users/7", "DELETE"),
        "405 [GET, HEAD, PUT, OPTIONS] method not allowed",
    )
    assert_equal(
        asked(client, "/users/7", "PURGE"),
        "405 [GET, HEAD, PUT, OPTIONS] method not allowed",
    )


def test_a_method_that_nobody_knows_is_501() raises:
    var client = TestClient(_router())
    assert_equal(asked(client, "/", "BREW"), "501 not implemented")
    # Methods are case-sensitive (RFC 9110 section 9.1).
    assert_equal(asked(client, "/", "get"), "501 not implemented")


def test_head_is_answered_by_get() raises:
    var client = TestClient(_router())
    assert_equal(asked(client, "/users/7", "HEAD"), "200 user /users/:id 7")


def test_options_is_answered_with_allow() raises:
    var client = TestClient(_router())
    assert_equal(
        asked(client, "/users/7", "OPTIONS"),
        "204 [GET, HEAD, PUT, OPTIONS]",
    )
    assert_equal(asked(client, "/nowhere", "OPTIONS"), "404 not found")


def test_options_of_the_server_lists_all_methods() raises:
    var client = TestClient(_router())
    var all = "204 [GET, HEAD, PUT, OPTIONS, PURGE]"
    assert_equal(asked(client, "*", "OPTIONS"), all)
    # The form that a proxy turns into the asterisk.
    assert_equal(
        asked_octets(client, "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n"),
        all,
    )


def test_options_of_the_server_may_have_a_handler() raises:
    var router = Router()
    router.options("*", Answer("server", ""))
    assert_equal(asked(TestClient(router^), "*", "OPTIONS"), "200 server *")


def test_a_path_that_servers_read_differently_is_400() raises:
    var client = TestClient(_router())
    for path in ["/users/..", "/users/%2e%2E", "/users/%00", "/./users/7"]:
        assert_equal(asked(client, path), "400 bad path")
    assert_equal(asked(client, "/users/..."), "200 user /users/:id ...")


def test_an_absolute_target_routes_by_its_path() raises:
    var client = TestClient(_router())
    assert_equal(
        asked_octets(
            client, "GET http://a/users/7?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"
        ),
        "200 user /users/:id 7",
    )
    assert_equal(
        asked_octets(client, "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"),
        "200 root /",
    )
    assert_equal(
        asked_octets(client, "GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n"),
        "200 root /",
    )


def test_the_query_does_not_route() raises:
    var client = TestClient(_router())
    assert_equal(asked(client, "/users/7?id=8"), "200 user /users/:id 7")


def test_parameters_are_decoded_once() raises:
    var router = Router()
    router.get("/:a/:b/:c", _three)
    var client = TestClient(router^)
    assert_equal(asked(client, "/x/y/z"), "200 x|y|z")
    assert_equal(asked(client, "/a%20b/%2F/%252e"), "200 a b|/|%2e")
    # The decoded ones lie apart from the others and keep their order.
    assert_equal(asked(client, "/%41/y/%C3%A4"), "200 A|y|ä")
    var long = "/" + "%41" * 300 + "/" + "b" * 300 + "/" + "%43" * 300
    assert_equal(
        asked(client, long),
        String("200 ", "A" * 300, "|", "b" * 300, "|", "C" * 300),
    )


def test_sixteen_parameters_fit() raises:
    var router = Router()
    var pattern = String()
    var path = String()
    for i in range(16):
        pattern.write("/:p", i)
        path.write("/%61", i)
    router.get(pattern, Answer("many", "p15"))
    assert_equal(
        asked(TestClient(router^), path), String("200 many ", pattern, " a15")
    )
    var refusing = Router()
    with assert_raises(contains="http.bad_route"):
        refusing.get(pattern + "/:p16", Answer("many", ""))


def test_a_parameter_that_the_pattern_lacks_is_an_error() raises:
    var router = Router()
    router.get("/:id", Answer("x", "name"))
    assert_equal(asked(TestClient(router^), "/7"), "500 Internal Server Error")


def test_a_bad_or_repeated_pattern_is_refused() raises:
    var router = Router()
    router.get("/users/:id", _nothing)
    with assert_raises(contains="http.bad_route"):
        router.get("/users/{name}", _nothing)
    with assert_raises(contains="http.bad_route"):
        router.get("users", _nothing)
    with assert_raises(contains="http.bad_route"):
        router.get("", _nothing)
    with assert_raises(contains="http.bad_route"):
        router.route("two words", "/", _nothing)
    assert_equal(len(router), 1)
    router.post("/users/{name}", _nothing)
    assert_equal(len(router), 2)


def test_a_mounted_router_answers_behind_its_prefix() raises:
    var inner = Router()
    inner.get("/", Answer("list", ""))
    inner.get("/:id", Answer("one", "id"))
    var router = Router()
    router.get("/", Answer("root", ""))
    router.mount("/api/:version/", inner)
    var client = TestClient(router^)
    assert_equal(asked(client, "/"), "200 root /")
    assert_equal(asked(client, "/api/1"), "200 list /api/:version")
    assert_equal(asked(client, "/api/1/7"), "200 one /api/:version/:id 7")
    assert_equal(asked(client, "/api/1/7/8"), "404 not found")


def test_mounting_what_is_there_is_refused() raises:
    var inner = Router()
    inner.get("/x", _nothing)
    var router = Router()
    router.get("/api/x", _nothing)
    with assert_raises(contains="http.bad_route"):
        router.mount("/api", inner)


def test_a_router_is_a_handler_of_another() raises:
    var inner = Router()
    inner.get("/a/:id", Answer("inner", "id"))
    var router = Router()
    router.get("/*", inner^)
    var client = TestClient(router^)
    assert_equal(asked(client, "/a/%37"), "200 inner /a/:id 7")
    assert_equal(asked(client, "/b"), "404 not found")


def test_a_copy_is_changed_apart_from_its_original() raises:
    var router = Router()
    router.get("/a", Answer("a", ""))
    var copy = router.copy()
    copy.get("/b", Answer("b", ""))
    router.get("/c", Answer("c", ""))
    var first = TestClient(router^)
    var second = TestClient(copy^)
    assert_equal(asked(first, "/a"), "200 a /a")
    assert_equal(asked(second, "/a"), "200 a /a")
    assert_equal(asked(first, "/b"), "404 not found")
    assert_equal(asked(second, "/b"), "200 b /b")
    assert_equal(asked(first, "/c"), "200 c /c")
    assert_equal(asked(second, "/c"), "404 not found")


def test_handlers_are_freed_with_their_router() raises:
    var shared = ArcPointer(0)
    var router = Router()
    router.get("/", _Tracked(shared))
    assert_equal(shared.count(), 2)
    var copy = router.copy()
    assert_equal(shared.count(), 3)
    router.mount("/copy", copy)
    assert_equal(shared.count(), 4)
    _ = router^
    assert_equal(shared.count(), 2)
    _ = copy^
    assert_equal(shared.count(), 1)


def test_a_refused_handler_is_freed() raises:
    var shared = ArcPointer(0)
    var router = Router()
    with assert_raises(contains="http.bad_route"):
        router.get("no slash", _Tracked(shared))
    assert_equal(shared.count(), 1)
    _ = router^


def test_the_parameters_of_one_request_are_not_those_of_the_next() raises:
    var router = Router()
    router.get("/a/:id", Answer("a", "id"))
    router.get("/b", Answer("b", "id"))
    var client = TestClient(router^)
    assert_equal(asked(client, "/a/7"), "200 a /a/:id 7")
    assert_equal(asked(client, "/b"), "500 Internal Server Error")


def _router() raises -> Router[]:
    var router = Router()
    router.get("/", Answer("root", ""))
    router.get("/users/:id", Answer("user", "id"))
    router.get("/users/me", Answer("me", ""))
    router.put("/users/{id}", Answer("put", "id"))
    router.get("/files/*", Answer("file", "*"))
    router.route("PURGE", "/", Answer("purge", ""))
    return router^


def _three(req: Request) raises -> Response:
    return ok(String(req.param("a"), "|", req.param("b"), "|", req.param("c")))


def _nothing(req: Request) raises -> Response:
    return no_content()


@fieldwise_init
struct _Tracked(Handler):
    var shared: ArcPointer[Int]

    def serve(self, req: Request) raises -> Response:
        return no_content()


comptime TESTS = __functions_in_module()
