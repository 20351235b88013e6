"""Tests that an `ApiRouter` answers as a `Router` does, and which routes its
document has."""

from std.testing import assert_raises

from flare.http import App, Path, Request, Response, Router, State, ok
from flare.json import Value, dumps, loads
from flare.openapi import ApiOperation, ApiRouter, OpenApi
from flare.testing import TestClient

from tests.asserting import assert_equal


@fieldwise_init
struct Counter(Copyable):
    var count: Int


def name(req: Request) raises -> Response:
    return ok(String(req.method, " ", req.path))


def number(id: Path[Int]) -> String:
    return String(id.value)


def word(id: Path[String]) -> String:
    return id.value


def sum_up(a: Path[Int], b: Path[Int]) -> String:
    return String(a.value + b.value)


def count(counter: State[Counter]) -> String:
    counter[].count += 1
    return String(counter[].count)


def nothing() -> String:
    return "nothing"


def three(a: Path[Int], b: Path[Int], c: Path[Int]) -> String:
    return String(a.value + b.value + c.value)


def four(a: Path[Int], b: Path[Int], c: Path[Int], d: Path[Int]) -> String:
    return String(a.value + b.value + c.value + d.value)


def five(
    a: Path[Int], b: Path[Int], c: Path[Int], d: Path[Int], e: Path[Int]
) -> String:
    return String(a.value + b.value + c.value + d.value + e.value)


def test_requests_are_answered_as_by_a_router() raises:
    var api = ApiRouter()
    api.get("/", name)
    api.post("/", name, "Posts")
    api.put[name]("/put")
    api.patch[name]("/patch", "Patches")
    api.delete("/delete", name)
    api.head("/head", name)
    api.options("/options", name)
    api.route("PURGE", "/purge", name)
    var client = TestClient(api^)
    assert_equal(String(client.get("/").text()), "GET /")
    assert_equal(String(client.post("/", "").text()), "POST /")
    for row in ["PUT /put", "PATCH /patch", "DELETE /delete"]:
        var parts = row.split(" ")
        var answer = client.request(parts[0], parts[1], "")
        assert_equal(String(answer.text()), String(row))
    assert_equal(client.request("PURGE", "/purge", "").status, 200)
    assert_equal(client.get("/no").status, 404)
    assert_equal(client.post("/put", "").status, 405)


def test_functions_of_each_number_of_parameters() raises:
    var api = ApiRouter()
    api.get("/0", nothing)
    api.get("/1/:a", number)
    api.get("/2/:a/:b", sum_up)
    api.get("/3/:a/:b/:c", three)
    api.get("/4/:a/:b/:c/:d", four)
    api.get("/5/:a/:b/:c/:d/:e", five)
    api.get[nothing]("/own/0")
    api.get[number]("/own/1/:a")
    api.get[sum_up]("/own/2/:a/:b", "Adds")
    api.get[three]("/own/3/:a/:b/:c")
    api.get[four]("/own/4/:a/:b/:c/:d")
    api.get[five]("/own/5/:a/:b/:c/:d/:e")
    var paths = paths_of(api)
    assert_equal(len(paths), 12)
    for member in paths.members():
        var names = member.key.count("{")
        ref get = member.value["get"]
        if names > 0:
            assert_equal(len(get["parameters"]), names, member.key)
            for parameter in get["parameters"].elements():
                assert_equal(
                    parameter["schema"]["type"].string_value(), "integer"
                )
    var client = TestClient(api^)
    for front in ["", "/own"]:
        assert_equal(String(client.get(front + "/0").text()), "nothing")
        var path = String()
        var sum = 0
        for i in range(1, 6):
            path.write("/", i)
            sum += i
            var answer = client.get(String(front, "/", i, path))
            assert_equal(String(answer.text()), String(sum))


def test_an_app_gives_it_a_state() raises:
    var api = ApiRouter[Counter]()
    api.get("/", count)
    var client = TestClient(App(state=Counter(5), handler=api^))
    assert_equal(String(client.get("/").text()), "6")
    assert_equal(String(client.get("/").text()), "7")


