"""Tests for `flare.message.cookie_date`."""

from flare.message import HttpDate, parse_cookie_date

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var date: StaticString


def test_dates_of_every_dress_are_read() raises:
    comptime NOON: StaticString = "Sun, 06 Nov 1994 08:49:37 GMT"
    var rows: List[Row] = [
        Row("Sun, 06 Nov 1994 08:49:37 GMT", NOON),
        Row("Sunday, 06-Nov-94 08:49:37 GMT", NOON),
        Row("Sun Nov  6 08:49:37 1994", NOON),
        Row("06-Nov-1994 08:49:37", NOON),
        Row("08:49:37 6 nOVEMBER 94", NOON),
        Row("1994 Nov 6th 8:49:37", NOON),
        # "1994" cannot be a day: it has too many digits.
        Row("1994;06;november;08:49:37", NOON),
        Row("06 Nov 1994 08:49:37foo 07 Dec 1995 09:00:00", NOON),
        Row("\t\t06/nov/1994/08:49:37 +0100", NOON),
        Row("Xxx, 06 Nov 1994 08:49:37 PST", NOON),
        Row("06 Nov 1994x 08:49:37", NOON),
        Row("一 06 Nov 1994 08:49:37", NOON),
        Row("29 Feb 2000 00:00:00", "Tue, 29 Feb 2000 00:00:00 GMT"),
        Row("1 Jan 1601 0:0:0", "Mon, 01 Jan 1601 00:00:00 GMT"),
        Row("31 Dec 9999 23:59:59", "Fri, 31 Dec 9999 23:59:59 GMT"),
        Row("1 Jan 69 0:0:0", "Tue, 01 Jan 2069 00:00:00 GMT"),
        Row("1 Jan 70 0:0:0", "Thu, 01 Jan 1970 00:00:00 GMT"),
        Row("1 Jan 99 0:0:0", "Fri, 01 Jan 1999 00:00:00 GMT"),
        Row("1 Jan 00 0:0:0", "Sat, 01 Jan 2000 00:00:00 GMT"),
    ]
    for row in rows:
        var date = parse_cookie_date(row.text.as_bytes())
        assert_true(date, row.text)
        assert_equal(String(date.value()), row.date, row.text)


def test_what_lacks_a_part_or_does_not_exist_is_no_date() raises:
    for text in [
        "",
        "GMT",
        "06 Nov 1994",
        "Nov 1994 08:49:37",
        "06 1994 08:49:37",
        "06 Nov 08:49:37",
        "06 Nov 194 08:49:37",
        "06 Nov 19945 08:49:37",
        "06 Nov 1 08:49:37",
        "006 Nov 1994 08:49:37",
        "06 No 1994 08:49:37",
        "06 Nov 1994 08:49",
        "06 Nov 1994 08:49:",
        "06 Nov 1994 008:49:37",
        "06 Nov 1994 24:49:37",
        "06 Nov 1994 08:60:37",
        "06 Nov 1994 08:49:60",
        "06 Nov 1994 24:00:00 08:49:37",
        "00 Nov 1994 08:49:37",
        "31 Nov 1994 08:49:37",
        "32 Dec 1994 08:49:37",
        "29 Feb 1900 08:49:37",
        "31 Dec 1600 23:59:59",
    ]:
        assert_false(parse_cookie_date(text.as_bytes()), text)


def test_civil_days_have_bounds() raises:
    assert_true(HttpDate.of_civil(1, 1, 1, 0))
    assert_true(HttpDate.of_civil(9999, 12, 31, 86399))
    assert_false(HttpDate.of_civil(0, 1, 1, 0))
    assert_false(HttpDate.of_civil(10000, 1, 1, 0))
    assert_false(HttpDate.of_civil(2000, 0, 1, 0))
    assert_false(HttpDate.of_civil(2000, 13, 1, 0))
    assert_false(HttpDate.of_civil(2000, 1, 0, 0))
    assert_false(HttpDate.of_civil(2000, 4, 31, 0))
    assert_false(HttpDate.of_civil(2000, 1, 1, -1))
    assert_false(HttpDate.of_civil(2000, 1, 1, 86400))


comptime TESTS = __functions_in_module()
