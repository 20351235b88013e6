"""No value changes the structure of a document, and none becomes code.

Invariants, if a template is accepted:

- No value stands where it could be code or a part of a tag.
- The document has the same tags and the same attributes with any values as with
  plain ones.
- No value gives a link a scheme that runs a script, and none changes its host,
  except where the link begins with the value.
"""

from flare.core.text_buffer import TextBuffer
from flare.html.template_reader import HoleKind, TemplateReader
from flare.html.value import append_constant, append_value

from fuzz.harness import Histogram, run
from fuzz.html_model import MARK, HtmlModel, has_script, host
from fuzz.random import Random

comptime _PARTS_MAX = 8
comptime _VALUE_PARTS_MAX = 4


def fuzz_html(mut random: Random, mut histogram: Histogram) raises:
    """Fills one template twice.

    Args:
        random: Draws the template and the values.
        histogram: Counts the outcome.

    Raises:
        Error: If an invariant does not hold.
    """
    var reader = TemplateReader()
    var plain = TextBuffer()
    var hostile = TextBuffer()
    var template = String()
    var text = String()
    var holes = 0
    var after = HoleKind.TEXT
    for _ in range(random.below(_PARTS_MAX)):
        text += _text(random)
        var next = reader
        next.take_text(text.as_bytes())
        var kind = next.take_hole()
        if next.fault != "" and random.chance(95):
            # Where no value may appear, the text goes on.
            continue
        reader = next
        append_constant(plain, after, text.as_bytes())
        append_constant(hostile, after, text.as_bytes())
        template += text + "{}"
        text = String()
        if reader.fault != "":
            break
        holes += 1
        append_value(plain, kind, chr(Int(MARK)))
        append_value(hostile, kind, _value(random))
        after = kind
    text += _text(random) + _end(random)
    append_constant(plain, after, text.as_bytes())
    append_constant(hostile, after, text.as_bytes())
    histogram.input((template + text).as_bytes())
    if reader.fault == "":
        reader.take_text(text.as_bytes())
        reader.end()
    if reader.fault != "":
        histogram.count(reader.fault)
        return
    for in_svg in [False, True]:
        _compare(plain, hostile, in_svg)
    histogram.count_whole(String("holes ", min(holes, 3)))


def _compare(plain: TextBuffer, hostile: TextBuffer, in_svg: Bool) raises:
    var wanted = HtmlModel(plain.span(), in_svg)
    wanted.read()
    if wanted.fault != "":
        raise Error("a value in ", wanted.fault)
    var found = HtmlModel(hostile.span(), in_svg)
    found.read()
    if found.structure != wanted.structure:
        raise Error("'", found.structure, "' and not '", wanted.structure, "'")
    for i in range(len(wanted.links)):
        var before = wanted.links[i]
        var link = found.links[i]
        if has_script(link) and not has_script(before):
            raise Error("a script: ", link)
        var is_free = before.strip().startswith(chr(Int(MARK)))
        if (
            host(link) != host(before)
            and not is_free
            and chr(Int(MARK)) not in host(before)
        ):
            raise Error("the host of ", link, " and not of ", before)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_html)


def _end(mut random: Random) -> String:
    return random.pick(
        [
            "",
            "'>",
            '">',
            "</script>",
            "</style>",
            "-->",
            "</title>",
            "'>\"></script></style></title>-->",
        ]
    )


def _text(mut random: Random) -> String:
    var text = String()
    for _ in range(random.below(4)):
        text += _tag(random) if random.chance(50) else _word(random)
    return text^


def _tag(mut random: Random) -> String:
    return random.pick(
        [
            "<p>",
            "</p>",
            "<a href='",
            '<a href = "',
            "<img src='/",
            "<a href='https://a.b",
            "<a href='mailto:",
            "<script src='/",
            '<base href="',
            "<meta content='",
            "<meta http-equiv='a' content='",
            " http-equiv=a ",
            "<form action='",
            "<b title='",
            "<b title=",
            "<b onclick='",
            "<b style='",
            "<set to='",
            "<b @x='",
            "<script>",
            "<script><!--<script>",
            "</script>",
            "</script-",
            "<style>",
            "</Style>",
            "<title>",
            "<title><",
            "</title>",
            "<svg>",
            "<!--",
            "-->",
            "--!>",
            "<!-->",
            "<!DOCTYPE ",
            "<![CDATA[",
        ]
    )


def _word(mut random: Random) -> String:
    return random.pick(
        [
            "a",
            " ",
            "'>",
            '">',
            "' c='",
            "'",
            '"',
            ">",
            "?q=",
            "&",
            "&#58;",
            "&colon;",
            "&Tab;",
            "javascript",
            "javascript:",
            ":",
            "://",
            "//",
            "#",
            "/",
            "\\",
            "<",
            "</",
            "=",
            "<input ",
            "\n",
            "\t",
        ]
    )


def _value(mut random: Random) -> String:
    var text = String()
    for _ in range(random.below(_VALUE_PARTS_MAX + 1)):
        text += random.pick(
            [
                "x",
                "<",
                ">",
                "'",
                '"',
                "&",
                "/",
                "//",
                "\\",
                "..",
                "@",
                " ",
                "=",
                "javascript",
                "javascript:",
                "JavaScript:",
                "java\nscript:",
                "data:",
                "colon;",
                "\t",
                "-->",
                "</script>",
                "</title>",
                "<script>",
                "onclick=",
                ":",
                "#",
                "%",
                "\x01",
                "\u2028",
            ]
        )
    return text^
