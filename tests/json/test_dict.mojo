"""Tests for reading and writing dictionaries."""

from std.hash import hash
from std.testing import assert_raises

from flare.json import (
    FromJson,
    JsonError,
    JsonLimits,
    JsonNames,
    JsonOmitsNone,
    JsonRefusesUnknownFields,
    ToJson,
    Value,
    decode,
    dumps,
)

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var error: StaticString


@fieldwise_init
struct Price(
    Copyable, FromJson, JsonOmitsNone, JsonRefusesUnknownFields, ToJson
):
    var amount: Float64
    var currency: Optional[String]


@fieldwise_init
struct Catalogue(FromJson, JsonNames, JsonOmitsNone, ToJson):
    var prices: Dict[String, Price]
    var stock_by_place: Dict[String, Dict[String, UInt16]]
    var names: Optional[Dict[String, String]]

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        return "stockByPlace" if field == "stock_by_place" else field


@fieldwise_init
struct Single(FromJson):
    # Not copyable, as a struct that is only read may be.
    var number: Int


@fieldwise_init
struct OfEveryKind(FromJson, ToJson):
    var a: Dict[String, Int]
    var b: Dict[String, Bool]
    var c: Dict[String, Optional[Float32]]
    var d: Dict[String, List[Dict[String, Int8]]]
    var e: Dict[String, Value]
    var f: Dict[String, Optional[Dict[String, UInt64]]]


comptime CATALOGUE: StaticString = (
    '{"prices":{"a b":{"amount":1.5,"currency":"EUR"},"":{"amount":2.0}},'
    '"stockByPlace":{"z":{"y":65535,"x":0},"a":{}},"names":{"é\\n":"\\u0000"}}'
)


def test_dictionaries_are_read_and_written_in_the_order_of_the_text() raises:
    var catalogue = decode[Catalogue](CATALOGUE)
    assert_equal(len(catalogue.prices), 2)
    assert_equal(catalogue.prices["a b"].amount, 1.5)
    assert_equal(catalogue.prices[""].amount, 2.0)
    assert_equal(catalogue.stock_by_place["z"]["y"], 65535)
    assert_equal(len(catalogue.stock_by_place["a"]), 0)
    assert_equal(catalogue.names.value()["é\n"], "\0")
    assert_equal(dumps(catalogue), CATALOGUE)
    var indented = dumps(catalogue, indent=2)
    assert_equal(dumps(decode[Catalogue](indented)), CATALOGUE)


def test_values_are_of_every_type_that_a_field_may_have() raises:
    var text = StaticString(
        '{"a":{"x":-1},"b":{"x":true},"c":{"x":null,"y":0.5},'
        '"d":{"x":[{"y":-128},{}]},"e":{"x":[1.50,{}],"y":null},'
        '"f":{"x":null,"y":{"z":18446744073709551615}}}'
    )
    assert_equal(dumps(decode[OfEveryKind](text)), text)
    var singles = decode[Dict[String, Single]]('{"a":{"number":3}}')
    assert_equal(singles["a"].number, 3)


def test_a_whole_text_may_be_a_dictionary() raises:
    var counts = decode[Dict[String, Int]](' { "b" : 1 , "a" : 2 } ')
    assert_equal(counts["b"] * 10 + counts["a"], 12)
    assert_equal(dumps(counts), '{"b":1,"a":2}')
    assert_equal(dumps(counts, indent=1), '{\n "b": 1,\n "a": 2\n}')
    assert_equal(len(decode[Dict[String, Int]]("{}")), 0)
    var none = Dict[String, Dict[String, Int]]()
    assert_equal(dumps(none), "{}")
    assert_equal(dumps(none, indent=1), "{}")
    var lists = decode[List[Dict[String, String]]]('[{"a":"b"},{}]')
    assert_equal(dumps(lists), '[{"a":"b"},{}]')


def test_keys_live_on_without_the_text() raises:
    var counts = Dict[String, Int]()
    for i in range(3):
        var text = String(
            '{"a key that is too long to lie within a String ', i, '":1}'
        )
        for item in decode[Dict[String, Int]](text).items():
            counts[item.key] = item.value
    assert_equal(len(counts), 3)
    assert_true("a key that is too long to lie within a String 1" in counts)


def test_the_last_of_equal_keys_counts_at_the_place_of_the_first() raises:
    var text = StaticString('{"a":1,"b":2,"\\u0061":3,"b":4,"c":5}')
    assert_equal(dumps(decode[Dict[String, Int]](text)), '{"a":3,"b":4,"c":5}')
    var strict = JsonLimits(duplicate_keys_allowed=False)
    with assert_raises(contains="json.duplicate_key a: the key occurs"):
        _ = decode[Dict[String, Int]]('{"\\u0061":1,"b":2,"a":3}', strict)
    with assert_raises(contains="json.duplicate_key x.y: the key occurs"):
        _ = decode[Dict[String, Value]]('{"x":{"y":1,"y":2}}', strict)
    var many = String('{"a":0')
    for i in range(20_000):
        many.write(',"a":', i)
    many.write("}")
    assert_equal(dumps(decode[Dict[String, Int]](many)), '{"a":19999}')


