"""Tests functions whose parameters are extractors."""

from std.testing import assert_raises

from flare.http import (
    Extractor,
    FromText,
    IntoResponse,
    Path,
    Query,
    Rejection,
    Request,
    Response,
    Router,
    created,
    ok,
)
from flare.testing import TestClient
from tests.asserting import assert_equal, assert_true
from tests.http.support import asked


def test_path_parameters_are_taken_in_order() raises:
    var router = Router()
    router.get[_pair]("/a/:x/:y")
    router.get("/b/:x/:y", _pair)
    var client = TestClient(router^)
    assert_equal(asked(client, "/a/1/two"), "200 1 two")
    assert_equal(asked(client, "/b/1/two"), "200 1 two")
    assert_equal(
        asked(client, "/a/one/two"), "400 x: expected a number, got 'one'"
    )


def test_functions_of_zero_to_five_parameters_answer() raises:
    var router = Router()
    router.get[_none]("/")
    router.get[_one]("/:a")
    router.get[_pair]("/:a/:b")
    router.get[_three]("/:a/:b/:c")
    router.get[_four]("/:a/:b/:c/:d")
    router.get[_five]("/:a/:b/:c/:d/:e")
    var client = TestClient(router^)
    assert_equal(asked(client, "/"), "200 none")
    assert_equal(asked(client, "/1"), "200 1")
    assert_equal(asked(client, "/1/2"), "200 1 2")
    assert_equal(asked(client, "/1/2/3"), "200 1 2 3 /1/2/3")
    assert_equal(asked(client, "/1/2/3/4"), "200 1 2 3 4")
    assert_equal(asked(client, "/1/2/3/4/5"), "200 1 2 3 4 5")


def test_integers_are_read_strictly() raises:
    var router = Router()
    router.get[_one]("/:a")
    var client = TestClient(router^)
    for text in [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
    ]:
        assert_equal(asked(client, "/" + text), "200 " + text)
    assert_equal(asked(client, "/007"), "200 7")
    assert_equal(asked(client, "/%37"), "200 7")
    for text in [
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999999",
    ]:
        assert_equal(
            asked(client, "/" + text),
            String(
                (
                    "400 a: expected a number from -9223372036854775808 to"
                    " 9223372036854775807, got '"
                ),
                text,
                "'",
            ),
        )
    for text in ["-", "+1", "1_000", "0x10", "--1"]:
        assert_equal(
            asked(client, "/" + text),
            String("400 a: expected a number, got '", text, "'"),
        )
    assert_equal(asked(client, "/%201"), "400 a: expected a number, got ' 1'")
    for text in ["1.0", "-2.5", "1e3"]:
        assert_equal(
            asked(client, "/" + text),
            String("400 a: expected a whole number, got '", text, "'"),
        )


def test_unsigned_numbers_reach_their_bound() raises:
    var router = Router()
    router.get[_unsigned]("/:a")
    var client = TestClient(router^)
    assert_equal(
        asked(client, "/18446744073709551615"), "200 18446744073709551615"
    )
    for text in ["18446744073709551616", "-1"]:
        assert_equal(
            asked(client, "/" + text),
            String(
                (
                    "400 a: expected a number from 0 to 18446744073709551615,"
                    " got '"
                ),
                text,
                "'",
            ),
        )
    for text in ["-", "-x"]:
        assert_equal(
            asked(client, "/" + text),
            String("400 a: expected a number, got '", text, "'"),
        )


def test_floats_and_bools_are_read() raises:
    var router = Router()
    router.get[_float_and_bool]("/:a/:b")
    var client = TestClient(router^)
    assert_equal(asked(client, "/2.5/true"), "200 2.5 True")
    assert_equal(asked(client, "/-1e3/0"), "200 -1000.0 False")
    assert_equal(asked(client, "/1e-400/0"), "200 0.0 False")
    for text in ["nan", "inf", "1,5", "-", "-.", "1e", "1_0", "+5"]:
        assert_equal(
            asked(client, String("/", text, "/1")),
            String("400 a: expected a number, got '", text, "'"),
        )
    for text in ["1e400", "-1e309", "1e99999999999999999999"]:
        assert_equal(
            asked(client, String("/", text, "/1")),
            String(
                "400 a: expected a number from -1.8e308 to 1.8e308, got '",
                text,
                "'",
            ),
        )
    assert_equal(
        asked(client, "/1/yes"), "400 b: expected true or false, got 'yes'"
    )


