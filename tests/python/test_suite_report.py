"""Tests how the runner reads reports and finds the declared tests."""

import tempfile
import unittest
from pathlib import Path

from suite_report import declared_tests, imported_test_modules, parse_report

REPORT = """
Running 3 tests for /x/tests/net/all.mojo
    PASS [ 0.011 ] test_a
    FAIL [ 12.005 ] test_b
      At /x/test_b.mojo:1:1: AssertionError: PASS [ 1 ] is not a line
    SKIP [ 0.001 ] test_c
--------
Summary [ 0.001 ] 3 tests run: 1 passed , 1 failed , 1 skipped
    \x1b[32mPASS\x1b[0m [ 0.1 ] \x1b[36mtest_a\x1b[0m
"""


class ReportTest(unittest.TestCase):
    def test_outcomes_are_read_and_names_may_repeat(self):
        report = parse_report(REPORT)
        self.assertEqual(report.passed, ["test_a", "test_a"])
        self.assertEqual(report.failed, ["test_b"])
        self.assertEqual(report.skipped, ["test_c"])

    def test_output_of_a_crash_reports_nothing(self):
        self.assertEqual(parse_report("At: x.mojo:1 Assert").names().total(), 0)


class DeclaredTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        self.package = self.root / "tests/proto/h1"
        self.package.mkdir(parents=True)

    def test_imports_on_one_line_and_in_parentheses_are_found(self):
        suite = self.package / "all.mojo"
        for text in (
            "from tests.proto.h1 import test_a, test_b\n",
            "from tests.proto.h1 import (\n    test_a,\n    test_b,\n)\n",
        ):
            suite.write_text(text)
            self.assertEqual(
                imported_test_modules(suite),
                [self.package / "test_a.mojo", self.package / "test_b.mojo"],
            )

    def test_functions_named_test_are_counted_and_helpers_are_not(self):
        suite = self.package / "all.mojo"
        suite.write_text("from tests.proto.h1 import test_a\n")
        (self.package / "test_a.mojo").write_text(
            "def test_x() raises:\n    pass\n\n"
            "def helper():\n    pass\n\n"
            "    def test_method(self):\n        pass\n"
        )
        self.assertEqual(declared_tests(suite), {"test_x": 1})
