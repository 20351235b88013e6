"""Tests entity tags and lists of them."""

from std.testing import assert_raises

from flare.message import ETag
from flare.message.etag import lists_etag

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_tag_is_written_with_its_quotation_marks() raises:
    assert_equal(String(ETag.strong("a")), '"a"')
    assert_equal(String(ETag.weak("a")), 'W/"a"')
    assert_equal(String(ETag.strong("")), '""')
    assert_equal(String(ETag.strong(42)), '"42"')
    assert_equal(String(ETag.weak(-1)), 'W/"-1"')
    assert_equal(ETag.strong("é").text(), '"é"')
    var long = String("0123456789" * 10)
    assert_equal(ETag.weak(long).text(), String('W/"', long, '"'))


def test_a_tag_has_no_blank_control_character_or_quotation_mark() raises:
    var rows: List[String] = [
        "a b",
        " ",
        '"',
        'a"b',
        "\t",
        "\n",
        "\x7f",
        "\x00",
    ]
    for row in rows:
        with assert_raises(contains="message.bad_etag"):
            _ = ETag.strong(row)
        with assert_raises(contains="message.bad_etag"):
            _ = ETag.weak(row)


def test_what_is_one_tag_is_parsed_and_written_as_it_is() raises:
    var rows: List[String] = [
        '"a"',
        'W/"a"',
        '""',
        'W/""',
        '"!#~"',
        '"a,b"',
        '"W/"',
        '"é"',
        '"\'"',
    ]
    for row in rows:
        var tag = ETag.parse(row.as_bytes())
        assert_true(Bool(tag), row)
        assert_equal(tag.value().text(), row)
        assert_equal(tag.value().is_weak(), row.startswith("W/"), row)


def test_what_is_not_one_tag_is_not_parsed() raises:
    var rows: List[String] = [
        "",
        "a",
        '"',
        '"a',
        'a"',
        "W/",
        "W/a",
        'W/"',
        'W/"a',
        'w/"a"',
        'W"a"',
        ' "a"',
        '"a" ',
        '"a", "b"',
        '"a""',
        '"a b"',
        '"a\tb"',
        "*",
        'W/W/"a"',
        '"\x7f"',
        'W/ "a"',
    ]
    for row in rows:
        assert_false(Bool(ETag.parse(row.as_bytes())), row)


def test_tags_are_compared_as_the_table_of_the_rfc_does() raises:
    # RFC 9110 section 8.8.3.2.
    var rows: List[Tuple[String, String, Bool, Bool]] = [
        ('W/"1"', 'W/"1"', False, True),
        ('W/"1"', 'W/"2"', False, False),
        ('W/"1"', '"1"', False, True),
        ('"1"', 'W/"1"', False, True),
        ('"1"', '"1"', True, True),
        ('"1"', '"2"', False, False),
        ('"a"', '"A"', False, False),
        ('""', '""', True, True),
        ('"1"', '"11"', False, False),
        ('"W/1"', 'W/"1"', False, False),
    ]
    for row in rows:
        var a = ETag.parse(row[0].as_bytes()).value().copy()
        var b = ETag.parse(row[1].as_bytes()).value().copy()
        assert_equal(a.matches_strongly(b), row[2], row[0] + " " + row[1])
        assert_equal(a.matches_weakly(b), row[3], row[0] + " " + row[1])


def test_a_list_has_a_tag_between_any_blanks_and_empty_members() raises:
    var rows: List[String] = [
        '"a"',
        '"b", "a"',
        '"b","a"',
        '"a", "b"',
        ', "a"',
        '"a",',
        ',,"a",,',
        ' \t"b"\t,\t"a" ',
        'W/"b", "a"',
        '"a b", "a"',
        '"", "a"',
        '"b", "a" ',
        '"a", bad',
        '"a", "',
        '"b,c", "a"',
        '"W/", "a"',
        '"*", "a"',
    ]
    for row in rows:
        _check(row, '"a"', True, True)
        _check(row, 'W/"a"', False, True)


def test_a_list_with_the_weak_tag_matches_weakly_only() raises:
    for row in ['W/"a"', '"b", W/"a"', 'W/"b",W/"a"', 'W/"a", "b"']:
        _check(row, '"a"', False, True)
        _check(row, 'W/"a"', False, True)


def test_a_list_does_not_have_what_only_resembles_a_tag() raises:
    var rows: List[String] = [
        "",
        ",",
        " ",
        '"b"',
        '"aa"',
        '"A"',
        '""',
        "a",
        '"a',
        'a"',
        '"a""',
        '"a"b',
        '"a" "b"',
        '"a"; q=1',
        'w/"a"',
        'W/ "a"',
        'W "a"',
        '"b" "a"',
        '"b,"a"',
        '"b, "a"',
        'bad, "a"',
        '*, "a"',
        "W/",
        'W/"a',
        "W/a",
        '"b", W/',
        '"b", "a',
        'W/W/"a"',
        "'a'",
        '"b"\x01, "a"',
        "\xff",
    ]
    for row in rows:
        _check(row, '"a"', False, False)


def test_a_comma_in_a_tag_divides_nothing() raises:
    _check('"b", "a,c"', '"a,c"', True, True)
    _check('"a", "c"', '"a,c"', False, False)
    _check('"a,c"', '"a"', False, False)


def _check(value: String, tag: String, strong: Bool, weak: Bool) raises:
    var octets = value.as_bytes()
    assert_equal(lists_etag[strong=True](octets, tag.as_bytes()), strong, value)
    assert_equal(lists_etag[strong=False](octets, tag.as_bytes()), weak, value)


comptime TESTS = __functions_in_module()
