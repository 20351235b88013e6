"""Tests for `flare.proto.multipart`."""

from std.testing import assert_raises

from flare.core import Buffer
from flare.proto.multipart import (
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartMachine,
    MultipartWriter,
    PartDescription,
    boundary_in,
    boundary_of,
    is_boundary,
)

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var text: StaticString
    var read: StaticString


comptime HEAD: StaticString = 'Content-Disposition: form-data; name="a"\r\n\r\n'


def test_forms_are_divided() raises:
    # `@` stands for the head of a part named `a`.
    var rows: List[Row] = [
        Row("--b--", ""),
        Row("--b--\r\nepilogue --b", ""),
        Row("--b\r\n@1\r\n--b--", "<a>1."),
        Row("--b\r\n@1\r\n--b--\r\n", "<a>1."),
        Row("--b\r\n@1\r\n--b\r\n@2\r\n--b--\r\n", "<a>1.<a>2."),
        Row("\r\n--b\r\n@1\r\n--b--", "<a>1."),
        Row("preamble\r\n--b\r\n@1\r\n--b--", "<a>1."),
        Row("--c\r\n--b\r\n@1\r\n--b--", "<a>1."),
        Row("--b \t\r\n@1\r\n--b  \r\n@2\r\n--b--", "<a>1.<a>2."),
        Row("--b\r\n@\r\n--b--", "<a>."),
        Row("--b\r\n@--b--", "<a>."),
        Row("--b\r\n@--b\r\n@1\r\n--b--", "<a>.<a>1."),
        Row("--b\r\n@\r\n\r\n--b--", "<a>\r\n."),
        Row("--b\r\n@\r\r\n--b--", "<a>\r."),
        Row("--b\r\n@1\r\n-\r\n--\r\n--c\r\n--b--", "<a>1\r\n-\r\n--\r\n--c."),
        Row("--b\r\n@1\n--b\n--b--\r\n--b--", "<a>1\n--b\n--b--."),
        Row("--b\r\n@ --b\r\n--b--", "<a> --b."),
        Row("--b\r\n@-\r\n--b--", "<a>-."),
        Row("", "! the form was cut off"),
        Row("--", "! the form was cut off"),
        Row("--b", "! the form was cut off"),
        Row("--b-", "! the form was cut off"),
        Row("--b\r\n", "! the form was cut off"),
        Row("--b\r\n@", "<a>! the form was cut off"),
        Row("--b\r\n@1", "<a>1! the form was cut off"),
        Row("--b\r\n@1\r\n--b", "<a>1.! the form was cut off"),
        Row("--b\r\n@1\r\n--b\r\n", "<a>1.! the form was cut off"),
        Row("no boundary", "! the form was cut off"),
        Row("\n--b\r\n@1\r\n--b--", "! a boundary begins no line"),
        Row("x--b\r\n--b--", "! a boundary begins no line"),
        Row("--bx\r\n@1\r\n--b--", "! a line begins with the boundary"),
        Row("--b x\r\n@1\r\n--b--", "! a line begins with the boundary"),
        Row("--b\n@1\r\n--b--", "! a line begins with the boundary"),
        Row("--b\r@1\r\n--b--", "! a line begins with the boundary"),
        Row("--b --\r\n", "! a line begins with the boundary"),
        Row("--b\r\n@1\r\n--bx--", "<a>1.! a line begins with the boundary"),
        Row("--b\r\n\r\n1\r\n--b--", "! a part has no head"),
    ]
    for row in rows:
        var octets = _with_heads(row.text)
        var whole = _transcript(octets, len(octets))
        assert_equal(whole, row.read, row.text)
        for piece in range(1, 5):
            assert_equal(_transcript(octets, piece), whole, row.text)


