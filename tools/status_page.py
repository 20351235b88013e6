"""Makes the document of the status page from its sources.

`flare/http/status/page` has HTML, CSS and JavaScript. This tool shortens them,
joins them to one document with the hashes of its inline parts, and writes
`page_document.mojo`. With --check it writes nothing, and fails if that file is
not what the sources say. The names in the script become short if no property
has the same name, so the script uses no object shorthand and no regular
expressions, and every statement ends in a semicolon.
"""

import collections
import re
import sys
from pathlib import Path

from inline_page import OCTETS_MAX, hash_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "flare" / "http" / "status"
TARGET = FOLDER / "page_document.mojo"
POLICY = (
    "default-src 'none'; script-src {}; style-src {}; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
# Words that keep their names: of the language, and of browsers.
KEPT = set("""
async await break case catch class const constructor continue default else false
finally for function if in instanceof let new null of return static super switch
this throw true try typeof undefined void while
Array Date EventSource Float32Array ImageData Infinity JSON Map Math NaN Number
Object Path2D String Uint32Array devicePixelRatio document fetch
getComputedStyle isNaN location matchMedia onresize requestAnimationFrame
setTimeout
""".split())
TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r'|(?P<string>"(?:\\.|[^"\\])*")'
    r"|(?P<word>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\.?\d[\w.]*)"
    r"|(?P<sign>=>|\?\.|\?\?|\.\.\.|\+\+|--|.)"
)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LITERAL_OCTETS = 68


def tokens_of(source, at=0, in_template=False):
    """Gives kind and text of each token, and where they end. The parts of a
    template are tokens of the kind `template`."""
    found = []
    depth = 0
    while at < len(source):
        if source[at] == "`":
            at = add_template(source, at, found)
            continue
        match = TOKEN.match(source, at)
        kind, text = match.lastgroup, match.group()
        if in_template and text == "}" and depth == 0:
            return found, at
        depth += (text == "{") - (text == "}")
        at = match.end()
        if kind != "space":
            found.append((kind, text))
    return found, at


def add_template(source, at, found):
    """Adds the tokens of a template, and gives where it ends."""
    part = "`"
    at += 1
    while source[at] != "`":
        if source.startswith("${", at):
            found.append(("template", part + "${"))
            inner, at = tokens_of(source, at + 2, in_template=True)
            found += inner
            part = "}"
        else:
            part += source[at]
        at += 1
    found.append(("template", part + "`"))
    return at + 1


def short_names(tokens):
    """Gives a short name for each variable; the frequent ones get the
    shortest."""
    properties = set()
    uses = collections.Counter()
    for i, (kind, text) in enumerate(tokens):
        if kind != "word":
            continue
        before = tokens[i - 1][1] if i else ""
        after = tokens[i + 1][1] if i + 1 < len(tokens) else ""
        is_key = before in ("{", ",") and after == ":"
        if before in (".", "?.") or is_key:
            properties.add(text)
        else:
            uses[text] += 1
    names = [a + b for a in ["", *LETTERS] for b in LETTERS]
    wanted = [
        name for name, _ in uses.most_common()
        if name not in properties and name not in KEPT
    ]
    free = (name for name in names if name not in uses and name not in KEPT)
    return dict(zip(wanted, free))


def shorten_script(source):
    """Drops comments and blanks, and shortens names."""
    tokens, _ = tokens_of(source)
    names = short_names(tokens)
    text = ""
    for i, (kind, token) in enumerate(tokens):
        is_property = i > 0 and tokens[i - 1][1] in (".", "?.")
        if kind == "word" and not is_property:
            token = names.get(token, token)
        if token == "}" and kind == "sign" and text.endswith(";"):
            text = text[:-1]
        joins_words = kind in ("word", "number") and re.search(r"[\w$]$", text)
        if joins_words or (token[0] in "+-" and text.endswith(token[0])):
            text += " "
        text += token
    return text


def shorten_style(source):
    """Drops comments and blanks."""
    text = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?([{};,>]) ?", r"\1", text)
    return re.sub(r": ", ":", text).replace(";}", "}").strip()


def document():
    """Gives the document and its policy."""
    page = FOLDER / "page"
    html = "".join(
        line.strip() for line in (page / "page.html").read_text().splitlines()
    )
    style = shorten_style((page / "page.css").read_text())
    script = shorten_script((page / "page.js").read_text())
    text = html.replace("<style>", "<style>" + style)
    text = text.replace("<script>", "<script>" + script)
    return text, POLICY.format(hash_of(script), hash_of(style))


def literal(text):
    """Gives a text as lines of literals, as the formatter writes them."""
    lines = []
    line = ""
    for letter in text:
        if len((line + letter).encode()) > LITERAL_OCTETS:
            lines.append(line)
            line = ""
        line += letter
    lines.append(line)
    return "\n".join("    " + quoted(line) for line in lines)


def quoted(line):
    """Gives a literal: in double quotes, unless those need more escapes."""
    mark = "'" if line.count('"') > line.count("'") else '"'
    return mark + line.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


def module():
    """Gives the text of the module."""
    text, policy = document()
    octets = len(text.encode())
    if octets > OCTETS_MAX:
        raise SystemExit(f"the page has {octets} octets, at most {OCTETS_MAX}")
    return (
        '"""Holds the document of the status page."""\n\n'
        "# generated by tools/status_page.py from the folder `page`\n\n"
        f"comptime DOCUMENT: StaticString = (\n{literal(text)}\n)\n"
        f'"""The document: {octets} octets."""\n'
        "comptime CONTENT_SECURITY_POLICY: StaticString = (\n"
        f"{literal(policy)}\n)\n"
        '"""The policy that permits only its own style and script."""\n'
    )


def main():
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text() != module():
            raise SystemExit("run tools/status_page.py")
    else:
        TARGET.write_text(module())


if __name__ == "__main__":
    main()
