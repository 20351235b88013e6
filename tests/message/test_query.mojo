"""Tests for `flare.message.query`."""

from flare.message import QueryParameters

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var query: StaticString
    var pairs: StaticString


def test_parameters_are_divided() raises:
    var rows: List[Row] = [
        Row("", ""),
        Row("&", ""),
        Row("&&&", ""),
        Row("a", "[a|]"),
        Row("a=", "[a|]"),
        Row("=", "[|]"),
        Row("=b", "[|b]"),
        Row("a=b", "[a|b]"),
        Row("a=b=c", "[a|b=c]"),
        Row("a=1&b=2", "[a|1][b|2]"),
        Row("&a=1&&b=2&", "[a|1][b|2]"),
        Row("a=1;b=2", "[a|1;b=2]"),
        Row("a%26b=c%3Dd", "[a%26b|c%3Dd]"),
    ]
    for row in rows:
        var text = String()
        for parameter in QueryParameters(row.query):
            text.write("[", parameter.raw_name, "|", parameter.raw_value, "]")
        assert_equal(text, row.pairs, row.query)


def test_values_are_decoded() raises:
    var parameters = QueryParameters("q=a+b%2B%20c&e=%C3%A9&bad=%zz&n")
    assert_equal(parameters.get("q").value(), "a b+ c")
    assert_equal(parameters.get("e").value(), "é")
    assert_equal(parameters.get("bad").value(), "%zz")
    assert_equal(parameters.get("n").value(), "")
    assert_false(parameters.get("z"))


def test_names_are_compared_decoded_and_whole() raises:
    var parameters = QueryParameters("ids%5B%5D=1&my+name=2&A=3")
    assert_equal(parameters.get("ids[]").value(), "1")
    assert_equal(parameters.get("my name").value(), "2")
    assert_false(parameters.get("a"))
    assert_false(parameters.get("ids"))
    assert_true("A" in parameters)
    assert_false("" in parameters)


def test_the_first_of_several_is_given_and_all_can_be_had() raises:
    var parameters = QueryParameters("a=1&b=x&a=2&%61=3")
    assert_equal(parameters.get("a").value(), "1")
    var values = parameters.values("a")
    assert_equal(len(values), 3)
    assert_equal(values[2], "3")
    assert_equal(len(parameters.values("c")), 0)


def test_a_view_can_be_walked_twice() raises:
    var parameters = QueryParameters("a=1&b=2")
    for _ in range(2):
        var count = 0
        for parameter in parameters:
            count += 1
            assert_equal(parameter.value(), String(count))
            assert_equal(parameter.name(), "a" if count == 1 else "b")
        assert_equal(count, 2)


comptime TESTS = __functions_in_module()
