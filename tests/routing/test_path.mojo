"""Tests for `flare.http.routing.path`."""

from flare.http.routing.path import decode_escape, scan_path, segment_end

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_path_is_bad_if_a_rule_of_the_module_says_so() raises:
    var rows = _rows()
    for row in rows:
        assert_equal(
            scan_path(row.path.as_bytes()).is_bad, row.is_bad, row.name
        )


def test_the_rules_hold_at_every_offset_of_a_long_path() raises:
    # Vectors of 8, 16 and 32 octets overlap and windows of 64 meet somewhere
    # in these paths; the claims of each row hold wherever it stands.
    var rows = _rows()
    for row in rows:
        if not row.path.startswith("/") or row.path.byte_length() > 32:
            continue
        for before in range(0, 150):
            var path = String("/")
            for _ in range(before):
                path += "x"
            path += row.path
            assert_equal(
                scan_path(path.as_bytes()).is_bad,
                row.is_bad,
                String(row.name, " after ", before),
            )


def test_a_nul_octet_is_bad_wherever_it_stands() raises:
    for length in range(2, 140):
        for at in range(1, length):
            var path = List[UInt8](length=length, fill=UInt8(ord("a")))
            path[0] = UInt8(ord("/"))
            assert_false(scan_path(path).is_bad)
            path[at] = 0
            assert_true(scan_path(path).is_bad, String(length, " ", at))


def test_segments_end_at_each_slash_and_at_the_end() raises:
    for length in range(1, 140):
        for stride in [1, 2, 3, 7, 31, 64]:
            var path = List[UInt8](length=length, fill=UInt8(ord("a")))
            for i in range(0, length, stride):
                path[i] = UInt8(ord("/"))
            var scan = scan_path(path)
            assert_false(scan.is_bad)
            var start = 1
            while start <= length:
                var wanted = start
                while wanted < length and path[wanted] != UInt8(ord("/")):
                    wanted += 1
                assert_equal(segment_end(path, scan, start), wanted)
                start = wanted + 1


def test_an_empty_path_is_bad() raises:
    assert_true(scan_path("".as_bytes()).is_bad)


def test_an_escape_needs_two_hexadecimal_digits() raises:
    assert_equal(decode_escape("%00".as_bytes(), 0), 0)
    assert_equal(decode_escape("x%aF".as_bytes(), 1), 0xAF)
    assert_equal(decode_escape("%Fa".as_bytes(), 0), 0xFA)
    for bad in ["%", "%4", "%g0", "%0g", "%/0", "%0:", "%@0", "%0`", "%-1"]:
        assert_equal(decode_escape(bad.as_bytes(), 0), -1, bad)


@fieldwise_init
struct Row(Copyable):
    var name: StaticString
    var path: StaticString
    var is_bad: Bool


def _rows() -> List[Row]:
    return [
        Row("the root", "/", False),
        Row("no slash at the front", "a/b", True),
        Row("an asterisk", "*", True),
        Row("a full URL", "http://a/b", True),
        Row("empty segments", "//a///", False),
        Row("one dot", "/.", True),
        Row("one dot in the middle", "/a/./b", True),
        Row("two dots", "/..", True),
        Row("two dots in the middle", "/a/../b", True),
        Row("two dots and a slash at the end", "/a/../", True),
        Row("three dots", "/...", False),
        Row("three dots in the middle", "/a/.../b", False),
        Row("a hidden file", "/.well-known/acme", False),
        Row("two dots and text", "/..a", False),
        Row("text and two dots", "/a..", False),
        Row("text and a dot", "/a./b", False),
        Row("an encoded dot", "/%2e", True),
        Row("an encoded dot, capital", "/a/%2E/b", True),
        Row("two encoded dots", "/%2e%2e/b", True),
        Row("an encoded and a plain dot", "/%2e./b", True),
        Row("a plain and an encoded dot", "/.%2E", True),
        Row("three dots, one encoded", "/.%2e.", False),
        Row("dots around an encoded slash", "/..%2fa", False),
        Row("an encoded slash and dots", "/a%2f..", False),
        Row("a dot encoded twice", "/%252e%252e/", False),
        Row("an encoded NUL", "/a%00b", True),
        Row("an encoded 0x01", "/a%01b", False),
        Row("an escape cut off after %", "/a%", True),
        Row("an escape cut off after a digit", "/a%4", True),
        Row("an escape cut off by a slash", "/a%4/1", True),
        Row("an escape with a letter too far", "/%4g", True),
        Row("an escape that makes no UTF-8", "/%ff", False),
        Row("a backslash and dots", "/..\\..", False),
        Row("a semicolon after dots", "/..;/b", False),
    ]


comptime TESTS = __functions_in_module()
