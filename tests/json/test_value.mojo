"""Tests for `flare.json.value`."""

from std.testing import assert_raises

from flare.json import JsonError, Value, decode, dumps, loads

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var number: Float64


def test_values_are_found_by_keys_and_indexes() raises:
    var data = loads('{"json":{"hello":"flare","list":[1,[2,3],{"x":true}]}}')
    assert_equal(data["json"]["hello"].string_value(), "flare")
    assert_equal(data["json"]["hello"].text(), "flare")
    assert_equal(data["json"]["list"][1][0].int_value(), 2)
    assert_true(data["json"]["list"][2]["x"].bool_value())
    assert_equal(len(data["json"]["list"]), 3)
    assert_equal(len(data["json"]["hello"]), 0)
    assert_true("json" in data)
    assert_false("hello" in data)
    assert_false(Bool(data.get("nothing")))
    assert_false(Bool(data["json"]["hello"].get("x")))
    assert_equal(data.get("json").value()["list"].elements()[0].int_value(), 1)
    assert_equal(data["json"].members()[1].key, "list")


def test_types_are_told_apart() raises:
    var texts: List[StaticString] = ["null", "true", "1", '"a"', "[]", "{}"]
    for i in range(len(texts)):
        var value = loads(texts[i])
        assert_equal(value.is_null(), i == 0)
        assert_equal(value.is_bool(), i == 1)
        assert_equal(value.is_number(), i == 2)
        assert_equal(value.is_string(), i == 3)
        assert_equal(value.is_array(), i == 4)
        assert_equal(value.is_object(), i == 5)
    assert_true(loads("1.5").is_number())


def test_values_outlive_the_one_they_came_from() raises:
    var part = _part()
    assert_equal(part.string_value(), "a string that is longer than inline")
    var copy = part
    _ = part^
    assert_equal(String(copy), '"a string that is longer than inline"')


def test_values_of_one_decode_share_a_document() raises:
    var large = String('{"k0":0')
    for i in range(1, 40):
        large.write(',"k', i, '":[', i, "]")
    large.write("}")
    var texts: List[String] = [
        "1",
        "[]",
        '[[1,"a\\u00e9"],{"b":[]}]',
        "-0",
        large,
        '"x\\ny"',
        "{}",
        "null",
        '{"c":{"d":[1.5,true]}}',
    ]
    var text = String("[")
    for i in range(len(texts)):
        if i > 0:
            text.write(" , ")
        text.write(texts[i])
    var values = decode[List[Value]](String(text, "]"))
    assert_equal(len(values), len(texts))
    for i in range(len(texts)):
        var alone = loads(texts[i])
        assert_equal(dumps(values[i]), dumps(alone))
        assert_equal(dumps(values[i], indent=2), dumps(alone, indent=2))
    for i in range(1, 40):
        var key = String("k", i)
        assert_equal(values[4][key][0].int_value(), i)
    var rows: List[Tuple[Int, String]] = [
        (0, "json.wrong_type $: expected an array"),
        (1, "json.not_found $: there is no index 0"),
        (3, "json.wrong_type $: expected an array"),
    ]
    for row in rows:
        with assert_raises(contains=row[1]):
            _ = values[row[0]][0]
    with assert_raises(contains="json.wrong_type [0][1]: "):
        _ = values[2][0][1].int_value()
    with assert_raises(contains="json.wrong_type c.d[1]: "):
        _ = values[8]["c"]["d"][1].int_value()
    with assert_raises(contains="json.wrong_type k7[0]: "):
        _ = values[4]["k7"][0].string_value()
    var kept = values[8]["c"]
    values.clear()
    assert_equal(String(kept), '{"d":[1.5,true]}')


def test_what_is_wrong_behind_shared_values_is_found() raises:
    for text in ["[1,[2],x]", "[1,[2]", '[1,[2],{"a":}]', "[1]x", "[1,[2]}"]:
        var wanted = String()
        try:
            _ = loads(text)
        except e:
            wanted = String(e)
        assert_true(wanted.byte_length() > 0)
        with assert_raises(contains=wanted):
            _ = decode[List[Value]](text)


def test_numbers_are_kept_exactly() raises:
    for text in [
        "0",
        "-0",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "18446744073709551615",
        "3.14159265358979323846264338327950288419716939937510",
        "1E400",
        "-1e-400",
        "100.00",
    ]:
        var value = loads(text)
        assert_equal(value.number_text(), text)
        assert_equal(dumps(value), text)
    assert_equal(loads("9007199254740993").int_value(), 9007199254740993)
    assert_equal(loads("-0").int_value(), 0)


