"""Tests JSON in the content of requests and responses."""

from std.testing import assert_raises

from flare.http import (
    HeaderMap,
    Json,
    Request,
    Response,
    Router,
    created_json,
    ok,
)
from flare.json import FromJson, JsonReader, ToJson, dumps
from flare.testing import TestClient
from tests.asserting import assert_equal
from tests.http.support import shown


@fieldwise_init
struct Row(Copyable):
    var type: StaticString
    var content: StaticString
    var answer: StaticString


@fieldwise_init
struct Even(Copyable, FromJson, ToJson):
    var number: Int

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        var text = json.string()
        return Self(Int(text))


@fieldwise_init
struct Item(Copyable, FromJson, ToJson):
    var name: String
    var price: Float64
    var even: Optional[Even]


@fieldwise_init
struct Order(Copyable, FromJson, ToJson):
    var items: List[Item]


def test_a_response_is_read_too() raises:
    var response = ok('{"json": {"hello": "flare"}}')
    assert_equal(response.json()["json"]["hello"].string_value(), "flare")
    with assert_raises(contains="json."):
        _ = ok("flare").json()


def test_content_is_read_into_structs_or_refused() raises:
    var router = Router()
    router.post[_order]("/")
    var client = TestClient(router^)
    var rows: List[Row] = [
        Row(
            "application/json",
            '{"items":[{"name":"a","price":1.5}]}',
            '200 {"items":[{"name":"a","price":1.5,"even":null}]}',
        ),
        Row(
            "Application/JSON ; charset=utf-8",
            '{"items":[]}',
            '200 {"items":[]}',
        ),
        Row("application/problem+json", '{"items":[]}', '200 {"items":[]}'),
        Row(
            "application/json",
            '{"items":[{"name":"a","price":1},{"name":null,"price":"b"}]}',
            (
                "422 /items/1/name: expected a string, got null (line 1,"
                " column 42); /items/1/price: expected a number, got a string"
                " (line 1, column 55)"
            ),
        ),
        Row(
            "application/json",
            '{"items":[}',
            "400 /items/0: expected a value (line 1, column 11)",
        ),
        Row(
            "application/json",
            "",
            "400 : the text ends too early (line 1, column 1)",
        ),
        Row(
            "application/json",
            '{"items":[{"even":"<b>"}]}',
            (
                "422 /items/0/even: the value is not allowed (line 1, column"
                " 24); /items/0/name: the field is missing (line 1, column 24);"
                " /items/0/price: the field is missing (line 1, column 24)"
            ),
        ),
    ]
    for row in rows:
        assert_equal(_posted(client, row.type, row.content), row.answer)


def test_the_answer_says_which_type_came_and_which_is_wanted() raises:
    var router = Router()
    router.post[_order]("/")
    var client = TestClient(router^)
    var rows: List[Row] = [
        Row(
            "",
            '{"items":[]}',
            (
                "415 expected content of type application/json, but the request"
                " has no Content-Type"
            ),
        ),
        Row(
            "+json",
            "{}",
            "415 expected content of type application/json, got '+json'",
        ),
        Row(
            "application/x-www-form-urlencoded",
            "items=",
            (
                "415 expected content of type application/json, got"
                " 'application/x-www-form-urlencoded'"
            ),
        ),
        Row(
            "text/\xe4\\",
            "{}",
            (
                "415 expected content of type application/json, got"
                " 'text/\\xc3\\xa4\\x5c'"
            ),
        ),
        Row(
            "application/jsonp",
            '{"items":[]}',
            (
                "415 expected content of type application/json, got"
                " 'application/jsonp'"
            ),
        ),
    ]
    for row in rows:
        assert_equal(_posted(client, row.type, row.content), row.answer)


def test_a_long_type_is_cut() raises:
    var router = Router()
    router.post[_order]("/")
    var client = TestClient(router^)
    var headers = HeaderMap()
    headers.append("Content-Type", String("x") * 65)
    assert_equal(
        client.post("/", "{}", headers).text(),
        String(
            "expected content of type application/json, got '",
            String("x") * 64,
            "...'",
        ),
    )


def test_a_value_is_answered_with_any_status() raises:
    var router = Router()
    router.post[_made]("/")
    router.post[_made_at]("/at")
    var client = TestClient(router^)
    var response = client.post("/", "")
    assert_equal(response.status, 201)
    assert_equal(response.text(), '{"items":[]}')
    assert_equal(
        response.headers.get("Content-Type").value(), "application/json"
    )
    response = client.post("/at", "")
    assert_equal(response.status, 201)
    assert_equal(response.headers.get("Location").value(), "/orders/7")
    assert_equal(
        response.headers.get("Content-Type").value(), "application/json"
    )
    assert_equal(response.text(), '{"items":[]}')


def test_content_may_be_a_dictionary() raises:
    var router = Router()
    router.post[_doubled]("/")
    var client = TestClient(router^)
    var type = StaticString("application/json")
    assert_equal(_posted(client, type, '{"b":1,"a":2}'), '200 {"b":2,"a":4}')
    assert_equal(
        _posted(client, type, '{"b":1,"a b":"2"}'),
        "422 /a b: expected an integer, got a string (line 1, column 14)",
    )


def test_requests_give_values() raises:
    var router = Router()
    router.post[_hello]("/")
    var client = TestClient(router^)
    assert_equal(_posted(client, "", '{"hello":"you"}'), "200 you")
    assert_equal(_posted(client, "", "{"), "400 Bad Request")
    assert_equal(_posted(client, "", "[1]"), "500 Internal Server Error")
    assert_equal(_posted(client, "", "{}"), "500 Internal Server Error")


def _made() -> Json[Order]:
    return Json(Order(List[Item]()), status=201)


def _made_at() raises -> Response:
    return created_json(dumps(Order(List[Item]())), location="/orders/7")


def _order(order: Json[Order]) -> Json[Order]:
    return Json(order.value.copy())


def _doubled(counts: Json[Dict[String, Int]]) -> Json[Dict[String, Int]]:
    var doubled = Dict[String, Int]()
    for item in counts.value.items():
        doubled[item.key] = 2 * item.value
    return Json(doubled^)


def _hello(req: Request) raises -> Response:
    return ok(req.json()["hello"].string_value())


def _posted(
    client: TestClient[Router[]], type: StaticString, content: StaticString
) raises -> String:
    var headers = HeaderMap()
    if type:
        headers.append("Content-Type", type)
    var response = client.post("/", content, headers)
    return String(response.status, " ", shown(response))


comptime TESTS = __functions_in_module()
"""Every test of this module."""
