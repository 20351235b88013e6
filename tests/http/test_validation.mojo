"""Tests that a refusal lists all problems of a request."""

from flare.http import (
    App,
    Body,
    Extractor,
    Form,
    FormFields,
    FromFields,
    FromForm,
    FromText,
    Handler,
    HeaderMap,
    Json,
    Path,
    Problems,
    Query,
    QueryOf,
    Rejection,
    Request,
    Router,
    State,
    Validated,
    form_value,
)
from flare.json import FromJson, loads
from flare.testing import TestClient
from tests.asserting import assert_equal, assert_false, assert_true
from tests.http.support import asked, shown


@fieldwise_init
struct Part(Copyable, FromJson, Validated):
    var price: Float64

    def validate(self, mut problems: Problems):
        problems.require(self.price > 0, "/price", "must be positive")


@fieldwise_init
struct Item(Copyable, FromJson, Validated):
    var name: String
    var price: Float64
    var parts: Optional[List[Part]]

    def validate(self, mut problems: Problems):
        problems.require(self.name != "", "/name", "must not be empty")
        problems.require(self.price > 0, "/price", "must be positive")
        problems.at("parts", self.parts)


@fieldwise_init
struct Order(Copyable, FromJson, Validated):
    var items: List[Item]
    var gift: Optional[Item]
    var extra: Optional[Dict[String, Item]]
    var counts: Optional[List[Int]]

    def validate(self, mut problems: Problems):
        problems.require(len(self.items) > 0, "items", "must not be empty")
        problems.at("items", self.items)
        problems.at("gift", self.gift)
        problems.at("ex/tra", self.extra)
        # Nothing in it is validated.
        problems.at("counts", self.counts)
        if self.gift and len(self.items) > 2:
            problems.add("", "a gift has at most two items")


@fieldwise_init
struct Search(FromFields, Validated):
    var q: String
    var page: Optional[Int]
    var tag: List[String]
    var size: List[UInt64]
    var is_exact: Optional[Bool]
    var shade: Optional[Shade]

    def validate(self, mut problems: Problems):
        problems.require(
            self.page.or_else(1) > 0, "/page", "must be at least 1"
        )


@fieldwise_init
struct Between(FromFields, Validated):
    var first: Int
    var last: Int

    def validate(self, mut problems: Problems):
        problems.require(self.first <= self.last, "", "must be in order")


@fieldwise_init
struct Range(FromForm, Validated):
    var first: Int
    var last: Int

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        return Self(
            form_value[Int](fields, "first"), form_value[Int](fields, "last")
        )

    def validate(self, mut problems: Problems):
        problems.require(self.first <= self.last, "", "must be in order")


@fieldwise_init
struct Shade(Copyable, FromText, Validated):
    var number: Int

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        if text == "secret":
            raise Error(Rejection(403, "no such shade"))
        return Self(Int(text))

    def validate(self, mut problems: Problems):
        problems.require(self.number < 100, "", "must be below 100")


@fieldwise_init
struct Key(Extractor):
    comptime PATH_PARAMETERS: Int = 0

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        raise Error(Rejection(401, "no key"))


def test_an_answer_is_a_problem_document() raises:
    var router = Router()
    router.post("/", _order)
    var response = TestClient(router^).post(
        "/",
        '{"items":[{"name":"a","price":1},{"name":"","price":-1}]}',
        _json(),
    )
    assert_equal(response.status, 422)
    assert_equal(
        response.headers.get("Content-Type").value(), "application/problem+json"
    )
    assert_equal(
        response.text(),
        (
            '{"type":"about:blank","title":"Unprocessable Content",'
            '"status":422,"detail":"The request has 2 problems.","errors":['
            '{"in":"body","pointer":"/items/1/name",'
            '"detail":"must not be empty"},'
            '{"in":"body","pointer":"/items/1/price",'
            '"detail":"must be positive"}]}'
        ),
    )


def test_values_are_validated_with_their_places() raises:
    var router = Router()
    router.post("/", _order)
    router.post("/list", _items)
    router.post("/names", _by_name)
    var client = TestClient(router^)
    var good = '{"name":"a","price":1}'
    var bad = '{"name":"a","price":0}'
    var rows: List[Tuple[String, String, String]] = [
        ("/", String('{"items":[', good, '],"counts":[1]}'), "200 1"),
        ("/", '{"items":[]}', "422 /items: must not be empty"),
        (
            "/",
            String(
                '{"items":[',
                good,
                ',{"name":"a","price":1,"parts":[',
                good,
                ",",
                bad,
                "]},",
                good,
                '],"gift":',
                bad,
                ',"extra":{"k~":',
                bad,
                "}}",
            ),
            (
                "422 /items/1/parts/1/price: must be positive;"
                " /gift/price: must be positive;"
                " /ex~1tra/k~0/price: must be positive;"
                " : a gift has at most two items"
            ),
        ),
        (
            "/list",
            String("[", good, ",", bad, "]"),
            "422 /1/price: must be positive",
        ),
        ("/list", String("[", good, "]"), "200 1"),
        (
            "/names",
            String('{"a/b":', bad, "}"),
            "422 /a~1b/price: must be positive",
        ),
        # What cannot be read is not validated.
        (
            "/",
            '{"items":[{"name":"","price":"x"}]}',
            (
                "422 /items/0/price: expected a number, got a string (line 1,"
                " column 30)"
            ),
        ),
        (
            "/",
            '{"items":[{"name":"","price":"x"}]',
            "400 /items: the text ends too early (line 1, column 35)",
        ),
    ]
    for row in rows:
        assert_equal(_posted(client, row[0], row[1], _json()), row[2])