def test_heads_of_parts_are_read() raises:
    var rows: List[Row] = [
        Row('form-data; name="a"', "a"),
        Row("form-data; name=a", "a"),
        Row("FORM-DATA;NAME=a", "a"),
        Row('form-data; name=""', ""),
        Row('form-data; name="a"; filename="b.txt"', "a:b.txt"),
        Row('form-data; name="a"; filename=""', "a:"),
        Row('form-data; name="a%22b%0D%0a"; filename="%"', 'a"b\r\n:%'),
        Row('form-data; name="%41%2G%22"', '%41%2G"'),
        Row('form-data; name="a\\"b\\\\"', 'a"b\\'),
        Row('form-data; name="a"; filename="C:\\d\\e.txt"', "a:C:\\d\\e.txt"),
        Row('form-data; name="a"; filename="../../etc"', "a:../../etc"),
        Row('form-data; name="é"', "é"),
        Row("form-data; name=a; filename*=UTF-8''%C3%A9", "a:é"),
        Row("form-data; name=a; filename*=utf-8'en'x; filename=y", "a:y"),
        Row('form-data; name=a; other=b; x=""', "a"),
        Row("", "! a disposition is not form-data"),
        Row("attachment; name=a", "! a disposition is not form-data"),
        Row("form-data", "! a disposition is malformed"),
        Row("form-data; filename=a", "! a disposition is malformed"),
        Row("form-data; name=a; name=b", "! a disposition is malformed"),
        Row("form-data; name", "! a disposition is malformed"),
        Row('form-data; name="a', "! a disposition is malformed"),
        Row("form-data; name=a; filename*=latin1''x%E9", "a:xé"),
        Row("form-data; name=a; filename*=ISO-8859-1''%C3%A9", "a:Ã©"),
        Row("form-data; name=a; filename*=utf-8''%FF", "a:ÿ"),
        Row(
            "form-data; name=a; filename*=utf-8'x",
            "! a disposition is malformed",
        ),
    ]
    for row in rows:
        assert_equal(
            _head(String("Content-Disposition: ", row.text, "\r\n")),
            row.read,
            row.text,
        )


def test_names_in_latin_1_are_read() raises:
    for octet in range(0x80, 0x100):
        var latin: List[UInt8] = [34, UInt8(octet), 34]
        var quoted = StringSlice(unsafe_from_utf8=Span(latin))
        for parameter in ["name=", "name=a; filename="]:
            var is_file = parameter != "name="
            assert_equal(
                _head(
                    String(
                        "Content-Disposition: form-data; ",
                        parameter,
                        quoted,
                        "\r\n",
                    )
                ),
                String("a:" if is_file else "", chr(octet)),
            )


def test_lines_of_heads_are_judged() raises:
    comptime OWN: StaticString = "Content-Disposition: form-data; name=a\r\n"
    var rows: List[Row] = [
        Row("X: y\r\n", "a"),
        Row("Content-Type: image/png\r\n", "a image/png"),
        Row("Content-Transfer-Encoding: Binary\r\n", "a"),
        Row("content-transfer-encoding: 8bit\r\n", "a"),
        Row("Content-Transfer-Encoding: base64\r\n", "a"),
        Row("Content-Transfer-Encoding: quoted-printable\r\n", "a"),
        Row("Content-Transfer-Encoding: x-uuencode\r\n", "a"),
        Row("X\r\n", "! a header line has no colon"),
        Row("X : y\r\n", "! a header line is malformed"),
        Row(" folded: y\r\n", "! a header line is malformed"),
        Row(": y\r\n", "! a header line is malformed"),
        Row("X: \x00\r\n", "! a header line is malformed"),
        Row("X: a\rb\r\n", "! a header line is malformed"),
        Row("X: a\n", "! a header line has no CR LF"),
        Row(
            "content-disposition: form-data; name=b\r\n",
            "! a part has not one disposition",
        ),
    ]
    for row in rows:
        assert_equal(_head(String(OWN, row.text)), row.read, row.text)
    assert_equal(_head("X: y\r\n"), "! a part has not one disposition")


def test_coded_content_comes_as_it_was_sent() raises:
    var form = String(
        "--b\r\nContent-Disposition: form-data; name=a; filename=x\r\n",
        "Content-Transfer-Encoding: base64\r\n\r\nYQ==\r\n",
        "--b\r\nContent-Disposition: form-data; name=c\r\n",
        "content-transfer-encoding: quoted-printable\r\n\r\n=E9=\r\n\r\n--b--",
    )
    assert_equal(
        _transcript(List[UInt8](form.as_bytes()), 1), "<a:x>YQ==.<c>=E9=\r\n."
    )
    var machine = MultipartMachine("b".as_bytes(), MultipartLimits())
    var event = machine.next_event(form.as_bytes())
    assert_equal(event.kind, MultipartEvent.PART_HEAD)
    assert_equal(
        machine.part.headers.get("Content-Transfer-Encoding").value(), "base64"
    )