def test_numbers_become_the_nearest_float() raises:
    var rows: List[Row] = [
        Row("0.1", 0.1),
        Row("4.35", 4.35),
        Row("-12.99", -12.99),
        Row("1e22", 1e22),
        Row("1e23", 1e23),
        Row("123456789012345678", 123456789012345680.0),
        Row("9007199254740993", 9007199254740992.0),
        Row("9007199254740993.0", 9007199254740992.0),
        Row("5e-324", 5e-324),
        Row("2e-324", 0.0),
        Row("2.2250738585072014e-308", 2.2250738585072014e-308),
        Row("1.7976931348623157e308", 1.7976931348623157e308),
        Row("1e-400", 0.0),
        Row("0e400", 0.0),
        Row("0.000001e6", 1.0),
        Row("1.00000000000000011102230246251565404236316680908203124", 1.0),
        Row(
            "1.00000000000000011102230246251565404236316680908203126",
            1.0000000000000002,
        ),
    ]
    for row in rows:
        assert_equal(loads(row.text).float_value(), row.number, row.text)
    var zeros = String("0") * 400
    assert_equal(loads(String("1", zeros, "e-400")).float_value(), 1.0)
    assert_equal(loads(String("0.", zeros, "1e401")).float_value(), 1.0)
    assert_equal(loads("1e-99999999999999999999").float_value(), 0.0)


def test_what_does_not_fit_is_refused() raises:
    for text in ["1e309", "-1e309", "1e99999999999999999999"]:
        with assert_raises(contains="json.out_of_range $: "):
            _ = loads(text).float_value()
    for text in ["9223372036854775808", "-9223372036854775809"]:
        with assert_raises(contains="json.out_of_range $: "):
            _ = loads(text).int_value()
    for text in ["1.0", "1e2"]:
        with assert_raises(contains="json.wrong_type $: expected an integer"):
            _ = loads(text).int_value()


def test_errors_name_the_value() raises:
    var data = loads('{"a":[{"b":1},{"c d":{}},[[],[7]]],"e":"x"}')
    with assert_raises(
        contains="json.wrong_type a[0].b: expected a string, got a number"
    ):
        _ = data["a"][0]["b"].string_value()
    with assert_raises(contains='json.wrong_type a[1]["c\\x20d"]: expected an'):
        _ = data["a"][1]["c d"].int_value()
    with assert_raises(contains="json.wrong_type a[2][1][0]: expected a bool"):
        _ = data["a"][2][1][0].bool_value()
    with assert_raises(contains="json.not_found a: there is no index 3"):
        _ = data["a"][3]
    with assert_raises(contains="json.not_found a[2][0]: there is no index"):
        _ = data["a"][2][0][-1]
    with assert_raises(contains="json.not_found a[0].z: there is no such key"):
        _ = data["a"][0]["z"]
    with assert_raises(contains="json.wrong_type e: expected an object"):
        _ = data["e"]["x"]
    with assert_raises(contains="json.wrong_type e: expected an array"):
        _ = data["e"][0]


def test_paths_lead_past_objects_with_many_members() raises:
    var text = String('{"a":{')
    for i in range(40):
        text.write('"k', i, '":[', i, "],")
    text.write('"z":0},"b":[{"x":"y"}]}')
    var data = loads(text)
    with assert_raises(contains="json.wrong_type a.k39[0]: expected a str"):
        _ = data["a"]["k39"][0].string_value()
    with assert_raises(contains="json.wrong_type b[0].x: expected a num"):
        _ = data["b"][0]["x"].float_value()
    assert_equal(String(data), text)


def test_naming_many_values_is_bounded() raises:
    var count = 20_000
    var data = loads(String("[1", ',{"x":0}' * count, "]"))
    var paths = List[String]()
    for i in range(1, count + 1):
        try:
            _ = data[i]["x"].string_value()
        except e:
            paths.append(JsonError.of(e).value().path)
    assert_equal(len(paths), count)
    assert_equal(paths[0], "[1].x")
    assert_equal(paths[999], "[1000].x")
    assert_equal(paths[count - 1], "...")
    with assert_raises(contains="json.wrong_type [7]: expected a number"):
        _ = data[7].float_value()


def test_errors_hold_no_octet_that_harms_a_log() raises:
    try:
        _ = loads('{"a\\nb\\u001b\\"]: ":1}')['a\nb\x1b"]: '].string_value()
        assert_true(False)
    except e:
        var error = JsonError.of(e).value()
        assert_equal(error.path, '["a\\x0ab\\x1b\\x22]:\\x20"]')
        assert_equal(error.reason, "expected a string, got a number")
    var long = String("k") * 1000
    try:
        _ = loads(String('{"', long, '":[', "[" * 200, "x"))
        assert_true(False)
    except e:
        assert_true(JsonError.of(e).value().path.byte_length() < 400)


def _part() raises -> Value:
    var data = loads('[0,{"x":"a string that is longer than inline"}]')
    return data[1]["x"]


comptime TESTS = __functions_in_module()
"""Every test of this module."""
