#!/usr/bin/env python3
"""Makes a constant of Mojo from a page: page.html, with page.css and page.js in it.

    tools/inline_page.py flare/openapi/page flare/openapi/page_text.mojo

The page becomes one document, with the hashes of its style and its script for a
Content-Security-Policy. Indentation and lines of comments are left out: neither
file may have texts of several lines.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
from pathlib import Path

# What the first flight of a connection carries.
OCTETS_MAX = 14 * 1024
STYLE = "/* page.css */"
SCRIPT = "/* page.js */"


def shortened(text: str) -> str:
    """Leaves out indentation, empty lines and lines that are a comment."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(
        line
        for line in lines
        if line
        and not line.startswith("//")
        and not (line.startswith("/*") and line.endswith("*/"))
    )


def closed_up(style: str) -> str:
    """Leaves out the blanks of a style sheet that mean nothing."""
    return re.sub(r"\s*([{};,])\s*", r"\1", style).replace(": ", ":")


def hash_of(text: str) -> str:
    """Gives the source of a policy that allows an inline block."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def literal(text: str) -> str:
    """Gives the inside of a string of three quotes."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def module_of(folder: Path) -> str:
    """Gives the text of the module."""
    page, style, script = (
        shortened((folder / f"page.{end}").read_text())
        if end != "html"
        else (folder / "page.html").read_text()
        for end in ("html", "css", "js")
    )
    style = closed_up(style)
    for mark in (STYLE, SCRIPT):
        if page.count(mark) != 1:
            raise SystemExit(f"{folder}/page.html has not one {mark}")
    document = page.replace(STYLE, style).replace(SCRIPT, script)
    octets = len(document.encode())
    if octets > OCTETS_MAX:
        raise SystemExit(f"{folder} has {octets} octets, at most {OCTETS_MAX}")
    return f'''"""Holds a page, which `tools/inline_page.py` makes of the folder `{folder.name}`."""

comptime PAGE: StaticString = """{literal(document)}"""
"""The document."""
comptime STYLE_HASH: StaticString = (
    "{hash_of(style)}"
)
"""The source of its style, for Content-Security-Policy."""
comptime SCRIPT_HASH: StaticString = (
    "{hash_of(script)}"
)
"""The source of its script, for Content-Security-Policy."""
'''


def main() -> None:
    """Writes the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    arguments.output.write_text(module_of(arguments.folder))
    print(f"{arguments.output}: made of {arguments.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
