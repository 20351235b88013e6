"""Reads what a test binary printed, and which tests its sources declare."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(r"^\s*(PASS|FAIL|SKIP) \[[^\]]*\] (\w+)\s*$", re.MULTILINE)
# Mojo colors nothing in a pipe, but a sanitizer may.
COLOR = re.compile(r"\x1b\[[0-9;]*m")
DEFINITION = re.compile(r"^def (test_\w+)\s*\(", re.MULTILINE)
NAMES_OF_IMPORT = re.compile(
    r"^from (tests(?:\.\w+)*) import\s*(\([^)]*\)|[^\n(]*)$", re.MULTILINE
)


@dataclass
class Report:
    """Holds the names of the tests by outcome; a name may occur twice."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def names(self) -> Counter[str]:
        """Counts the names of all tests that were reported."""
        return Counter(self.passed + self.failed + self.skipped)


def parse_report(output: str) -> Report:
    """Reads the lines that TestSuite and tools/python_suite.py print."""
    report = Report()
    lists = {
        "PASS": report.passed,
        "FAIL": report.failed,
        "SKIP": report.skipped,
    }
    for outcome, name in LINE.findall(COLOR.sub("", output)):
        lists[outcome].append(name)
    return report


def imported_test_modules(all_module: Path) -> list[Path]:
    """Lists the test modules that one `all.mojo` imports from its package."""
    modules = []
    for package, names in NAMES_OF_IMPORT.findall(all_module.read_text()):
        for name in re.findall(r"\btest_\w+", names):
            root = all_module.parents[len(package.split("."))]
            modules.append(root.joinpath(*package.split("."), f"{name}.mojo"))
    return modules


def declared_tests(all_module: Path) -> Counter[str]:
    """Counts the tests that the modules of one `all.mojo` define."""
    names: Counter[str] = Counter()
    for module in imported_test_modules(all_module):
        if module.exists():
            names.update(DEFINITION.findall(module.read_text()))
    return names
