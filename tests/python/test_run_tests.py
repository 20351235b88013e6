"""Tests that the runner counts exactly what fails, aborts or is lost."""

import argparse
import contextlib
import io
import tempfile
import time
import unittest
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest import mock

import run_tests
import tested_programs
from run_tests import Item, Runner

REPOSITORY = Path(__file__).resolve().parents[2]
ALL = '''"""Runs all."""

from std.testing import TestSuite

from tests.sample import test_a, test_b


def main() raises:
    var failed = False
    try:
        TestSuite.discover_tests[test_a.TESTS]().run()
    except e:
        print(e)
        failed = True
    try:
        TestSuite.discover_tests[test_b.TESTS]().run()
    except e:
        print(e)
        failed = True
    if failed:
        raise Error("failed")
'''
PASSING = '''"""Passes twice."""

from std.testing import assert_equal


def test_one() raises:
    assert_equal(1, 1)


def test_two() raises:
    assert_equal(2, 2)


comptime TESTS = __functions_in_module()
'''
ABORTING = '''"""Passes, fails and aborts."""

from std.testing import assert_equal


def test_three() raises:
    assert_equal(3, 3)


def test_that_fails() raises:
    assert_equal(1, 2)


def test_that_aborts() raises:
    var items: List[Int] = [1]
    items[len(items) + 1] = 3


comptime TESTS = __functions_in_module()
'''
EXITING = ABORTING.replace(
    """    var items: List[Int] = [1]
    items[len(items) + 1] = 3
""",
    """    from std.sys import argv, exit

    if len(argv()) == 1:
        exit(3)
""",
).replace("assert_equal(1, 2)", "assert_equal(2, 2)")
FAILING = ABORTING.replace("items[len(items) + 1] = 3", "assert_equal(3, 3)")
LOST = '''"""Is left out of the list by the compiler."""

from std.testing import assert_equal


struct Row(Copyable):
    var a: Int

    def __init__(out self):
        self.a = 3


def _rows() -> List[Row]:
    return [Row()]


def test_three() raises:
    for row in _rows():
        assert_equal(row.a, 3)


comptime TESTS = __functions_in_module()
'''


class RunnerTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        patch = mock.patch.object(run_tests, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)
        self.options = argparse.Namespace(
            asan=False, define=[], fuzz_runs=10, jobs=2, verbose=False
        )

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def suite(self, second):
        self.write("tests/__init__.mojo", '"""Holds tests."""\n')
        self.write("tests/sample/__init__.mojo", '"""Holds tests."""\n')
        self.write("tests/sample/test_a.mojo", PASSING)
        self.write("tests/sample/test_b.mojo", second)
        source = self.write("tests/sample/all.mojo", ALL)
        return Runner(self.options).test(Item("tests", source))

    def example(self, text):
        source = self.write("examples/01_sample.mojo", text)
        return Runner(self.options).test(Item("example", source))

    def test_failing_test_is_counted_and_printed(self):
        outcome = self.suite(FAILING)
        self.assertEqual((outcome.passed, outcome.failed), (4, 1))
        self.assertIn("FAIL", outcome.output)

    def test_a_failed_assertion_of_the_suites_is_told(self):
        own = (REPOSITORY / "tests/asserting.mojo").read_text()
        self.write("tests/asserting.mojo", own)
        second = FAILING.replace("std.testing", "tests.asserting")
        options = ["-I", str(self.root), "-I", str(REPOSITORY)]
        with mock.patch.object(Runner, "options_of", return_value=options):
            outcome = self.suite(second)
        self.assertEqual((outcome.passed, outcome.failed), (4, 1))
        self.assertIn("test_that_fails alone: exit code 3", outcome.output)
        self.assertRegex(outcome.output, r"test_b.mojo:\d+:\d+: 1 is not 2")

    def test_tests_around_an_abort_are_counted_one_by_one(self):
        outcome = self.suite(ABORTING)
        self.assertEqual((outcome.passed, outcome.failed), (3, 2))
        self.assertIn("test_that_aborts alone: exit code", outcome.output)
        self.assertNotIn("test_three alone", outcome.output)

    def test_tests_that_fail_only_together_count_as_one_failure(self):
        outcome = self.suite(EXITING)
        self.assertEqual((outcome.passed, outcome.failed), (5, 1))
        self.assertIn("exit code 3, though no test failed", outcome.output)
        self.assertIn("3 tests were not reported", outcome.output)

    def test_tests_that_the_compiler_leaves_out_fail(self):
        outcome = self.suite(LOST)
        self.assertEqual((outcome.passed, outcome.failed), (2, 1))
        self.assertIn("test_three is not in the binary", outcome.output)

    def test_every_declared_test_of_a_broken_build_fails(self):
        outcome = self.suite(PASSING.replace("two", "two(") + "\n)\n")
        self.assertEqual((outcome.passed, outcome.failed), (0, 4))
        self.assertIn("error:", outcome.output)

    def test_example_passes_when_it_prints_what_it_says(self):
        text = '# Run: x\n# Prints: hello\ndef main():\n    print("hello")\n'
        outcome = self.example(text)
        self.assertEqual((outcome.passed, outcome.failed), (1, 0))
        outcome = self.example(text.replace('print("hello")', "print(1)"))
        self.assertEqual((outcome.passed, outcome.failed), (0, 1))
        self.assertIn("not printed: hello", outcome.output)

    def test_example_that_raises_fails(self):
        outcome = self.example('def main() raises:\n    raise Error("no")\n')
        self.assertEqual((outcome.passed, outcome.failed), (0, 1))

    def examples(self, *texts):
        items = [
            Item("example", self.write(f"examples/0{i}_sample.mojo", text))
            for i, text in enumerate(texts)
        ]
        runner = Runner(self.options)
        with contextlib.redirect_stdout(io.StringIO()) as self.said:
            runner.build_together("example", items)
        self.built = [item.name in runner.built for item in items]
        return [runner.test(item) for item in items]

    def test_programs_that_are_built_as_one_are_tested_one_by_one(self):
        says = """# Prints: {0}\ndef main():\n    print("{0}")\n"""
        outcomes = self.examples(
            says.format("one"),
            says.format("two").replace('"two"', '"three"'),
            'def main() raises:\n    raise Error("four")\n',
            'from std.sys import argv\n\n\ndef main():\n    var some = 1\n'
            '    if len(argv()) > 1:\n        print("five")\n',
        )
        self.assertEqual(self.built, [True] * 4)
        self.assertEqual([x.passed for x in outcomes], [1, 0, 0, 1])
        self.assertEqual([x.failed for x in outcomes], [0, 1, 1, 0])
        self.assertIn("not printed: two", outcomes[1].output)
        self.assertIn("four", outcomes[2].output)
        self.assertEqual([x.warnings for x in outcomes], [0, 0, 0, 1])

    def test_suites_that_are_built_as_one_are_tested_one_by_one(self):
        self.write("tests/__init__.mojo", '"""Holds tests."""\n')
        items = []
        for name, second in (("first", FAILING), ("second", ABORTING)):
            self.write(f"tests/{name}/__init__.mojo", '"""Holds tests."""\n')
            self.write(f"tests/{name}/test_a.mojo", PASSING)
            self.write(f"tests/{name}/test_b.mojo", second)
            text = ALL.replace("tests.sample", f"tests.{name}")
            items.append(Item("tests", self.write(f"tests/{name}/all.mojo", text)))
        runner = Runner(self.options)
        with contextlib.redirect_stdout(io.StringIO()):
            runner.build_together("tests", items)
        self.assertEqual(len(runner.built), 2)
        outcomes = [runner.test(item) for item in items]
        self.assertEqual([(x.passed, x.failed) for x in outcomes], [(4, 1), (3, 2)])

    def test_a_program_that_does_not_build_leaves_the_others(self):
        right = "def main():\n    pass\n"
        unknown = "def main():\n    nothing()\n"
        outcomes = self.examples(right, "def main(:\n", right, unknown)
        self.assertEqual(self.built, [True, False, True, False])
        self.assertEqual([x.passed for x in outcomes], [1, 0, 1, 0])
        for outcome in (outcomes[1], outcomes[3]):
            self.assertIn("build failed", outcome.output)

    def test_what_the_compiler_says_about_no_program_is_printed(self):
        right = "def main():\n    pass\n"
        options = ["--no-such-option"]
        with mock.patch.object(Runner, "options_of", return_value=options):
            outcomes = self.examples(right, right)
        self.assertEqual(self.built, [False, False])
        self.assertIn("error", self.said.getvalue())
        self.assertEqual([x.failed for x in outcomes], [1, 1])

    def test_hanging_process_ends_at_its_limit(self):
        finished = run_tests.run(["sh", "-c", "sleep 60 & wait"], 0.2)
        self.assertTrue(finished.timed_out)
        self.assertNotEqual(finished.code, 0)

    def test_the_time_of_a_process_and_of_its_children_is_counted(self):
        count = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
        finished = run_tests.run(["sh", "-c", f"sh -c '{count}'; {count}"], 60)
        once = run_tests.run(["sh", "-c", count], 60)
        self.assertEqual((finished.code, once.code), (0, 0))
        self.assertGreater(once.cpu_seconds, 0.02)
        self.assertGreater(finished.cpu_seconds, once.cpu_seconds * 1.3)

    def test_each_group_of_suites_has_its_suites_and_the_last_all_others(self):
        suites = {x.parent.name for x in (REPOSITORY / "tests").glob("*/all.mojo")}
        for names in run_tests.SUITE_GROUPS.values():
            self.assertLessEqual(set(names), suites)
        for name, group in (
            ("tests/tls/all.mojo", "suites of the server"),
            ("tests/new/all.mojo", "other suites"),
            ("tests/simulation/all.mojo", "fuzz"),
            ("fuzz/fuzz_a.mojo", "fuzz"),
            ("tests/python/test_a.py", ""),
        ):
            self.write(name, "")
            kind = "python" if name.endswith(".py") else name.split("/")[0]
            item = Item(kind, run_tests.ROOT / name)
            self.assertEqual(run_tests.group_of(item), group, name)

    def test_tests_that_are_named_are_there(self):
        for name in (*run_tests.BUILDERS, *run_tests.MEASURED):
            self.assertTrue((REPOSITORY / name).exists(), name)

    def test_each_call_of_a_queue_happens_once(self):
        seen = []
        builds = deque(partial(seen.append, i) for i in range(50))
        tests = deque(partial(seen.append, i) for i in range(50, 100))
        with ThreadPoolExecutor(3) as pool:
            for queues in ((builds, tests), (builds, tests), (tests,)):
                pool.submit(run_tests.drain, *queues)
        self.assertEqual(sorted(seen), list(range(100)))
        self.assertFalse(builds or tests)

    def test_items_wait_for_the_build_of_their_group_alone(self):
        for name in ("a", "b"):
            self.write(f"fuzz/fuzz_{name}.mojo", "")
        items = [
            Item("fuzz", run_tests.ROOT / f"fuzz/fuzz_{name}.mojo")
            for name in ("a", "b")
        ]
        lonely = Item("python", run_tests.ROOT / "tests/python/test_a.py")
        runner = mock.Mock(options=argparse.Namespace(asan=False))
        runner.build_together.side_effect = RuntimeError
        builds, built_by = run_tests.plan_builds(runner, [*items, lonely])
        self.assertEqual(set(built_by), {"fuzz/fuzz_a.mojo", "fuzz/fuzz_b.mojo"})
        done = built_by["fuzz/fuzz_a.mojo"]
        self.assertIs(done, built_by["fuzz/fuzz_b.mojo"])
        # The driver for the test in Python, then the group. One that fails must
        # not keep its items waiting.
        builds.popleft()()
        self.assertFalse(done.is_set())
        with self.assertRaises(RuntimeError):
            builds.popleft()()
        self.assertTrue(done.is_set())
        self.assertFalse(builds)

    def test_skipped_tests_are_named_before_the_closing_line(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = run_tests.print_summary({"a": run_tests.Outcome(1, 0, 2)})
        self.assertEqual(code, 0)
        lines = said.getvalue().splitlines()
        self.assertEqual(lines[-3:], ["2 skipped: not known to work", "", "1 passed, 0 failed"])

    def test_no_more_programs_are_built_at_once_than_asked_for(self):
        present, most = [], []

        def build(command, seconds):
            present.append(command)
            most.append(len(present))
            time.sleep(0.05)
            present.pop()
            return run_tests.Finished(0, "")

        runner = Runner(self.options)
        source = self.write("tests/sample/all.mojo", ALL)
        with mock.patch.object(run_tests, "run", build):
            with ThreadPoolExecutor(5) as pool:
                for _ in range(5):
                    pool.submit(
                        runner.compile, "tests", source, self.root / "x", False
                    )
        self.assertEqual((len(most), max(most)), (5, 2))

    def test_a_program_is_built_once_for_all_test_files(self):
        program = self.root / "server"
        builds = []

        def make():
            builds.append(program.exists())
            time.sleep(0.2)
            program.touch()

        with ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(tested_programs._once, program, "stamp", make)
        self.assertEqual(builds, [False])

    def test_what_passed_is_not_printed_with_a_failure(self):
        outcome = self.suite(FAILING)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(run_tests.print_summary({"a": outcome}), 1)
        self.assertNotIn("PASS", said.getvalue())
        self.assertIn("test_that_fails", said.getvalue())
        self.assertTrue(said.getvalue().endswith("4 passed, 1 failed\n"))

    def test_everything_is_discovered(self):
        for path in (
            "tests/net/all.mojo",
            "tests/proto/h1/all.mojo",
            "examples/01_a.mojo",
            "fuzz/fuzz_a.mojo",
            "fuzz/harness.mojo",
            "tests/python/test_a.py",
        ):
            self.write(path, "")
        self.assertEqual(
            [item.name for item in run_tests.discover()],
            [
                "tests/python/test_a.py",
                "tests/net",
                "tests/proto/h1",
                "fuzz/fuzz_a.mojo",
                "examples/01_a.mojo",
            ],
        )
