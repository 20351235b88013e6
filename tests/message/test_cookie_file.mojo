"""Tests for `flare.message.cookie_file`, and for the jar's text.

The lines are as curl 8 and Python's `http.cookiejar` write them.
"""

from std.testing import assert_raises

from flare.http import Cookie, CookieJar, PublicSuffixes, Url
from flare.message.cookie_file import read_cookie_line
from flare.message.cookie_rules import StoredCookie

from tests.asserting import assert_equal, assert_false, assert_true

comptime _FILE: StaticString = (
    "# Netscape HTTP Cookie File\n"
    "# https://curl.se/docs/http-cookies.html\n"
    "\r\n"
    ".example.com\tTRUE\t/\tFALSE\t4102444800\twide\t1\r\n"
    "#HttpOnly_a.example.com\tFALSE\t/in\tTRUE\t0\tsecret\ta=b c\n"
    "www.example.com\tFALSE\t/\tFALSE\t1\told\tgone\n"
    "localhost\tFALSE\t/\tFALSE\t0\tempty\t"
)


def test_a_file_of_curl_is_read() raises:
    var jar = CookieJar()
    assert_equal(jar.read_text(_FILE.as_bytes()), 0)
    assert_equal(
        jar.header_for(Url.parse("https://a.example.com/in")),
        "secret=a=b c; wide=1",
    )
    assert_equal(jar.header_for(Url.parse("http://a.example.com/in")), "wide=1")
    assert_equal(
        jar.header_for(Url.parse("https://b.a.example.com/")), "wide=1"
    )
    assert_equal(jar.header_for(Url.parse("http://localhost/")), "empty=")
    # 400 days are the longest life that RFC 6265bis gives.
    assert_true(jar.cookies()[0].expires)
    assert_true(jar.cookies()[1].http_only)


def test_what_is_written_is_read_again() raises:
    var jar = CookieJar()
    var url = Url.parse("https://shop.example/cart")
    jar.set(url, Cookie("a", "1", max_age=1000, secure=True, http_only=True))
    jar.set(url, Cookie("b", "x\ty", domain="shop.example", path="/"))
    jar.set(url, Cookie("gone", "1", max_age=0))
    jar.set(Cookie("homeless", "1"))
    var text = jar.to_text()
    assert_true(text.startswith("# Netscape HTTP Cookie File\n#HttpOnly_shop"))
    assert_false("homeless" in text)
    assert_false("gone" in text)
    var again = CookieJar()
    assert_equal(again.read_text(text.as_bytes()), 0)
    assert_equal(again.to_text(), text)
    assert_equal(again.header_for(url), "a=1; b=x\ty")
    # A second reading changes nothing.
    assert_equal(again.read_text(text.as_bytes()), 0)
    assert_equal(len(again), 2)


def test_cookies_that_no_server_could_set_are_ignored() raises:
    var lines: List[StaticString] = [
        ".com\tTRUE\t/\tFALSE\t0\ta\tb\n",
        ".co.test\tTRUE\t/\tFALSE\t0\ta\tb\n",
        ".127.0.0.1\tTRUE\t/\tFALSE\t0\ta\tb\n",
        "h.test\tFALSE\t/\tFALSE\t0\t__Secure-a\tb\n",
        "h.test\tTRUE\t/\tTRUE\t0\t__Host-a\tb\n",
        "h.test\tFALSE\t/x\tTRUE\t0\t__Host-a\tb\n",
        "h.test\tFALSE\t/\tFALSE\t0\ta\tb;c\n",
        "h.test\tFALSE\t/\tFALSE\t0\ta\tb\x01\n",
    ]
    for line in lines:
        var jar = CookieJar(suffixes=PublicSuffixes.parse("com\nco.test\n"))
        assert_equal(jar.read_text(line.as_bytes()), 1, String(line))
        assert_equal(len(jar), 0)


def test_lines_of_another_form_are_an_error_that_names_them() raises:
    var lines: List[StaticString] = [
        "h\tFALSE\t/\tFALSE\t0\ta",
        "\tFALSE\t/\tFALSE\t0\ta\tb",
        ".\tFALSE\t/\tFALSE\t0\ta\tb",
        "h\tfalse\t/\tFALSE\t0\ta\tb",
        "h\tFALSE\tx\tFALSE\t0\ta\tb",
        "h\tFALSE\t\tFALSE\t0\ta\tb",
        "h\tFALSE\t/\t1\t0\ta\tb",
        "h\tFALSE\t/\tFALSE\t\ta\tb",
        "h\tFALSE\t/\tFALSE\t-1\ta\tb",
        "h\tFALSE\t/\tFALSE\t1.5\ta\tb",
        "{}",
    ]
    for line in lines:
        var jar = CookieJar()
        with assert_raises(contains="message.bad_cookie line 2: cookie line"):
            _ = jar.read_text(String("# x\n", line).as_bytes())
    var long_value = String("h\tFALSE\t/\tFALSE\t0\ta\t", String("b") * 4096)
    var jar = CookieJar()
    with assert_raises(contains="line 1: cookie line at octet 18: too long"):
        _ = jar.read_text(long_value.as_bytes())
    var no_text: List[UInt8] = List("h\tFALSE\t/\tFALSE\t0\ta\t".as_bytes())
    no_text.append(0xFF)
    with assert_raises(contains="not UTF-8"):
        _ = jar.read_text(Span(no_text))


def test_later_seconds_than_any_clock_are_the_last() raises:
    var line = String("h\tFALSE\t/\tFALSE\t", String("9") * 40, "\ta\tb")
    var stored: Optional[StoredCookie]
    try:
        stored = read_cookie_line(line.as_bytes())
    except e:
        raise Error(e)
    assert_equal(stored.value().expires_at, 253402300799)


comptime TESTS = __functions_in_module()