def test_errors_name_the_member() raises:
    var rows: List[Row] = [
        Row(
            '{"prices":{"a b":{"amount":"1"}}}',
            (
                'wrong_type prices["a\\x20b"].amount: expected a number, got'
                " a string (line 1, column 28)"
            ),
        ),
        Row(
            '{"prices":{"a":{"amount":1},"b":{}}}',
            "missing_field prices.b.amount: the field is missing",
        ),
        Row(
            '{"prices":{"a":{"amount":1,"b":2}}}',
            "unknown_field prices.a.b: no such field",
        ),
        Row(
            '{"stockByPlace":{"a":{"b":1,"c":65536}}}',
            "out_of_range stockByPlace.a.c: the number does not fit 0 to 65535",
        ),
        Row('{"prices":[]}', "wrong_type prices: expected an object, got an a"),
        Row('{"prices":null}', "wrong_type prices: expected an object, got n"),
        Row('{"prices":{"a":1}}', "wrong_type prices.a: expected an object"),
        Row('{"prices":{},"names":{"":1}}', 'wrong_type names[""]: expected a'),
        Row('{"names":{"a":"b"}}', "missing_field prices: the field is missin"),
        Row('{"names":{"a":"b",}}', "syntax names: expected a key in double"),
        Row('{"names":{"a" "b"}}', "syntax names.a: expected a colon behind"),
        Row('{"names":{"a":"b"]', "syntax names: expected a comma or the end"),
        Row('{"names":{"a":"b"', "syntax names.a: the text ends too early"),
        Row('{"names":{"\\ud800":"b"}}', "syntax names: half of a surrogate p"),
        Row('{"names":{"a":nul}}', "syntax names.a: expected a value"),
    ]
    for row in rows:
        try:
            _ = decode[Catalogue](row.text)
        except e:
            assert_true(
                String(e).startswith(String("json.", row.error)),
                String(e, " but not ", row.error),
            )
            continue
        raise Error("accepted ", row.text)


def test_depth_and_length_are_limited_as_elsewhere() raises:
    comptime Nested = Dict[String, Dict[String, Int]]
    var text = StaticString('{"a":{"b":1}}')
    assert_equal(dumps(decode[Nested](text, JsonLimits(depth_max=2))), text)
    with assert_raises(contains="json.too_deep a: nested too deep"):
        _ = decode[Nested](text, JsonLimits(depth_max=1))
    with assert_raises(contains="json.too_deep a: nested too deep"):
        _ = decode[Dict[String, Value]](text, JsonLimits(depth_max=1))
    assert_equal(dumps(decode[Nested](text, JsonLimits(octets_max=13))), text)
    with assert_raises(contains="json.too_large $: the text is too long"):
        _ = decode[Nested](text, JsonLimits(octets_max=12))


def test_what_has_no_form_in_json_is_named_when_written() raises:
    var sizes = Dict[String, List[Float64]]()
    var zero = Float64(0)
    sizes["a"] = [1.0]
    sizes["b c"] = [2.0, 1 / zero]
    with assert_raises(contains='json.not_finite ["b\\x20c"][1]: JSON has'):
        _ = dumps(sizes)


def test_members_that_were_read_are_freed_when_the_rest_is_refused() raises:
    # A sanitizer watches over this one.
    for text in [
        '{"names":{"a key that lies on the heap":"a name on the heap","b":1}}',
        '{"names":{"a":"a name that lies on the heap","a":"another","a":1}}',
        '{"names":{"a":"a name that lies on the heap"},"names":{"b":2}}',
        '{"names":{"a key that lies on the heap":1}}',
        '{"names":{"a":"a name that lies on the heap"',
    ]:
        for _ in range(100):
            with assert_raises(contains="json."):
                _ = decode[Catalogue](text)


def test_large_dictionaries_are_read() raises:
    var text = String("{")
    for i in range(60_000):
        text.write("," if i > 0 else "", '"', i, '":', i)
    text.write("}")
    var numbers = decode[Dict[String, Int]](text)
    assert_equal(len(numbers), 60_000)
    assert_equal(numbers["59999"], 59_999)
    assert_equal(dumps(numbers), text)


def test_keys_that_were_chosen_to_collide_are_refused() raises:
    # Without this, each key walks past all others: the time is quadratic. One
    # bit that all hashes share is enough, whichever counts most.
    for bit in [13, 14]:
        var text = String('{"names":{')
        var members = 0
        for i in range(60_000):
            var key = String(i)
            if hash(key) >> UInt64(bit) & 1 == 0:
                text.write("," if members > 0 else "", '"', key, '":""')
                members += 1
        text.write("}}")
        try:
            _ = decode[Catalogue](text)
        except e:
            var error = JsonError.of(e).value().copy()
            assert_equal(error.kind, JsonError.INVALID)
            assert_equal(error.path, "names")
            assert_equal(
                error.reason, "too many keys have hashes that are alike"
            )
            continue
        raise Error("accepted ", members, " keys that share bit ", bit)


def test_many_keys_may_not_be_there_again_and_again() raises:
    var text = String('{"0":0')
    for i in range(1, 8192):
        text.write(',"', i, '":0')
    for i in range(32_768):
        text.write(',"', i % 10, '":0')
    assert_equal(len(decode[Dict[String, Int]](text + "}")), 8192)
    with assert_raises(contains="too many keys are there more than once"):
        _ = decode[Dict[String, Int]](text + ',"0":0}')


comptime TESTS = __functions_in_module()
"""Every test of this module."""
