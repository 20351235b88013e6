"""Holds findings against tools/tidy_ratchet.txt, whose numbers only fall.

A line is `rule area name numbers…`. It names no file, so that a module may
move within its package. Two structs of one name have two numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PATH = "tools/tidy_ratchet.txt"

Key = tuple[str, str, str]


def area_of(path: str) -> str:
    """Returns the package of a path in flare/, else its first folder."""
    parts = path.split("/")
    if parts[0] == "flare" and len(parts) > 2:
        return parts[1]
    return parts[0]


@dataclass(frozen=True, order=True)
class Finding:
    """Says where which rule is broken; `name` and `count` if a ratchet may
    allow it.
    """

    path: str
    line: int
    rule: str
    what: str
    name: str = ""
    count: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.what}"

    @property
    def key(self) -> Key:
        """Returns what the finding is called in the ratchet's file."""
        return self.rule, area_of(self.path), self.name


def read_ratchet(root: Path) -> dict[Key, list[int]]:
    """Reads the allowed numbers of each name, the largest first."""
    path = root / PATH
    entries: dict[Key, list[int]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                rule, area, name, *numbers = line.split()
                values = sorted(map(int, numbers), reverse=True)
                entries[rule, area, name] = values
    return entries


def _by_key(findings: list[Finding]) -> dict[Key, list[Finding]]:
    groups: dict[Key, list[Finding]] = {}
    for finding in findings:
        if finding.name:
            groups.setdefault(finding.key, []).append(finding)
    for group in groups.values():
        group.sort(key=lambda finding: -finding.count)
    return groups


def apply_ratchet(root: Path, findings: list[Finding]) -> list[Finding]:
    """Drops findings that the ratchet allows, adds entries that are stale."""
    kept = [finding for finding in findings if not finding.name]
    groups = _by_key(findings)
    allowed = read_ratchet(root)
    for key, group in groups.items():
        bounds = allowed.get(key, [])
        for index, finding in enumerate(group):
            bound = bounds[index] if index < len(bounds) else 0
            if finding.count > bound:
                kept.append(finding)
    for key, bounds in allowed.items():
        counts = [finding.count for finding in groups.get(key, [])]
        counts += [0] * (len(bounds) - len(counts))
        if any(count < bound for count, bound in zip(counts, bounds)):
            now = " ".join(str(count) for count in counts if count) or "none"
            what = f"{' '.join(key)}: now {now}; run tools/tidy.py --settle"
            kept.append(Finding(PATH, 1, "ratchet", what))
    return kept


def settle_ratchet(root: Path, findings: list[Finding]) -> None:
    """Lowers the file's numbers to those found; raises and adds none."""
    path = root / PATH
    if not path.exists():
        return
    groups = _by_key(findings)
    allowed = read_ratchet(root)
    lines = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.match(r"(\S+) (\S+) (\S+) ", line)
            assert match, line
            key = match.group(1), match.group(2), match.group(3)
            counts = [finding.count for finding in groups.get(key, [])]
            pairs = zip(counts, allowed[key])
            values = [str(min(pair)) for pair in pairs]
            if not values:
                continue
            line = " ".join(key) + " " + " ".join(values)
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")
