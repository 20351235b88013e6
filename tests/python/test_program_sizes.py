"""Holds the LLVM IR that programs come to against bounds that only fall."""

import sys
import tempfile
import unittest
from pathlib import Path

from library_package import include_options
from run_tests import ROOT

sys.path.insert(0, str(ROOT / "benchmark" / "micro"))

import build_cost
from build_cost import Size

ADVICE = """
Each program that uses flare compiles this code anew: docs/notes/compile-time.md
says what costs how much, and how to find what has grown.
"""


class ProgramSizes(unittest.TestCase):
    def test_no_program_grows(self):
        sizes = {}
        with tempfile.TemporaryDirectory() as folder:
            programs = build_cost.write_programs(Path(folder))
            self.assertIn("client-over-driver", programs)
            for name, source in programs.items():
                include = build_cost.include_options(
                    name, include_options(ROOT)
                )
                sizes[name] = build_cost.size_of(source, include)
        bounds = build_cost.read_sizes()
        self.assertEqual(set(bounds), set(sizes))
        grown = build_cost.excess(bounds, sizes)
        self.assertEqual(grown, [], "\n".join([*grown, ADVICE]))

    def test_what_has_grown_is_named(self):
        bounds = {"a": Size(10, 1000), "b": Size(10, 1000)}
        self.assertEqual(build_cost.excess(bounds, {"a": Size(10, 1000)}), [])
        for size in (Size(11, 1000), Size(10, 1001)):
            found = build_cost.excess(bounds, {"a": size, "b": Size(1, 1)})
            self.assertEqual(len(found), 1)
            self.assertTrue(found[0].startswith("a: "), found)

    def test_bounds_only_fall(self):
        bounds = {"a": Size(20, 2000), "b": Size(20, 2000)}
        sizes = {"a": Size(11, 900), "b": Size(40, 1500), "c": Size(5, 5)}
        lines = build_cost.settled(bounds, sizes).splitlines()
        self.assertEqual(
            [line for line in lines if not line.startswith("#")],
            ["a 20 1000", "b 20 2000", "c 10 1000"],
        )


if __name__ == "__main__":
    unittest.main()
