"""Tests for `flare.core.base64url`: the vectors of RFC 4648, and strictness."""

from flare.core.base64url import read_base64url, write_base64url

from tests.asserting import assert_equal, assert_false, assert_true


def test_octets_become_the_text_of_rfc_4648_without_padding() raises:
    var texts: List[StaticString] = [
        "",
        "Zg",
        "Zm8",
        "Zm9v",
        "Zm9vYg",
        "Zm9vYmE",
        "Zm9vYmFy",
    ]
    for count in range(7):
        var octets = "foobar".as_bytes()[:count]
        assert_equal(write_base64url(octets), texts[count])
        var back = read_base64url(texts[count].as_bytes())
        assert_true(Span(back.value()) == octets)
    var high: List[UInt8] = [0xFB, 0xEF, 0xFF]
    assert_equal(write_base64url(Span(high)), "--__")


def test_every_octet_comes_back() raises:
    var octets = List[UInt8]()
    for i in range(256):
        octets.append(UInt8(i))
        var text = write_base64url(Span(octets))
        var back = read_base64url(text.as_bytes())
        assert_equal(len(back.value()), i + 1)
        for j in range(i + 1):
            assert_equal(back.value()[j], UInt8(j))


def test_no_other_text_has_octets() raises:
    var rows: List[StaticString] = [
        "Z",
        "Zm9vY",
        "Zg==",
        "Zh",
        "Zm9",
        "+/+/",
        "Zm 9v",
        "Zm9v\n",
        "Zm9.",
        "Zm\xc3\xa9",
    ]
    for row in rows:
        assert_false(Bool(read_base64url(row.as_bytes())), row)
    assert_true(Bool(read_base64url("Zm8".as_bytes())))


comptime TESTS = __functions_in_module()
