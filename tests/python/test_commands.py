"""Tests .ci/run and tools/check.sh on small trees."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from run_tests import MOJO, ROOT

MAKEFILE = """
check:
\t@{check}
test:
\t@{test}
"""
PASS = "printf 'work\\n3 passed, 0 failed\\n'"
FAIL = "printf 'work\\n2 passed, 1 failed\\n'; exit 1"
LEVELS = """| package | level | holds |
|---|---|---|
| `flare/core` | 0 | octets |
"""
TIDY_MODULE = '''"""Counts."""


def count() -> Int:
    """Counts.

    Returns:
        The count.
    """
    return 1
'''


class TreeTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        (self.root / "tools").mkdir()

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_in_tree(self, *command):
        environment = {**os.environ, "MOJO": str(MOJO), "PYTHON": sys.executable}
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            environment.pop(name, None)
        return subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )


class ContinuousIntegrationTest(TreeTest):
    def ci(self, check="true", test=PASS, setup="true"):
        self.write("tools/setup.sh", setup + "\n")
        self.write("Makefile", MAKEFILE.format(check=check, test=test))
        self.write(".ci/run", (ROOT / ".ci/run").read_text())
        finished = self.run_in_tree("bash", ".ci/run")
        return finished.returncode, finished.stdout.splitlines()[-1]

    def test_count_of_the_tests_is_the_last_line(self):
        self.assertEqual(self.ci(), (0, "3 passed, 0 failed"))

    def test_failing_test_fails(self):
        self.assertEqual(self.ci(test=FAIL), (1, "2 passed, 1 failed"))

    def test_failing_check_counts_as_one_failure(self):
        code_and_line = self.ci(check="false")
        self.assertEqual(code_and_line, (1, "3 passed, 1 failed"))
        code_and_line = self.ci(check="false", test=FAIL)
        self.assertEqual(code_and_line, (1, "2 passed, 2 failed"))

    def test_tests_that_end_without_a_count_fail(self):
        self.assertEqual(self.ci(test="exit 3"), (1, "0 passed, 1 failed"))

    def test_no_test_at_all_is_no_success(self):
        nothing = "echo '0 passed, 0 failed'"
        self.assertEqual(self.ci(test=nothing), (1, "0 passed, 0 failed"))

    def test_failing_setup_fails(self):
        self.assertEqual(self.ci(setup="exit 1"), (1, "0 passed, 1 failed"))


class CheckTest(TreeTest):
    def setUp(self):
        super().setUp()
        for tool in [ROOT / "tools/check.sh", *(ROOT / "tools").glob("*.py")]:
            shutil.copy(tool, self.root / "tools" / tool.name)
        self.write("docs/architecture.md", LEVELS)
        self.write("flare/__init__.mojo", '"""Counts."""\n')
        self.write("flare/core/__init__.mojo", '"""Counts."""\n')
        self.write("flare/core/count.mojo", TIDY_MODULE)

    def assert_fails(self, change, *problems):
        self.write("flare/core/count.mojo", change)
        finished = self.run_in_tree("sh", "tools/check.sh")
        last = finished.stdout.splitlines()[-1]
        self.assertEqual(last, f"check: failed: {' '.join(problems)}")
        self.assertEqual(finished.returncode, 1)
        source = self.root / "flare/core/count.mojo"
        self.assertEqual(source.read_text(), change)

    def test_tidy_tree_passes(self):
        finished = self.run_in_tree("sh", "tools/check.sh")
        self.assertEqual(finished.returncode, 0, finished.stdout)

    def test_each_kind_of_problem_is_named(self):
        returns = "\n\n    Returns:\n        The count.\n    "
        rows = [
            ("format", "return 1", "return  1"),
            ("docstrings", returns, ""),
            ("warnings", "return 1", "var a = 1\n    return 1"),
            ("tidy", "return 1", "return 1  # TODO"),
        ]
        for problem, old, new in rows:
            with self.subTest(problem):
                self.assert_fails(TIDY_MODULE.replace(old, new), problem)

    def test_planted_fault_that_fits_no_source_is_named(self):
        self.write(
            "fuzz/planted/count/one.fault",
            "file flare/core/count.mojo\nwhy it counts wrong\n"
            "<<<<<<<\nreturn 7\n=======\nreturn 8\n>>>>>>>\n",
        )
        self.assert_fails(TIDY_MODULE, "planted")