def test_at_most_32_problems_are_listed() raises:
    var router = Router()
    router.post("/list", _items)
    var client = TestClient(router^)
    var bad = '{"name":"","price":0}'
    for count in [16, 17, 1000]:
        var text = String("[", (bad + ",") * (count - 1), bad, "]")
        var response = client.post("/list", text, _json())
        var problem = loads(response.text())
        assert_equal(len(problem["errors"]), 32)
        assert_equal(
            problem["errors"][31]["pointer"].string_value(), "/15/price"
        )
        assert_equal(
            problem["detail"].string_value(),
            "The request has 32 problems." if count
            == 16 else "The request has more than 32 problems.",
        )
    # No memory is used for the others, nor for none at all.
    var problems = Problems()
    assert_false(problems)
    for _ in range(100):
        problems.require(False, "a", "x")
    assert_equal(len(problems), 32)
    assert_true(problems.are_more)


def test_octets_of_a_client_are_escaped_and_bounded() raises:
    var router = Router()
    router.post("/names", _by_name)
    router.get("/:id", _shade)
    var client = TestClient(router^)
    var response = client.post(
        "/names",
        '{"\\u0000<\\u001b\\"\\n":{"name":1,"price":1}}',
        _json(),
    )
    assert_true('"pointer":"/\\u0000<\\u001b\\"\\n/name"' in response.text())
    var long = String("~") * 1000
    response = client.post("/names", String('{"', long, '":0}'), _json())
    assert_equal(shown(response).find("~"), -1)
    response = client.get("/%22%0A%FF")
    assert_true("got '\\\"\\\\x0a\\\\xff'" in response.text())
    for octet in response.text().as_bytes():
        assert_true(octet >= 32 and octet < 127)


def test_queries_are_read_into_structs() raises:
    var router = Router()
    router.get("/", _search)
    var client = TestClient(router^)
    var rows: List[Tuple[String, String]] = [
        ("/?q=a", "200 a 1 []"),
        ("/?q=a+b&q=c&page=7&tag=x&tag=%79&size=1&other", "200 a b 7 [x y ]"),
        ("/", "400 q: the parameter is missing"),
        (
            "/?page=x&size=1&size=-1&is_exact=maybe&shade=s",
            (
                "400 q: the parameter is missing;"
                " page: expected a number, got 'x';"
                " size: expected a number from 0 to 18446744073709551615, got"
                " '-1'; is_exact: expected true or false, got 'maybe';"
                " shade: the value is not allowed, got 's'"
            ),
        ),
        ("/?q=a&page=0", "422 page: must be at least 1"),
        ("/?page=0", "400 q: the parameter is missing"),
        ("/?q=%FF", "200 \uFFFD 1 []"),
        ("/?shade=secret", "403 no such shade"),
    ]
    for row in rows:
        assert_equal(asked(client, row[0]), row[1])


def test_values_that_do_not_fit_together_have_no_name() raises:
    var router = Router()
    router.get("/", _span)
    router.post("/", _span_of_form)
    var client = TestClient(router^)
    assert_equal(asked(client, "/?first=1&last=2"), "200 1 to 2")
    var answer = client.get("/?first=2&last=1")
    assert_equal(answer.status, 422)
    var errors = loads(answer.text())["errors"]
    assert_equal(len(errors.elements()), 1)
    assert_equal(errors[0]["in"].string_value(), "query")
    assert_false("name" in errors[0])
    var form = HeaderMap()
    form.set("Content-Type", "application/x-www-form-urlencoded")
    assert_equal(client.post("/", "first=2&last=1", form).status, 422)


def test_forms_that_a_type_reads_itself_are_validated() raises:
    var router = Router()
    router.post("/", _own_form)
    router.post("/other", _own_form_and_query)
    var client = TestClient(router^)
    var form = HeaderMap()
    form.set("Content-Type", "application/x-www-form-urlencoded")
    assert_equal(_posted(client, "/", "first=1&last=2", form), "200 1 to 2")
    assert_equal(
        _posted(client, "/", "first=2&last=1", form),
        "422 : must be in order",
    )
    assert_equal(
        _posted(client, "/other?page=x", "first=2&last=1", form),
        "400 : must be in order; page: expected a number, got 'x'",
    )


