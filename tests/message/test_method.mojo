"""Tests for `flare.message.method`."""

from flare.message import Method

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var name: StaticString
    var method: Method
    var is_safe: Bool
    var is_idempotent: Bool


def test_every_method_is_found_and_promises_what_the_rfc_says() raises:
    var rows: List[Row] = [
        Row("GET", Method.GET, True, True),
        Row("HEAD", Method.HEAD, True, True),
        Row("POST", Method.POST, False, False),
        Row("PUT", Method.PUT, False, True),
        Row("DELETE", Method.DELETE, False, True),
        Row("CONNECT", Method.CONNECT, False, False),
        Row("OPTIONS", Method.OPTIONS, True, True),
        Row("TRACE", Method.TRACE, True, True),
        Row("PATCH", Method.PATCH, False, False),
    ]
    assert_equal(len(rows) + 1, Method.COUNT)
    for row in rows:
        var method = Method.from_octets(row.name.as_bytes())
        assert_true(method == row.method, row.name)
        assert_true(method == row.name, row.name)
        assert_false(method != row.name, row.name)
        assert_equal(method.name(), row.name)
        assert_equal(String(method), row.name)
        assert_equal(method.is_safe(), row.is_safe, row.name)
        assert_equal(method.is_idempotent(), row.is_idempotent, row.name)


def test_a_name_with_any_octet_changed_is_another_method() raises:
    for id in range(1, Method.COUNT):
        var name = Method(UInt8(id)).name().as_bytes()
        for i in range(len(name)):
            for bit in range(8):
                var octets = List[UInt8](name)
                octets[i] ^= UInt8(1) << UInt8(bit)
                assert_true(
                    Method.from_octets(Span(octets)) == Method.OTHER,
                    String(Method(UInt8(id)), " ", i, " ", bit),
                )


def test_methods_are_case_sensitive_and_compared_whole() raises:
    for name in [
        "",
        "G",
        "GE",
        "GETT",
        "get",
        "Get",
        "OPTIONSS",
        "CONNECTX",
        "PROPFIND",
        "POSTT",
        "HEADER",
        "DELETEE",
        "PUTT",
        "QUERY",
    ]:
        assert_true(Method.from_octets(name.as_bytes()) == Method.OTHER, name)
        assert_true(Method.GET != name, name)


def test_an_extension_method_equals_no_text() raises:
    assert_false(Method.OTHER == "PROPFIND")
    assert_false(Method.OTHER == "OTHER")
    assert_false(Method.OTHER == "")
    assert_true(Method.OTHER != "PROPFIND")
    assert_equal(Method.OTHER.name(), "")
    assert_false(Method.OTHER.is_safe())
    assert_false(Method.OTHER.is_idempotent())


def test_a_number_that_is_no_id_means_other() raises:
    assert_true(Method(9) == Method.PATCH)
    assert_true(Method(10) == Method.OTHER)
    assert_true(Method(255) == Method.OTHER)


comptime TESTS = __functions_in_module()
