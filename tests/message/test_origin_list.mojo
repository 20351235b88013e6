"""Tests which origins a list accepts."""

from std.testing import assert_raises

from flare.message import OriginList

from tests.asserting import assert_equal, assert_false, assert_true


def test_origins_are_compared_whole() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("https://a.example", True),
        ("HTTPS://A.EXAMPLE", True),
        ("https://a.example:443", True),
        ("http://a.example", False),
        ("https://a.example:8443", False),
        ("https://a.example:80", False),
        ("https://a.example.", False),
        ("https://a.example.evil.net", False),
        ("https://evila.example", False),
        ("https://x.a.example", False),
        ("https://a.example/", False),
        ("https://a.example?", False),
        ("https://user@a.example", False),
        ("https://a.example@evil.net", False),
        ("https://evil.net#a.example", False),
        ("https://a.example evil", False),
        ("https://a.example, https://a.example", False),
        ("https:/a.example", False),
        ("https:a.example", False),
        ("://a.example", False),
        ("a.example", False),
        ("null", False),
        ("*", False),
        ("", False),
        ("http://c.example:8080", True),
        ("http://c.example", False),
        ("https://[2001:db8::1]:444", True),
        ("https://[2001:DB8::1]:444", True),
        ("https://[2001:db8::1]", False),
        ("http://127.0.0.1:3000", True),
        ("capacitor://localhost", True),
        ("ionic://localhost", False),
    ]
    var list = OriginList(
        [
            "https://a.example",
            "http://C.example:8080",
            "https://[2001:db8::1]:444",
            "http://127.0.0.1:3000",
            "capacitor://localhost",
        ]
    )
    assert_equal(len(list), 5)
    for text, is_accepted in rows:
        assert_equal(list.accepts(text.as_bytes()), is_accepted, text)


def test_a_wildcard_stands_for_labels_of_a_domain() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("https://a.b.example", True),
        ("https://x.y.b.example", True),
        ("https://A_1-x.B.example:443", True),
        ("https://b.example", False),
        ("https://evilb.example", False),
        ("https://.b.example", False),
        ("https://a..b.example", False),
        ("https://..b.example", False),
        ("https://a.b.example.", False),
        ("https://a.b.example.evil.net", False),
        ("https://evil.net/.b.example", False),
        ("https://evil.net%2f.b.example", False),
        ("https://evil.net:80.b.example", False),
        ("https://evil.net!.b.example", False),
        ("https://*.b.example", False),
        ("http://a.b.example", False),
        ("https://a.b.example:444", False),
        ("http://a.c.example:81", True),
        ("http://a.c.example", False),
    ]
    var list = OriginList(["https://*.b.example", "http://*.c.example:81"])
    for text, is_accepted in rows:
        assert_equal(list.accepts(text.as_bytes()), is_accepted, text)


def test_null_and_every_origin_are_accepted_only_if_named() raises:
    var without = OriginList(["https://a.example"])
    assert_false(without.accepts("null".as_bytes()))
    var hidden = OriginList(["https://a.example", "null"])
    assert_true(hidden.accepts("null".as_bytes()))
    assert_false(hidden.accepts("NULL".as_bytes()))
    assert_false(hidden.accepts("".as_bytes()))
    assert_true(hidden.has_null)
    var every = OriginList(["*"])
    assert_true(every.accepts("null".as_bytes()))
    assert_true(every.accepts("https://evil.net".as_bytes()))
    assert_false(OriginList([]).accepts("https://a.example".as_bytes()))


def test_entries_that_are_no_origins_are_refused() raises:
    for entry in [
        "",
        "a.example",
        "https://",
        "https://a.example/",
        "https://a.example/path",
        "https://user@a.example",
        "https://a.example:x",
        "https://a.example:70000",
        "https://*",
        "https://*.",
        "https://*a.example",
        "https://a.*.example",
        "https://*.*.example",
        "https://a.example:*",
        "*.example",
        "*://a.example",
        "https://*.[::1]",
        "https://bücher.example",
        "NULL",
    ]:
        with assert_raises(contains="message.bad_origin"):
            _ = OriginList([String(entry)])
    with assert_raises(contains="https://a.example: a\\x0ab"):
        _ = OriginList(["a\nb"])


comptime TESTS = __functions_in_module()
