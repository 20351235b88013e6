"""Tests for reading and writing structs."""

from std.testing import assert_raises

from flare.json import (
    FromJson,
    JsonLimits,
    JsonNames,
    JsonOmitsNone,
    JsonReader,
    JsonRefusesUnknownFields,
    JsonWriter,
    ToJson,
    Value,
    decode,
    dumps,
)

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var error: StaticString


@fieldwise_init
struct Rounded(Copyable):
    var text: StaticString
    var number: Float64


@fieldwise_init
struct Day(Copyable, FromJson, ToJson):
    var number: Int

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        var text = String(json.string())
        if not text.startswith("day "):
            raise json.fail("expected a day")
        return Self(Int(text[byte=4:]))

    def to_json(self, json: JsonWriter) raises:
        json.string(String("day ", self.number))


@fieldwise_init
struct Item(Copyable, FromJson, ToJson):
    var name: String
    var price: Float64
    var count: UInt8


@fieldwise_init
struct Order(Copyable, FromJson, JsonNames, JsonRefusesUnknownFields, ToJson):
    var order_id: Int
    var items: List[Item]
    var note: Optional[String]
    var is_paid: Bool
    var day: Optional[Day]
    var extra: Optional[Value]

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        return "orderId" if field == "order_id" else field


@fieldwise_init
struct Sparse(Copyable, FromJson, JsonOmitsNone, ToJson):
    var a: Optional[Int]
    var b: Int
    var c: Optional[List[Optional[Int]]]


@fieldwise_init
struct Numbers(Copyable, FromJson, ToJson):
    var a: Int64
    var b: UInt64
    var c: Int8
    var d: Float32
    var e: Float64


comptime ORDER: StaticString = (
    '{"orderId":7,"items":[{"name":"a\\nb","price":12.99,"count":255},'
    '{"name":"é","price":0.5,"count":0}],"note":null,"is_paid":true,'
    '"day":"day 3","extra":{"x":[1.50,"y"]}}'
)


def test_structs_are_read_and_written() raises:
    var order = decode[Order](ORDER)
    assert_equal(order.order_id, 7)
    assert_equal(len(order.items), 2)
    assert_equal(order.items[0].name, "a\nb")
    assert_equal(order.items[0].price, 12.99)
    assert_equal(order.items[0].count, 255)
    assert_false(Bool(order.note))
    assert_true(order.is_paid)
    assert_equal(order.day.value().number, 3)
    assert_equal(order.extra.value()["x"][1].string_value(), "y")
    assert_equal(dumps(order), ORDER)
    assert_equal(dumps(decode[Order](dumps(order, indent=2))), ORDER)


def test_fields_come_in_any_order_and_optional_ones_may_lack() raises:
    var order = decode[Order](
        ' { "is_paid" : false , "items" : [ ] , "orderId" : -1 } '
    )
    assert_equal(order.order_id, -1)
    assert_false(Bool(order.note) or Bool(order.day) or Bool(order.extra))
    var sparse = decode[Sparse]('{"b":1,"c":[null,2],"unknown":{"a":[{}]}}')
    assert_equal(dumps(sparse), '{"b":1,"c":[null,2]}')
    sparse.c = None
    assert_equal(dumps(sparse), '{"b":1}')
    assert_equal(dumps(sparse, indent=1), '{\n "b": 1\n}')


def test_the_last_of_equal_fields_counts() raises:
    var item = decode[Item](
        '{"name":"a","price":1,"count":1,"name":"b","\\u006eame":"c"}'
    )
    assert_equal(item.name, "c")
    with assert_raises(contains="json.duplicate_key name: the key occurs"):
        _ = decode[Item](
            '{"name":"a","price":1,"count":1,"name":"b"}',
            JsonLimits(duplicate_keys_allowed=False),
        )
    # Nor in what the struct has no field for, or keeps as it is.
    var rows: List[Row] = [
        Row('{"b":1,"x":1,"x":2}', "json.duplicate_key x: the key occurs"),
        Row('{"b":1,"x":{"y":1,"y":2}}', "json.duplicate_key x.y: the key"),
    ]
    for row in rows:
        assert_equal(decode[Sparse](row.text).b, 1)
        with assert_raises(contains=String(row.error)):
            _ = decode[Sparse](
                row.text, JsonLimits(duplicate_keys_allowed=False)
            )


