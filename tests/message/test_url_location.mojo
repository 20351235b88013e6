"""Tests for `flare.message.url_location`.

The rows are what the parser of the WHATWG URL Standard gives for the same
reference and base, where it says nothing of user information and hosts
that no DNS name can be.
"""

from std.testing import assert_raises

from flare.message import Url, resolve_location

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct Row(Copyable):
    var location: StaticString
    var result: StaticString


def test_octets_that_a_url_cannot_hold_are_escaped() raises:
    var rows: List[Row] = [
        Row('/q"<>', "http://h/q%22%3C%3E"),
        Row("/ok?q=100%", "http://h/ok?q=100%"),
        Row("/100%", "http://h/100%"),
        Row("/%4/%zz%", "http://h/%4/%zz%"),
        Row("/%41%c3", "http://h/%41%c3"),
        Row("/ok#a#b", "http://h/ok#a#b"),
        Row("/a b?c d#e f", "http://h/a%20b?c%20d#e%20f"),
        Row("/\u00e4?\u00e4#\u00e4", "http://h/%C3%A4?%C3%A4#%C3%A4"),
        Row("/^`{|}", "http://h/%5E%60%7B|%7D"),
        Row("/[a]@:;,!$&'()*+=~_-.", "http://h/[a]@:;,!$&'()*+=~_-."),
        Row("?^`{|}\\[]\"'<>", "http://h/a/b?^`{|}\\[]%22%27%3C%3E"),
        Row("#^`{|}\\[]\"'<>", "http://h/a/b?c#^%60{|}\\[]%22'%3C%3E"),
        Row("/\x01\x1f\x7f?\x01\x7f#\x7f", "http://h/%01%1F%7F?%01%7F#%7F"),
    ]
    _check(rows)
    var octets: List[UInt8] = [47, 0xFF, 0x80, 0, 32, 0xC3]
    assert_equal(
        String(resolve_location(Url.parse("http://h"), Span(octets))),
        "http://h/%FF%80%00%20%C3",
    )


def test_blanks_around_and_line_ends_within_do_not_count() raises:
    var rows: List[Row] = [
        Row("  /x\t ", "http://h/x"),
        Row("\x00\x1f/x\r\n", "http://h/x"),
        Row("/x\r\nSet-Cookie: a=b", "http://h/xSet-Cookie:%20a=b"),
        Row("/a\tb\nc", "http://h/abc"),
        Row("ht\ttp://o\nther/", "http://other/"),
        Row("/\t/other/x", "http://other/x"),
        Row("\\\n\\other/x", "http://other/x"),
        Row("/.\t./x", "http://h/x"),
        Row(" ", "http://h/a/b?c"),
        Row("\t", "http://h/a/b?c"),
    ]
    _check(rows)


def test_backslashes_and_too_many_slashes_are_slashes() raises:
    var rows: List[Row] = [
        Row("\\ok", "http://h/ok"),
        Row("x\\y", "http://h/a/x/y"),
        Row("/x\\..\\y", "http://h/y"),
        Row("\\\\host\\x", "http://host/x"),
        Row("/\\host", "http://host/"),
        Row("\\/host?\\", "http://host/?\\"),
        Row("///host/x", "http://host/x"),
        Row("////host//x", "http://host//x"),
        Row("http:\\\\host\\x", "http://host/x"),
        Row("http:///host", "http://host/"),
        Row("https:host/x", "https://host/x"),
        Row("https:/host/x", "https://host/x"),
        Row("https:\\host/x", "https://host/x"),
        Row("http:/x", "http://h/x"),
        Row("http:x", "http://h/a/x"),
        Row("http:\\x", "http://h/x"),
        Row("http:?x", "http://h/a/b?x"),
        Row("http:", "http://h/a/b?c"),
        Row("//host", "http://host/"),
        Row("//host?x", "http://host/?x"),
        Row("//host#x", "http://host/#x"),
    ]
    _check(rows)


def test_references_resolve_as_in_rfc_3986() raises:
    var rows: List[Row] = [
        Row("", "http://h/a/b?c"),
        Row("x", "http://h/a/x"),
        Row("?x", "http://h/a/b?x"),
        Row("?", "http://h/a/b?"),
        Row("#x", "http://h/a/b?c#x"),
        Row("#", "http://h/a/b?c#"),
        Row("..", "http://h/"),
        Row(".", "http://h/a/"),
        Row("./x/.", "http://h/a/x/"),
        Row("../../../x/..", "http://h/"),
        Row("/a//../b", "http://h/a/b"),
        Row("%2E%2e/x", "http://h/x"),
        Row(".%2e/x", "http://h/x"),
        Row("%2e", "http://h/a/"),
        Row("%2e%2e%2e", "http://h/a/%2e%2e%2e"),
        Row("...", "http://h/a/..."),
        Row("/%2f..", "http://h/%2f.."),
        Row("x?../y#../z", "http://h/a/x?../y#../z"),
        Row("1a:b", "http://h/a/1a:b"),
        Row("a/b:c", "http://h/a/a/b:c"),
        Row(":x", "http://h/a/:x"),
    ]
    _check(rows)


