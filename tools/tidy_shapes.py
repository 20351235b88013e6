"""Counts fields of structs and parameters of functions, and finds modules and
types that share a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from tidy_ratchet import Finding, area_of
from tidy_source import Source, end_of_signature

FIELDS_MAX = 12
PARAMETERS_MAX = 5
TYPE = re.compile(r"^(?:struct|trait) (\w+)", re.MULTILINE)
# Constants of values have names without small letters.
ALIAS = re.compile(r"^comptime ([A-Z]\w*[a-z]\w*)\b", re.MULTILINE)
FIELD = re.compile(r"^    var \w+\s*:", re.MULTILINE)
FUNCTION = re.compile(r"^( *)def (\w+)", re.MULTILINE)
# Their constructors take a value for each setting.
SETTINGS = re.compile(r"(?:Config|Limits|Options|Timeouts)$")
RECEIVER = re.compile(r"^(?:(?:out|mut|var|ref(?:\[.*?\])?|deinit) )?self\b")


@dataclass
class Struct:
    """Holds the name, the place and the number of fields of one type."""

    name: str
    line: int
    fields: int
    start: int
    end: int


def structs(source: Source) -> Iterator[Struct]:
    """Lists the structs and traits of a module."""
    code = source.code
    for match in TYPE.finditer(code):
        start = end_of_signature(code, match.end())
        after = re.compile(r"^[^\s]", re.MULTILINE).search(code, start + 1)
        end = after.start() if after else len(code)
        yield Struct(
            match.group(1),
            source.line_at(match.start(1)),
            len(FIELD.findall(code, start, end)),
            match.start(),
            end,
        )


def split_at_commas(text: str) -> list[str]:
    """Splits a list of parameters, but not within brackets."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _closing(code: str, opening: int) -> int:
    depth = 0
    for offset in range(opening, len(code)):
        depth += code[offset] in "([{"
        depth -= code[offset] in ")]}"
        if depth == 0:
            return offset
    return len(code)


def parameters(code: str, start: int) -> list[str]:
    """Lists the run-time parameters of a function whose name ends at `start`,
    without its receiver.
    """
    if code.startswith("[", start):
        start = _closing(code, start) + 1
    inside = code[start + 1 : _closing(code, start)]
    return [
        part
        for part in split_at_commas(inside)
        if part not in ("*", "/") and not RECEIVER.match(part)
    ]


def check_shapes(source: Source) -> Iterator[Finding]:
    """Bounds the fields of each struct and the parameters of each function."""
    types = list(structs(source))
    for struct in types:
        if struct.fields > FIELDS_MAX and not SETTINGS.search(struct.name):
            yield Finding(
                source.path,
                struct.line,
                "struct-fields",
                f"{struct.name} has {struct.fields} fields,"
                f" at most {FIELDS_MAX}",
                struct.name,
                struct.fields,
            )
    for match in FUNCTION.finditer(source.code):
        owner = next(
            (t.name for t in types if t.start < match.start() < t.end), ""
        )
        name = match.group(2)
        if name == "__init__" and SETTINGS.search(owner):
            continue
        count = len(parameters(source.code, match.end()))
        if count > PARAMETERS_MAX:
            name = f"{owner}.{name}" if owner else name
            yield Finding(
                source.path,
                source.line_at(match.start(2)),
                "parameters",
                f"{name} has {count} parameters, at most {PARAMETERS_MAX}",
                name,
                count,
            )


def check_shared_names(sources: list[Source]) -> Iterator[Finding]:
    """Finds file names that a package has in several folders, and public
    types that several modules define.
    """
    modules: dict[tuple[str, str], list[str]] = {}
    types: dict[str, list[tuple[str, int]]] = {}
    for source in sources:
        name = Path(source.path).stem
        if name != "__init__":
            key = area_of(source.path), name
            modules.setdefault(key, []).append(source.path)
        for pattern in (TYPE, ALIAS):
            for match in pattern.finditer(source.code):
                if not match.group(1).startswith("_"):
                    place = source.path, source.line_at(match.start(1))
                    types.setdefault(match.group(1), []).append(place)
    for (_, name), paths in modules.items():
        if len(paths) > 1:
            what = f"{name}.mojo is {len(paths)} files: {', '.join(paths)}"
            yield Finding(
                paths[0], 1, "module-name", what, name, len(paths)
            )
    for name, places in types.items():
        if len(places) > 1:
            where = ", ".join(f"{path}:{line}" for path, line in places)
            what = f"{name} is {len(places)} types: {where}"
            # One area for all: which package comes first says nothing.
            yield Finding(
                "flare", 1, "type-name", what, name, len(places)
            )
