"""Builds and runs every test, example and fuzz harness, and counts exactly.

Everything is discovered: tests/**/all.mojo, examples/*.mojo,
fuzz/fuzz_*.mojo and tests/python/test_*.py. A binary that aborts or hangs is
run again test by test. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore, Event, Timer

from combined_build import is_alone, link, module_of, write_sources
from driver_library import BuildError
from library_package import ENVIRONMENT as COMPILER_ENVIRONMENT
from library_package import BUILD, compiler, include_options, precompile
from quick import make_driver, program_options
from suite_report import Report, declared_tests, parse_report
from tested_programs import build_together as build_tested_programs

ROOT = Path(__file__).resolve().parent.parent
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
BUILD_SECONDS_MAX = 900
BINARY_SECONDS_MAX = 300
TEST_SECONDS_MAX = 60
# How often a build of several programs is begun again without those that failed.
COMBINED_BUILDS_MAX = 3
# From how many programs on it pays to parse the library once, and to build
# small programs as one.
MANY = 4
# What is built as one program. Suites that instantiate the same parts of the
# library share most of a build; the cost of one build grows faster than its size,
# and most of it runs on one thread. The last group takes every other suite.
SUITE_GROUPS = {
    "suites of the server": ("server", "testing", "tls", "routing", "ws"),
    "suites of the client": ("client", "encoding"),
    "suites of handlers": ("http", "files", "metrics", "session", "openapi"),
    "suites of messages": ("json", "message", "proto", "proto_h2", "proto_ws", "fuzz"),
    "other suites": (),
}
GROUPS = (*SUITE_GROUPS, "fuzz", "example")
# Most tests in Python wait for peers and clocks. These build programs all the
# time, so they begin when the builds for several items are done: what one core
# does, another one of the same machine does not.
BUILDERS = (
    "tests/python/test_wheel.py",
    "tests/python/test_planted.py",
    "tests/python/test_programs.py",
    "tests/python/test_program_sizes.py",
    "tests/python/test_debug_builds.py",
)
# These measure what a server takes of a processor, which is up to twice as much
# beside builds: they run when all others have ended, one after the other.
MEASURED = (
    "tests/python/test_allocations.py",
    "tests/python/test_h2_hostile.py",
    "tests/python/test_status_browser.py",
    "tests/python/test_ws_hostile.py",
    "tests/python/test_ws_topics.py",
)
NOT_LISTED_ADVICE = """
`__functions_in_module()` of Mojo 1.2 can end early at a function that stands
between the tests. Put every other function of the module below the last test.
"""
BUILT_ONLY = {"demo"}
# What is built over the driver library.
CALLS_DRIVER = {"python", "example"}
PASSED_LINE = re.compile(r"^ *PASS \[.*\n?", re.MULTILINE)
ENVIRONMENT = {
    **COMPILER_ENVIRONMENT,
    # An empty List of Mojo's own library trips over this one check.
    "ASAN_OPTIONS": "detect_container_overflow=0",
}


# What draws its inputs checks each assertion too: a mistake shows where it is
# made, not only where it happens to do harm.
ASSERTED = ["-D", "ASSERT=all"]
ASSERTED_SUITE = "tests/simulation"


@dataclass
class Outcome:
    """Counts the tests of one item and keeps what a failure printed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    output: str = ""
    warnings: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass
class Item:
    """Names one source file and how it is tested."""

    kind: str
    source: Path

    @property
    def name(self) -> str:
        path = self.source.relative_to(ROOT)
        return str(path.parent if self.kind == "tests" else path)

    @property
    def binary(self) -> Path:
        return ROOT / "build" / self.name.removesuffix(".mojo")

    def lines_about(self, output: str) -> list[str]:
        """Takes from the compiler's output what is about this item, also where
        it was built with others."""
        places = (f"/{module_of(self.source)}.mojo:", f"/{self.name}/")
        return [
            line
            for line in output.splitlines()
            if any(place in line for place in places)
        ]


@dataclass
class Finished:
    """Holds what a process printed and how it ended."""

    code: int
    output: str
    cpu_seconds: float = 0.0
    timed_out: bool = False


def discover() -> list[Item]:
    """Lists everything that can be tested, slow items first."""
    found = [
        ("python", "tests/python", "test_*.py"),
        ("tests", "tests", "**/all.mojo"),
        ("fuzz", "fuzz", "fuzz_*.mojo"),
        ("example", "examples", "*.mojo"),
    ]
    return [
        Item(kind, path)
        for kind, folder, pattern in found
        for path in sorted((ROOT / folder).glob(pattern))
    ]


