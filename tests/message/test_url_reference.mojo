"""Tests for `flare.message.url_reference`.

The rows on dots and merging are the examples of RFC 3986 section 5.4, with
http://a/b/c/d;p?q as the base.
"""

from std.testing import assert_raises

from flare.message import Url, resolve_reference

from tests.asserting import assert_equal


@fieldwise_init
struct Row(Copyable):
    var reference: StaticString
    var result: StaticString


def test_the_normal_examples_resolve() raises:
    var rows: List[Row] = [
        Row("g", "http://a/b/c/g"),
        Row("./g", "http://a/b/c/g"),
        Row("g/", "http://a/b/c/g/"),
        Row("/g", "http://a/g"),
        Row("//g", "http://g/"),
        Row("?y", "http://a/b/c/d;p?y"),
        Row("g?y", "http://a/b/c/g?y"),
        Row("#s", "http://a/b/c/d;p?q#s"),
        Row("g#s", "http://a/b/c/g#s"),
        Row("g?y#s", "http://a/b/c/g?y#s"),
        Row(";x", "http://a/b/c/;x"),
        Row("g;x", "http://a/b/c/g;x"),
        Row("", "http://a/b/c/d;p?q"),
        Row(".", "http://a/b/c/"),
        Row("./", "http://a/b/c/"),
        Row("..", "http://a/b/"),
        Row("../", "http://a/b/"),
        Row("../g", "http://a/b/g"),
        Row("../..", "http://a/"),
        Row("../../", "http://a/"),
        Row("../../g", "http://a/g"),
    ]
    _check(rows)


def test_the_abnormal_examples_resolve() raises:
    var rows: List[Row] = [
        Row("../../../g", "http://a/g"),
        Row("../../../../g", "http://a/g"),
        Row("/./g", "http://a/g"),
        Row("/../g", "http://a/g"),
        Row("g.", "http://a/b/c/g."),
        Row(".g", "http://a/b/c/.g"),
        Row("g..", "http://a/b/c/g.."),
        Row("..g", "http://a/b/c/..g"),
        Row("./../g", "http://a/b/g"),
        Row("./g/.", "http://a/b/c/g/"),
        Row("g/./h", "http://a/b/c/g/h"),
        Row("g/../h", "http://a/b/c/h"),
        Row("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        Row("g;x=1/../y", "http://a/b/c/y"),
        Row("g?y/./x", "http://a/b/c/g?y/./x"),
        Row("g?y/../x", "http://a/b/c/g?y/../x"),
        Row("g#s/./x", "http://a/b/c/g#s/./x"),
        Row("g#s/../x", "http://a/b/c/g#s/../x"),
        Row("g#s?x", "http://a/b/c/g#s?x"),
        Row("/g//../h", "http://a/g/h"),
        Row("//g/../h", "http://g/h"),
        Row("/a:b", "http://a/a:b"),
        Row("./a:b", "http://a/b/c/a:b"),
        Row("1a:b", "http://a/b/c/1a:b"),
    ]
    _check(rows)


def test_an_absolute_url_replaces_the_base() raises:
    var rows: List[Row] = [
        Row("https://h:8443/x/../y?z/../#f", "https://h:8443/y?z/../#f"),
        Row("HTTP://B", "http://b/"),
        Row("http://b/./#", "http://b/#"),
        Row("//[::1]:80/", "http://[::1]/"),
    ]
    _check(rows)


def test_port_and_scheme_of_the_base_stay() raises:
    var base = Url.parse("https://h:8443?old")
    assert_equal(resolve_reference(base, "x").text(), "https://h:8443/x")
    assert_equal(resolve_reference(base, "//g/x").text(), "https://g/x")
    assert_equal(resolve_reference(base, "?new").text(), "https://h:8443/?new")
    assert_equal(resolve_reference(base, "").text(), "https://h:8443/?old")


def test_what_does_not_give_a_url_is_refused() raises:
    var base = Url.parse("http://a/b")
    for reference in [
        "javascript:x",
        "mailto:a@b",
        "file:///etc/passwd",
        "//",
        "///x",
        "//u@h/",
        "http:x",
        "a b",
        "x\r\nSet-Cookie: y",
        "/é",
        "%4",
        "#\0",
        "a b/../c",
        "/é/..",
        "%4/../c",
    ]:
        with assert_raises(contains="message.bad_url"):
            _ = resolve_reference(base, reference)
    var long = List[UInt8](length=Url.OCTETS_MAX + 1, fill=97)
    with assert_raises(contains="message.bad_url"):
        _ = resolve_reference(base, StringSlice(unsafe_from_utf8=Span(long)))


def _check(rows: List[Row]) raises:
    var base = Url.parse("http://a/b/c/d;p?q")
    for row in rows:
        assert_equal(
            resolve_reference(base, row.reference).text(),
            row.result,
            row.reference,
        )


comptime TESTS = __functions_in_module()