def test_a_text_that_is_not_utf_8_is_refused() raises:
    var router = Router()
    router.get[_text]("/:a")
    var client = TestClient(router^)
    assert_equal(asked(client, "/%C3%A4"), "200 ä")
    assert_equal(
        asked(client, "/a%80%C3"),
        "400 a: expected text in UTF-8, got 'a\\x80\\xc3'",
    )
    for text in ["%C3", "%FF", "%ED%A0%80"]:
        assert_true(
            asked(client, "/" + text).startswith("400 a: expected text in UTF")
        )


def test_a_refused_value_is_shown_escaped_and_cut() raises:
    var router = Router()
    router.get[_one]("/:a")
    var client = TestClient(router^)
    assert_equal(
        asked(client, "/%0D%0A%1B%5C%C3%A4'"),
        "400 a: expected a number, got '\\x0d\\x0a\\x1b\\x5c\\xc3\\xa4''",
    )
    for octets in [64, 65]:
        assert_equal(
            asked(client, "/" + String("x") * octets),
            String(
                "400 a: expected a number, got '",
                String("x") * 64,
                "'" if octets == 64 else "...'",
            ),
        )


def test_the_rest_of_a_path_without_a_name_is_an_asterisk() raises:
    var router = Router()
    router.get[_one]("/files/*")
    router.get[_one]("/items/:id")
    router.get[_one]("/{number}")
    var other = Router()
    other.mount("/api/:version", router)
    var client = TestClient(other^)
    assert_equal(asked(client, "/api/1/files/x"), "200 1")
    client = TestClient(router^)
    assert_equal(
        asked(client, "/files/a/b"), "400 *: expected a number, got 'a/b'"
    )
    assert_equal(
        asked(client, "/items/b"), "400 id: expected a number, got 'b'"
    )
    assert_equal(asked(client, "/b"), "400 number: expected a number, got 'b'")


def test_query_parameters_may_be_missing_but_not_bad() raises:
    var router = Router()
    router.get[_page]("/")
    var client = TestClient(router^)
    assert_equal(asked(client, "/"), "200 page 1")
    assert_equal(asked(client, "/?page=3&page=4"), "200 page 3")
    assert_equal(asked(client, "/?p%61ge=%33"), "200 page 3")
    assert_equal(asked(client, "/?page"), "400 page: expected a number, got ''")
    assert_equal(
        asked(client, "/?page=x%0A"),
        "400 page: expected a number, got 'x\\x0a'",
    )


def test_a_type_of_the_users_reads_itself() raises:
    var router = Router()
    router.get[_colour]("/:a")
    var client = TestClient(router^)
    assert_equal(asked(client, "/red"), "200 colour 1")
    # The text of the error does not reach the peer.
    assert_equal(
        asked(client, "/mauve"), "400 a: the value is not allowed, got 'mauve'"
    )
    assert_equal(
        asked(client, "/%FF"), "400 a: expected text in UTF-8, got '\\xff'"
    )
    assert_equal(asked(client, "/secret"), "422 no such colour")


def test_an_extractor_of_the_users_may_refuse() raises:
    var router = Router()
    router.get[_members]("/")
    var client = TestClient(router^)
    assert_equal(asked(client, "/?key=open"), "200 welcome")
    assert_equal(asked(client, "/"), "401 no key")
    # What is not a rejection stays inside.
    assert_equal(asked(client, "/?key=crash"), "500 Internal Server Error")


