"""Tests for `flare.message.cookie` and `flare.message.cookie_text`."""

from std.testing import assert_raises

from flare.message import (
    COOKIES_MAX,
    Cookie,
    HeaderMap,
    HttpDate,
    RequestCookies,
    SameSite,
    parse_cookie_header,
    parse_set_cookie_header,
)

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var read: StaticString


def test_set_cookie_fields_are_read() raises:
    var rows: List[Row] = [
        Row("a=b", "[a|b]"),
        Row("a=", "[a|]"),
        Row("=b", "[|b]"),
        Row("b", "[|b]"),
        Row(" a = b c ; x=y", "[a|b c]"),
        Row("a=b=c", "[a|b=c]"),
        Row('a="b c"', '[a|"b c"]'),
        Row("a=b;", "[a|b]"),
        Row("a=b;;", "[a|b]"),
        Row("a\t=\tb", "[a|b]"),
        Row("a=b; secure; HTTPONLY", "[a|b] Secure HttpOnly"),
        Row("a=b; Secure=no", "[a|b] Secure"),
        Row("a=b; Path=/x y", "[a|b] Path=/x y"),
        Row("a=b; Path=x", "[a|b]"),
        Row("a=b; Path=/x; Path=", "[a|b]"),
        Row("a=b; Path=/x; PATH=/y", "[a|b] Path=/y"),
        Row("a=b; Domain=.Example.COM", "[a|b] Domain=example.com"),
        Row("a=b; Domain=..a", "[a|b] Domain=.a"),
        Row("a=b; Domain=a; Domain=", "[a|b]"),
        Row("a=b; Max-Age=10", "[a|b] Max-Age=10"),
        Row("a=b; Max-Age=-10", "[a|b] Max-Age=-10"),
        Row("a=b; Max-Age=1; max-age=x", "[a|b] Max-Age=1"),
        Row("a=b; Max-Age=", "[a|b]"),
        Row("a=b; Max-Age=+1", "[a|b]"),
        Row("a=b; Max-Age=1.5", "[a|b]"),
        Row(
            "a=b; Max-Age=99999999999999999999999999",
            "[a|b] Max-Age=281474976710656",
        ),
        Row("a=b; SameSite=lax", "[a|b] SameSite=Lax"),
        Row("a=b; SameSite=STRICT", "[a|b] SameSite=Strict"),
        Row("a=b; SameSite=None", "[a|b] SameSite=None"),
        Row("a=b; SameSite=Lax; SameSite=?", "[a|b]"),
        Row(
            "a=b; Expires=06-Nov-94 08:49:37",
            "[a|b] Expires=Sun, 06 Nov 1994 08:49:37 GMT",
        ),
        Row("a=b; Expires=soon", "[a|b]"),
        Row("a=b; unknown=x; secure", "[a|b] Secure"),
    ]
    for row in rows:
        assert_equal(_shown(parse_set_cookie_header(row.text)), row.read)


def test_what_clients_ignore_is_refused() raises:
    var rows: List[Row] = [
        Row("", "neither name nor value"),
        Row("=", "neither name nor value"),
        Row(" = ; secure", "neither name nor value"),
        Row("a=b\x00", "cookie at octet 3: control octet"),
        Row("a=\x1fb", "control octet"),
        Row("a=b; Path=/\x7f", "control octet"),
        Row("a=b\r\nSet-Cookie: c=d", "control octet"),
        Row("a=b; Domain=bücher", "cookie domain at octet 1"),
    ]
    for row in rows:
        with assert_raises(contains=row.read):
            _ = parse_set_cookie_header(row.text)
    var latin: List[UInt8] = [97, 61, 0xE9]
    with assert_raises(contains="message.bad_cookie cookie at octet 0"):
        _ = parse_set_cookie_header(StringSlice(unsafe_from_utf8=Span(latin)))


def test_lengths_are_bounded() raises:
    var long = String("x") * 4095
    assert_equal(parse_set_cookie_header("a=" + long).value, long)
    with assert_raises(contains="too long"):
        _ = parse_set_cookie_header("ab=" + long)
    assert_equal(
        Cookie("a", long).to_set_cookie().byte_length(),
        2 + len(long.as_bytes()),
    )
    with assert_raises(contains="too long"):
        _ = Cookie("ab", long).to_set_cookie()
    var path = "/" + String("x") * 1023
    assert_equal(parse_set_cookie_header("a=b; Path=" + path).path, path)
    assert_equal(
        Cookie("a", "b", path=path).to_set_cookie().byte_length(), 1034
    )
    path += "x"
    # An attribute that is too long counts as if it were not there.
    assert_equal(parse_set_cookie_header("a=b; Path=" + path).path, "")
    with assert_raises(contains="cookie path at octet 1024: too long"):
        _ = Cookie("a", "b", path=path).to_set_cookie()


def test_set_cookie_fields_are_written() raises:
    var cookie = Cookie(
        "id",
        "42",
        domain="example.com",
        path="/",
        max_age=3600,
        expires=HttpDate(784111777),
        secure=True,
        http_only=True,
        same_site=SameSite.NONE,
    )
    var text = cookie.to_set_cookie()
    assert_equal(
        text,
        (
            "id=42; Path=/; Domain=example.com; Max-Age=3600;"
            " Expires=Sun, 06 Nov 1994 08:49:37 GMT; Secure; HttpOnly;"
            " SameSite=None"
        ),
    )
    assert_equal(_shown(parse_set_cookie_header(text)), _shown(cookie))
    assert_equal(Cookie("a", "").to_set_cookie(), "a=")
    assert_equal(Cookie("a", '"b"').to_set_cookie(), 'a="b"')
    assert_equal(String(Cookie("a", "b\x1b")), "a=b\\x1b")