def group_of(item: Item) -> str:
    """Names what an item is built with as one program; "" if it is alone."""
    if item.kind == "python" or is_alone(item.source):
        return ""
    if item.name == ASSERTED_SUITE:
        return "fuzz"
    if item.kind != "tests":
        return item.kind
    suite = item.source.parent.name
    listed = (name for name, suites in SUITE_GROUPS.items() if suite in suites)
    return next(listed, list(SUITE_GROUPS)[-1])


def run(command: list[str], seconds: float) -> Finished:
    """Runs a process group to its end or to its time limit."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    timed_out = Event()

    def end() -> None:
        timed_out.set()
        os.killpg(process.pid, signal.SIGKILL)

    clock = Timer(seconds, end)
    clock.start()
    text = process.stdout.read().decode(errors="replace")
    # Unlike Popen.wait, this tells what the process and its children used.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    clock.cancel()
    clock.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if timed_out.is_set():
        text += f"\nended after {seconds:.0f} s\n"
    return Finished(
        process.returncode,
        text,
        usage.ru_utime + usage.ru_stime,
        timed_out.is_set(),
    )


def outcome_of(report: Report, finished: Finished) -> Outcome:
    """Counts what a process that ran tests reported."""
    return Outcome(
        len(report.passed),
        len(report.failed),
        len(report.skipped),
        cpu_seconds=finished.cpu_seconds,
    )


class Runner:
    """Builds and runs items with the options of the command line."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.built: dict[str, Finished] = {}
        self.build_slots = BoundedSemaphore(max(1, options.jobs))

    def test(self, item: Item) -> Outcome:
        """Builds and runs one item."""
        started = time.monotonic()
        if item.kind == "python":
            outcome = self.run_python(item)
        else:
            finished = self.build(item)
            warnings = finished.output.count(": warning: ")
            if finished.code != 0:
                outcome = self.build_failed(item, finished)
            elif item.kind == "tests":
                outcome = self.run_suite(item)
            else:
                outcome = self.run_once(item)
            outcome.warnings = warnings
            outcome.cpu_seconds += finished.cpu_seconds
        outcome.seconds = time.monotonic() - started
        return outcome

    def build_together(self, group: str, items: list[Item]) -> None:
        """Builds all items of a group as one program, without those that do not
        compile: they are built alone, and say why."""
        folder = ROOT / "build" / "combined" / group.replace(" ", "_")
        binary = folder / folder.name
        for _ in range(COMBINED_BUILDS_MAX):
            started = time.monotonic()
            entry = write_sources([item.source for item in items], folder)
            kind = items[0].kind
            finished = self.compile(kind, entry, binary, group == "fuzz")
            verdict = "failed" if finished.code else "ok"
            print(
                f"{verdict:6} {len(items)} programs as one, {group}:"
                f" {time.monotonic() - started:.1f} s,"
                f" {finished.cpu_seconds:.1f} s of CPU time",
                flush=True,
            )
            if finished.code == 0:
                self.share(binary, items, finished)
                return
            said = finished.output
            sound = [
                item
                for item in items
                if ": error: " not in "\n".join(item.lines_about(said))
            ]
            if len(sound) < 2 or len(sound) == len(items):
                print(said, flush=True)
                return
            items = sound

    def share(self, binary: Path, items: list[Item], built: Finished) -> None:
        """Gives the items the program that holds all of them."""
        link(binary, [item.binary for item in items])
        for item in items:
            own = "\n".join(item.lines_about(built.output))
            self.built[item.name] = Finished(0, own)

    def build_driver(self) -> None:
        """Makes the driver library before programs ask for it: they would wait
        for it with a slot each."""
        with self.build_slots, contextlib.suppress(BuildError):
            make_driver()

    def build_tested_programs(self) -> None:
        """Builds the programs that tests in Python run."""
        with self.build_slots:
            problem = build_tested_programs()
        if problem:
            # Each of them is built alone now, which takes long.
            print(problem, flush=True)

    def build(self, item: Item) -> Finished:
        if item.name in self.built:
            return self.built[item.name]
        is_asserted = item.kind == "fuzz" or item.name == ASSERTED_SUITE
        return self.compile(item.kind, item.source, item.binary, is_asserted)

    def options_of(self, kind: str) -> list[str]:
        """Gives the options with which programs of a kind find flare."""
        if self.options.asan:
            # What is instrumented is compiled from its sources.
            return ["-I", str(ROOT)]
        if kind == "example":
            return program_options()
        return include_options(ROOT)

    def compile(
        self, kind: str, source: Path, binary: Path, is_asserted: bool
    ) -> Finished:
        binary.parent.mkdir(parents=True, exist_ok=True)
        # What an earlier run has linked to others must not be written over.
        binary.unlink(missing_ok=True)
        extra = []
        if self.options.asan:
            extra += ["--sanitize", "address", "-g1", "-D", "ASAN"]
        if is_asserted:
            extra += ASSERTED
        for define in self.options.define:
            extra += ["-D", define]
        extra += ["-o", str(binary), str(source)]
        with self.build_slots:
            try:
                command = [str(MOJO), *BUILD, *self.options_of(kind), *extra]
            except BuildError as error:
                return Finished(1, str(error))
            return run(command, BUILD_SECONDS_MAX)

    def build_failed(self, item: Item, finished: Finished) -> Outcome:
        count = 1
        if item.kind == "tests":
            count = max(1, declared_tests(item.source).total())
        return Outcome(0, count, output="build failed\n" + finished.output)

    def run_suite(self, item: Item) -> Outcome:
        """Runs a test binary, and alone what it did not report."""
        finished = run([str(item.binary)], BINARY_SECONDS_MAX)
        report = parse_report(finished.output)
        outcome = outcome_of(report, finished)
        output = finished.output
        lost = declared_tests(item.source) - report.names()
        for name in sorted(lost):
            alone = run([str(item.binary), "--only", name], TEST_SECONDS_MAX)
            again = parse_report(alone.output)
            passed = min(lost[name], again.passed.count(name))
            outcome.passed += passed
            outcome.failed += lost[name] - passed
            is_whole = alone.code == 1 and "Sanitizer" not in alone.output
            if is_whole and name not in again.names():
                output += f"\n{name} is not in the binary"
            elif passed < lost[name]:
                output += f"\n{name} alone: exit code {alone.code}\n"
                output += alone.output
        if "is not in the binary" in output:
            output += NOT_LISTED_ADVICE
        if finished.code != 0 and outcome.failed == 0:
            output += f"\nexit code {finished.code}, though no test failed\n"
            if lost:
                output += f"{lost.total()} tests were not reported, and pass"
                output += f" when they run alone: {', '.join(sorted(lost))}\n"
            outcome.failed = 1
        if outcome.failed:
            outcome.output = output
        return outcome

    def run_once(self, item: Item) -> Outcome:
        """Runs an example or a harness, which counts as one test."""
        if item.kind == "example" and item.source.stem in BUILT_ONLY:
            return Outcome(1, 0)
        command, seconds = [str(item.binary)], TEST_SECONDS_MAX
        if item.kind == "fuzz":
            command += ["--runs", str(self.options.fuzz_runs)]
            # At least 1,000 runs a second, on a machine that is busy.
            seconds = BINARY_SECONDS_MAX + self.options.fuzz_runs / 1000
        finished = run(command, seconds)
        if self.options.verbose:
            print(f"{item.name}\n{finished.output}", flush=True)
        missing = [
            text
            for text in re.findall(
                r"^# Prints: (.*)$", item.source.read_text(), re.MULTILINE
            )
            if text.strip() not in finished.output
        ]
        used = finished.cpu_seconds
        if finished.code == 0 and not missing:
            return Outcome(1, 0, cpu_seconds=used)
        output = finished.output + f"exit code {finished.code}\n"
        output += "".join(f"not printed: {text}\n" for text in missing)
        return Outcome(0, 1, output=output, cpu_seconds=used)

    def run_python(self, item: Item) -> Outcome:
        driver = ROOT / "tools/python_suite.py"
        finished = run(
            [sys.executable, str(driver), str(item.source)], BUILD_SECONDS_MAX
        )
        report = parse_report(finished.output)
        outcome = outcome_of(report, finished)
        declared = len(
            re.findall(r"^    def test_", item.source.read_text(), re.MULTILINE)
        )
        outcome.failed += max(0, declared - report.names().total())
        if finished.code != 0 and outcome.failed == 0:
            outcome.failed = 1
        if outcome.failed or outcome.skipped:
            outcome.output = finished.output
        return outcome


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", metavar="PATTERN", default="", help="items that match")
    add("--jobs", type=int, default=2, help="builds at once (default 2)")
    add("--asan", action="store_true", help="tests under AddressSanitizer")
    add("--list", action="store_true", help="print the items and stop")
    add("--fuzz-runs", type=int, default=20_000, metavar="N")
    add("--verbose", action="store_true", help="print what harnesses print")
    add("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args()


def without_passed(output: str) -> str:
    """Leaves out the lines of tests that passed: a log that is cut short then
    still says what failed."""
    return PASSED_LINE.sub("", output).rstrip()


def print_summary(results: dict[str, Outcome]) -> int:
    """Prints times, failures and the count; returns the exit code."""
    print("\nseconds      CPU  passed  failed  skipped  warnings")
    ranked = sorted(results.items(), key=lambda pair: -pair[1].seconds)
    for name, outcome in ranked:
        print(
            f"{outcome.seconds:7.1f} {outcome.cpu_seconds:8.1f}"
            f" {outcome.passed:7} {outcome.failed:7}"
            f" {outcome.skipped:8} {outcome.warnings:9}  {name}"
        )
    # At the end, where a log that was cut still shows them.
    for name, outcome in results.items():
        if outcome.output:
            verdict = "FAILED" if outcome.failed else "skipped tests"
            print(f"\n==== {name}: {verdict}\n{without_passed(outcome.output)}")
    skipped = sum(outcome.skipped for outcome in results.values())
    if skipped:
        # The closing line is for what ran.
        print(f"\n{skipped} skipped: not known to work")
    passed = sum(outcome.passed for outcome in results.values())
    failed = sum(outcome.failed for outcome in results.values())
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def plan_builds(
    runner: Runner, items: list[Item]
) -> tuple[deque[Callable[[], None]], dict[str, Event]]:
    """Lists what is built for several items at once, and what tells each item
    that it is there. What tests in Python wait for comes first: they take longest.
    """
    builds: deque[Callable[[], None]] = deque()
    built_by: dict[str, Event] = {}

    def add(members: list[Item], build: Callable[[], None]) -> None:
        done = Event()
        built_by.update((item.name, done) for item in members)

        def run_build() -> None:
            try:
                build()
            finally:
                done.set()

        builds.append(run_build)

    tested = [item for item in items if item.kind == "python"]
    if len(tested) >= MANY:
        # It makes the driver library first.
        add(tested, runner.build_tested_programs)
    elif any(item.kind in CALLS_DRIVER for item in items):
        add([], runner.build_driver)
    if not runner.options.asan:
        for group in GROUPS:
            members = [item for item in items if group_of(item) == group]
            if len(members) > 1:
                add(
                    members,
                    functools.partial(runner.build_together, group, members),
                )
    return builds, built_by


def drain(*queues: deque[Callable[[], None]]) -> None:
    """Calls what the queues hold, one after the other, beside other threads."""
    for queue in queues:
        while True:
            try:
                call = queue.popleft()
            except IndexError:
                break
            call()


def main() -> int:
    options = parse_arguments()
    items = [
        item
        for item in discover()
        if re.search(options.only, item.name)
        and (item.kind == "tests" or not options.asan)
    ]
    if options.list:
        print("\n".join(item.name for item in items))
        return 0
    is_many = len(items) >= MANY
    if is_many and not options.asan:
        # Where it cannot be made, each build says why.
        precompile(ROOT, compiler(MOJO))
    runner = Runner(options)
    results: dict[str, Outcome] = {}
    builds, built_by = plan_builds(runner, items) if is_many else (deque(), {})

    def test(item: Item) -> None:
        if item.name in built_by:
            built_by[item.name].wait()
        outcome = runner.test(item)
        verdict = "FAILED" if outcome.failed else "ok"
        print(
            f"{verdict:6} {item.name}: {outcome.passed} passed,"
            f" {outcome.failed} failed, {outcome.seconds:.1f} s,"
            f" {outcome.cpu_seconds:.1f} s of CPU time",
            flush=True,
        )
        results[item.name] = outcome

    tests: deque[Callable[[], None]] = deque()
    building: deque[Callable[[], None]] = deque()
    measured: deque[Callable[[], None]] = deque()
    for item in items:
        queue = tests
        if item.name in BUILDERS:
            queue = building
        elif item.name in MEASURED:
            queue = measured
        queue.append(functools.partial(test, item))
    jobs = max(1, options.jobs)
    with ThreadPoolExecutor(jobs + 1) as pool:
        working = [
            pool.submit(drain, builds, building, tests) for _ in range(jobs)
        ]
        working.append(pool.submit(drain, tests, building))
        for future in working:
            future.result()
    drain(measured)
    return print_summary(results)


if __name__ == "__main__":
    sys.exit(main())
