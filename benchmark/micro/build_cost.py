"""Measures what a program costs to build.

Two figures tell. The user CPU of a build with an empty cache is what a person
waits for; it varies with the machine, so that only a ratio within one run is
worth comparing. The functions and lines of LLVM IR do not vary, because they
are asked for one processor that is named; they are held by `sizes.txt`.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import quick  # noqa: E402

PROGRAMS = ROOT / "benchmark" / "micro" / "programs"
SIZES = PROGRAMS / "sizes.txt"
SECONDS_MAX = 900
# The lines depend on the vectors that the processor has.
PROCESSOR = ("--target-triple", "x86_64-unknown-linux-gnu")
PROCESSOR += ("--target-cpu", "x86-64-v3")
README_PROGRAMS = ("server", "client")
# Those of README again, as with a wheel: they call the driver library.
OVER_DRIVER = "-over-driver"
ROUND_LINES = 1000
ROUND_FUNCTIONS = 10
HEAD = """\
# The most functions and lines of LLVM IR that each program may come to.
# They only fall: `benchmark/micro/run build --settle` lowers them.
"""


@dataclass(frozen=True)
class Size:
    """Counts the LLVM IR of a program."""

    functions: int
    lines: int

    def rounded_up(self) -> Size:
        """Gives the bound that a program of this size is held to."""
        return Size(
            -(-self.functions // ROUND_FUNCTIONS) * ROUND_FUNCTIONS,
            -(-self.lines // ROUND_LINES) * ROUND_LINES,
        )


def write_programs(folder: Path) -> dict[str, Path]:
    """Writes the programs out, smallest first: those of README come last."""
    names = ("print", "net", "json", "connect")
    programs = {name: PROGRAMS / f"{name}.mojo" for name in names}
    blocks = re.findall(
        r"^```mojo\n(.*?)^```$",
        (ROOT / "README.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    for name, block in zip(README_PROGRAMS, blocks):
        source = folder / f"{name}.mojo"
        source.write_text(block)
        programs[name] = source
        programs[name + OVER_DRIVER] = source
    return programs


def include_options(name: str, whole: list[str]) -> list[str]:
    """Gives the options with which a program finds flare: those given, or if it
    calls the driver library those of the package that a wheel has."""
    if name.endswith(OVER_DRIVER):
        return ["-I", str(quick.make_driver())]
    return whole


def compile_program(options: list[str], source: Path, target: Path) -> float:
    """Compiles with an empty cache, and gives the seconds of user CPU."""
    mojo = os.environ.get("MOJO", str(ROOT / ".venv/bin/mojo"))
    with tempfile.TemporaryDirectory() as cache:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [mojo, "build", *options, "-o", str(target), str(source)],
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            env={
                **os.environ,
                "MODULAR_CACHE_DIR": cache,
                "MODULAR_CRASH_REPORTING_ENABLED": "false",
                "MODULAR_TELEMETRY_ENABLED": "false",
            },
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if done.returncode != 0:
        raise RuntimeError(f"{source}: {done.stdout}{done.stderr}")
    return after - before


def user_seconds(source: Path, include: list[str]) -> float:
    """Builds a program and gives the seconds of user CPU."""
    with tempfile.TemporaryDirectory() as folder:
        return compile_program(include, source, Path(folder) / "program")


def size_of(source: Path, include: list[str]) -> Size:
    """Counts the functions and lines that a program comes to."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "program.ll"
        options = ["--emit", "llvm", *PROCESSOR, *include]
        compile_program(options, source, target)
        functions = lines = 0
        with target.open() as text:
            for line in text:
                lines += 1
                functions += line.startswith("define ")
    return Size(functions, lines)


def read_sizes() -> dict[str, Size]:
    """Reads the bounds."""
    sizes = {}
    for line in SIZES.read_text().splitlines():
        if not line.startswith("#"):
            name, functions, lines = line.split()
            sizes[name] = Size(int(functions), int(lines))
    return sizes


def settled(bounds: dict[str, Size], sizes: dict[str, Size]) -> str:
    """Writes the bounds with those lowered that can be."""
    text = HEAD
    for name, size in sizes.items():
        now = size.rounded_up()
        was = bounds.get(name, now)
        functions = min(was.functions, now.functions)
        text += f"{name} {functions} {min(was.lines, now.lines)}\n"
    return text


def excess(bounds: dict[str, Size], sizes: dict[str, Size]) -> list[str]:
    """Says which programs have grown beyond their bounds."""
    found = []
    for name, size in sizes.items():
        bound = bounds[name]
        if size.functions > bound.functions or size.lines > bound.lines:
            found.append(
                f"{name}: {size.functions} functions and {size.lines} lines of"
                f" LLVM IR; {SIZES.name} allows {bound.functions} and"
                f" {bound.lines}"
            )
    return found
