"""Checks that rules of the library have tests that fail without them.

Each tests/planted/<subject>/<rule>.fault replaces one text in one source of a copy
of the tree, and names the test that must then fail: `FILE:NAME`. A test in Mojo
is built from the copy. For one in Python, the program is, which it talks to.

    tools/planted_rules.py [--only PATTERN] [--jobs N] [--list]
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted import Fault, FaultError, parse_fault, plant, unplantable
from run_tests import BUILD_SECONDS_MAX, MOJO, ROOT, run
from suite_report import parse_report

FOLDER = ROOT / "tests" / "planted"
TEST_SECONDS_MAX = 120
# How a process ends by tests/asserting.mojo.
COMPARISON_FAILED = 3
# The program that the tests in Python of a subject talk to.
PROGRAMS = {"files": "tests/programs/files.mojo"}
SUITE = '''"""Runs one module of tests."""

from std.testing import TestSuite

from {package} import {module}


def main() raises:
    TestSuite.discover_tests[{module}.TESTS]().run()
'''
PYTHON = """
import sys
import unittest
from pathlib import Path

program, module, name = sys.argv[1:]
import tested_programs

tested_programs.build = lambda source: Path(program)
tests = unittest.defaultTestLoader.loadTestsFromName(module)
chosen = unittest.TestSuite(
    test for suite in tests for test in suite if name in test.id()
)
result = unittest.TextTestRunner().run(chosen)
print("ran", result.testsRun, "failed", len(result.failures), len(result.errors))
"""


def try_fault(fault: Fault) -> tuple[bool, str]:
    """Plants a fault and runs its test; gives whether it failed, and what
    happened."""
    holder = ROOT / "build/planted_rules" / fault.path.parent.name / fault.path.stem
    shutil.rmtree(holder, ignore_errors=True)
    tree = holder / "tree"
    tree.mkdir(parents=True)
    try:
        plant([fault], ROOT, tree)
        file, name = test_of(fault)
        if file.endswith(".py"):
            return _try_python(fault, tree, Path(file).stem, name)
        return _try_mojo(tree, Path(file), name)
    except FaultError as error:
        return False, str(error)
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def test_of(fault: Fault) -> tuple[str, str]:
    """Gives file and name of the test that must find a fault."""
    file, _, name = (fault.test or "").partition(":")
    path = ROOT / file
    if not path.is_file() or f"def {name}(" not in path.read_text():
        raise FaultError(f"there is no test {fault.test}")
    return file, name


def problems(paths: list[Path]) -> list[str]:
    """Lists the faults that cannot be planted, or whose test is not there."""
    found = unplantable(paths, ROOT)
    for path in paths:
        try:
            test_of(parse_fault(path))
        except FaultError as error:
            found.append(f"{path.relative_to(ROOT).as_posix()}: {error}")
    return found


def _build(tree: Path, source: Path) -> Path:
    program = tree.parent / "program"
    options = ["-I", str(tree), "-o", str(program), str(source)]
    built = run([str(MOJO), "build", *options], BUILD_SECONDS_MAX)
    if built.code != 0:
        raise FaultError("it does not compile\n" + built.output)
    return program


def _try_mojo(tree: Path, file: Path, name: str) -> tuple[bool, str]:
    package = ".".join(file.parent.parts)
    entry = tree.parent / "suite.mojo"
    entry.write_text(SUITE.format(package=package, module=file.stem))
    # A comparison that fails ends the process, and so hides later tests.
    command = [str(_build(tree, entry)), "--only", name]
    finished = run(command, TEST_SECONDS_MAX)
    report = parse_report(finished.output)
    if name in report.passed:
        return False, f"{name} passes"
    if name in report.failed or finished.code == COMPARISON_FAILED:
        return True, name
    # It has crashed, or does not end.
    return finished.code != 0, f"exit code {finished.code}"


def _try_python(
    fault: Fault, tree: Path, module: str, name: str
) -> tuple[bool, str]:
    source = tree / PROGRAMS[fault.path.parent.name]
    program = _build(tree, source)
    paths = [str(ROOT / "tools"), str(ROOT / "tests/python")]
    opening = f"import sys; sys.path[:0] = {paths!r}\n"
    finished = run(
        [sys.executable, "-c", opening + PYTHON, str(program), module, name],
        TEST_SECONDS_MAX,
    )
    said = re.search(r"^ran (\d+) failed (\d+) (\d+)$", finished.output, re.M)
    if not said or said[1] == "0":
        raise FaultError("the test did not run\n" + finished.output)
    return said[2] != "0" or said[3] != "0", name


def main() -> int:
    """Tries the faults of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--list", action="store_true", help="try none; list those that do not fit"
    )
    options = parser.parse_args()
    paths = [
        path
        for path in sorted(FOLDER.glob("*/*.fault"))
        if re.search(options.only, path.as_posix())
    ]
    if options.list:
        found = problems(paths)
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    faults = [parse_fault(path) for path in paths]

    def attempt(fault: Fault) -> bool:
        is_found, what = try_fault(fault)
        verdict = "found " if is_found else "MISSED"
        name = fault.path.relative_to(FOLDER).as_posix()
        print(f"{verdict} {name}: {what}", flush=True)
        return is_found

    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(attempt, faults))
    print(f"{len(found)} rules, {found.count(False)} without a test")
    return 0 if found and all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
