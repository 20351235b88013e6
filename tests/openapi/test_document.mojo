"""Tests what the document says of the types of functions."""

from std.testing import assert_raises

from flare.http import (
    FnHandler,
    Form,
    Json,
    Path,
    ProblemDetails,
    Query,
    QueryOf,
    Request,
    Response,
    ok,
)
from flare.json import Value, dumps, loads
from flare.message import FormFields
from flare.openapi import ApiOperation, ApiRouter, OpenApi, SecurityScheme

from tests.asserting import assert_equal, assert_false, assert_true

from .shapes import Color, Item, Key, Plain, Search, Word

comptime INT: StaticString = '{"type":"integer","format":"int64"}'
comptime TEXT: StaticString = '{"type":"string"}'


def plain(req: Request) raises -> Response:
    return ok("plain")


def text() -> String:
    return "text"


def item(id: Path[Int]) -> Json[Item]:
    return Json(Item("lamp", None))


def add(item: Json[Item]) -> Json[Item]:
    return Json(item.value.copy())


def pair(a: Path[Color], q: Query["q", Word], b: Path[Float64]) -> StaticString:
    return "pair"


def search(search: QueryOf[Search]) -> String:
    return "search"


def fill(form: Form[Search]) -> String:
    return "form"


def fill_any(form: Form[FormFields]) -> String:
    return "form"


def problem(word: Path[Word]) -> ProblemDetails:
    return ProblemDetails(404)


def guarded(key: Key, name: Path[String]) -> String:
    return "guarded"


def test_the_head_of_a_document() raises:
    var api = ApiRouter()
    var document = loads(
        api.document(
            OpenApi(
                'The "shop"',
                "1.2",
                description="Sells.",
                servers=["/v1", "https://api.example"],
            )
        )
    )
    assert_equal(document["openapi"].string_value(), "3.1.0")
    assert_equal(
        dumps(document["info"]),
        '{"title":"The \\"shop\\"","version":"1.2","description":"Sells."}',
    )
    assert_equal(
        dumps(document["servers"]),
        '[{"url":"/v1"},{"url":"https://api.example"}]',
    )
    assert_equal(dumps(document["paths"]), "{}")
    assert_false("security" in document)
    assert_false("tags" in document)


def test_a_response_is_not_described() raises:
    var api = ApiRouter()
    api.get("/plain", plain)
    assert_equal(
        operation(api, "/plain"),
        (
            '{"operationId":"get_plain","responses":{"default":{"description":'
            '"Not described."}}}'
        ),
    )


def test_a_text() raises:
    var api = ApiRouter()
    api.get("/", text)
    assert_equal(
        operation(api, "/"),
        (
            '{"operationId":"get","responses":{"200":{"description":"OK","content"'
            ':{"text/plain":{"schema":{"type":"string"}}}}}}'
        ),
    )


def test_a_handler_describes_itself_or_not() raises:
    var api = ApiRouter()
    api.get("/a", Plain())
    api.get("/b", FnHandler(plain))
    assert_equal(
        dumps(found(api, "/a")["responses"]),
        '{"200":{"description":"Plain.","content":{"text/plain":{}}}}',
    )
    assert_equal(
        dumps(found(api, "/b")["responses"]),
        '{"default":{"description":"Not described."}}',
    )


def test_parameters_of_the_path_have_their_types() raises:
    var api = ApiRouter()
    # The function does not name `more`.
    api.get("/x/:a/{b}/:more", pair)
    assert_equal(
        dumps(found(api, "/x/{a}/{b}/{more}")["parameters"]),
        (
            '[{"name":"a","in":"path","required":true,"schema":{"type":"string",'
            '"enum":["red"]}},'
            '{"name":"b","in":"path","required":true,"schema":{"type":"number",'
            '"format":"double"}},'
            '{"name":"more","in":"path","required":true,"schema":{"type":"string"'
            "}},"
            '{"name":"q","in":"query","required":false,"schema":{"type":"string"}'
            "}]"
        ),
    )
    assert_equal(statuses(api, "/x/{a}/{b}/{more}"), "200 400 422")


def test_a_text_in_the_path_is_never_malformed() raises:
    var api = ApiRouter()
    api.get("/x/:name", guarded)
    assert_equal(statuses(api, "/x/{name}"), "200 401")


def test_the_rest_of_a_path_is_a_parameter() raises:
    var api = ApiRouter()
    api.get("/files/*path", plain)
    assert_equal(
        dumps(found(api, "/files/{path}")["parameters"]),
        (
            '[{"name":"path","in":"path","description":"The rest of the'
            " path. It"
            ' may contain slashes.","required":true,"schema":{"type":"string"},'
            '"x-flare-rest":true}]'
        ),
    )


