"""Tests for `flare.message.header_map`."""

from std.sys.info import size_of
from std.testing import assert_raises

from flare.message import FieldName, HeaderMap

from tests.asserting import assert_equal, assert_false, assert_true


def test_an_empty_map_is_two_pointers_and_has_nothing() raises:
    assert_equal(size_of[HeaderMap](), 16)
    var headers = HeaderMap()
    assert_equal(len(headers), 0)
    assert_equal(len(headers.wire()), 0)
    assert_false("host" in headers)
    assert_false(headers.get("host"))
    assert_false(headers.has_known(FieldName.HOST))
    assert_equal(headers.remove("host"), 0)
    headers.clear()
    assert_equal(len(headers.copy()), 0)
    for _ in headers:
        raise Error("walked over a line that is not there")


def test_lines_lie_in_wire_form_in_the_order_of_insertion() raises:
    var headers = _sample()
    assert_equal(_wire(headers), "Host: a\r\nX-A: 1\r\nx-a: 22\r\nVia: \r\n")
    assert_equal(len(headers), 4)
    assert_equal(headers.name(2), "x-a")
    assert_equal(headers.value(2), "22")
    assert_equal(headers.value(3), "")


def test_names_are_found_in_any_case() raises:
    var headers = _sample()
    assert_equal(headers.get("HOST").value(), "a")
    assert_equal(headers.get("x-A").value(), "1")
    assert_true("vIa" in headers)
    assert_true(headers.contains("via"))
    assert_false("vi" in headers)
    assert_false("viaa" in headers)
    assert_equal(headers.count("X-A"), 2)


def test_all_values_and_all_lines_are_walked() raises:
    var headers = _sample()
    var text = String()
    for value in headers.values("x-a"):
        text.write(value, ",")
    assert_equal(text, "1,22,")
    text = ""
    for line in headers:
        text.write(line.name, "=", line.value, ",")
    assert_equal(text, "Host=a,X-A=1,x-a=22,Via=,")


def test_set_replaces_all_lines_at_the_place_of_the_first() raises:
    var headers = _sample()
    headers.set("x-A", "longer than before")
    assert_equal(
        _wire(headers), "Host: a\r\nx-A: longer than before\r\nVia: \r\n"
    )
    assert_equal(headers.get("via").value(), "")
    headers.set("X-A", "")
    assert_equal(_wire(headers), "Host: a\r\nX-A: \r\nVia: \r\n")
    headers.set("Via", "v")
    headers.set("Host", "bb")
    assert_equal(_wire(headers), "Host: bb\r\nX-A: \r\nVia: v\r\n")
    headers.set("New", "n")
    assert_equal(_wire(headers), "Host: bb\r\nX-A: \r\nVia: v\r\nNew: n\r\n")


def test_set_can_outgrow_the_memory() raises:
    var headers = _sample()
    var value = _repeated("v", 5000)
    headers.set("Host", value)
    assert_equal(headers.get("host").value(), value)
    assert_equal(headers.get("x-a").value(), "1")
    assert_equal(len(headers.wire()), 4999 + 33)


def test_remove_takes_every_line_of_the_name() raises:
    var headers = _sample()
    assert_equal(headers.remove("X-a"), 2)
    assert_equal(_wire(headers), "Host: a\r\nVia: \r\n")
    assert_equal(headers.remove("X-a"), 0)
    assert_equal(headers.remove("host"), 1)
    assert_equal(headers.remove("via"), 1)
    assert_equal(len(headers), 0)
    assert_equal(len(headers.wire()), 0)
    headers.append("A", "b")
    assert_equal(_wire(headers), "A: b\r\n")