def test_numbers_of_every_kind_are_checked() raises:
    var text = StaticString(
        '{"a":-9223372036854775808,"b":18446744073709551615,"c":-128,"d":0.1,'
        '"e":5e-324}'
    )
    var numbers = decode[Numbers](text)
    assert_equal(numbers.b, UInt64.MAX)
    assert_equal(numbers.c, -128)
    assert_equal(numbers.d, Float32(0.1))
    var again = decode[Numbers](dumps(numbers))
    assert_equal(again.a, Int64.MIN)
    assert_equal(again.d, Float32(0.1))
    assert_equal(again.e, 5e-324)
    for bad in [
        '{"a":9223372036854775808}',
        '{"b":18446744073709551616}',
        '{"b":-1}',
        '{"c":128}',
        '{"c":-129}',
        '{"d":1e39}',
        '{"e":1e309}',
    ]:
        with assert_raises(contains="json.out_of_range "):
            _ = decode[Numbers](bad)


def test_numbers_of_narrow_types_are_rounded_once() raises:
    # Beside the middle between two numbers of the type, by less than Float64
    # can tell; what lies in the middle goes to the even one.
    var rows: List[Rounded] = [
        Rounded("1.000000059604644775390625", 1.0),
        Rounded("1.00000005960464477539062500000000001", 1.00000011920928955),
        Rounded("1.00000017881393432617187499999999999", 1.00000011920928955),
        Rounded("-1.00000005960464477539062500000000001", -1.00000011920928955),
        Rounded("18014399583223808", 18014398509481984),
        Rounded("18014399583223809", 18014400656965632),
        Rounded("18014399583223809e0", 18014400656965632),
        Rounded("0.000018014399583223809E21", 18014400656965632),
        # The smallest number, and half of it.
        Rounded("7.0064923216240853546186479164495e-46", 0),
        Rounded("7.0064923216240853546186479164496e-46", 1.401298464324817e-45),
        Rounded("1e-400", 0),
        Rounded("5e-324", 0),
        # The largest one, up to the middle to what would be the next.
        Rounded(
            "340282356779733661637539395458142568447.999", 3.4028234663852886e38
        ),
    ]
    for row in rows:
        assert_equal(Float64(decode[Float32](row.text)), row.number, row.text)
    assert_equal(dumps(decode[Float32]("-0")), "-0.0")
    assert_equal(dumps(decode[Float32]("-1e-60")), "-0.0")
    for bad in [
        "340282356779733661637539395458142568448",
        "-340282356779733661637539395458142568448",
        "3.5e38",
        "1e308",
        "1e400",
    ]:
        with assert_raises(contains="json.out_of_range $: the number does not"):
            _ = decode[Float32](bad)
    assert_equal(Float64(decode[Float16]("1.00048828125")), 1.0)
    assert_equal(
        Float64(decode[Float16]("1.000488281250000000000001")), 1.0009765625
    )
    assert_equal(Float64(decode[Float16]("65519.99999999999999999")), 65504.0)
    with assert_raises(contains="json.out_of_range $: the number does not"):
        _ = decode[Float16]("65520")
    assert_equal(Float64(decode[BFloat16]("1.00390625000001")), 1.0078125)


def test_exponents_are_counted_against_as_many_digits() raises:
    var zeros = String("0") * 200_000
    assert_equal(decode[Float64](String("0.", zeros, "1e200001")), 1.0)
    assert_equal(
        decode[Float32](
            String("0.", zeros, "1000000059604644775390626e200001")
        ),
        Float32(1.00000011920928955),
    )
    assert_equal(
        decode[Float64](String("1", zeros, "e-99999999999999999999")), 0
    )
    with assert_raises(contains="json.out_of_range $: the number does not"):
        _ = decode[Float64](String("0.", zeros, "1e99999999999999999999"))


