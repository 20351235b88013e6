"""Tests which texts `flare.json` accepts, and what it says of the others."""

from flare.json import DEPTH_MAX, JsonError, JsonLimits, Value, decode, loads

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var written: StaticString


@fieldwise_init
struct Bad(Copyable):
    var text: StaticString
    var kind: Int
    var column: Int


def test_texts_are_accepted_and_written_as_they_were() raises:
    var rows: List[Row] = [
        Row("null", "null"),
        Row(" true ", "true"),
        Row("\t\n\r false\r\n\t ", "false"),
        Row('""', '""'),
        Row("[]", "[]"),
        Row("{ }", "{}"),
        Row("[ [ ] , { } ]", "[[],{}]"),
        Row('{"a" : [1 , 2], "b":{"c":null}}', '{"a":[1,2],"b":{"c":null}}'),
        Row("0", "0"),
        Row("-0", "-0"),
        Row("-1", "-1"),
        Row("0.0", "0.0"),
        Row("1.50", "1.50"),
        Row("1E+2", "1E+2"),
        Row("1e-2", "1e-2"),
        Row("0e1", "0e1"),
        Row("9223372036854775807", "9223372036854775807"),
        Row("-9223372036854775808", "-9223372036854775808"),
        Row("9223372036854775808", "9223372036854775808"),
        Row("123456789012345678901234567890", "123456789012345678901234567890"),
        Row("1e400", "1e400"),
        Row('"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\"\\\\/\\b\\f\\n\\r\\t"'),
        Row('"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00"', '"Aé€😀"'),
        Row('"\\u0000\\u001f\\u007f"', '"\\u0000\\u001f\x7f"'),
        Row('"é€😀"', '"é€😀"'),
        Row('"\\uFFFF\\uFDD0"', '"\uFFFF\uFDD0"'),
        Row('{"":0}', '{"":0}'),
        Row('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
        Row('{"a":1,"\\u0061":2}', '{"a":2}'),
    ]
    for row in rows:
        assert_equal(String(loads(row.text)), row.written)
        # Skipped and read again: another way through the same grammar.
        assert_equal(String(decode[Value](row.text)), row.written)


def test_texts_are_refused_with_kind_and_column() raises:
    var rows: List[Bad] = [
        Bad("", JsonError.SYNTAX, 1),
        Bad(" ", JsonError.SYNTAX, 2),
        Bad("nul", JsonError.SYNTAX, 1),
        Bad("True", JsonError.SYNTAX, 1),
        Bad("NaN", JsonError.SYNTAX, 1),
        Bad("Infinity", JsonError.SYNTAX, 1),
        Bad("-Infinity", JsonError.SYNTAX, 2),
        Bad("'a'", JsonError.SYNTAX, 1),
        Bad("// a\n1", JsonError.SYNTAX, 1),
        Bad("[1,]", JsonError.SYNTAX, 4),
        Bad("[,1]", JsonError.SYNTAX, 2),
        Bad("[1 2]", JsonError.SYNTAX, 4),
        Bad("[1}", JsonError.SYNTAX, 3),
        Bad("[1", JsonError.SYNTAX, 3),
        Bad("1]", JsonError.SYNTAX, 2),
        Bad("1 2", JsonError.SYNTAX, 3),
        Bad("[]]", JsonError.SYNTAX, 3),
        Bad("{1:2}", JsonError.SYNTAX, 2),
        Bad("{a:2}", JsonError.SYNTAX, 2),
        Bad('{"a" 2}', JsonError.SYNTAX, 6),
        Bad('{"a":}', JsonError.SYNTAX, 6),
        Bad('{"a":1,}', JsonError.SYNTAX, 8),
        Bad('{"a":1 "b":2}', JsonError.SYNTAX, 8),
        Bad('{"a":1]', JsonError.SYNTAX, 7),
        Bad('{"a"', JsonError.SYNTAX, 5),
        Bad("01", JsonError.SYNTAX, 2),
        Bad("-01", JsonError.SYNTAX, 3),
        Bad("+1", JsonError.SYNTAX, 1),
        Bad("-", JsonError.SYNTAX, 2),
        Bad("-a", JsonError.SYNTAX, 2),
        Bad(".5", JsonError.SYNTAX, 1),
        Bad("1.", JsonError.SYNTAX, 3),
        Bad("1.e1", JsonError.SYNTAX, 3),
        Bad("1e", JsonError.SYNTAX, 3),
        Bad("1e+", JsonError.SYNTAX, 4),
        Bad("0x1", JsonError.SYNTAX, 2),
        Bad("1_000", JsonError.SYNTAX, 2),
        Bad('"a', JsonError.SYNTAX, 3),
        Bad('"\\', JsonError.SYNTAX, 2),
        Bad('"\\x41"', JsonError.SYNTAX, 2),
        Bad('"\\u12g4"', JsonError.SYNTAX, 2),
        Bad('"\\u12"', JsonError.SYNTAX, 2),
        Bad('"a\tb"', JsonError.SYNTAX, 3),
        Bad('"a\nb"', JsonError.SYNTAX, 3),
        Bad('"\\ud800"', JsonError.SYNTAX, 2),
        Bad('"\\udc00"', JsonError.SYNTAX, 2),
        Bad('"\\ud800\\u0041"', JsonError.SYNTAX, 2),
        Bad('"\\ud800\\ud800"', JsonError.SYNTAX, 2),
        Bad('"ab\\ud800x"', JsonError.SYNTAX, 4),
        Bad("\ufeff1", JsonError.SYNTAX, 1),
        Bad("\u00a01", JsonError.SYNTAX, 1),
        Bad("1\0", JsonError.SYNTAX, 2),
        Bad("\0", JsonError.SYNTAX, 1),
        Bad('"a\0b"', JsonError.SYNTAX, 3),
    ]
    for row in rows:
        _check_refusal(row.text.as_bytes(), row.kind, row.column)


def test_what_is_not_utf8_is_refused() raises:
    var rows: List[List[UInt8]] = [
        [0x80],
        [0xC0, 0x80],
        [0xC1, 0xBF],
        [0xC3],
        [0xC3, 0x28],
        [0xE0, 0x80, 0x80],
        [0xE0, 0x9F, 0xBF],
        [0xE2, 0x82],
        [0xE2, 0x28, 0xA1],
        [0xED, 0xA0, 0x80],
        [0xED, 0xBF, 0xBF],
        [0xF0, 0x80, 0x80, 0x80],
        [0xF0, 0x8F, 0xBF, 0xBF],
        [0xF0, 0x9F, 0x98],
        [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80],
        [0xFF],
    ]
    for row in rows:
        # At each place of a vector, alone and behind an escape.
        for place in range(0, 140, 7):
            var octets: List[UInt8] = [34]
            for _ in range(place):
                octets.append(97)
            octets.extend(Span(row))
            octets.append(34)
            _check_refusal(Span(octets), JsonError.NOT_UTF8, place + 2)
            octets[0] = 92
            octets.insert(1, 110)
            octets.insert(0, 34)
            _check_refusal(Span(octets), JsonError.NOT_UTF8, place + 4)


def test_the_least_and_greatest_of_each_length_are_utf8() raises:
    var rows: List[StaticString] = [
        "\x7f",
        "\u0080",
        "\u07ff",
        "\u0800",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
    ]
    for row in rows:
        assert_equal(loads(String('"', row, '"')).string_value(), row)


def test_strings_of_every_length_are_found_to_their_end() raises:
    for length in range(200):
        var content = String("x") * length
        var text = String('["', content, '","', content, '\\n"]')
        var value = loads(text)
        assert_equal(value[0].string_value(), content)
        assert_equal(value[1].string_value(), content + "\n")
        assert_equal(String(value), text)
        var spaced = String(" ") * length
        assert_equal(len(loads(String(spaced, "[", spaced, "]", spaced))), 0)


def test_nesting_is_bounded() raises:
    for depth_max in [1, 2, 63, 64, 65, 256, DEPTH_MAX]:
        var limits = JsonLimits(depth_max=depth_max)
        var text = String("[") * depth_max + String("]") * depth_max
        assert_equal(String(loads(text, limits)), text)
        assert_equal(String(decode[Value](text, limits)), text)
        var deeper = String("[", text, "]")
        assert_equal(_kind_of(deeper, limits), JsonError.TOO_DEEP)
        var objects = String('{"a":') * (depth_max + 1)
        assert_equal(_kind_of(objects, limits), JsonError.TOO_DEEP)


def test_a_hundred_thousand_arrays_are_refused() raises:
    for opening in ["[", '{"a":', '[{"a":']:
        var text = String(opening) * 100_000
        assert_equal(_kind_of(text, JsonLimits()), JsonError.TOO_DEEP)
        # Even where the program asks for any depth.
        var limits = JsonLimits(depth_max=1_000_000)
        assert_equal(_kind_of(text, limits), JsonError.TOO_DEEP)


def test_length_is_bounded() raises:
    var limits = JsonLimits(octets_max=4)
    assert_equal(loads("1234", limits).int_value(), 1234)
    assert_equal(_kind_of("12345", limits), JsonError.TOO_LARGE)


def test_equal_keys_are_refused_where_asked() raises:
    var limits = JsonLimits(duplicate_keys_allowed=False)
    assert_equal(len(loads('{"a":{"a":1},"b":{"a":1}}', limits)), 2)
    for text in ['{"a":1,"a":1}', '{"a":1,"b":{"x":1,"\\u0078":1}}']:
        assert_equal(_kind_of(text, limits), JsonError.DUPLICATE_KEY)
    for members in [2, 16, 17, 18, 100]:
        var text = _object_of(members, 0)
        assert_equal(len(loads(text, limits)), members)
        assert_equal(
            _kind_of(_object_of(members, 1), limits), JsonError.DUPLICATE_KEY
        )


def test_the_last_of_equal_keys_counts_in_objects_of_any_size() raises:
    for members in [2, 3, 15, 16, 17, 18, 31, 32, 33, 100]:
        for repeated in range(1, members + 1):
            if members > 20 and repeated % 10 != 1:
                continue
            var value = loads(_object_of(members, repeated))
            assert_equal(len(value), members)
            var listed = value.members()
            for i in range(members):
                assert_equal(listed[i].key, String("k", i))
                var expected = i if i >= repeated else -i
                assert_equal(listed[i].value.int_value(), expected)
                assert_equal(value[String("k", i)].int_value(), expected)
            assert_false("k" in value)
            assert_false(String("k", members) in value)


def test_lines_and_characters_are_counted() raises:
    try:
        _ = loads('{\n  "ä": [1,\r\n    "é€😀" x]\n}')
        assert_true(False)
    except e:
        var error = JsonError.of(e).value()
        assert_equal(error.line, 3)
        assert_equal(error.column, 11)
        assert_equal(error.path, '["\\xc3\\xa4"]')


def _object_of(members: Int, repeated: Int) -> String:
    # k0 to kN, then the first ones again with the negated number.
    var text = String("{")
    for i in range(members):
        if i > 0:
            text.write(",")
        text.write('"k', i, '":', i)
    for i in range(repeated):
        text.write(',"k', i, '":', -i)
    text.write("}")
    return text^


def _kind_of(text: StringSlice, limits: JsonLimits) raises -> Int:
    var kind = -1
    try:
        _ = loads(text, limits)
    except e:
        kind = JsonError.of(e).value().kind
    if kind != JsonError.DUPLICATE_KEY:
        try:
            _ = decode[Value](text, limits)
            assert_equal(-1, kind)
        except e:
            assert_equal(JsonError.of(e).value().kind, kind)
    return kind


def _check_refusal(octets: Span[UInt8, _], kind: Int, column: Int) raises:
    for way in range(2):
        try:
            if way == 0:
                _ = loads(octets)
            else:
                _ = decode[Value](octets)
        except e:
            var error = JsonError.of(e)
            assert_true(Bool(error), String(e))
            assert_equal(error.value().kind, kind, String(e))
            assert_equal(error.value().line, 1, String(e))
            if kind == JsonError.SYNTAX:
                assert_equal(error.value().column, column, String(e))
            continue
        raise Error("accepted what is no JSON, column ", column)


comptime TESTS = __functions_in_module()
"""Every test of this module."""