def test_forms_are_read_into_structs() raises:
    var router = Router()
    router.post("/", _form)
    var client = TestClient(router^)
    var form = HeaderMap()
    form.append("Content-Type", "application/x-www-form-urlencoded")
    assert_equal(_posted(client, "/", "q=a&page=2&tag=x", form), "200 a 2 [x ]")
    assert_equal(
        _posted(client, "/", "page=two", form),
        "400 /q: the field is missing; /page: expected a number, got 'two'",
    )
    assert_equal(
        _posted(client, "/", "q=a&page=-1", form),
        "422 /page: must be at least 1",
    )
    assert_equal(
        _posted(client, "/", "q=a", _json()),
        (
            "415 expected content of type application/x-www-form-urlencoded,"
            " got 'application/json'"
        ),
    )
    var many = String("q&") * 1001
    assert_equal(_posted(client, "/", many, form), "413 the form is too large")
    many = "q=" + "x" * (1 << 20)
    assert_equal(client.post("/", many, form).status, 413)


def test_values_of_paths_are_validated() raises:
    var router = Router()
    router.get("/:id", _shade)
    var client = TestClient(router^)
    assert_equal(asked(client, "/7?shade=8"), "200 7 8")
    assert_equal(
        asked(client, "/100?shade=101"),
        "422 id: must be below 100; shade: must be below 100",
    )
    assert_equal(
        asked(client, "/100?shade=x"),
        "400 id: must be below 100; shade: the value is not allowed, got 'x'",
    )


def test_all_parameters_of_a_function_share_one_answer() raises:
    var router = Router[Int]()
    router.post("/:id/:part", _all)
    router.post("/guarded/:id/:part", _guarded)
    router.post("/key/:id", _key_first)
    var client = TestClient(App(state=0, handler=router^))
    var good = '{"name":"a","price":1}'
    assert_equal(_posted(client, "/1/2?page=3", good, _json()), "200 1 2 3 a")
    assert_equal(
        _posted(client, "/x/y?page=z", '{"name":1,"price":2}', _json()),
        (
            "400 id: expected a number, got 'x'; page: expected a number, got"
            " 'z'; part: expected a number, got 'y'; /name: expected a string,"
            " got a number (line 1, column 9)"
        ),
    )
    assert_equal(
        _posted(client, "/1/2", '{"name":"","price":2}', _json()),
        "422 /name: must not be empty",
    )
    # Another reason to refuse the request is the answer on its own.
    assert_equal(_posted(client, "/x/y", good, HeaderMap())[byte=0:4], "415 ")
    # Nothing is said about what stands after an extractor of the program.
    assert_equal(
        _posted(client, "/guarded/x/y", "{}", _json()),
        "400 id: expected a number, got 'x'",
    )
    assert_equal(_posted(client, "/guarded/1/y", "{}", _json()), "401 no key")
    assert_equal(_posted(client, "/key/x", "{}", _json()), "401 no key")


comptime TESTS = __functions_in_module()
"""Every test of this module."""


def _order(order: Json[Order]) -> String:
    return String(len(order.value.items))


def _items(items: Json[List[Item]]) -> String:
    return String(len(items.value))


def _by_name(items: Json[Dict[String, Item]]) -> String:
    return String(len(items.value))


def _span(span: QueryOf[Between]) -> String:
    return String(span.value.first, " to ", span.value.last)


def _span_of_form(span: Form[Between]) -> String:
    return String(span.value.first, " to ", span.value.last)


def _own_form(span: Form[Range]) -> String:
    return String(span.value.first, " to ", span.value.last)


def _own_form_and_query(span: Form[Range], page: Query["page", Int]) -> String:
    return String(span.value.first, " ", page.value)


def _search(search: QueryOf[Search]) -> String:
    return _told(search.value)


def _form(form: Form[Search]) -> String:
    return _told(form.value)


def _told(search: Search) -> String:
    var text = String(search.q, " ", search.page.or_else(1), " [")
    for tag in search.tag:
        text.write(tag, " ")
    text.write("]")
    return text^


def _shade(id: Path[Shade], shade: Query["shade", Shade]) raises -> String:
    return String(id.value.number, " ", shade.value.value().number)


def _all(
    id: Path[Int],
    page: Query["page", Int],
    state: State[Int],
    part: Path[Int],
    item: Json[Item],
) raises -> String:
    return String(
        id.value,
        " ",
        part.value,
        " ",
        page.value.or_else(0),
        " ",
        item.value.name,
    )


def _guarded(
    id: Path[Int], key: Key, part: Path[Int], item: Json[Item]
) -> StaticString:
    return "never"


def _key_first(key: Key, id: Path[Int], item: Json[Item]) -> StaticString:
    return "never"


def _json() raises -> HeaderMap:
    var headers = HeaderMap()
    headers.append("Content-Type", "application/json")
    return headers^


def _posted[
    H: Handler
](
    client: TestClient[H],
    target: StringSlice,
    content: StringSlice,
    headers: HeaderMap,
) raises -> String:
    var response = client.post(target, Body(content), headers)
    return String(response.status, " ", shown(response))
