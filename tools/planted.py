"""Checks that each fuzz harness finds the faults planted for it.

Each fuzz/planted/<module>/<fault>.fault replaces one text in one source of a
copy of the tree; fuzz/fuzz_<module>.mojo must then exit with 1. Harnesses that
do not import each other's faulty sources are built as one program.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from combined_build import is_alone, link, write_sources
from library_package import BUILD
from run_tests import (
    ASSERTED,
    BINARY_SECONDS_MAX,
    BUILD_SECONDS_MAX,
    MOJO,
    ROOT,
    run,
)
from tidy_rooms import Tree
from tidy_source import Source

RUNS_MAX = 300_000
FAULTS_MIN = 3
FORMAT = re.compile(
    r"file (?P<file>\S+)\n(?:test (?P<test>\S+)\n)?why (?P<why>[^\n]+)\n"
    r"<<<<<<<\n(?P<old>.*?)\n"
    r"=======\n(?P<new>.*?)\n?>>>>>>>\n?",
    re.DOTALL,
)
FOUND = re.compile(r"^run (\d+), seed", re.MULTILINE)


class FaultError(Exception):
    """Says why a fault cannot be planted."""


@dataclass
class Fault:
    """Holds what one .fault file says."""

    path: Path
    file: str
    why: str
    old: str
    new: str
    # The test that must find it, if that is no harness.
    test: str | None = None

    @property
    def harness(self) -> str:
        return f"fuzz_{self.path.parent.name}"


def parse_fault(path: Path) -> Fault:
    """Reads one .fault file."""
    match = FORMAT.fullmatch(path.read_text())
    if not match:
        raise FaultError("it does not have the form of a fault")
    return Fault(path, **match.groupdict())


def plant(faults: list[Fault], root: Path, copy: Path) -> None:
    """Makes `copy` a tree of links to `root` that differs in the files of the
    faults."""
    changed = {}
    for fault in faults:
        source = root / fault.file
        if not source.is_file():
            raise FaultError(f"{fault.file} does not exist")
        text = source.read_text()
        count = text.count(fault.old)
        if count != 1:
            raise FaultError(
                f"the old text occurs {count} times in {fault.file}"
            )
        changed[Path(fault.file)] = text.replace(fault.old, fault.new)
    _link(Path(), changed, root, copy)


def _link(
    folder: Path, changed: dict[Path, str], root: Path, copy: Path
) -> None:
    (copy / folder).mkdir(exist_ok=True)
    for entry in (root / folder).iterdir():
        path = entry.relative_to(root)
        if entry.name.startswith(".") or entry.name == "build":
            continue
        if path in changed:
            (copy / path).write_text(changed[path])
        elif any(path in other.parents for other in changed):
            _link(path, changed, root, copy)
        else:
            (copy / path).symlink_to(entry)


def sources_of(root: Path) -> Callable[[str], frozenset[str]]:
    """Returns the function that lists the sources of a harness: its own, and
    all that it imports."""
    files = [
        file
        for folder in ("flare", "fuzz", "tests")
        for file in sorted((root / folder).glob("**/*.mojo"))
    ]
    tree = Tree(
        [
            Source(file.relative_to(root).as_posix(), file.read_text())
            for file in files
        ]
    )

    @functools.lru_cache
    def find(harness: str) -> frozenset[str]:
        found: set[str] = set()
        left = [f"fuzz/{harness}"]
        while left:
            module = left.pop()
            if module in found or module not in tree.sources:
                continue
            found.add(module)
            left += [target for target, _ in tree.imports(module)]
        return frozenset(f"{module}.mojo" for module in found)

    return find


def group(
    faults: list[Fault], sources: Callable[[str], frozenset[str]], root: Path
) -> list[list[Fault]]:
    """Divides faults into groups that can be planted together: each harness
    imports no faulty source but its own."""
    groups: list[list[Fault]] = []
    alone: list[list[Fault]] = []
    for fault in sorted(faults, key=lambda one: -len(sources(one.harness))):
        if is_alone(root / "fuzz" / f"{fault.harness}.mojo"):
            alone.append([fault])
            continue
        for members in groups:
            if all(
                fault.file not in sources(other.harness)
                and other.file not in sources(fault.harness)
                for other in members
            ):
                members.append(fault)
                break
        else:
            groups.append([fault])
    return groups + alone


def try_group(faults: list[Fault], runs: int) -> list[bool]:
    """Plants faults, runs their harnesses, prints and returns for each whether
    it was found."""
    started = time.monotonic()
    # Always the same place: the paths in a binary are part of the key by which
    # the compiler finds again what it has built before.
    first = faults[0].path
    holder = ROOT / "build/planted" / first.parent.name / first.stem
    shutil.rmtree(holder, ignore_errors=True)
    try:
        (holder / "tree").mkdir(parents=True)
        try:
            plant(faults, ROOT, holder / "tree")
            problem = build(faults, holder)
        except FaultError as error:
            problem = str(error)
        if problem and len(faults) > 1:
            # Each says alone what is wrong with it.
            return [one for each in faults for one in try_group([each], runs)]
        seconds = time.monotonic() - started
        print(f"{len(faults)} built in {seconds:.1f} s", flush=True)
        found = []
        for fault in faults:
            is_found, what = False, problem
            if not problem:
                is_found, what = run_harness(holder / fault.harness, runs)
            verdict = "found " if is_found else "MISSED"
            name = fault.path.relative_to(ROOT / "fuzz/planted").as_posix()
            print(f"{verdict} {name}: {what}", flush=True)
            found.append(is_found)
        return found
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def build(faults: list[Fault], holder: Path) -> str:
    """Builds the harnesses in a faulty tree; returns what the compiler says
    where that fails."""
    tree = holder / "tree"
    harnesses = [tree / "fuzz" / f"{fault.harness}.mojo" for fault in faults]
    if len(faults) == 1:
        binary, entry = holder / faults[0].harness, harnesses[0]
    else:
        entry = write_sources(harnesses, holder / "programs")
        binary = holder / "programs" / "harnesses"
    built = run(
        [str(MOJO), *BUILD, *ASSERTED, "-I", str(tree), "-o", str(binary),
         str(entry)],
        BUILD_SECONDS_MAX,
    )
    if built.code != 0:
        return "does not compile\n" + built.output
    if len(faults) > 1:
        link(binary, [holder / fault.harness for fault in faults])
    return ""


def run_harness(binary: Path, runs: int) -> tuple[bool, str]:
    """Runs a harness; returns whether it has found something, and what."""
    finished = run([str(binary), "--runs", str(runs)], BINARY_SECONDS_MAX)
    if finished.timed_out:
        return False, f"no finding in {BINARY_SECONDS_MAX} s"
    if finished.code != 1:
        return False, f"no finding in {runs} runs"
    match = FOUND.search(finished.output)
    if not match:
        return False, "exit code 1 without a run\n" + finished.output
    return True, f"run {match.group(1)}"


def sample_of(paths: list[Path], root: Path) -> list[Path]:
    """Chooses a fault of one harness. Other harnesses and other faults have their
    turn when sources change."""
    folders = sorted({path.parent for path in paths})
    everything = hashlib.sha256()
    chosen = []
    for folder in folders:
        faults = sorted(path for path in paths if path.parent == folder)
        digest = hashlib.sha256()
        for path in faults:
            digest.update((root / parse_fault(path).file).read_bytes())
        everything.update(digest.digest())
        chosen.append(faults[digest.digest()[0] % len(faults)])
    if not chosen:
        return []
    return [chosen[int.from_bytes(everything.digest()[:4], "big") % len(chosen)]]


def few_faults(root: Path) -> list[str]:
    """Lists the harnesses that have fewer faults than wanted."""
    problems = []
    for harness in sorted((root / "fuzz").glob("fuzz_*.mojo")):
        module = harness.stem.removeprefix("fuzz_")
        count = len(list((root / "fuzz/planted" / module).glob("*.fault")))
        if count < FAULTS_MIN:
            problems.append(f"{harness.name}: {count} faults of {FAULTS_MIN}")
    for folder in sorted((root / "fuzz/planted").glob("*/")):
        if not (root / "fuzz" / f"fuzz_{folder.name}.mojo").exists():
            problems.append(f"fuzz/planted/{folder.name}: it has no harness")
    return problems


def unplantable(paths: list[Path], root: Path) -> list[str]:
    """Lists the faults whose old text their source does not have once."""
    problems = []
    for path in paths:
        try:
            with tempfile.TemporaryDirectory() as copy:
                plant([parse_fault(path)], root, Path(copy))
        except FaultError as error:
            name = path.relative_to(root).as_posix()
            problems.append(f"{name}: {error}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--runs", type=int, default=RUNS_MAX)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--sample", action="store_true", help="one fault of one harness"
    )
    parser.add_argument(
        "--list", action="store_true",
        help="try none; list those that cannot be planted",
    )
    options = parser.parse_args()
    paths = [
        path
        for path in sorted((ROOT / "fuzz/planted").glob("*/*.fault"))
        if re.search(options.only, path.as_posix())
    ]
    if options.list:
        problems = unplantable(paths, ROOT) + few_faults(ROOT)
        print("\n".join(problems), end="\n" if problems else "")
        return 1 if problems else 0
    if options.sample:
        paths = sample_of(paths, ROOT)
    groups = group([parse_fault(path) for path in paths], sources_of(ROOT), ROOT)
    with ThreadPoolExecutor(options.jobs) as pool:
        tried = pool.map(lambda one: try_group(one, options.runs), groups)
        found = [one for members in tried for one in members]
    problems = few_faults(ROOT)
    for problem in problems:
        print(problem)
    missed = found.count(False)
    print(f"{len(paths)} faults, {missed} missed")
    return 1 if missed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
