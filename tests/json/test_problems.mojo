"""Tests the search for all errors of a text."""

from flare.json import (
    FromJson,
    JsonError,
    JsonNames,
    JsonReader,
    JsonRefusesUnknownFields,
    Value,
    decode,
    problems_of,
)

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var problems: StaticString


@fieldwise_init
struct Day(Copyable, FromJson):
    var number: Int

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        var text = String(json.string())
        if not text.startswith("day "):
            raise json.fail("expected a day")
        return Self(Int(text[byte=4:]))


@fieldwise_init
struct Pair(Copyable, FromJson):
    """Is an array of a text and a list of items."""

    var name: String
    var items: List[Item]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        _ = json.begin_array()
        var name = String(json.string())
        _ = json.next_element()
        var items = List[Item].from_json(json)
        if json.next_element():
            raise json.fail("expected two elements")
        return Self(name^, items^)


@fieldwise_init
struct Item(Copyable, FromJson):
    var name: String
    var price: Float64
    var count: UInt8


@fieldwise_init
struct Order(Copyable, FromJson, JsonNames, JsonRefusesUnknownFields):
    var order_id: Int
    var items: List[Item]
    var note: Optional[String]
    var day: Optional[Day]
    var prices: Optional[Dict[String, Float32]]
    var pair: Optional[Pair]
    var extra: Optional[Value]

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        return "orderId" if field == "order_id" else field


@fieldwise_init
struct Nest[T: Copyable & FromJson](Copyable, FromJson):
    """Is an array of a number and a list, and recovers from no error."""

    var number: Int
    var inner: List[Self.T]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        _ = json.begin_array()
        var number = json.int()
        _ = json.next_element()
        var inner = List[Self.T].from_json(json)
        if json.next_element():
            raise json.fail("expected two elements")
        return Self(number, inner^)


comptime Nest3[T: Copyable & FromJson] = Nest[Nest[Nest[T]]]
comptime Nest12 = Nest3[Nest3[Nest3[Nest3[Int]]]]


def test_all_errors_are_found_in_the_order_of_the_text() raises:
    var rows: List[Row] = [
        Row('{"orderId":1,"items":[]}', ""),
        Row(
            '{"items":[{"name":1,"price":"x","count":256},{}],"note":3}',
            (
                "/items/0/name expected a string, got a number 1:19;"
                "/items/0/price expected a number, got a string 1:29;"
                "/items/0/count the number does not fit 0 to 255 1:41;"
                "/items/1/name the field is missing 1:47;"
                "/items/1/price the field is missing 1:47;"
                "/items/1/count the field is missing 1:47;"
                "/note expected a string, got a number 1:57;"
                "/orderId the field is missing 1:58;"
            ),
        ),
        Row("[]", " expected an object, got an array 1:1;"),
        Row("\n 7", " expected an object, got a number 2:2;"),
        Row(
            '{"orderId":1,"items":[1,\n[2],{"name":"a"}]}',
            (
                "/items/0 expected an object, got a number 1:23;"
                "/items/1 expected an object, got an array 2:1;"
                "/items/2/price the field is missing 2:16;"
                "/items/2/count the field is missing 2:16;"
            ),
        ),
        # Strings of a refused value are read again as they were sent.
        Row(
            '{"orderId":"a\\"b\\\\","items":[],"x\\ny":"\\u00e9","z/~":[{}]}',
            (
                "/orderId expected an integer, got a string 1:12;"
                "/x\ny no such field 1:32;/z~1~0 no such field 1:48;"
            ),
        ),
        Row(
            '{"orderId":1,"items":[],"day":"a\\"b","note":2}',
            (
                "/day expected a day 1:37;/note expected a string, got a number"
                " 1:45;"
            ),
        ),
        Row(
            '{"orderId":1,"items":[],"day":"day \\"","note":2}',
            (
                "/day the value is not allowed 1:39;/note expected a string,"
                " got a number 1:47;"
            ),
        ),
        Row(
            '{"orderId":1,"items":[],"prices":{"a":1e39,"b":true,"c":1}}',
            (
                "/prices/a the number does not fit its type 1:39;"
                "/prices/b expected a number, got a boolean 1:48;"
            ),
        ),
    ]
    for row in rows:
        assert_equal(_found[Order](row.text), row.problems, row.text)


