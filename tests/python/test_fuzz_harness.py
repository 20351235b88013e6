"""Tests what a built fuzz harness prints and how it exits."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from run_tests import MOJO, ROOT, run

HARNESS = '''"""Fails where the input says so."""

from fuzz.harness import Histogram, Random, run


def _one(mut random: Random, mut histogram: Histogram) raises:
    var octets = random.octets_of("ab\\n", 3)
    histogram.input(octets)
    var draw = random.below(1000)
    if draw == 0:
        raise Error("claim broken")
    if draw == 1 and octets[0] == 10:
        _ = octets[len(octets) + draw]
    while draw == 2:
        random.state += 1
    if draw == 3 and _sum(random, 30_000) == 0:
        histogram.count("nothing")
    if draw < 900:
        histogram.count_whole("complete")
        histogram.count_whole("complete again")
    else:
        histogram.count("refused")


@no_inline
def _sum(mut random: Random, levels: Int) -> UInt64:
    # More than the 192 KiB of a fiber, and little of 8 MiB.
    var drawn = random.next()
    if levels == 0:
        return drawn
    return drawn ^ _sum(random, levels - 1) * 3


def main() raises:
    run(_one)
'''
# Nothing is found, and a quarter of the inputs is whole.
POOR = HARNESS.replace("random.below(1000)", "4 + random.below(996)").replace(
    "draw < 900", "draw < 250"
)


def build(text, folder):
    source = Path(folder) / "fuzz_sample.mojo"
    source.write_text(text)
    binary = source.with_suffix("")
    command = [MOJO, "build", "-I", ROOT, "-o", binary, source]
    built = run([str(part) for part in command], 600)
    if built.code != 0:
        raise AssertionError(built.output)
    return binary


class HarnessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.binary = build(HARNESS, holder.name)

    def harness(self, *arguments):
        command = [str(self.binary), "--run-seconds-max", "1", *arguments]
        return run(command, 120)

    def finding(self, text):
        """Searches the seeds for a finding that prints `text`."""
        for seed in range(1, 200):
            finished = self.harness("--runs", "2000", "--seed", str(seed))
            if text in finished.output:
                return finished
        self.fail(f"no seed gives {text}")

    def test_runs_without_a_finding_print_the_histogram(self):
        finished = self.harness("--runs", "50", "--seed", "1")
        self.assertEqual(finished.code, 0, finished.output)
        self.assertRegex(finished.output, r"\d+ +\d+\.\d %  complete\n")
        self.assertIn("50 runs, seed 1 no finding\n", finished.output)

    def test_error_is_a_finding_with_run_seed_and_escaped_input(self):
        finished = self.finding("claim broken")
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.output, r"input \(3 octets\): \S+\n")
        self.assertRegex(finished.output, r"finding: claim broken\nrun \d+, ")

    def test_abort_is_a_finding_too(self):
        finished = self.finding("died of signal 4")
        self.assertEqual(finished.code, 1)
        self.assertIn(r"input (3 octets): \x0a", finished.output)

    def test_recursion_that_only_the_main_thread_has_room_for_is_one_too(self):
        finished = self.finding("died of signal 11")
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.output, r"input \(3 octets\): \S+\n")

    def test_endless_loop_is_a_finding_too(self):
        finished = self.finding("died of signal 14")
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.output, r"input \(3 octets\): \S+\n")

    def test_printed_command_repeats_the_finding(self):
        for text in ("claim broken", "died of signal 4"):
            finished = self.finding(text)
            command = re.search(r"repeat: (.*)", finished.output).group(1)
            again = subprocess.run(
                command.split(), cwd=ROOT, capture_output=True
            )
            self.assertNotEqual(again.returncode, 0)

    def test_too_few_whole_inputs_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = str(build(POOR, folder))
            judged = run([binary, "--runs", "1000"], 120)
            self.assertEqual(judged.code, 3, judged.output)
            self.assertIn(" % of the runs were whole", judged.output)
            few = run([binary, "--runs", "999"], 120)
            self.assertEqual(few.code, 0, few.output)

    def test_unknown_option_exits_with_an_error(self):
        self.assertNotEqual(self.harness("--turns", "5").code, 0)
