"""Tests what templates write."""

from std.testing import assert_raises

from flare.html import HtmlPage, Markup, each, html, json_script, raw, url
from flare.json import ToJson

from tests.asserting import assert_equal

comptime _EVIL: StaticString = "<b a=\"1\" c='2'>&amp;"


@fieldwise_init
struct _Row(Copyable, Movable, ToJson):
    var id: Int
    var text: String


def test_a_value_is_escaped() raises:
    var evil = String(_EVIL)
    assert_equal(
        html(t"<p>{evil}</p>").text(),
        "<p>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;</p>",
    )
    assert_equal(
        html(t"<p title='{evil}' class=\"{evil}\">").text(),
        (
            "<p title='&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;'"
            ' class="&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;">'
        ),
    )


def test_any_writable_value() raises:
    var number = -7
    var ratio = 2.5
    var name = StaticString("a & b")
    assert_equal(
        html(t"{number} {ratio} {name} {True}").text(),
        "-7 2.5 a &amp; b True",
    )
    assert_equal(html(t"").text(), "")
    assert_equal(html(t"{{{number}}} {{}}").text(), "{-7} {}")


def test_markup_nests() raises:
    var inner = html(t"<i>{1}</i>")
    assert_equal(
        html(t"<b>{inner}</b>{inner}").text(), "<b><i>1</i></b><i>1</i>"
    )
    assert_equal(html(t"{raw('<hr>')}").text(), "<hr>")
    # A text that looks like markup is none.
    var text = String(inner)
    assert_equal(html(t"{text}").text(), "&lt;i&gt;1&lt;/i&gt;")


def test_a_link_has_no_script() raises:
    for evil in [
        StaticString("javascript:alert(1)"),
        " JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "a b:c",
        "blob:https://a",
    ]:
        assert_equal(url(evil), "about:invalid", evil)
        assert_equal(
            html(t"<a href='{evil}'>").text(), "<a href='about:invalid'>"
        )
    for good in [
        StaticString("https://a.test/?b=1"),
        "HTTP://a",
        "mailto:a@b",
        "tel:+1",
        "/a:b",
        "?a:b",
        "#a:b",
        "a/b:c",
        "",
        "a",
    ]:
        assert_equal(url(good), good)
    assert_equal(
        html(t"<img src=\"{'/a?b&c'}\">").text(), '<img src="/a?b&amp;c">'
    )


def test_parts_of_a_link_are_encoded() raises:
    var part = StaticString("a b/c?d&e#f%")
    assert_equal(
        html(t"<a href='/items/{part}?q={part}&r={part}#{part}'>").text(),
        (
            "<a href='/items/a%20b/c%3Fd%26e%23f%25?q=a%20b%2Fc%3Fd%26e%23f%25"
            "&r=a%20b%2Fc%3Fd%26e%23f%25#a%20b%2Fc%3Fd%26e%23f%25'>"
        ),
    )
    var base = StaticString("https://a.test")
    assert_equal(
        html(t"<a href='{base}/{part}'>").text(),
        "<a href='https://a.test/a%20b/c%3Fd%26e%23f%25'>",
    )


def test_addresses_keep_their_octets() raises:
    var mail = StaticString("a+b@c.test,d@e.test?&'")
    assert_equal(
        html(t"<a href='mailto:{mail}?subject={mail}'>").text(),
        (
            "<a href='mailto:a+b@c.test,d@e.test%3F%26%27?subject="
            "a%2Bb%40c.test%2Cd%40e.test%3F%26%27'>"
        ),
    )
    assert_equal(
        html(t"<a href='tel:{'+49 1'}'>").text(), "<a href='tel:+49%201'>"
    )


def test_text_elements() raises:
    var text = StaticString("</title><script>\0")
    assert_equal(
        html(t"<title>{text} < a</title>").text(),
        "<title>&lt;/title&gt;&lt;script&gt;\uFFFD < a</title>",
    )
    var markup = raw("</title>")
    with assert_raises(contains="markup in an attribute or a title"):
        _ = html(t"<title>{markup}</title>")


def test_a_path_names_no_host() raises:
    var host = StaticString("//evil.test/a")
    assert_equal(
        html(t"<a href='/{host}'>").text(), "<a href='/%2F%2Fevil.test/a'>"
    )
    var none = String()
    var name = StaticString("evil.test")
    assert_equal(
        html(t"<a href='/{none}/{name}'>").text(), "<a href='/./evil.test'>"
    )
    assert_equal(
        html(t"<a href='{none}/{none}{name}'>").text(),
        "<a href='/evil.test'>",
    )
    assert_equal(
        html(t"<a href='https://a.test{'@evil.test'}/'>").text(),
        "<a href='https://a.test%40evil.test/'>",
    )
    var slash = StaticString("/")
    assert_equal(
        html(t"<a href='{slash}{host}'>").text(),
        "<a href='/%2F%2Fevil.test/a'>",
    )
    assert_equal(
        html(t"<a href='{slash}/{name}'>").text(), "<a href='/./evil.test'>"
    )
    assert_equal(
        html(t"<a href='\\{slash}{name}'>").text(),
        "<a href='\\%2Fevil.test'>",
    )


def test_rows() raises:
    var rows = [_Row(1, "<a>"), _Row(2, "b")]

    def row(item: _Row) raises {} -> Markup:
        return html(t"<li>{item.id}: {item.text}</li>")

    var list = each(Span(rows), row)
    assert_equal(
        html(t"<ul>{list}</ul>").text(),
        "<ul><li>1: &lt;a&gt;</li><li>2: b</li></ul>",
    )
    var page = HtmlPage()
    page.add(t"<ul>")
    for item in rows:
        page.add(t"<li>{item.text}</li>")
    page.add(raw("<hr>"))
    page.add(t"</ul>")
    assert_equal(
        page.take().text(), "<ul><li>&lt;a&gt;</li><li>b</li><hr></ul>"
    )
    assert_equal(page.take().text(), "")


def test_data_for_scripts() raises:
    var row = _Row(1, "</script><!--&\u2028\u2029\u2030")
    assert_equal(
        json_script("a'b", row).text(),
        (
            '<script type="application/json" id="a&#39;b">{"id":1,"text":"'
            '\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u2029\u2030"}'
            "</script>"
        ),
    )


def test_a_template_without_a_place_for_a_value() raises:
    var value = StaticString("x")
    with assert_raises(contains="html.bad_template fill: a value in an attr"):
        _ = html(t"<a b={value}>")
    var page = HtmlPage()
    page.add(t"<p>")
    with assert_raises(contains="html.bad_template fill: it ends inside"):
        page.add(t"<p class='{value}'")
    var markup = raw("<b>")
    with assert_raises(contains="html.bad_template fill: markup in an attr"):
        page.add(t"<p class='{markup}'>")
    page.add(t"{value}")
    assert_equal(page.take().text(), "<p>x")


comptime TESTS = __functions_in_module()