def test_values_that_the_program_reads_are_passed_over() raises:
    var rows: List[Row] = [
        Row(
            (
                '{"orderId":1,"items":[],"pair":["\\"",[{"name":"\\""},3],"],'
                '"],"note":0}'
            ),
            (
                "/pair/1/0/price the field is missing 1:51;"
                "/pair/1/0/count the field is missing 1:51;"
                "/pair/1/1 expected an object, got a number 1:53;"
                "/note expected a string, got a number 1:69;"
            ),
        ),
        # Each of equal keys has its error.
        Row(
            '{"orderId":"a","orderId":1,"orderId":null,"items":[]}',
            (
                "/orderId expected an integer, got a string 1:12;"
                "/orderId expected an integer, got null 1:38;"
            ),
        ),
        Row(
            '{"orderId":-1e999,"items":[{"name":"","price":1e999,"count":-1}]}',
            (
                "/orderId expected an integer, got a fraction 1:12;"
                "/items/0/price the number does not fit a Float64 1:47;"
                "/items/0/count the number does not fit 0 to 255 1:61;"
            ),
        ),
    ]
    for row in rows:
        assert_equal(_found[Order](row.text), row.problems, row.text)


def test_a_text_that_is_not_json_has_one_error() raises:
    var rows: List[Row] = [
        Row("", " the text ends too early 1:1;"),
        Row('{"orderId":"x",', " the text ends too early 1:16;"),
        Row('{"orderId":"x","items":[}', "/items/0 expected a value 1:25;"),
        Row('{"orderId":"x"} 1', " expected the end of the text 1:17;"),
        Row('{"orderId":NaN}', "/orderId expected a value 1:12;"),
        Row('{"orderId":"x","note":-Infinity}', "/note expected a digit 1:24;"),
        Row('{"orderId":"x","day":["\\q"]}', "/day/0 no such escape 1:24;"),
    ]
    for row in rows:
        var problems = problems_of[Order](row.text.as_bytes())
        assert_equal(len(problems), 1, row.text)
        assert_equal(problems.found[0].kind, JsonError.SYNTAX)
        assert_equal(_found[Order](row.text), row.problems, row.text)
    var deep = String('{"orderId":"x","a":', String("[") * 300)
    var problems = problems_of[Order](deep.as_bytes())
    assert_equal(len(problems), 1)
    assert_equal(problems.found[0].kind, JsonError.TOO_DEEP)
    var name: List[UInt8] = [123, 34, 0xFF, 34, 58, 49, 125]
    problems = problems_of[Order](Span(name))
    assert_equal(len(problems), 1)
    assert_equal(problems.found[0].kind, JsonError.NOT_UTF8)


def test_at_most_32_errors_are_found() raises:
    for count in [32, 33, 100_000]:
        var text = String('{"orderId":1,"items":[', '"x",' * (count - 1), "7]}")
        var problems = problems_of[Order](text.as_bytes())
        assert_equal(len(problems), 32)
        assert_equal(problems.are_more, count > 32)
        assert_equal(problems.found[31].pointer, "/items/31")
    # The rest is read too: it decides whether the text is JSON.
    var text = String('{"items":[', '"x",' * 100, "7]]")
    var problems = problems_of[Order](text.as_bytes())
    assert_equal(len(problems), 1)
    assert_false(problems.are_more)


def test_a_pointer_is_that_of_an_enclosing_value_if_it_is_long() raises:
    var name = String("n") * 253
    for more in [0, 1]:
        var text = String('{"a":{"', name, "n" * more, '":true}}')
        var problems = problems_of[Dict[String, Dict[String, Int]]](
            text.as_bytes()
        )
        assert_equal(len(problems), 1)
        assert_equal(
            problems.found[0].pointer,
            String("/a/", name) if more == 0 else "/a",
        )


def test_values_within_each_other_are_not_read_for_each_level() raises:
    var text = String("[1,[") * 12
    text.write("3," * 20_000, '"x"', "]]" * 12)
    var problems = problems_of[Nest12](text.as_bytes())
    assert_equal(len(problems), 1)
    # The search has ended before the text has.
    assert_true(problems.are_more)


def test_the_first_error_is_that_of_decode() raises:
    for text in [
        '{"items":[{"name":1,"price":"x","count":256},{}],"note":3}',
        '{"orderId":1.5,"items":4}',
        '{"orderId":1,"items":[],"day":"x","note":1}',
        '{"orderId":1,"items":[{"count":-1,"x":2}]}',
        "[1]",
    ]:
        var problems = problems_of[Order](text.as_bytes())
        try:
            _ = decode[Order](text)
        except e:
            var error = JsonError.of(e).value()
            ref first = problems.found[0]
            assert_equal(first.kind, error.kind)
            assert_equal(first.reason, error.reason)
            assert_equal(first.line, error.line)
            assert_equal(first.column, error.column)
            continue
        raise Error("accepted ", text)


comptime TESTS = __functions_in_module()
"""Every test of this module."""


def _found[T: FromJson](text: StringSlice) raises -> String:
    var found = String()
    for problem in problems_of[T](text.as_bytes()).found:
        found.write(
            problem.pointer,
            " ",
            problem.reason,
            " ",
            problem.line,
            ":",
            problem.column,
            ";",
        )
    return found^