def test_known_fields_are_tracked_through_every_change() raises:
    var headers = _sample()
    assert_true(headers.has_known(FieldName.HOST))
    assert_true(headers.has_known(FieldName.VIA))
    assert_false(headers.has_known(FieldName.CONNECTION))
    headers.set("CONNECTION", "close")
    headers.append("connection", "x")
    assert_true(headers.has_known(FieldName.CONNECTION))
    assert_true(headers.copy().has_known(FieldName.CONNECTION))
    headers.set("Connection", "close")
    assert_true(headers.has_known(FieldName.CONNECTION))
    _ = headers.remove("Connection")
    assert_false(headers.has_known(FieldName.CONNECTION))
    assert_true(headers.has_known(FieldName.HOST))
    _ = headers.remove("x-a")
    assert_true(headers.has_known(FieldName.HOST))
    headers.clear()
    assert_false(headers.has_known(FieldName.HOST))
    headers.append("X-Other", "1")
    assert_false(headers.has_known(FieldName.UNKNOWN))


def test_a_copy_is_independent() raises:
    var headers = _sample()
    var copied = headers.copy()
    headers.set("Host", "changed")
    _ = copied.remove("via")
    assert_equal(copied.get("host").value(), "a")
    assert_equal(len(copied), 3)
    assert_equal(len(headers), 4)
    var moved = headers^
    assert_equal(moved.get("host").value(), "changed")


def test_a_constant_line_is_like_one_that_was_inserted() raises:
    for change in range(8):
        var constant = HeaderMap()
        constant.append_constant["Content-Type", "text/plain"]()
        var inserted = HeaderMap()
        inserted.append("Content-Type", "text/plain")
        var untouched = constant.copy()
        _change(constant, change)
        _change(inserted, change)
        assert_equal(String(constant), String(inserted))
        _assert_same(constant, inserted)
        _assert_same(constant.copy(), inserted.copy())
        assert_equal(len(untouched), 1)
        assert_equal(untouched.name(0), "Content-Type")
        assert_equal(untouched.value(0), "text/plain")


def test_names_that_are_no_token_are_refused() raises:
    var headers = HeaderMap()
    for name in [
        "",
        " ",
        "a b",
        "a:",
        ":",
        "a\r\nb",
        "a\0",
        "a\t",
        "é",
        "a(b",
        "a/b",
        "a@b",
        "a[b",
        "a{b",
        'a"b',
        "averyveryverylongname\n",
    ]:
        with assert_raises(contains="message.bad_header_name"):
            headers.append(name, "v")
        with assert_raises(contains="message.bad_header_name"):
            headers.set(name, "v")
    assert_equal(len(headers), 0)
    headers.append("!#$%&'*+-.^_`|~09azAZ", "v")
    assert_equal(len(headers), 1)


def test_values_with_control_octets_are_refused_and_others_accepted() raises:
    for padding in ["", "a padding of more than sixteen octets"]:
        for octet in range(256):
            var value = List[UInt8](padding.as_bytes())
            value.append(UInt8(ord("a")))
            value.append(UInt8(octet))
            value.append(UInt8(ord("b")))
            var text = StringSlice(unsafe_from_utf8=Span(value))
            var headers = HeaderMap()
            if (octet < 32 and octet != 9) or octet == 127:
                with assert_raises(contains="message.bad_header_value"):
                    headers.append("X", text)
                with assert_raises(contains="message.bad_header_value"):
                    headers.set("X", text)
                assert_equal(len(headers), 0)
            else:
                headers.append("X", text)
                assert_equal(headers.value(0), text)


def test_an_error_text_holds_nothing_of_the_input() raises:
    var headers = HeaderMap()
    try:
        headers.append("X", "secret\r\nInjected: 1")
    except e:
        assert_false("secret" in String(e))
        assert_false("\r" in String(e))
        return
    raise Error("accepted a line break")


def test_blanks_around_a_value_are_not_part_of_it() raises:
    var headers = HeaderMap()
    headers.append("A", " \t b \t c\t ")
    assert_equal(headers.value(0), "b \t c")
    headers.append("B", " \t ")
    assert_equal(headers.value(1), "")
    headers.set("A", "  d")
    assert_equal(_wire(headers), "A: d\r\nB: \r\n")