def test_forms_are_bounded() raises:
    var limits = MultipartLimits()
    limits.parts_max = 2
    limits.part_head_octets_max = 41
    limits.part_head_lines_max = 1
    limits.preamble_octets_max = 4
    assert_equal(
        MultipartMachine("b".as_bytes(), limits).window_octets_max(), 71
    )
    var two = _with_heads("1234\r\n--b\r\n@1\r\n--b\r\n@2\r\n--b--")
    assert_equal(_transcript(two, 99, limits), "<a>1.<a>2.")
    var rows: List[Row] = [
        Row("12345\r\n--b--", "! no boundary in front"),
        Row("12345", "! no boundary in front"),
        Row(
            "--b\r\n@1\r\n--b\r\n@2\r\n--b\r\n@3\r\n--b--",
            "<a>1.<a>2.! too many parts",
        ),
        Row("--b\r\nX: y\r\n@", "! the head of a part is too long"),
    ]
    for row in rows:
        for piece in [1, 2, 999]:
            assert_equal(
                _transcript(_with_heads(row.text), piece, limits), row.read
            )
    limits.part_head_octets_max = 100
    assert_equal(
        _transcript(_with_heads("--b\r\nX: y\r\n@"), 999, limits),
        "! a part has too many header lines",
    )
    # A head that never ends is given up as soon as it is too long.
    limits.part_head_octets_max = 20
    var endless = String("--b\r\nX: ") + String("y") * 30
    assert_equal(
        _transcript(List[UInt8](endless.as_bytes()), 1, limits),
        "! the head of a part is too long",
    )


def test_boundaries_are_judged() raises:
    assert_true(is_boundary("a b".as_bytes()))
    assert_true(is_boundary("'()+_,-./:=?".as_bytes()))
    assert_true(is_boundary((String("x") * 70).as_bytes()))
    for text in ["", "a ", " ", "a\r\n", "a;", 'a"', "é", "a\t"]:
        assert_false(is_boundary(text.as_bytes()), text)
    assert_false(is_boundary((String("x") * 71).as_bytes()))
    var rows: List[Row] = [
        Row("multipart/form-data; boundary=abc", "abc"),
        Row('Multipart/Form-Data ; charset=x; BOUNDARY="a b"', "a b"),
        Row("multipart/mixed; boundary=abc", ""),
        Row("text/plain", ""),
        Row("", ""),
    ]
    for row in rows:
        var found = boundary_in(row.text.as_bytes())
        var text = String()
        if found:
            text = String(StringSlice(unsafe_from_utf8=Span(found.value())))
        assert_equal(text, row.read, row.text)
    for text in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        'multipart/form-data; boundary="a "',
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=a b",
        'multipart/form-data; boundary="é"',
        "multipart/form-data; boundary=" + String("x") * 71,
    ]:
        with assert_raises(contains="no boundary, or a malformed one"):
            _ = boundary_in(text.as_bytes())
    var random: List[UInt8] = [0, 255, 16]
    assert_equal(boundary_of(Span(random)), "form-00ff10")
    var many = List[UInt8](length=99, fill=7)
    assert_true(is_boundary(boundary_of(Span(many)).as_bytes()))


