"""Tests for `flare.json.writer`, strings and numbers that are written."""

from std.testing import assert_raises

from flare.json import (
    DEPTH_MAX,
    JsonError,
    JsonOutput,
    JsonWriter,
    ToJson,
    decode,
    dumps,
    loads,
)

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct Broken(ToJson):
    var way: Int

    def to_json(self, json: JsonWriter) raises:
        if self.way == 0:
            pass
        elif self.way == 1:
            json.int(1)
            json.int(2)
        elif self.way == 2:
            json.begin_array()
        elif self.way == 3:
            json.end_array()
        elif self.way == 4:
            json.begin_object()
            json.int(1)
            json.end_object()
        elif self.way == 5:
            json.begin_object()
            json.key("a")
            json.end_object()
        elif self.way == 6:
            json.begin_array()
            json.key("a")
            json.int(1)
            json.end_array()
        elif self.way == 7:
            json.begin_array()
            json.end_object()
        else:
            json.begin_array()
            json.end_array()
            json.end_array()


@fieldwise_init
struct Holder(ToJson):
    var inner: Broken


def test_values_are_written_compact_and_indented() raises:
    var text = StaticString('{"a":[1,-2,[],{}],"b":{"c":"d"},"e":null}')
    assert_equal(dumps(loads(text)), text)
    assert_equal(
        dumps(loads(text), indent=2),
        (
            '{\n  "a": [\n    1,\n    -2,\n    [],\n    {}\n  ],\n  "b": {\n'
            '    "c": "d"\n  },\n  "e": null\n}'
        ),
    )
    assert_equal(dumps(loads(dumps(loads(text), indent=3))), text)


def test_literals_of_lists_are_written() raises:
    assert_equal(dumps([1, 2, 3]), "[1,2,3]")
    assert_equal(dumps([True]), "[true]")
    assert_equal(dumps([[1.5], [2.5]]), "[[1.5],[2.5]]")
    assert_equal(dumps([String("a"), String('"')]), '["a","\\""]')


def test_pieces_are_written() raises:
    var output = JsonOutput()
    var json = output.writer()
    json.begin_object()
    json.key("list")
    json.begin_array()
    json.int(Int.MIN)
    json.int(Int.MAX)
    json.uint(UInt64.MAX)
    json.float(-0.5)
    json.bool(True)
    json.bool(False)
    json.null()
    json.string('"')
    json.end_array()
    json.key("\n")
    json.begin_object()
    json.end_object()
    json.end_object()
    assert_equal(
        output.take_text(),
        (
            '{"list":[-9223372036854775808,9223372036854775807,'
            '18446744073709551615,-0.5,true,false,null,"\\""],"\\n":{}}'
        ),
    )


def test_what_is_no_whole_value_is_refused() raises:
    for way in range(9):
        with assert_raises(contains="json.misuse "):
            _ = dumps(Broken(way))
        if way != 2:
            with assert_raises(contains="json.misuse "):
                _ = dumps(Holder(Broken(way)))


def test_deeper_than_the_bound_is_refused() raises:
    for depth in [DEPTH_MAX, DEPTH_MAX + 1]:
        var output = JsonOutput()
        var refused = False
        try:
            for _ in range(depth):
                output.writer().begin_array()
        except e:
            refused = True
            assert_equal(JsonError.of(e).value().kind, JsonError.TOO_DEEP)
        assert_equal(refused, depth > DEPTH_MAX)


def test_blanks_of_an_indented_text_are_bounded() raises:
    # At 61 times its length, a body of 10 MiB would become 610 MiB.
    var elements = String("1,") * 100_000 + "1"
    for depth in [1, 8, 120, 256]:
        var text = String(String("[") * depth, elements, String("]") * depth)
        for indent in [1, 2, 4, 1 << 40]:
            var written = dumps(loads(text), indent=indent)
            var lines = text.byte_length() + 100_000
            assert_true(
                written.byte_length() <= 9 * (lines + 2 * depth) + 65536,
                String(depth, " ", indent, " ", written.byte_length()),
            )
            assert_equal(dumps(loads(written)), text)
    # What people read stays as it is: each line is indented.
    var small = String(String("[") * 120, "1,2", String("]") * 120)
    assert_true(
        String("\n", String(" ") * 240, "2\n") in dumps(loads(small), indent=2)
    )
    var flat = dumps(decode[List[Int]](String("[", elements, "]")), indent=4)
    assert_equal(flat.byte_length(), 3 + 100_001 * 6 + 100_000)


def test_octets_are_escaped_at_every_place() raises:
    for octet in range(128):
        for place in range(0, 100, 9):
            var text = String("x") * place + chr(octet) + String("y") * place
            var written = dumps(text)
            assert_equal(decode[String](written), text)
            var is_escaped = octet < 32 or octet == 34 or octet == 92
            assert_equal(
                written.byte_length() > text.byte_length() + 2, is_escaped
            )
    assert_equal(
        dumps(String("\0\x1f\b\t\n\f\r")), '"\\u0000\\u001f\\b\\t\\n\\f\\r"'
    )
    assert_equal(dumps(String("\n") * 3000).byte_length(), 6002)


def test_floats_are_short_and_exact() raises:
    var rows: List[Tuple[Float64, String]] = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-12.99, "-12.99"),
        (0.1, "0.1"),
        (0.3, "0.3"),
        (0.30000000000000004, "0.30000000000000004"),
        (4.35, "4.35"),
        (999.99, "999.99"),
        (0.001, "0.001"),
        (123456.789012, "123456.789012"),
        (1e9, "1000000000.0"),
        (999999999.999999, "999999999.999999"),
        (5e-324, "5e-324"),
        (42180376432812584.0, "42180376432812581e0"),
    ]
    for row in rows:
        assert_equal(dumps(row[0]), row[1])
    var state = UInt64(88172645463325252)
    for i in range(20_000):
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        var number = Float64(Int(state >> 40)) / Float64(10 ** (i % 8))
        assert_equal(decode[Float64](dumps(number)), number)


def test_nan_and_infinity_are_refused_with_their_place() raises:
    var infinite = Float64(1e308) * 10
    for number in [infinite, -infinite, infinite - infinite]:
        with assert_raises(contains="json.not_finite [1][1]: JSON has neither"):
            var lists: List[List[Float64]] = [[1.0], [2.0, number]]
            _ = dumps(lists)


def test_errors_are_read_back_from_their_text() raises:
    for error in [
        JsonError(JsonError.SYNTAX, "", "expected a value", 3, 17),
        JsonError(JsonError.INVALID, "a[0].b", "why: not (line 3", 0, 0),
        JsonError(
            JsonError.MISUSE, '["a\\x20b"]', "x (line 1, column 2)", 9, 1
        ),
    ]:
        var again = JsonError.of(Error(error)).value()
        assert_equal(again.kind, error.kind)
        assert_equal(again.path, error.path)
        assert_equal(again.reason, error.reason)
        assert_equal(again.line, error.line)
        assert_equal(again.column, error.column)
    for text in ["", "json.", "json.syntax", "json.syntax $", "json.x $: a"]:
        assert_true(not JsonError.of(Error(text)))


comptime TESTS = __functions_in_module()
"""Every test of this module."""