def test_errors_say_what_a_front_end_needs() raises:
    var rows: List[Row] = [
        Row(
            (
                '{"items":[{"name":"a","price":1,"count":1},{"name":"a",'
                '"price":"12"}]}'
            ),
            (
                "wrong_type items[1].price: expected a number, got a string"
                " (line 1, column 64)"
            ),
        ),
        Row(
            '{\n "items":\n  [{"name":null}]}',
            (
                "wrong_type items[0].name: expected a string, got null"
                " (line 3, column 12)"
            ),
        ),
        Row("[]", "wrong_type $: expected an object, got an array (line 1,"),
        Row('{"items":{}}', "wrong_type items: expected an array, got an obj"),
        Row('{"is_paid":0}', "wrong_type is_paid: expected a boolean, got a n"),
        Row('{"orderId":true}', "wrong_type orderId: expected an integer, got"),
        Row('{"orderId":1.5}', "invalid orderId: expected an integer, got a f"),
        Row('{"orderId":1e2}', "invalid orderId: expected an integer, got a f"),
        Row('{"order_id":1}', "unknown_field order_id: no such field"),
        Row('{"a b":1}', 'unknown_field ["a\\x20b"]: no such field'),
        Row(
            '{"items":[],"is_paid":true}',
            "missing_field orderId: the field is missing (line 1, column 27)",
        ),
        Row(
            '{"items":[{"name":"a","count":1}]}',
            "missing_field items[0].price: the field is missing",
        ),
        Row(
            '{"items":[{"name":"a","price":1,"count":256}]}',
            (
                "out_of_range items[0].count: the number does not fit 0 to 255"
                " (line 1, column 41)"
            ),
        ),
        Row('{"day":"night"}', "invalid day: expected a day (line 1, column"),
        Row('{"day":"day \\n"}', "failed day: "),
        Row('{"day":3}', "wrong_type day: expected a string, got a number"),
        Row('{"extra":[1,]}', "syntax extra[1]: expected a value"),
        Row('{"is_paid":tru}', "syntax is_paid: expected a value"),
        Row('{"is_paid":true', "syntax is_paid: the text ends too early"),
        Row('{"is_paid":true,}', "syntax $: expected a key in double quotes"),
        Row('{"note":"\\ud800"}', "syntax note: half of a surrogate pair"),
        Row(
            '{"orderId":1,"items":[],"is_paid":true} x',
            "syntax $: expected the end of the text (line 1, column 41)",
        ),
    ]
    for row in rows:
        try:
            _ = decode[Order](row.text)
        except e:
            assert_true(
                String(e).startswith(String("json.", row.error)),
                String(e, " but not ", row.error),
            )
            continue
        raise Error("accepted ", row.text)


def test_what_was_read_is_freed_when_the_rest_is_refused() raises:
    # A sanitizer watches over this one.
    for text in [
        '{"items":[{"name":"a name that lies on the heap","price":1}]}',
        '{"note":"a note that lies on the heap","note":3}',
        (
            '{"items":[{"name":"a name that lies on the'
            ' heap","price":1,"count":2},1]}'
        ),
    ]:
        for _ in range(100):
            with assert_raises(contains="json."):
                _ = decode[Order](text)


def test_bare_types_are_read_too() raises:
    assert_equal(decode[Int]("42"), 42)
    assert_equal(decode[String]('"a"'), "a")
    assert_equal(decode[Bool](" true "), True)
    assert_equal(decode[Float64]("1"), 1.0)
    assert_equal(len(decode[List[Int]]("[1,2,3]")), 3)
    assert_equal(dumps(decode[List[List[Int]]]("[[],[1]]")), "[[],[1]]")
    with assert_raises(contains="json.wrong_type [1]: expected an integer"):
        _ = decode[List[Int]]('[1,"2"]')


comptime TESTS = __functions_in_module()
"""Every test of this module."""
