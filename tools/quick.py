"""Builds a program of a checkout quickly, as `mojo build` does with the wheel.

    tools/quick.py hello.mojo [-o hello] [-- OPTIONS OF mojo build]

The driver library (tools/driver_library.py) is made in `build/quick`, and the
sources become a precompiled package. Both are made again when a source of flare
has changed, or the compiler. The program finds the library by its RUNPATH. It
must not lie in a package of the checkout (a folder with `__init__.mojo`): there
the compiler finds the sources of flare before any package.
This is for the loop of change and trial: a program to ship or to measure is
built whole, with `mojo build`.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from driver_library import (
    HAS_DRIVER,
    build_options,
    driver_digest,
    driver_name,
    write_calling_sources,
)
from library_package import include_options, precompile

ROOT = Path(__file__).resolve().parent.parent
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
FOLDER = ROOT / "build" / "quick"
PACKAGE = ROOT / "build" / "package"
SECONDS_MAX = 900


class QuickError(Exception):
    """Says why there is no program."""


def run_mojo(*arguments: str, folder: Path | None = None) -> str:
    """Runs the compiler, in a folder; gives what it printed."""
    done = subprocess.run(
        [str(MOJO), *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        env={
            **os.environ,
            "MODULAR_CRASH_REPORTING_ENABLED": "false",
            "MODULAR_TELEMETRY_ENABLED": "false",
        },
    )
    if done.returncode != 0:
        raise QuickError(done.stdout)
    return done.stdout


def make_driver() -> Path:
    """Makes library and package unless they are there; gives their folder."""
    stamp = driver_digest(ROOT, run_mojo("--version").encode())
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        # Two builds at the same time make them once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        library = FOLDER / driver_name(stamp)
        if library.exists():
            return FOLDER
        for old in FOLDER.glob(driver_name("*")):
            old.unlink()
        problem = precompile(ROOT, MOJO)
        if problem:
            raise QuickError(problem)
        with tempfile.TemporaryDirectory() as holder:
            write_calling_sources(ROOT, Path(holder), stamp)
            # Errors of programs name the sources as they were named here.
            run_mojo(
                *("precompile", "--disable-warnings", "flare"),
                *("-o", str(FOLDER / "flare.mojoc")),
                folder=Path(holder),
            )
        fresh = FOLDER / "fresh.so"
        run_mojo(*build_options(ROOT, PACKAGE, fresh))
        fresh.rename(library)
    return FOLDER


def program_options() -> list[str]:
    """Makes library and package; gives the options of programs over them, or
    where there is no library, those of whole programs."""
    if not HAS_DRIVER:
        return include_options(ROOT)
    folder = str(make_driver())
    return [
        *("-I", folder, "-I", str(ROOT)),
        *("-Xlinker", "-rpath", "-Xlinker", folder),
    ]


def build(source: Path, target: Path, options: list[str]) -> None:
    """Builds a program over the library."""
    said = run_mojo(
        "build", *program_options(), *options, "-o", str(target), str(source)
    )
    if said:
        print(said, end="", file=sys.stderr)


def main() -> int:
    """Builds the program of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Options after -- are passed to mojo build.",
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="target", type=Path)
    arguments = sys.argv[1:]
    # argparse would match these with its own options.
    split = arguments.index("--") if "--" in arguments else len(arguments)
    known = parser.parse_args(arguments[:split])
    target = known.target or Path(known.source.stem)
    try:
        build(known.source, target, arguments[split + 1 :])
    except QuickError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
