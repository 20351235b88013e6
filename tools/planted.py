"""Checks that each fuzz harness finds the faults planted for it.

Each fuzz/planted/<module>/<fault>.fault replaces one text in one source of a
copy of the tree; fuzz/fuzz_<module>.mojo must then exit with 1.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from run_tests import (
    ASSERTED,
    BINARY_SECONDS_MAX,
    BUILD_SECONDS_MAX,
    MOJO,
    ROOT,
    run,
)

RUNS_MAX = 300_000
FAULTS_MIN = 3
FORMAT = re.compile(
    r"file (?P<file>\S+)\nwhy (?P<why>[^\n]+)\n<<<<<<<\n(?P<old>.*?)\n"
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

    @property
    def harness(self) -> str:
        return f"fuzz_{self.path.parent.name}"


def parse_fault(path: Path) -> Fault:
    """Reads one .fault file."""
    match = FORMAT.fullmatch(path.read_text())
    if not match:
        raise FaultError("it does not have the form of a fault")
    return Fault(path, **match.groupdict())


def plant(fault: Fault, root: Path, copy: Path) -> None:
    """Makes `copy` a tree of links to `root` that differs in one file."""
    source = root / fault.file
    if not source.is_file():
        raise FaultError(f"{fault.file} does not exist")
    text = source.read_text()
    count = text.count(fault.old)
    if count != 1:
        raise FaultError(f"the old text occurs {count} times in {fault.file}")
    folder = Path()
    for part in Path(fault.file).parts:
        target = copy / folder
        target.mkdir(exist_ok=True)
        for entry in (root / folder).iterdir():
            is_private = entry.name.startswith(".") or entry.name == "build"
            if entry.name != part and not is_private:
                (target / entry.name).symlink_to(entry)
        folder /= part
    changed = text.replace(fault.old, fault.new)
    (copy / fault.file).write_text(changed)


def try_fault(fault: Fault, runs: int) -> tuple[bool, str]:
    """Plants a fault, runs its harness and tells whether it was found."""
    # Always the same place: the paths in a binary are part of the key by which
    # the compiler finds again what it has built before.
    holder = ROOT / "build/planted" / fault.path.parent.name / fault.path.stem
    shutil.rmtree(holder, ignore_errors=True)
    try:
        copy = holder / "tree"
        copy.mkdir(parents=True)
        plant(fault, ROOT, copy)
        binary = holder / fault.harness
        source = copy / "fuzz" / f"{fault.harness}.mojo"
        built = run(
            [str(MOJO), "build", *ASSERTED, "-I", str(copy), "-o", str(binary),
             str(source)],
            BUILD_SECONDS_MAX,
        )
        if built.code != 0:
            return False, "does not compile\n" + built.output
        command = [str(binary), "--runs", str(runs)]
        finished = run(command, BINARY_SECONDS_MAX)
        if finished.timed_out:
            return False, f"no finding in {BINARY_SECONDS_MAX} s"
        if finished.code != 1:
            return False, f"no finding in {runs} runs"
        match = FOUND.search(finished.output)
        if not match:
            return False, "exit code 1 without a run\n" + finished.output
        return True, f"run {match.group(1)}"
    except FaultError as error:
        return False, str(error)
    finally:
        shutil.rmtree(holder)


def one_for_each(paths: list[Path], root: Path) -> list[Path]:
    """Chooses a fault for each harness, another when their sources change."""
    chosen = []
    for folder in sorted({path.parent for path in paths}):
        faults = sorted(path for path in paths if path.parent == folder)
        digest = hashlib.sha256()
        for path in faults:
            digest.update((root / parse_fault(path).file).read_bytes())
        chosen.append(faults[digest.digest()[0] % len(faults)])
    return chosen


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
                plant(parse_fault(path), root, Path(copy))
        except FaultError as error:
            name = path.relative_to(root).as_posix()
            problems.append(f"{name}: {error}")
    return problems


def report(path: Path, runs: int) -> bool:
    """Tries one fault, prints the verdict and returns whether it was found."""
    started = time.monotonic()
    try:
        found, what = try_fault(parse_fault(path), runs)
    except FaultError as error:
        found, what = False, str(error)
    verdict = "found " if found else "MISSED"
    name = path.relative_to(ROOT / "fuzz/planted").as_posix()
    seconds = time.monotonic() - started
    print(f"{verdict} {name}: {what} ({seconds:.1f} s)", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--runs", type=int, default=RUNS_MAX)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--sample", action="store_true", help="one fault for each harness"
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
        paths = one_for_each(paths, ROOT)
    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda path: report(path, options.runs), paths))
    problems = few_faults(ROOT)
    for problem in problems:
        print(problem)
    missed = found.count(False)
    print(f"{len(paths)} faults, {missed} missed")
    return 1 if missed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