def test_what_the_function_itself_raises_is_500() raises:
    var router = Router()
    router.get[_raises_rejection]("/")
    assert_equal(asked(TestClient(router^), "/"), "500 Internal Server Error")


def test_results_become_responses() raises:
    var router = Router()
    router.get[_none]("/static")
    router.get[_own_result]("/own")
    router.get[_response]("/response")
    var client = TestClient(router^)
    assert_equal(asked(client, "/static"), "200 none")
    assert_equal(asked(client, "/own"), "201 ticket 5")
    assert_equal(asked(client, "/response"), "200 GET")


def test_a_pattern_with_too_few_parameters_is_refused() raises:
    var router = Router()
    with assert_raises(contains="more path parameters than the pattern has"):
        router.get[_pair]("/:x")
    with assert_raises(contains="more path parameters than the pattern has"):
        router.get("/", _one)
    router.get[_pair]("/:x/*")
    assert_equal(asked(TestClient(router^), "/1/2/3"), "200 1 2/3")


def test_only_errors_of_their_form_are_rejections() raises:
    assert_equal(
        Rejection.status_of(Error(Rejection(404, "gone"))).value(), 404
    )
    for text in [
        "http.rejected 500 no",
        "http.rejected 399 no",
        "http.rejected 4040 no",
        "http.rejected 40",
        "http.rejected 404",
        "http.rejected 4:4 no",
        "http.rejecte 404 no",
        "",
    ]:
        if Rejection.status_of(Error(text)):
            raise Error("taken for a rejection: ", text)


def test_extractors_can_be_made_by_tests() raises:
    assert_equal(_pair(Path(4), Path(String("x"))), "4 x")
    assert_equal(_page(Query["page", Int](None)), "page 1")


def _none() -> StaticString:
    return "none"


def _one(a: Path[Int]) -> String:
    return String(a.value)


def _pair(a: Path[Int], b: Path[String]) raises -> String:
    return String(a.value, " ", b.value)


def _three(
    a: Path[Int], b: Path[Int], req: Request, c: Path[Int]
) raises -> String:
    return String(a.value, " ", b.value, " ", c.value, " ", req.path)


def _four(a: Path[Int], b: Path[Int], c: Path[Int], d: Path[Int]) -> String:
    return String(a.value, " ", b.value, " ", c.value, " ", d.value)


def _five(
    a: Path[Int], b: Path[Int], c: Path[Int], d: Path[Int], e: Path[Int]
) raises -> Response:
    return ok(
        String(a.value, " ", b.value, " ", c.value, " ", d.value, " ", e.value)
    )


def _unsigned(a: Path[UInt64]) -> String:
    return String(a.value)


def _float_and_bool(a: Path[Float64], b: Path[Bool]) -> String:
    return String(a.value, " ", b.value)


def _text(a: Path[String]) -> String:
    return a.value


def _page(page: Query["page", Int]) -> String:
    return String("page ", page.value.or_else(1))


def _colour(a: Path[_Colour]) -> String:
    return String("colour ", a.value.number)


def _members(key: _Key) -> StaticString:
    return "welcome"


def _own_result() -> _Ticket:
    return _Ticket(5)


def _response(req: Request) raises -> Response:
    return ok(String(req.method))


def _raises_rejection() raises -> String:
    raise Error(Rejection(404, "not from here"))


@fieldwise_init
struct _Colour(FromText):
    var number: Int

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        if text == "red":
            return Self(1)
        if text == "secret":
            raise Error(Rejection(422, "no such colour"))
        raise Error("the palette lacks ", text)


@fieldwise_init
struct _Key(Extractor):
    comptime PATH_PARAMETERS: Int = 0
    var text: String

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        var key = req.query_parameters().get("key")
        if not key:
            raise Error(Rejection(401, "no key"))
        if key.value() == "crash":
            raise Error("the key store is down")
        return Self(key.value())


@fieldwise_init
struct _Ticket(IntoResponse):
    var number: Int

    def into_response(var self) raises -> Response:
        return created(String("ticket ", self.number))


comptime TESTS = __functions_in_module()