def test_copies_do_not_change_one_another() raises:
    var api = ApiRouter()
    api.get("/a", name)
    var copy = api.copy()
    copy.get("/b", name)
    api.get("/c", name)
    assert_equal(keys(paths_of(api)), "/a /c")
    assert_equal(keys(paths_of(copy)), "/a /b")
    assert_equal(len(copy), 2)
    assert_equal(TestClient(copy^).get("/c").status, 404)


def test_mounted_routes_are_described_under_the_prefix() raises:
    var inner = ApiRouter(tag="inner")
    inner.get("/", name)
    inner.get("/items/:id", number)
    var api = ApiRouter(tag="outer")
    api.mount("/shops/:shop/", inner)
    api.get("/own", name)
    var paths = paths_of(api)
    assert_equal(keys(paths), "/shops/{shop} /shops/{shop}/items/{id} /own")
    # A function counts from the start of the joined pattern.
    assert_equal(
        dumps(paths["/shops/{shop}/items/{id}"]["get"]["parameters"][0]),
        (
            '{"name":"shop","in":"path","required":true,"schema":{"type":"integer",'
            '"format":"int64"}}'
        ),
    )
    assert_equal(dumps(paths["/own"]["get"]["tags"]), '["outer"]')
    assert_equal(dumps(paths["/shops/{shop}"]["get"]["tags"]), '["inner"]')
    # At the root, nothing is put in front.
    var whole = ApiRouter()
    whole.mount("/", inner)
    assert_equal(keys(paths_of(whole)), "/ /items/{id}")
    var client = TestClient(api^)
    assert_equal(String(client.get("/shops/7/items/8").text()), "7")


def test_plain_routers_are_mounted_and_mount() raises:
    var plain = Router()
    plain.get("/plain", name)
    var api = ApiRouter()
    api.get("/api", name)
    api.mount("/in", plain)
    assert_equal(keys(paths_of(api)), "/api")
    var outer = Router()
    outer.mount("/out", api.router())
    var client = TestClient(outer^)
    assert_equal(client.get("/out/api").status, 200)
    assert_equal(client.get("/out/in/plain").status, 200)


def test_what_the_document_leaves_out() raises:
    var api = ApiRouter()
    api.get("/seen", name)
    api.get("/hidden", name, ApiOperation().hidden())
    api.options("*", name)
    api.route("PURGE", "/purge", name)
    assert_equal(keys(paths_of(api)), "/seen")
    assert_equal(len(api), 4)


def test_paths_that_differ_in_names_only_are_one() raises:
    var api = ApiRouter()
    api.get("/items/:id", number)
    api.delete("/items/:number", number)
    var paths = paths_of(api)
    assert_equal(keys(paths), "/items/{id}")
    assert_equal(keys(paths["/items/{id}"]), "get delete")
    for method in ["get", "delete"]:
        ref parameters = paths["/items/{id}"][method]["parameters"]
        assert_equal(parameters[0]["name"].string_value(), "id")
        assert_equal(len(parameters), 1)


def test_the_rest_of_a_path_comes_after_what_precedes_it() raises:
    var api = ApiRouter()
    api.get("/files/*rest", word)
    api.put("/files/*rest", word)
    api.get("/files/:name", number)
    var paths = paths_of(api)
    assert_equal(keys(paths), "/files/{name}")
    assert_equal(
        paths["/files/{name}"]["get"]["parameters"][0]["schema"][
            "type"
        ].string_value(),
        "integer",
    )
    assert_equal(keys(paths["/files/{name}"]), "get put")


def test_a_bad_route_is_an_error_and_not_described() raises:
    var api = ApiRouter()
    api.get("/a", name)
    with assert_raises(contains="http.bad_route"):
        api.get("/a", name)
    with assert_raises(contains="http.bad_route"):
        api.get("no", name)
    with assert_raises(contains="http.bad_route"):
        api.get("/x", number)
    assert_equal(keys(paths_of(api)), "/a")


comptime TESTS = __functions_in_module()


def paths_of(api: ApiRouter) raises -> Value:
    return loads(api.document(OpenApi("Shop", "1")))["paths"]


def keys(object: Value) raises -> String:
    var text = String()
    for member in object.members():
        text.write(" " if text else "", member.key)
    return text^