def test_a_struct_of_the_query() raises:
    var api = ApiRouter()
    api.get("/search", search)
    assert_equal(
        dumps(found(api, "/search")["parameters"]),
        (
            '[{"name":"text","in":"query","required":true,"schema":{"type":"string'
            '"}},'
            '{"name":"limit","in":"query","required":false,"schema":{"type":"intege'
            'r","format":"int64"}},'
            '{"name":"colors","in":"query","required":false,"schema":{"type":"array'
            '","items":{"type":"string","enum":["red"]}}}]'
        ),
    )
    assert_equal(statuses(api, "/search"), "200 400")


def test_json_in_and_out() raises:
    var api = ApiRouter()
    api.post("/items", add)
    var post = found(api, "/items", "post")
    assert_equal(
        dumps(post["requestBody"]),
        (
            '{"required":true,"content":{"application/json":{"schema":{"$ref":"#/co'
            'mponents/schemas/Item"}}}}'
        ),
    )
    assert_equal(
        dumps(post["responses"]["200"]["content"]),
        '{"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}',
    )
    assert_equal(
        dumps(post["responses"]["422"]["content"]),
        (
            '{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Re'
            'questProblem"}}}'
        ),
    )
    assert_equal(
        dumps(post["responses"]["415"]["content"]),
        '{"text/plain":{"schema":{"type":"string"}}}',
    )
    assert_equal(statuses(api, "/items", "post"), "200 400 415 422")
    var schemas = document_of(api)["components"]["schemas"]
    assert_equal(
        dumps(schemas["Item"]),
        (
            '{"type":"object","properties":{"name":{"type":"string"},"note":{"type'
            '":["string","null"]}},"required":["name"]}'
        ),
    )
    # In the order of the alphabet.
    assert_equal(keys(schemas), "Item ProblemEntry RequestProblem")


def test_forms() raises:
    var api = ApiRouter()
    api.post("/form", fill)
    api.post("/any", fill_any)
    assert_equal(
        dumps(found(api, "/form", "post")["requestBody"]["content"]),
        (
            '{"application/x-www-form-urlencoded":{"schema":{"type":"object","prope'
            'rties":{"text":{"type":"string"},"limit":{"type":"integer","format":"i'
            'nt64"},"colors":{"type":"array","items":{"type":"string","enum":["red"'
            ']}}},"required":["text"]}}}'
        ),
    )
    assert_equal(statuses(api, "/form", "post"), "200 400 415")
    assert_equal(
        dumps(found(api, "/any", "post")["requestBody"]["content"]),
        (
            '{"application/x-www-form-urlencoded":{"schema":{"type":"object","addit'
            'ionalProperties":{"type":"string"}}}}'
        ),
    )


def test_a_problem_is_a_problem_of_any_status() raises:
    var api = ApiRouter()
    api.get("/problem/:word", problem)
    var responses = found(api, "/problem/{word}")["responses"]
    assert_equal(keys(responses), "400 422 default")
    assert_true("application/problem+json" in responses["default"]["content"])


def test_extractors_describe_themselves() raises:
    var api = ApiRouter()
    api.get("/x/:name", guarded)
    assert_equal(dumps(found(api, "/x/{name}")["security"]), '[{"bearer":[]}]')
    assert_equal(
        dumps(document_of(api)["components"]["securitySchemes"]),
        '{"bearer":{"type":"http","scheme":"bearer"}}',
    )


def test_notes_say_more() raises:
    var api = ApiRouter(tag="things")
    api.get("/a", text, "Reads a")
    api.get(
        "/b/:id",
        plain,
        ApiOperation("Reads b", description="More.", tag="b", id="read_b")
        .answers[Item](200, "The item.")
        .answers(204)
        .problem(404, "None.")
        .parameter("id", "The number.")
        .deprecated(),
    )
    assert_equal(
        dumps(found(api, "/a")["tags"])
        + found(api, "/a")["summary"].string_value(),
        '["things"]Reads a',
    )
    assert_equal(
        operation(api, "/b/{id}"),
        (
            '{"tags":["b"],"summary":"Reads'
            ' b","description":"More.","operationId"'
            ':"read_b","parameters":[{"name":"id","in":"path","description":"The nu'
            'mber.","required":true,"schema":{"type":"string"}}],"responses":{"200"'
            ':{"description":"The'
            ' item.","content":{"application/json":{"schema":{"'
            '$ref":"#/components/schemas/Item"}}}},"204":{"description":"No'
            " Content"
            '"},"404":{"description":"None.","content":{"application/problem+json":'
            '{"schema":{"$ref":"#/components/schemas/RequestProblem"}}}}},"deprecat'
            'ed":true}'
        ),
    )
    assert_equal(
        dumps(document_of(api)["tags"]), '[{"name":"things"},{"name":"b"}]'
    )


