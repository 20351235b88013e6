"""Counts sentences of a shape that readers stumble on.

The shapes are those that a pattern can find; it misses some and takes a few
good sentences along, so counts are compared, not sentences.
tools/tidy_words.txt holds the number of each shape for each area: a count
may not exceed it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, NamedTuple

from tidy_prose import (
    Docstring,
    comments,
    dedented,
    docstrings,
    paragraphs,
    plain,
    sentences,
)
from tidy_ratchet import Finding
from tidy_source import Source

PATH = "tools/tidy_words.txt"
WORDS_MAX = 25
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
KINDS = {
    "first-line": "a docstring that begins with Tells, Names, Lets, Gives, …",
    "boolean": "a Boolean not described by 'Returns whether' or 'Whether'",
    "accessor": "an accessor not described by 'Returns …'",
    "subject": "who, whoever, nobody, nothing or what as a subject",
    "where": "'where' for a condition",
    "behind": "'behind' for an order",
    "inverted": "a condition or a question by inverted order",
    "what": "'what' in place of a noun, or 'those who'",
    "idiom": "a phrase for which the field has a term",
    "terse": "an entry that names no noun, such as 'True if it does.'",
    "constructor": "a constructor not described by 'Creates …' or the like",
    "long": f"a sentence of more than {WORDS_MAX} words",
}

WEAK_VERB = re.compile(
    r"(?:Tells|Names|Lets|Gives|Says|Knows|Shows|Wants|Is|Has|Whether)\b"
)
PREDICATE = re.compile(
    r"_*(?:is|has|have|was|were|are|can|may|must|does|did|will|should|needs"
    r"|wants|allows|accepts|may|knows|holds|contains|starts|ends)_|__bool__"
)
# A function of nothing but its receiver that returns one expression.
ACCESSOR = re.compile(
    r"def (?!__|_?(?:to|as|into|copy|take|next|clone)(?:_|\b))\w+"
    r"(?:\[[^\]]*\])?\(\s*(?:ref(?:\[[^\]]*\])? )?self,?\s*\)\s*->"
)
ONE_RETURN = re.compile(r"\s*return [^\n]+\s*\Z")
SUBJECT = re.compile(
    r"^(?:Who|Whoever|Whom|Nobody|Nothing|What|Whatever)\b(?!.*\?$)"
    r"|[,;:] (?:who|whoever|nobody|nothing|what)\b(?! to\b)"
    r"|\b(?:if|when|that|than|because|as|so|but|where|of|to|for|by|from|with"
    r"|only) who\b"
    r"|\b(?:if|when|that|because|where|while|until) (?:nothing|what)\b"
    r"|\b(?:[Ww]hoever|[Nn]obody|whomever)\b"
)
WHERE = re.compile(
    r"^Where (?!(?:to|do|does|is|are)\b)[^,]*, "
    r"|\b(?:only|except|even|unless|but|else|empty|none|nothing|zero|null|0"
    r"|True|False|refused|dropped|ignored) where\b"
    r"|\bwhere (?:there (?:is|are)|nothing|nobody|no)\b"
    r"|, where (?:it|that|they|this|one|he)\b"
)
BEHIND = re.compile(
    r"\b[Bb]ehind\b(?! (?:(?:an?|the|its|your|one|this|that|another|every|each"
    r"|two|such|our|some|any) )?(?:\w+ )?(?:proxy|proxies|handles?|pointers?"
    r"|locks?|nginx|HAProxy|balancers?|network|NAT|firewall|load|reverse"
    r"|trait|interface|X)\b)"
)
LEFT_BEHIND = re.compile(r"\b(?:leaves?|left|stays?|falls?|lags?) (?:\w+ ){0,3}$")
INVERTED = re.compile(
    r"^(?:Is|Are|Was|Were|Has|Have|Had|Does|Did|Should|Would|Could|Can|Comes"
    r"|Stands) [^?]*, [^?]*\.?$"
    r"|^(?:Were|Had|Should) [^?]*$"
    r"|, (?:be it|had (?:it|the)|were (?:it|the))\b"
)

# "What" as an object; a question and "what to do" are good English.
WHAT = re.compile(
    r"\b(?:[Ww]hat)\b(?! (?:to|if|is called|happens)\b)(?!.*\?$)|\bthose who\b"
)
IDIOM = re.compile(
    r"\bupper and lower case differ\b|\bwithout regard to case\b"
    r"|\b[Uu]nless caught\b|\bleaves? it to\b|\bfor ever\b"
    r"|\b(?:go|goes|going|went) (?:on|over)\b|\bmost (?:\w+ )?there may be\b"
    r"|\bstays? (?:the|a) \w+'s\b|; -1 if it is\.|\bby turns\b"
    r"|\b(?:has|have) come\b|\bstill to come\b"
)
# An entry of a section that leans on the name before it.
TERSE = re.compile(
    r"(?:True|False|Whether) (?:if )?(?:it|they|one|any|both|so|each|then)"
    r"(?: (?:is|are|does|do|did|has|may|was|were|so))?\.$"
    r"|If (?:it|they|one|there)(?: \w+){1,2}\.$|How (?:many|long|often)\.$"
)
CREATES = re.compile(
    r"(?:Creates|Copies|Moves|Takes ownership|Parses|Allocates|Loads"
    r"|Fails the build)\b"
)


class Hit(NamedTuple):
    """Says where a shape was found."""

    kind: str
    path: str
    line: int
    text: str


def area_of(path: str) -> str:
    """Returns what the counts of a file are added to."""
    parts = path.split("/")
    if parts[0] == "docs":
        stem = parts[1].removesuffix(".md")
        return "docs/guide" if stem == "guide" else "docs"
    if parts[0] != "flare":
        return "README" if path == "README.md" else parts[0]
    if parts[1] == "http" and len(parts) > 3:
        return "/".join(parts[:3])
    return "/".join(parts[:2]) if len(parts) > 2 else "flare"


def sentence_kinds(text: str) -> Iterator[str]:
    """Lists the shapes of one sentence."""
    if SUBJECT.search(text):
        yield "subject"
    elif WHAT.search(text):
        yield "what"
    if WHERE.search(text):
        yield "where"
    for match in BEHIND.finditer(text):
        if not LEFT_BEHIND.search(text[: match.start()]):
            yield "behind"
            break
    if INVERTED.search(text):
        yield "inverted"
    if IDIOM.search(text):
        yield "idiom"
    if len(text.split()) > WORDS_MAX:
        yield "long"


def docstring_kinds(docstring: Docstring) -> Iterator[str]:
    """Lists what is wrong with the beginning of a docstring."""
    first = docstring.text.strip()
    if docstring.kind == "field":
        if docstring.declares == "Bool" and not first.startswith("Whether"):
            yield "boolean"
        return
    if docstring.name == "__init__" and not CREATES.match(first):
        yield "constructor"
        return
    is_weak = WEAK_VERB.match(first)
    if docstring.kind == "function":
        returns = docstring.declares.rpartition("->")[2].strip(" :")
        if returns == "Bool":
            is_question = PREDICATE.match(docstring.name)
            if is_question or is_weak:
                if not first.startswith("Returns whether"):
                    yield "boolean"
                return
        elif ACCESSOR.match(docstring.declares) and ONE_RETURN.match(
            docstring.body
        ):
            if not first.startswith("Returns"):
                yield "accessor"
            return
    if is_weak:
        yield "first-line"


def source_hits(source: Source) -> Iterator[Hit]:
    """Lists the shapes in docstrings and comments of a Mojo source."""
    passages = list(comments(source))
    for docstring in docstrings(source):
        first = docstring.text.strip().split("\n")[0]
        for kind in docstring_kinds(docstring):
            yield Hit(kind, source.path, docstring.line, first)
        parts = list(paragraphs(docstring.line, dedented(docstring.text)))
        for entry in parts[1:]:
            if TERSE.match(entry.text):
                yield Hit("terse", source.path, entry.line, entry.text)
        passages += parts
    for passage in passages:
        for text in sentences(plain(passage.text)):
            for kind in sentence_kinds(text):
                yield Hit(kind, source.path, passage.line, text)


def document_hits(path: str, text: str) -> Iterator[Hit]:
    """Lists the shapes in a document."""
    for passage in paragraphs(1, text.splitlines()):
        for sentence in sentences(plain(passage.text)):
            for kind in sentence_kinds(sentence):
                yield Hit(kind, path, passage.line, sentence)


def all_hits(root: Path, sources: list[Source]) -> list[Hit]:
    """Lists the shapes in flare/, the examples and the documents."""
    hits = []
    for source in sources:
        if source.path.split("/")[0] in ("flare", "examples"):
            hits += source_hits(source)
    for pattern in DOCUMENTS:
        for file in sorted(root.glob(pattern)):
            path = file.relative_to(root).as_posix()
            hits += document_hits(path, file.read_text())
    return hits


Counts = dict[tuple[str, str], int]


def count(hits: list[Hit]) -> Counts:
    """Counts by area and kind."""
    counts: Counts = {}
    for hit in hits:
        key = area_of(hit.path), hit.kind
        counts[key] = counts.get(key, 0) + 1
    return counts


def read_bounds(root: Path) -> Counts:
    """Reads the numbers that counts may not exceed.

    An area stands on a line of its own, in brackets; its shapes follow.
    """
    bounds: Counts = {}
    area = ""
    path = root / PATH
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        if line.startswith("["):
            area = line.strip("[]")
        elif line and not line.startswith("#"):
            kind, number = line.split()
            bounds[area, kind] = int(number)
    return bounds


def check_words(root: Path, hits: list[Hit]) -> Iterator[Finding]:
    """Finds counts above their bound; the last of them are shown."""
    bounds = read_bounds(root)
    for (area, kind), number in sorted(count(hits).items()):
        bound = bounds.get((area, kind), 0)
        if number <= bound:
            continue
        of_kind = [
            hit
            for hit in hits
            if hit.kind == kind and area_of(hit.path) == area
        ]
        what = (
            f"{area} has {number} of {KINDS[kind]}, at most {bound};"
            f" tools/tidy.py --words {area} lists them"
        )
        yield Finding(of_kind[-1].path, of_kind[-1].line, "words", what)


def settle_words(root: Path, hits: list[Hit]) -> None:
    """Lowers the file's numbers to those counted; raises and adds none."""
    path = root / PATH
    if not path.exists():
        return
    counts = count(hits)
    area = ""
    lines = []
    for line in path.read_text().splitlines():
        if line.startswith("["):
            area = line.strip("[]")
        elif line and not line.startswith("#"):
            kind, number = line.split()
            lowered = min(int(number), counts.get((area, kind), 0))
            if not lowered:
                continue
            line = f"{kind} {lowered}"
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")


def words_report(hits: list[Hit]) -> list[str]:
    """Returns a table of the counts by area and kind."""
    counts = count(hits)
    areas = sorted({area for area, _ in counts})
    titles = "".join(f" {kind:>10}" for kind in KINDS)
    lines = [f"{'area':22}{titles}"]
    for area in areas:
        row = [counts.get((area, kind), 0) for kind in KINDS]
        lines.append(f"{area:22}" + "".join(f" {n:10}" for n in row))
    totals = [sum(hit.kind == kind for hit in hits) for kind in KINDS]
    lines.append(f"{'all':22}" + "".join(f" {n:10}" for n in totals))
    return lines
