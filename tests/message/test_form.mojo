"""Tests for `flare.message.form` and `flare.message.parameters`."""

from std.testing import assert_raises

from flare.core import equals
from flare.message import FormFields, FormLimits
from flare.message.parameters import FieldParameters

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var read: StaticString


def test_forms_are_read_and_written() raises:
    var rows: List[Row] = [
        Row("", ""),
        Row("a=b", "a=b"),
        Row("a", "a="),
        Row("&&a=1&&b=2&", "a=1&b=2"),
        Row("=", "="),
        Row("a+b=c+d", "a+b=c+d"),
        Row("a%20b=%2B", "a+b=%2B"),
        Row("a=%C3%A9", "a=%C3%A9"),
        Row("a=é", "a=%C3%A9"),
        Row("a=*-._~", "a=*-._%7E"),
        Row("a=%41%5a", "a=AZ"),
        Row("a=b=c", "a=b%3Dc"),
        Row("a=1;b=2", "a=1%3Bb%3D2"),
        Row("a=%zz%", "a=%25zz%25"),
        # What is no UTF-8 becomes U+FFFD, as the URL Standard says.
        Row("a=%FF", "a=%EF%BF%BD"),
        Row("a=%00%0D%0A", "a=%00%0D%0A"),
        Row("a='\"<>", "a=%27%22%3C%3E"),
    ]
    for row in rows:
        var form = FormFields.parse(row.text.as_bytes())
        assert_equal(form.encoded(), row.read, row.text)


def test_fields_are_found() raises:
    var form = FormFields()
    form.append("name", "Jürgen & Co")
    form.append("tag", "1")
    form.append("tag", "2=3")
    assert_equal(form.encoded(), "name=J%C3%BCrgen+%26+Co&tag=1&tag=2%3D3")
    var read = FormFields.parse(form.encoded().as_bytes())
    assert_equal(len(read), 3)
    assert_equal(read.get("name").value(), "Jürgen & Co")
    assert_equal(read.values("tag")[1], "2=3")
    assert_true("tag" in read)
    assert_false("Tag" in read)
    assert_false(read.get(""))


def test_forms_are_bounded() raises:
    var limits = FormLimits()
    limits.fields_max = 2
    limits.octets_max = 8
    assert_equal(len(FormFields.parse("a=1&b=22".as_bytes(), limits)), 2)
    with assert_raises(contains="message.bad_form too long"):
        _ = FormFields.parse("a=1&b=222".as_bytes(), limits)
    assert_equal(len(FormFields.parse("&a&&&b&".as_bytes(), limits)), 2)
    with assert_raises(contains="message.bad_form too many fields"):
        _ = FormFields.parse("a&b&c".as_bytes(), limits)


def test_parameters_are_read() raises:
    var rows: List[Row] = [
        Row("a/b", "a/b"),
        Row("a/b ; c=d", "a/b [c|d]"),
        Row("a/b;c=d;E=f", "a/b [c|d][E|f]"),
        Row('a;b="c;d"; e=f', "a [b|c;d][e|f]"),
        Row('a;b=""', "a [b|]"),
        Row('a;b="\\""', 'a [b|"]'),
        Row('a;b="\\\\"', "a [b|\\]"),
        Row('a;b="c:\\d\\e"', "a [b|c:\\d\\e]"),
        Row('a;b="\\\\";c=d', "a [b|\\][c|d]"),
        Row("a;;b=c;", "a [b|c]"),
        Row("a; ; b=c ; ", "a [b|c]"),
        Row("", ""),
        Row(";a=b", "[a|b]"),
    ]
    for row in rows:
        assert_equal(_shown(row.text), row.read, row.text)
    for text in [
        "a;b",
        "a;b=",
        "a;=c",
        "a;b =c",
        "a;b= c",
        "a;b=c d=e",
        'a;b="c',
        'a;b="c\\"',
        'a;b="c"d',
        'a;b="c"d=e',
        "a;b=c,",
        'a;b=c"d"',
    ]:
        with assert_raises(contains="parameter at octet "):
            _ = _shown(text)


def test_a_parameter_stands_once() raises:
    var parameters = FieldParameters('a; B="1"; c=2'.as_bytes())
    assert_true(
        equals(Span(parameters.find("b").value().value()), "1".as_bytes())
    )
    assert_false(parameters.find("d"))
    with assert_raises(contains="it stands twice"):
        _ = FieldParameters("a; b=1; B=2".as_bytes()).find("b")
    with assert_raises(contains="no name and equals sign"):
        _ = FieldParameters("a; b=1; c".as_bytes()).find("b")


def _shown(text: StringSlice) raises -> String:
    var parameters = FieldParameters(text.as_bytes())
    var shown = String(StringSlice(unsafe_from_utf8=parameters.first()))
    var divider = " " if shown else ""
    while True:
        var parameter = parameters.next()
        if not parameter:
            return shown^
        var value = parameter.value().value()
        shown.write(
            divider,
            "[",
            StringSlice(unsafe_from_utf8=parameter.value().name),
            "|",
            StringSlice(unsafe_from_utf8=Span(value)),
            "]",
        )
        divider = ""


comptime TESTS = __functions_in_module()