def test_a_status_of_the_notes_keeps_the_content() raises:
    var api = ApiRouter()
    api.post("/items", add, ApiOperation().answers(201, "Added."))
    var responses = found(api, "/items", "post")["responses"]
    assert_equal(keys(responses), "201 400 415 422")
    assert_equal(
        dumps(responses["201"]),
        (
            '{"description":"Added.","content":{"application/json":{"schema":{"$ref'
            '":"#/components/schemas/Item"}}}}'
        ),
    )


def test_contents_that_a_function_reads_itself() raises:
    var api = ApiRouter()
    api.post(
        "/up",
        plain,
        ApiOperation()
        .accepts("multipart/form-data")
        .accepts[Item]("application/json"),
    )
    assert_equal(
        dumps(found(api, "/up", "post")["requestBody"]["content"]),
        (
            '{"multipart/form-data":{},"application/json":{"schema":{"$ref":"#/comp'
            'onents/schemas/Item"}}}'
        ),
    )


def test_a_redirect_is_all_that_a_response_is() raises:
    var api = ApiRouter()
    api.get("/old", plain, ApiOperation().answers(303).answers(404))
    assert_equal(statuses(api, "/old"), "303 404")
    # Besides the response of a known type.
    api.get("/text", text, ApiOperation().answers(303))
    assert_equal(statuses(api, "/text"), "200 303")


def test_security_of_the_whole_api() raises:
    var api = ApiRouter()
    api.get("/a", text)
    api.get("/b", text, ApiOperation().public())
    api.get("/c", text, ApiOperation().requires(SecurityScheme.basic()))
    var about = OpenApi(
        "Shop", "1", security=[SecurityScheme.bearer(format="JWT")]
    )
    var document = loads(api.document(about))
    assert_equal(dumps(document["security"]), '[{"bearer":[]}]')
    assert_false("security" in document["paths"]["/a"]["get"])
    assert_equal(dumps(document["paths"]["/b"]["get"]["security"]), "[]")
    assert_equal(
        dumps(document["paths"]["/c"]["get"]["security"]), '[{"basic":[]}]'
    )
    assert_equal(
        dumps(document["components"]["securitySchemes"]["bearer"]),
        '{"type":"http","scheme":"bearer","bearerFormat":"JWT"}',
    )


def test_two_schemes_of_a_name_are_an_error() raises:
    var api = ApiRouter()
    api.get("/a", text, ApiOperation().requires(SecurityScheme.basic("own")))
    api.get("/b", text, ApiOperation().requires(SecurityScheme.bearer("own")))
    with assert_raises(contains="openapi.two_schemes"):
        _ = document_of(api)


def test_ids_are_different() raises:
    var api = ApiRouter()
    api.get("/a-b", text)
    api.get("/a_b", text)
    api.get("/c", text, ApiOperation(id="get_a_b_2"))
    api.post("/a_b", text)
    var paths = document_of(api)["paths"]
    assert_equal(paths["/a-b"]["get"]["operationId"].string_value(), "get_a_b")
    assert_equal(
        paths["/a_b"]["get"]["operationId"].string_value(), "get_a_b_3"
    )
    assert_equal(
        paths["/a_b"]["post"]["operationId"].string_value(), "post_a_b"
    )
    api.get("/d", text, ApiOperation(id="get_a_b_2"))
    with assert_raises(contains="openapi.two_ids"):
        _ = document_of(api)


comptime TESTS = __functions_in_module()


def document_of(api: ApiRouter) raises -> Value:
    return loads(api.document(OpenApi("Shop", "1")))


def found(
    api: ApiRouter, path: StringSlice, method: StringSlice = "get"
) raises -> Value:
    return document_of(api)["paths"][path][method]


def operation(api: ApiRouter, path: StringSlice) raises -> String:
    return dumps(found(api, path))


def statuses(
    api: ApiRouter, path: StringSlice, method: StringSlice = "get"
) raises -> String:
    return keys(found(api, path, method)["responses"])


def keys(object: Value) raises -> String:
    var text = String()
    for member in object.members():
        text.write(" " if text else "", member.key)
    return text^
