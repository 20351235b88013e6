"""Tests for `flare.message.date`."""

from flare.message import HTTP_DATE_OCTETS, HttpDate, write_http_date

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var seconds: Int


def test_dates_are_written_and_read_back() raises:
    var rows: List[Row] = [
        Row("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        Row("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        Row("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        Row("Mon, 28 Feb 2000 23:59:59 GMT", 951782399),
        Row("Tue, 29 Feb 2000 00:00:00 GMT", 951782400),
        Row("Wed, 01 Mar 2000 00:00:00 GMT", 951868800),
        Row("Thu, 01 Mar 1900 00:00:00 GMT", -2203891200),
        Row("Tue, 19 Jan 2038 03:14:08 GMT", 2147483648),
        Row("Mon, 01 Mar 2100 00:00:00 GMT", 4107542400),
        Row("Mon, 01 Jan 0001 00:00:00 GMT", HttpDate.SECONDS_MIN),
        Row("Fri, 31 Dec 9999 23:59:59 GMT", HttpDate.SECONDS_MAX),
    ]
    for row in rows:
        assert_equal(String(HttpDate(row.seconds)), row.text)
        assert_equal(_parse(row.text), row.seconds, row.text)


def test_every_day_of_eight_hundred_years_is_the_day_after_the_one_before() raises:
    var day = HttpDate(-12219292800)
    assert_equal(String(day), "Fri, 15 Oct 1582 00:00:00 GMT")
    var before = String(day)
    for _ in range(800 * 366):
        day.seconds += 86400
        var text = String(day)
        assert_equal(_parse(text), day.seconds, text)
        var number = Int(text[byte=5:7])
        if number != 1:
            assert_equal(number, Int(before[byte=5:7]) + 1, text)
            assert_equal(text[byte=8:16], before[byte=8:16])
        before = text


def test_dates_out_of_range_are_moved_to_the_bound() raises:
    assert_equal(
        String(HttpDate(Int.MAX)), String(HttpDate(HttpDate.SECONDS_MAX))
    )
    assert_equal(
        String(HttpDate(Int.MIN)), String(HttpDate(HttpDate.SECONDS_MIN))
    )


def test_nothing_is_written_where_it_does_not_fit() raises:
    var octets = Array[UInt8, HTTP_DATE_OCTETS + 1](fill=7)
    write_http_date(0, Span(octets)[: HTTP_DATE_OCTETS - 1])
    for octet in octets:
        assert_equal(octet, 7)
    write_http_date(0, Span(octets))
    assert_equal(octets[HTTP_DATE_OCTETS - 1], UInt8(ord("T")))
    assert_equal(octets[HTTP_DATE_OCTETS], 7)


def test_the_three_formats_mean_the_same() raises:
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994",
    ]:
        assert_equal(_parse(text), 784111777, text)


def test_a_two_digit_year_is_at_most_fifty_years_ahead() raises:
    var now = _parse("Sat, 21 Nov 2026 10:00:00 GMT")
    var rows: List[Row] = [
        Row("Sunday, 06-Nov-94 08:49:37 GMT", 784111777),
        Row("Friday, 01-Jan-27 00:00:00 GMT", 1798761600),
        Row("Saturday, 21-Nov-76 10:00:00 GMT", 3373178400),
        Row("Sunday, 21-Nov-76 10:00:01 GMT", 217418401),
        Row("Monday, 22-Nov-76 00:00:00 GMT", 217468800),
        Row("Saturday, 01-Jan-00 00:00:00 GMT", 946684800),
        Row("Saturday, 01-Jan-77 00:00:00 GMT", 220924800),
    ]
    for row in rows:
        assert_equal(_parse(row.text, now), row.seconds, row.text)
    # Late in a century the digits can mean the next one.
    var late = _parse("Sun, 01 Jan 2090 00:00:00 GMT")
    assert_equal(_parse("Friday, 01-Jan-40 00:00:00 GMT", late), 5364662400)
    assert_equal(_parse("Monday, 02-Jan-40 00:00:00 GMT", late), 2209075200)


def test_times_and_days_that_do_not_exist_are_refused() raises:
    for text in [
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 32 Jan 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 00:00:00 GMT",
        "Sun, 29 Feb 2023 00:00:00 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 23:59:61 GMT",
        "Sunday, 31-Nov-94 08:49:37 GMT",
        "Sun Nov 31 08:49:37 1994",
        "Sun Nov  0 08:49:37 1994",
    ]:
        assert_equal(_parse(text), _NONE, text)


def test_a_leap_second_is_the_last_of_its_day() raises:
    assert_equal(_parse("Sat, 31 Dec 2016 23:59:60 GMT"), 1483228800)


def test_anything_but_the_letter_of_a_format_is_refused() raises:
    for text in [
        "",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun. 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08.49:37 GMT",
        "Sun, 06 Nov 1994 +8:49:37 GMT",
        "Sun, 06 Nov 19.4 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 unN 1994 08:49:37 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sundae, 06-Nov-94 08:49:37 GMT",
        "Sunday 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06-Nov-9x 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov  6 08:49:37 94",
        "Sun Nov 6 08:49:37 1994",
        "1994-11-06T08:49:37Z",
        "784111777",
    ]:
        assert_equal(_parse(text), _NONE, text)


def test_no_date_with_one_octet_changed_aborts() raises:
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ]:
        for i in range(text.byte_length()):
            for changed in [0, 32, 44, 45, 48, 57, 58, 65, 127, 128, 255]:
                var octets = List[UInt8](text.as_bytes())
                octets[i] = UInt8(changed)
                _ = HttpDate.parse(Span(octets), 0)
            _ = HttpDate.parse(text.as_bytes()[:i], 0)


def test_dates_are_ordered() raises:
    assert_true(HttpDate(1) < HttpDate(2))
    assert_false(HttpDate(2) < HttpDate(2))
    assert_true(HttpDate(2) >= HttpDate(2))
    assert_true(HttpDate(2) == HttpDate(2))


comptime _NONE = Int.MIN


def _parse(text: StringSlice, now_seconds: Int = 1795255200) -> Int:
    var date = HttpDate.parse(text.as_bytes(), now_seconds)
    return date.value().seconds if date else _NONE


comptime TESTS = __functions_in_module()
