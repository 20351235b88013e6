"""Divides a Mojo source into code, prose and functions."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Iterator

# A comment, or a string that may be raw or formatted, whole.
TOKEN = re.compile(
    r'#[^\n]*|[rtRT]{0,2}"""(?:\\.|[^\\])*?"""|'
    r"[rtRT]{0,2}'''(?:\\.|[^\\])*?'''|"
    r'[rtRT]{0,2}"(?:\\.|[^"\\\n])*"|'
    r"[rtRT]{0,2}'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
DEFINITION = re.compile(r"^( *)def (\w+)", re.MULTILINE)


def blank(text: str) -> str:
    """Returns spaces for all letters of a text, and keeps its lines."""
    return re.sub(r"[^\n]", " ", text)


@dataclass
class Source:
    """Holds one source; line and column are the same in each of its views."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines as they are."""
        return self.text.splitlines()

    @cached_property
    def code(self) -> str:
        """The text with strings and comments blanked."""
        return TOKEN.sub(lambda match: blank(match.group(0)), self.text)

    @cached_property
    def code_lines(self) -> list[str]:
        """The lines of `code`."""
        return self.code.splitlines()

    @cached_property
    def prose(self) -> list[str]:
        """The lines with everything but comments and docstrings blanked."""
        kept = []
        end = 0
        for match in TOKEN.finditer(self.text):
            kept.append(blank(self.text[end : match.start()]))
            is_prose = match.group(0).startswith(("#", '"""'))
            text = match.group(0)
            kept.append(text if is_prose else blank(text))
            end = match.end()
        kept.append(blank(self.text[end:]))
        return "".join(kept).splitlines()

    @cached_property
    def _starts(self) -> list[int]:
        return [0] + [m.end() for m in re.finditer("\n", self.text)]

    def line_at(self, offset: int) -> int:
        """Returns the line, from 1, in which an offset lies."""
        return bisect.bisect_right(self._starts, offset)


@dataclass
class Function:
    """Holds the name, the first line and the length of one function."""

    name: str
    line: int
    lines: int


def _docstring_lines(source: Source, first: int, last: int) -> int:
    body = "\n".join(source.lines[first:last])
    match = re.match(r'\s*("""(?:\\.|[^\\])*?""")', body, re.DOTALL)
    return match.group(1).count("\n") + 1 if match else 0


def end_of_signature(code: str, start: int) -> int:
    """Returns where the colon stands that ends what begins at `start`."""
    depth = 0
    for offset in range(start, len(code)):
        if code[offset] in "([{":
            depth += 1
        elif code[offset] in ")]}":
            depth -= 1
        elif code[offset] == ":" and depth == 0:
            return offset
    return len(code)


def functions(source: Source) -> Iterator[Function]:
    """Lists the functions; a docstring does not count for the length."""
    code = source.code_lines
    for match in DEFINITION.finditer(source.code):
        indent = len(match.group(1))
        first = source.line_at(match.start(2)) - 1
        colon = end_of_signature(source.code, match.end())
        body = source.line_at(colon)
        last = body
        for index in range(body, len(code)):
            line = code[index]
            # Lines inside a long string are blank here: they end nothing.
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            if line.strip():
                last = index + 1
        documented = _docstring_lines(source, body, last)
        yield Function(match.group(2), first + 1, last - first - documented)