def test_what_cannot_be_sent_is_refused() raises:
    for name in ["", "a b", "a;", "a=", "ä", "a\r\n", "a\x00", '"']:
        with assert_raises(contains="cookie name at octet 0: not a token"):
            _ = Cookie(name, "").to_set_cookie()
    for value in [
        "a b",
        "a;b",
        "a,b",
        'a"b',
        '"',
        "a\\b",
        "ä",
        "a\r\nb: c",
        '"a"b"',
    ]:
        with assert_raises(contains="cookie value at octet "):
            _ = Cookie("a", value).to_set_cookie()
    for path in ["x", "/;", "/\r\n", "/ä", "/\x00", ";/"]:
        with assert_raises(contains="cookie path at octet "):
            _ = Cookie("a", "b", path=path).to_set_cookie()
    for domain in ["a;b", "a b", "a/", "ä", "a\n", "[::1]"]:
        with assert_raises(contains="cookie domain at octet "):
            _ = Cookie("a", "b", domain=domain).to_set_cookie()
    with assert_raises(contains="SameSite=None wants Secure"):
        _ = Cookie("a", "b", same_site=SameSite.NONE).to_set_cookie()
    for name in ["__Host-a", "__Secure-a", "__sEcUrE-"]:
        with assert_raises(contains="its prefix wants Secure"):
            _ = Cookie(name, "b", path="/").to_set_cookie()
    for path in ["", "/x"]:
        with assert_raises(contains="its prefix wants Path=/ alone"):
            _ = Cookie("__Host-a", "b", path=path, secure=True).to_set_cookie()
    var wide = Cookie("__Host-a", "b", path="/", domain="a.b", secure=True)
    with assert_raises(contains="its prefix wants Path=/ alone"):
        _ = wide.to_set_cookie()
    _ = Cookie("__Host-a", "b", path="/", secure=True).to_set_cookie()
    _ = Cookie("__Secure-a", "b", path="/x", secure=True).to_set_cookie()


def test_cookie_fields_are_read() raises:
    var rows: List[Row] = [
        Row("", ""),
        Row(";;", ""),
        Row("a=1", "[a|1]"),
        Row("a=1; b=2", "[a|1][b|2]"),
        Row("a=1;b=2;", "[a|1][b|2]"),
        Row(" a = 1 ;\tb=", "[a|1][b|]"),
        Row("a=1; a=2", "[a|1][a|2]"),
        Row("alone", "[|alone]"),
        Row("a=b=c", "[a|b=c]"),
        Row('a="1, 2"', '[a|"1, 2"]'),
        Row("a=1, b=2", "[a|1, b=2]"),
    ]
    for row in rows:
        var text = String()
        for cookie in parse_cookie_header(row.text):
            text.write("[", cookie.name, "|", cookie.value, "]")
        assert_equal(text, row.read, row.text)
    var mixed: List[UInt8] = [97, 61, 0xE9, 59, 98, 61, 49]
    var kept = parse_cookie_header(StringSlice(unsafe_from_utf8=Span(mixed)))
    assert_equal(len(kept), 1)
    assert_equal(kept[0].name, "b")


def test_the_count_of_cookies_is_bounded() raises:
    var text = String("a;") * COOKIES_MAX
    assert_equal(len(parse_cookie_header(text)), COOKIES_MAX)
    with assert_raises(contains="message.bad_cookie too many"):
        _ = parse_cookie_header(text + "a")


def test_cookies_of_several_fields_are_one_list() raises:
    var headers = HeaderMap()
    headers.append("Cookie", "a=1; b=2")
    headers.append("Accept", "c=9")
    headers.append("cookie", "a=3; c=4")
    var cookies = RequestCookies(headers.view())
    var text = String()
    for _ in range(2):
        for pair in cookies:
            text.write(pair.name, pair.value, " ")
    assert_equal(text, "a1 b2 a3 c4 a1 b2 a3 c4 ")
    assert_equal(cookies.get("a").value(), "1")
    assert_equal(cookies.get("c").value(), "4")
    assert_false(cookies.get("A"))
    assert_true("b" in cookies)
    assert_false("" in cookies)
    assert_false(RequestCookies(HeaderMap().view()).get("a"))


def _shown(cookie: Cookie) -> String:
    var text = String("[", cookie.name, "|", cookie.value, "]")
    if cookie.path:
        text.write(" Path=", cookie.path)
    if cookie.domain:
        text.write(" Domain=", cookie.domain)
    if cookie.max_age:
        text.write(" Max-Age=", cookie.max_age.value())
    if cookie.expires:
        text.write(" Expires=", cookie.expires.value())
    if cookie.secure:
        text.write(" Secure")
    if cookie.http_only:
        text.write(" HttpOnly")
    if cookie.same_site != SameSite.DEFAULT:
        text.write(" SameSite=", cookie.same_site)
    return text^


comptime TESTS = __functions_in_module()