def test_the_limit_of_lines_is_inclusive() raises:
    var headers = HeaderMap()
    for i in range(HeaderMap.LINES_MAX):
        headers.append("X", String(i))
    with assert_raises(contains="message.headers_too_large"):
        headers.append("X", "one over")
    with assert_raises(contains="message.headers_too_large"):
        headers.set("Y", "one over")
    assert_equal(len(headers), HeaderMap.LINES_MAX)
    headers.set("X", "fewer")
    assert_equal(len(headers), 1)


def test_the_limit_of_octets_is_inclusive() raises:
    var headers = HeaderMap()
    # Four octets around name and value, and one of name.
    headers.append("X", _repeated("v", HeaderMap.OCTETS_MAX - 5))
    assert_equal(len(headers.wire()), HeaderMap.OCTETS_MAX)
    with assert_raises(contains="message.headers_too_large"):
        headers.append("Y", "")
    with assert_raises(contains="message.headers_too_large"):
        headers.set("X", _repeated("v", HeaderMap.OCTETS_MAX - 4))
    assert_equal(len(headers.wire()), HeaderMap.OCTETS_MAX)
    headers.set("X", _repeated("v", HeaderMap.OCTETS_MAX - 5))
    headers.set("X", "v")
    assert_equal(_wire(headers), "X: v\r\n")


def test_the_lines_of_a_section_are_added() raises:
    var headers = _sample()
    var more = HeaderMap()
    more.append("First", "1")
    more.append_all(headers.view())
    assert_equal(
        _wire(more), "First: 1\r\nHost: a\r\nX-A: 1\r\nx-a: 22\r\nVia: \r\n"
    )


def test_printing_escapes_what_could_harm_a_terminal() raises:
    var headers = HeaderMap()
    var value: List[UInt8] = [97, 0xFF, 9, 98]
    headers.append("X", StringSlice(unsafe_from_utf8=Span(value)))
    headers.append("Y", "z")
    assert_equal(String(headers), "X: a\\xff\\x09b\nY: z\n")


def _sample() raises -> HeaderMap:
    var headers = HeaderMap()
    headers.append("Host", "a")
    headers.append("X-A", "1")
    headers.append("x-a", "22")
    headers.append("Via", "")
    return headers^


def _wire(headers: HeaderMap) -> String:
    return String(from_utf8_lossy=headers.wire())


def _change(mut headers: HeaderMap, change: Int) raises:
    if change == 1:
        headers.append("Vary", "accept")
    elif change == 2:
        headers.append_constant["Server", "flare"]()
        headers.append_constant["Content-Length", "0"]()
    elif change == 3:
        headers.set("content-type", "text/html; charset=utf-8")
    elif change == 4:
        assert_equal(headers.remove("CONTENT-TYPE"), 1)
    elif change == 5:
        headers.clear()
        headers.append_constant["Server", "flare"]()
    elif change == 6:
        assert_equal(headers.remove("server"), 0)
    elif change == 7:
        var other = HeaderMap()
        other.append_constant["Server", "flare"]()
        headers.append_all(other.view())


def _assert_same(a: HeaderMap, b: HeaderMap) raises:
    assert_equal(len(a), len(b))
    assert_equal(
        StringSlice(unsafe_from_utf8=a.wire()),
        StringSlice(unsafe_from_utf8=b.wire()),
    )
    assert_equal(a.known(), b.known())
    for i in range(len(b)):
        assert_equal(a.name(i), b.name(i))
        assert_equal(a.value(i), b.value(i))
        assert_equal(
            a.get(b.name(i)).value(),
            b.get(b.name(i)).value(),
        )
    assert_equal("content-type" in a, "content-type" in b)


def _repeated(text: StaticString, count: Int) -> String:
    var all = String()
    for _ in range(count):
        all += text
    return all^


comptime TESTS = __functions_in_module()
