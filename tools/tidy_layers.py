"""Checks that imports go downwards, by the table of docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

from tidy_source import Source

ROW = re.compile(r"^\| ((?:`flare/\w+(?:/\w+)*`(?:, )?)+) \| (\d+) \|", re.M)
# `from flare.x.y import a` and `import flare.x`; relative ones name a package
# only when they climb out of their own.
ABSOLUTE = re.compile(r"^\s*(?:from|import) flare\.([\w.]+)", re.MULTILINE)
RELATIVE = re.compile(r"^\s*from (\.\.+)([\w.]*) import (\w+)", re.MULTILINE)

Row = tuple[str, int, str, str]


def read_levels(document: str) -> dict[str, int]:
    """Reads the level of each package from the table."""
    levels = {}
    for names, level in ROW.findall(document):
        for name in re.findall(r"`flare/([\w/]+)`", names):
            levels[name] = int(level)
    return levels


def package_of(path: str, levels: dict[str, int]) -> str | None:
    """Finds the longest package of the table that a path lies in."""
    parts = path.split("/")
    for count in range(len(parts), 0, -1):
        name = "/".join(parts[:count])
        if name in levels:
            return name
    return None


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Lists line and path (`http/server`) of each import from flare."""
    for match in ABSOLUTE.finditer(source.code):
        yield source.line_at(match.start(1)), match.group(1).replace(".", "/")
    folder = source.path.split("/")[1:-1]
    for match in RELATIVE.finditer(source.code):
        climb = len(match.group(1)) - 1
        base = folder[: len(folder) - climb]
        parts = [part for part in match.group(2).split(".") if part]
        parts.append(match.group(3))
        yield source.line_at(match.start(1)), "/".join(base + parts)


def packages(root: Path) -> Iterator[str]:
    """Lists the packages of flare/ that hold modules of their own."""
    for file in sorted((root / "flare").glob("**/__init__.mojo")):
        name = file.parent.relative_to(root / "flare").as_posix()
        modules = [p for p in file.parent.glob("*.mojo") if p != file]
        if name != "." and modules:
            yield name


def find_cycle(edges: dict[str, set[str]]) -> list[str]:
    """Finds packages that import one another in a circle."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return []
        for target in sorted(edges.get(name, ())):
            if cycle := visit(target, path + [name]):
                return cycle
        done.add(name)
        return []

    for name in sorted(edges):
        if cycle := visit(name, []):
            return cycle
    return []


def check_layers(root: Path) -> Iterator[Row]:
    """Checks every import inside flare/ and that each package has a level."""
    document = root / "docs/architecture.md"
    if not document.exists():
        yield "docs/architecture.md", 1, "layers", "the file is missing"
        return
    levels = read_levels(document.read_text())
    for name in packages(root):
        if package_of(name, levels) is None:
            yield (
                f"flare/{name}/__init__.mojo",
                1,
                "layers",
                f"flare/{name} is not in the table of docs/architecture.md",
            )
    edges: dict[str, set[str]] = {}
    for file in sorted((root / "flare").glob("*/**/*.mojo")):
        path = file.relative_to(root).as_posix()
        own = package_of(path.removeprefix("flare/"), levels)
        if own is None:
            continue
        for line, target in imports(Source(path, file.read_text())):
            other = package_of(target, levels)
            if other is None or other == own:
                continue
            edges.setdefault(own, set()).add(other)
            if levels[other] > levels[own]:
                what = f"level {levels[own]} imports {other}, {levels[other]}"
                yield path, line, "layers", what
    level_edges = {
        name: {other for other in targets if levels[other] == levels[name]}
        for name, targets in edges.items()
    }
    if cycle := find_cycle(level_edges):
        what = "circle " + " -> ".join(cycle)
        yield "docs/architecture.md", 1, "layers", what