def test_hosts_take_their_normal_form() raises:
    var rows: List[Row] = [
        Row("HTTPS://Ex%61mple.COM:0443", "https://example.com/"),
        Row("http://h:80/", "http://h/"),
        Row("//h:/", "http://h/"),
        Row("https://h:080/", "https://h:80/"),
        Row("//127.1", "http://127.0.0.1/"),
        Row("//0x7f.0.0.1.", "http://127.0.0.1/"),
        Row("//2130706433", "http://127.0.0.1/"),
        Row("//0177.0x0.1", "http://127.0.0.1/"),
        Row("//255.255.65535", "http://255.255.255.255/"),
        Row("//1.2.3.4", "http://1.2.3.4/"),
        Row("//0x", "http://0.0.0.0/"),
        Row("//a.1x", "http://a.1x/"),
        Row("//[::1]:81/", "http://[::1]:81/"),
        Row("//xn--mnchen-3ya.de", "http://xn--mnchen-3ya.de/"),
        Row("//h./", "http://h./"),
    ]
    _check(rows)


def test_what_names_no_host_is_refused() raises:
    var rows: List[Row] = [
        Row("javascript:alert(1)", "scheme"),
        Row("\x01JavaScript:alert(1)", "scheme"),
        Row("java\tscript:alert(1)", "scheme"),
        Row("file:///etc/passwd", "scheme"),
        Row("ftp://h/", "scheme"),
        Row("data:,x", "scheme"),
        Row("mailto:a@b", "scheme"),
        Row("http+unix://h/", "scheme"),
        Row("//", "empty"),
        Row("///", "empty"),
        Row("https:", "empty"),
        Row("https:?x", "empty"),
        Row("//:80/", "empty"),
        Row("//user@h/", "user information"),
        Row("//@h/", "user information"),
        Row("//h:pw@other/", "user information"),
        Row("//m\u00fcnch\u2011en.de/", "a letter that is not converted"),
        Row("//m%c3%bcnchen%2f.de/", "host"),
        Row("//m%c3nchen.de/", "not UTF-8"),
        Row("//a b/", "host"),
        Row("//a%20b/", "host"),
        Row("//a%2fb/", "host"),
        Row("//a%3A80/", "host"),
        Row("//a%40b/", "host"),
        Row("//a%00/", "host"),
        Row("//a%2541/", "host"),
        Row("//a%/", "host"),
        Row("//a<b/", "host"),
        Row("//a|b/", "host"),
        Row("//a\x7fb/", "host"),
        Row("//h:x/", "host"),
        Row("//h:80x/", "host"),
        Row("//h:65536/", "port"),
        Row("//h:-1/", "host"),
        Row("//1.2.3.4.5/", "IPv4"),
        Row("//256.1/", "IPv4"),
        Row("//1.2.3.256/", "IPv4"),
        Row("//4294967296/", "IPv4"),
        Row("//1..2/", "IPv4"),
        Row("//09/", "IPv4"),
        Row("//a.0x/", "IPv4"),
        Row("//99999999999999999999999999/", "IPv4"),
        Row("//[::1/", "host"),
        Row("//[::g]/", "host"),
        Row("//[fe80::1%25eth0]/", "host"),
        Row("//[::1]x/", "host"),
    ]
    var base = Url.parse("http://h/a/b?c")
    for row in rows:
        var text = String()
        try:
            text = String(resolve_location(base, row.location.as_bytes()))
        except e:
            assert_true(row.result in String(e), String(row.location, ": ", e))
        assert_equal(text, "", row.location)


def test_a_url_that_was_followed_is_read_again() raises:
    var base = Url.parse("http://h/")
    for location in ["/100%?%#%#", "/%zz", "?a%", "#a#b%"]:
        var url = resolve_location(base, location.as_bytes())
        assert_true(Url.parse_lenient(url.text().as_bytes()) == url)
        assert_equal(
            resolve_location(url, "".as_bytes()).target(), url.target()
        )
        with assert_raises(contains="message.bad_url"):
            _ = Url.parse(url.text())
    for text in ["http://h/ ", 'http://h/"', "http://h/?\x7f", "http://h%/"]:
        with assert_raises(contains="at octet"):
            _ = Url.parse_lenient(text.as_bytes())


def test_a_location_is_bounded() raises:
    var base = Url.parse("http://h/")
    var long = List[UInt8](length=Url.OCTETS_MAX, fill=97)
    with assert_raises(contains="too long"):
        _ = resolve_location(base, Span(long))
    var escaped = List[UInt8](length=Url.OCTETS_MAX // 3, fill=0xFF)
    with assert_raises(contains="too long"):
        _ = resolve_location(base, Span(escaped))


def _check(rows: List[Row]) raises:
    var base = Url.parse("http://h/a/b?c")
    for row in rows:
        var text: String
        try:
            text = String(resolve_location(base, row.location.as_bytes()))
        except e:
            text = String(e)
        assert_equal(text, row.result, row.location)


comptime TESTS = __functions_in_module()
