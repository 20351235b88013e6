"""Tests the identity of a trace (W3C Trace Context)."""

from flare.message import TraceContext

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_traceparent_is_read_and_written() raises:
    var text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    var trace = _parsed(text).value()
    assert_equal(trace.trace_high, UInt64(0x0AF7_6519_16CD_43DD))
    assert_equal(trace.trace_low, UInt64(0x8448_EB21_1C80_319C))
    assert_equal(trace.span_id, UInt64(0xB7AD_6B71_6920_3331))
    assert_true(trace.is_sampled)
    assert_equal(trace.traceparent(), text)
    assert_equal(trace.trace_id_text(), "0af7651916cd43dd8448eb211c80319c")
    assert_equal(trace.span_id_text(), "b7ad6b7169203331")
    # Every digit, at every place of a group of eight.
    for shift in range(16):
        var digits = "0123456789abcdef" * 2
        var id = String(digits[byte = shift : shift + 16])
        var found = _parsed(String("00-", id, id, "-", id, "-00")).value()
        assert_equal(found.trace_id_text(), String(id, id))
        assert_equal(found.span_id_text(), id)
        assert_false(found.is_sampled)


def test_only_the_lowest_flag_says_that_a_span_is_sampled() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("00", False),
        ("01", True),
        ("02", False),
        ("03", True),
        ("0f", True),
        ("fe", False),
        ("ff", True),
    ]
    for row in rows:
        var trace = _parsed(_with_flags(row[0])).value()
        assert_equal(trace.is_sampled, row[1], row[0])
        # What other flags mean is not known, so they are not passed on.
        var written = _with_flags("01" if row[1] else "00")
        assert_equal(trace.traceparent(), written, row[0])


def test_what_is_no_traceparent_names_no_trace() raises:
    var trace = "0af7651916cd43dd8448eb211c80319c"
    var span = "b7ad6b7169203331"
    var rows = List[String]()
    rows.append("")
    rows.append("00")
    rows.append(String("00-", trace, "-", span, "-0"))
    rows.append(String("00-", trace, "-", span, "-01-"))
    rows.append(String("00-", trace, "-", span, "-01-more"))
    rows.append(String("00-", trace, "-", span, "-01 "))
    rows.append(String("00-", trace, "-", span, "-0g"))
    rows.append(String("00-", trace, "-", span, "-0A"))
    rows.append(String("00-", trace.upper(), "-", span, "-01"))
    rows.append(String("00-", trace, "-", span.upper(), "-01"))
    rows.append(String("00-", "0" * 32, "-", span, "-01"))
    rows.append(String("00-", trace, "-", "0" * 16, "-01"))
    rows.append(String("ff-", trace, "-", span, "-01"))
    rows.append(String("0g-", trace, "-", span, "-01"))
    rows.append(String("00_", trace, "-", span, "-01"))
    rows.append(String("00-", trace, "_", span, "-01"))
    rows.append(String("00-", trace, "-", span, "_01"))
    rows.append(String("01-", trace, "-", span, "-01more"))
    for bad in [47, 58, 96, 103]:
        # The neighbours of the digits.
        var octet = chr(bad)
        rows.append(String("00-", trace[byte=:31], octet, "-", span, "-01"))
    for row in rows:
        assert_false(Bool(_parsed(row)), row)


def test_of_a_later_version_is_read_what_is_known() raises:
    # Section 3.2.4 has these cases.
    for version in ["01", "cc", "fe"]:
        var known = String(
            version, "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        )
        for more in ["", "-", "-what-the-future-brings"]:
            var trace = _parsed(String(known, more)).value()
            assert_true(trace.is_sampled, known)
            # It is passed on as the version that is known here.
            assert_true(trace.traceparent().startswith("00-0af7651"), known)


comptime TESTS = __functions_in_module()


def _parsed(text: StringSlice) -> Optional[TraceContext]:
    return TraceContext.parse(text.as_bytes())


def _with_flags(flags: StringSlice) -> String:
    return String(
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-", flags
    )
