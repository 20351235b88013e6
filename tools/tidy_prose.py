"""Takes the sentences out of docstrings, comments and documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator

from tidy_source import TOKEN, Source, end_of_signature

OWNER = re.compile(r"^ *(?:def|struct|trait) +(\w+)", re.MULTILINE)
FIELD = re.compile(r"(?:var|comptime) +(\w+)\s*(?::\s*([^=\n]+))?[^\n]*\Z")
# A section of a docstring, and an entry of one.
SECTION = re.compile(r"^(?:Args|Parameters|Returns|Raises|Constraints|"
                     r"Safety|Examples?|Notes?):\s*$")
ENTRY = re.compile(r"^(\*{0,2}\w+):\s+")
# How an example is run and what it prints are no prose.
RUN = re.compile(r"# (?:Run|Prints): ")
FENCE = re.compile(r"^\s*```")
BULLET = re.compile(r"^(?:[-*+]|\d+\.)\s+")
SPAN = re.compile(r"(`+).+?\1")
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?")
# A full stop that ends a sentence: what follows looks like the next one.
END = re.compile(
    r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*(?:[A-Z`\d]|flare\b|[a-z_]+\.md\b))"
)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|No)\.$")


@dataclass
class Docstring:
    """Holds one docstring and what it documents."""

    line: int
    text: str
    kind: str
    """`module`, `type`, `function`, `field`."""
    name: str
    declares: str
    """The type of a field, the signature of a function."""
    body: str
    """The code of a function, up to the next docstring's."""


@dataclass(frozen=True)
class Passage:
    """Holds a piece of prose that is read as one."""

    line: int
    text: str


def docstrings(source: Source) -> Iterator[Docstring]:
    """Lists the docstrings of a Mojo source."""
    code = source.code
    for match in TOKEN.finditer(source.text):
        if not match.group(0).startswith('"""'):
            continue
        start = match.start()
        begin = source.text.rfind("\n", 0, start) + 1
        if source.text[begin:start].strip():
            continue
        before = code[:start].rstrip()
        line = source.line_at(start)
        text = match.group(0)[3:-3]
        if not before:
            yield Docstring(line, text, "module", "", "", "")
        elif before.endswith(":"):
            owner = [m for m in OWNER.finditer(before[-4000:])][-1]
            head = before[-4000:][owner.start() :].strip()
            kind = "function" if head.startswith("def") else "type"
            body = code[match.end() :]
            indent = start - begin
            end = re.search(rf"^ {{0,{indent - 1}}}\S", body, re.MULTILINE)
            body = body[: end.start()] if end else body
            yield Docstring(line, text, kind, owner.group(1), head, body)
        elif owner := FIELD.search(before.split("\n")[-1]):
            yield Docstring(
                line, text, "field", owner[1], (owner[2] or "").strip(), ""
            )
        else:
            # The declaration of a constant goes over several lines.
            yield Docstring(line, text, "field", "", "", "")


def paragraphs(line: int, lines: list[str]) -> Iterator[Passage]:
    """Divides lines of prose at blank lines, list items, cells of tables and
    entries of sections; leaves out code, headings and rules.
    """
    held: list[str] = []
    first = line
    fenced = False

    def flush() -> Iterator[Passage]:
        if held:
            yield Passage(first, " ".join(held))
            held.clear()

    for number, row in enumerate(lines, line):
        text = row.strip()
        if FENCE.match(text):
            fenced = not fenced
            yield from flush()
        elif fenced or not text or SECTION.match(text) or text[0] == "#":
            yield from flush()
        elif text.startswith("|"):
            yield from flush()
            for cell in re.split(r"(?<!\\)\|", text):
                if cell.strip(" -:"):
                    yield Passage(number, cell.strip())
        else:
            is_entry = ENTRY.match(text) and row.startswith("    ")
            if is_entry or BULLET.match(text):
                yield from flush()
            if not held:
                first = number
            text = BULLET.sub("", text)
            held.append(ENTRY.sub("", text) if is_entry else text)
    yield from flush()


def comments(source: Source) -> Iterator[Passage]:
    """Lists the comments, those on neighbouring lines as one."""
    held: list[str] = []
    first = last = 0
    for match in TOKEN.finditer(source.text):
        if not match.group(0).startswith("#") or RUN.match(match.group(0)):
            continue
        line = source.line_at(match.start())
        if held and line != last + 1:
            yield from paragraphs(first, held)
            held = []
        if not held:
            first = line
        last = line
        held.append(match.group(0).lstrip("#"))
    if held:
        yield from paragraphs(first, held)


def dedented(text: str) -> list[str]:
    """Returns the lines of a docstring without its indentation."""
    lines = text.split("\n")
    depths = [len(l) - len(l.lstrip()) for l in lines[1:] if l.strip()]
    depth = min(depths, default=0)
    return [lines[0].strip()] + [line[depth:] for line in lines[1:]]


def plain(text: str) -> str:
    """Returns prose with links as their text and code as the one word X."""
    text = SPAN.sub("X", text)
    return LINK.sub(r"\1", text)


def sentences(text: str) -> list[str]:
    """Divides a paragraph."""
    found: list[str] = []
    for part in END.split(text):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return [part.strip() for part in found if part.strip()]
