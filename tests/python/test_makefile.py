"""Tests that targets of the Makefile pass the options of the user on."""

import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import ROOT  # noqa: E402

NAME = "made_by_a_target"
PROGRAM = """
from std.sys.defines import get_defined_int


def main():
    print(get_defined_int["NUMBER", 0]())
"""
# Not the one that a target takes without options.
PROCESSOR = {"x86_64": "x86-64-v2"}.get(platform.machine(), "neoverse-n1")
SECONDS_MAX = 900


class Prerequisites(unittest.TestCase):
    def test_peers_are_set_up_again_when_a_list_of_them_changes(self):
        setup = (ROOT / "tools" / "setup.sh").read_text()
        names = set(re.findall(r"^install_apart (\w+)$", setup, re.MULTILINE))
        self.assertGreater(len(names), 5)
        rule = (ROOT / "Makefile").read_text().split("$(PEERS):")[1].split("@")[0]
        lists = set(re.findall(r"tools/(\w+)\.txt", rule))
        self.assertLessEqual(names, lists)


class TargetTest(unittest.TestCase):
    def setUp(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.program = folder / f"{NAME}.mojo"
        self.program.write_text(PROGRAM)

    def made(self, target, executable, options):
        """Runs a target, and returns what its program prints."""
        command = [
            *("make", "--no-print-directory", "-C", str(ROOT)),
            # A test installs no compiler.
            *("-o", ".venv/setup.stamp", f"PYTHON={sys.executable}"),
            *(target, f"PROGRAM={self.program}", f"ARGS={options}"),
        ]
        finished = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
        )
        self.assertEqual(finished.returncode, 0, finished.stdout)
        return subprocess.check_output([executable], text=True, timeout=60)

    def test_quick_passes_options_to_the_compiler(self):
        executable = ROOT / "build" / NAME
        self.addCleanup(executable.unlink, missing_ok=True)
        for options, printed in [("", "0\n"), ("-D NUMBER=7", "7\n")]:
            with self.subTest(options):
                self.assertEqual(self.made("quick", executable, options), printed)

    def test_ship_passes_options_to_itself_and_to_the_compiler(self):
        folder = ROOT / "build" / "ship" / NAME
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        rows = [
            ("", "0\n", ""),
            ("-- -D NUMBER=7", "7\n", ""),
            (f"--target-cpu {PROCESSOR} -- -D NUMBER=7", "7\n", "x86-64-v2"),
            (f"--target-cpu {PROCESSOR}", "0\n", "x86-64-v2"),
        ]
        for options, printed, processor in rows:
            with self.subTest(options):
                made = self.made("ship", folder / NAME, options)
                self.assertEqual(made, printed)
                readme = (folder / "README.txt").read_text()
                self.assertIn(f"Processor: {processor}", readme)

    def test_a_shop_on_postgres_brings_its_library(self):
        for options, is_brought in [
            ("", False),
            ("--database shop.db", False),
            ("--database postgres.db", False),
            ("--database postgres://app:a@localhost/shop", True),
            ("--database postgresql://app:a@localhost/shop", True),
        ]:
            with self.subTest(options):
                said = subprocess.check_output(
                    ["make", "-C", str(ROOT), "--dry-run", "-o", "build/shop",
                     "serve-shop", f"ARGS={options}"],
                    text=True,
                    timeout=60,
                )  # fmt: skip
                self.assertIn(f"exec build/shop {options}".strip(), said)
                self.assertEqual("setup.sh postgres" in said, is_brought)


if __name__ == "__main__":
    unittest.main()
