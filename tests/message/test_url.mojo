"""Tests for `flare.message.url`."""

from std.testing import assert_raises

from flare.message import Url

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var normal: StaticString
    var parts: StaticString


def test_urls_are_divided_and_put_into_normal_form() raises:
    var rows: List[Row] = [
        Row("http://a", "http://a/", "http a 80 a / - -"),
        Row("HTTP://A.B/C", "http://a.b/C", "http a.b 80 a.b /C - -"),
        Row("http://a:80", "http://a/", "http a 80 a / - -"),
        Row("http://a:", "http://a/", "http a 80 a / - -"),
        Row("http://a:00443/", "http://a:443/", "http a 443 a:443 / - -"),
        Row("https://a:443/", "https://a/", "https a 443 a / - -"),
        Row("https://a:80/", "https://a:80/", "https a 80 a:80 / - -"),
        Row("ws://a/b", "ws://a/b", "ws a 80 a /b - -"),
        Row("wss://a/b", "wss://a/b", "wss a 443 a /b - -"),
        Row("http://a?b", "http://a/?b", "http a 80 a / b -"),
        Row("http://a?", "http://a/?", "http a 80 a /  -"),
        Row("http://a#b", "http://a/#b", "http a 80 a / - b"),
        Row("http://a#", "http://a/#", "http a 80 a / - "),
        Row("http://a/?#", "http://a/?#", "http a 80 a /  "),
        Row(
            "http://a:8080?b#c?d",
            "http://a:8080/?b#c?d",
            "http a 8080 a:8080 / b c?d",
        ),
        Row("http://a/b?c?d#e", "http://a/b?c?d#e", "http a 80 a /b c?d e"),
        Row(
            "http://[::A]:81/", "http://[::a]:81/", "http ::a 81 [::a]:81 / - -"
        ),
        Row("https://[::1]", "https://[::1]/", "https ::1 443 [::1] / - -"),
        Row(
            "http://1.2.3.4/%2f",
            "http://1.2.3.4/%2f",
            "http 1.2.3.4 80 1.2.3.4 /%2f - -",
        ),
    ]
    for row in rows:
        var url = Url.parse(row.text)
        assert_equal(String(url), row.normal)
        assert_equal(url.text(), row.normal)
        assert_equal(_parts(url), row.parts, row.text)
        var again = Url.parse(row.normal)
        assert_true(again == url, row.text)
        assert_equal(_parts(again), row.parts, row.text)


def test_the_target_is_what_a_request_line_has() raises:
    assert_equal(Url.parse("http://a").target(), "/")
    assert_equal(Url.parse("http://a?b#c").target(), "/?b")
    assert_equal(Url.parse("http://a/b/c?d#e").target(), "/b/c?d")


def test_what_is_no_url_is_refused() raises:
    for text in [
        "",
        "a",
        "/",
        "//a",
        "http",
        "http:",
        "http:/",
        "http://",
        "http:///",
        "http://?a",
        "http://#a",
        "http://:80",
        "http://a:65536",
        "http://a:b",
        "http://u@a",
        "http://u:p@a/",
        "http://a@b@c/",
        "ftp://a",
        "file:///a",
        "javascript:x",
        "mailto:a@b",
        " http://a",
        "http://a ",
        "http://a b",
        "http://a/ ",
        "http://a/\n",
        "http://a/\0",
        "http://a/\x7f",
        "http://é\u2011/",
        "http://a/é",
        "http://a/%",
        "http://a/%4",
        "http://a/%4g",
        "http://a?%",
        "http://a#%",
        "http://a##",
        "http://a/#\t",
        "http://a/\\",
        "http://[::1/",
        "http://[::1%25a]/",
        "http://[v1.x]/",
        "http://[1.2.3.4]/",
        "http://::1/",
        "http://a:1:2/",
        "http\n://a/",
        "https:a",
        "http://a\\b",
    ]:
        with assert_raises(contains="message.bad_url "):
            _ = Url.parse(text)


def test_an_error_says_where_and_holds_nothing_of_the_text() raises:
    with assert_raises(
        contains="message.bad_url path at octet 15: forbidden octet"
    ):
        _ = Url.parse("http://a/secret\r")
    try:
        _ = Url.parse_octets("http://a:70000/".as_bytes())
    except e:
        assert_equal(e.part, "port")
        assert_equal(e.offset, 13)
        assert_equal(e.reason, "over 65535")


def test_the_bound_on_the_length_is_inclusive() raises:
    var text = String("http://a/")
    while text.byte_length() < Url.OCTETS_MAX:
        text += "b"
    assert_equal(Url.parse(text).path().byte_length(), Url.OCTETS_MAX - 8)
    text += "b"
    with assert_raises(contains="too long"):
        _ = Url.parse(text)


def test_the_origin_is_scheme_host_and_port() raises:
    var url = Url.parse("http://a/b")
    assert_true(url.has_origin_of(Url.parse("HTTP://A:80/c?d")))
    assert_false(url.has_origin_of(Url.parse("https://a/b")))
    assert_false(url.has_origin_of(Url.parse("http://a:81/b")))
    assert_false(url.has_origin_of(Url.parse("http://ab/b")))
    assert_false(url.has_origin_of(Url.parse("https://a:80/b")))


def test_query_parameters_are_read() raises:
    var url = Url.parse("http://a/?x=1&y=a+b&x=2#x=3")
    assert_equal(url.query_parameters().get("y").value(), "a b")
    assert_equal(len(url.query_parameters().values("x")), 2)
    assert_false(Url.parse("http://a/").query_parameters().get("x"))


def test_views_outlive_the_call_that_made_them() raises:
    var urls = List[Url]()
    for i in range(20):
        urls.append(Url.parse(String("http://h", i, "/")))
    for i in range(20):
        var host = urls[i].host()
        var path = urls[i].path()
        assert_equal(host, String("h", i))
        assert_equal(path, "/")
    var copied = urls[3].copy()
    urls.clear()
    assert_equal(copied.host(), "h3")
    assert_true(copied.is_secure() == False)


def _parts(url: Url) -> String:
    var text = String(url.scheme(), " ", url.host(), " ", url.port())
    text.write(" ", url.authority(), " ", url.path(), " ")
    var query = url.query()
    if query:
        text.write(query.value())
    else:
        text.write("-")
    text.write(" ")
    var fragment = url.fragment()
    if fragment:
        text.write(fragment.value())
    else:
        text.write("-")
    return text^


comptime TESTS = __functions_in_module()