def test_what_is_written_is_read() raises:
    var writer = MultipartWriter("b")
    var output = Buffer()
    var parts: List[PartDescription] = [
        PartDescription.field("plain"),
        PartDescription.field('q"\r\n\\é%'),
        PartDescription.file("f", "d:\\x.txt"),
        PartDescription.file("g", "", "text/plain; charset=utf-8"),
        PartDescription("h", String("i"), None),
    ]
    var octets = writer.end_octets()
    for part in parts:
        octets += writer.part_octets(part, 2)
        writer.write_head(part, output)
        output.append("\r\n")
        writer.write_part_end(output)
    writer.write_end(output)
    assert_equal(len(output), octets)
    assert_equal(
        _transcript(List[UInt8](output.span()), 7),
        (
            '<plain>\r\n.<q"\r\n\\é%>\r\n.<f:d:\\x.txt'
            " application/octet-stream>\r\n.<g: text/plain;"
            " charset=utf-8>\r\n.<h:i application/octet-stream>\r\n."
        ),
    )
    assert_equal(writer.content_type(), "multipart/form-data; boundary=b")
    for boundary in ["form-00ff10", "-_+.'0aZ"]:
        assert_equal(
            MultipartWriter(boundary).content_type(),
            String("multipart/form-data; boundary=", boundary),
        )
    for boundary in ["a b", "a/b", "a:b", "a=b", "(a)", "a,b", "a?b"]:
        assert_equal(
            MultipartWriter(boundary).content_type(),
            String('multipart/form-data; boundary="', boundary, '"'),
        )
    for type in ["", "a\r\nb: c", "é"]:
        with assert_raises(contains="a media type is malformed"):
            writer.write_head(PartDescription("a", None, String(type)), output)
    with assert_raises(contains="no boundary"):
        _ = MultipartWriter("a ")


def test_errors_say_what_to_answer() raises:
    assert_equal(MultipartError.malformed("x").status(), 400)
    assert_equal(MultipartError.too_large("x").status(), 413)
    assert_equal(MultipartError(MultipartError.UNWRITABLE, "x").status(), 500)
    assert_equal(String(MultipartError.too_large("x")), "multipart: x")


def test_a_machine_that_refused_goes_on_refusing() raises:
    var machine = MultipartMachine("b".as_bytes())
    with assert_raises(contains="a line begins with the boundary"):
        _ = machine.next_event("--bad".as_bytes())
    with assert_raises(contains="refused before"):
        _ = machine.next_event("--b--".as_bytes())
    with assert_raises(contains="cut off"):
        machine.receive_end()


def _with_heads(text: StringSlice) -> List[UInt8]:
    var octets = List[UInt8]()
    for b in text.as_bytes():
        if b == UInt8(ord("@")):
            octets.extend(HEAD.as_bytes())
        else:
            octets.append(b)
    return octets^


def _head(lines: String) -> String:
    # Name, file name and type of a part, or the reason of the refusal.
    var text = _transcript(
        List[UInt8](String("--b\r\n", lines, "\r\n\r\n--b--").as_bytes()), 999
    )
    if text.startswith("!"):
        return text
    var octets = text.as_bytes()
    return String(StringSlice(unsafe_from_utf8=octets[1 : len(octets) - 2]))


def _transcript(
    octets: List[UInt8],
    piece: Int,
    limits: MultipartLimits = MultipartLimits(),
) -> String:
    # What the machine reports of octets that come in pieces.
    var machine = MultipartMachine("b".as_bytes(), limits)
    var text = List[UInt8]()
    var start = 0
    var end = 0
    try:
        while True:
            var event = machine.next_event(Span(octets)[start:end])
            if event.kind == MultipartEvent.END:
                break
            if event.kind == MultipartEvent.PART_HEAD:
                text.append(UInt8(ord("<")))
                text.extend(machine.part.name.as_bytes())
                if machine.part.is_file():
                    text.append(UInt8(ord(":")))
                    text.extend(machine.part.file_name.value().as_bytes())
                if machine.part.content_type() != "text/plain":
                    text.append(UInt8(ord(" ")))
                    text.extend(machine.part.content_type().as_bytes())
                text.append(UInt8(ord(">")))
            elif event.kind == MultipartEvent.DATA:
                var at = start + event.start
                text.extend(Span(octets)[at : at + event.length])
            elif event.kind == MultipartEvent.END_OF_PART:
                text.append(UInt8(ord(".")))
            start += event.consumed
            if event.kind == MultipartEvent.NEED_OCTETS:
                if end == len(octets):
                    machine.receive_end()
                end = min(end + piece, len(octets))
    except e:
        text.extend("! ".as_bytes())
        text.extend(e.reason.as_bytes())
    return String(StringSlice(unsafe_from_utf8=Span(text)))


comptime TESTS = __functions_in_module()
