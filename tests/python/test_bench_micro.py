"""Tests that the micro benchmarks are given what they read."""

import subprocess
import sys
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MICRO = ROOT / "benchmark" / "micro"


def runner():
    """Gives the module of benchmark/micro/run."""
    if str(MICRO) not in sys.path:
        sys.path.insert(0, str(MICRO))
    loader = SourceFileLoader("micro_run", str(MICRO / "run"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    # Data classes look their module up.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


class MicroBenchmarks(unittest.TestCase):
    def test_who_takes_an_argument_is_given_one(self):
        compared = runner().COMPARED
        sources = sorted(MICRO.glob("bench_*.mojo"))
        self.assertTrue(sources)
        for source in sources:
            with self.subTest(source.name):
                name = source.stem.removeprefix("bench_")
                takes = "argv()[1]" in source.read_text()
                self.assertEqual(takes, name in compared)

    def test_make_leaves_running_them_to_the_runner(self):
        for goal in ("bench", "bench-full"):
            steps = subprocess.run(
                ["make", "--dry-run", "--no-print-directory", goal],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            ).stdout
            with self.subTest(goal):
                self.assertIn("benchmark/micro/run\n", steps)
                self.assertIn("benchmark/bench", steps)


if __name__ == "__main__":
    unittest.main()
