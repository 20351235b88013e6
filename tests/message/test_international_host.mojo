"""Tests for `flare.message.international_host`.

The rows are what the package `idna` of Python gives (UTS 46, not transitional).
"""

from std.testing import assert_raises

from flare.message import Url
from flare.message.international_host import ascii_host

from tests.asserting import assert_equal


@fieldwise_init
struct Row(Copyable):
    var host: StaticString
    var result: StaticString


def test_letters_of_many_scripts_are_converted() raises:
    var rows: List[Row] = [
        Row("bücher.example", "xn--bcher-kva.example"),
        Row("BÜCHER.Example", "xn--bcher-kva.example"),
        Row("faß.de", "xn--fa-hia.de"),
        Row("straße.example", "xn--strae-oqa.example"),
        Row("пример.испытание", "xn--e1afmkfd.xn--80akhbyknj4f"),
        Row("Παράδειγμα.gr", "xn--hxajbheg2az3al.gr"),
        Row("βόλος.com", "xn--nxasmm1c.com"),
        Row("ΒΌΛΟΣ.com", "xn--nxasmq6b.com"),
        Row("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        Row("例子。测试", "xn--fsqu00a.xn--0zwm56d"),
        Row("도메인.한국", "xn--hq1bm8jm9l.xn--3e0b707e"),
        Row("ตัวอย่าง.ไทย", "xn--72c1a1bt4awk9o.xn--o3cw4h"),
        Row("مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv"),
        Row("דוגמה.com", "xn--6dbbec0c.com"),
        Row("उदाहरण.भारत", "xn--p1b6ci4b4b3a.xn--h2brj9c"),
        Row("հայ.am", "xn--y9a3aq.am"),
        Row("xn--bcher-kva.example", "xn--bcher-kva.example"),
        Row("a.bücher.b", "a.xn--bcher-kva.b"),
        Row("việt-nam.vn", "xn--vit-nam-zv4c.vn"),
        Row("đại.vn", "xn--i-kia818t.vn"),
        Row("3000年.example", "xn--3000-eg2h.example"),
        Row("ñ.es", "xn--ida.es"),
        Row("łódź.pl", "xn--d-uga0v4h.pl"),
        Row("MajiでKoiする5秒前.jp", "xn--majikoi5-783gue6qz075azm5e.jp"),
        Row("パフィーdeルンバ.jp", "xn--de-jg4avhby1noc0d.jp"),
        Row("そのスピードで.jp", "xn--d9juau41awczczp.jp"),
        Row("안녕하세요.kr", "xn--o70b841ad5c9qb763b.kr"),
        Row("Ёлка.ru", "xn--80atc1g.ru"),
        Row("дж-а.ru", "xn----8sbki.ru"),
        Row("ÆØÅ.NO", "xn--5cab8c.no"),
        Row("čeština.cz", "xn--etina-gya30d.cz"),
        Row("ẞ.de", "xn--zca.de"),
        Row("1.ü", "1.xn--tda"),
    ]
    for row in rows:
        assert_equal(_converted(row.host), String(row.result))


def test_letters_with_another_normal_form_are_refused() raises:
    var rows: List[StaticString] = [
        # A ligature, a full-width letter, a hyphen of typography.
        "\ufb01.com",
        "\uff45x.com",
        "a\u2011b.com",
        # A diaeresis apart from its letter, an invisible letter.
        "bu\u0308cher.example",
        "b\u00adc.example",
        "a\u200db.example",
        # Marks in another order, a dotted capital.
        "\u0e01\u0e48\u0e38.th",
        "\u0130stanbul.tr",
        "\U0001f600.example",
    ]
    for row in rows:
        with assert_raises(contains="a letter that is not converted"):
            _ = _converted(row)


def test_names_that_dns_cannot_have_are_refused() raises:
    var long_label = String("\u00fc") * 60
    for host in [long_label, String("a") * 64 + ".\u00fc"]:
        with assert_raises(contains="a label of over 63 octets"):
            _ = _converted(host)
    with assert_raises(contains="over 253 octets"):
        _ = _converted(String("\u00fc.") * 40)
    for host in ["-\u00fc.de", "\u00fc-.de", "xn--\u00fc.de", "ab--\u00fc"]:
        with assert_raises(contains="a hyphen in the wrong place"):
            _ = _converted(host)
    var broken: List[UInt8] = [0x62, 0xC3, 0x2E, 0x61]
    with assert_raises(contains="not UTF-8"):
        try:
            _ = ascii_host(Span(broken))
        except e:
            raise Error(e)


def test_a_url_may_have_such_a_host() raises:
    var url = Url.parse("https://B\u00fccher.example:8443/a?b")
    assert_equal(String(url.text()), "https://xn--bcher-kva.example:8443/a?b")
    assert_equal(String(url.host()), "xn--bcher-kva.example")
    with assert_raises(contains="user information"):
        _ = Url.parse("https://b\u00fc@h/")
    with assert_raises(contains="path"):
        _ = Url.parse("https://b\u00fc.de/\u00fc")


comptime TESTS = __functions_in_module()


def _converted(host: StringSlice) raises -> String:
    var octets: List[UInt8]
    try:
        octets = ascii_host(host.as_bytes())
    except e:
        raise Error(e)
    return String(StringSlice(from_utf8=Span(octets)))
