"""Builds a server quickly: the driver is compiled once, the program each time.

    tools/quick.py hello.mojo [-o hello] [-- OPTIONS OF mojo build]

The driver, which is the same for all programs, becomes a shared library in
`build/quick`, and the library a precompiled package. Both are made again when a
source of flare has changed, the driver also for another compiler or processor.
The program finds it by its RUNPATH.
This is for the loop of change and trial: a program to ship or to measure is
built whole, with `mojo build`.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from library_package import digest, precompile

ROOT = Path(__file__).resolve().parent.parent
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
DRIVER = ROOT / "tools" / "quick" / "driver.mojo"
FOLDER = ROOT / "build" / "quick"
CPU_FILE = Path("/proc/cpuinfo")
SECONDS_MAX = 900
# With these, program and driver would have other layouts or other code.
REFUSED = ("--sanitize", "--target", "--march", "--mcpu", "ASSERT")


class QuickError(Exception):
    """Says why there is no program."""


def driver_digest() -> str:
    """Sums up all that layouts and code of the driver depend on: the sources,
    the compiler and the processor."""
    version = subprocess.run(
        [str(MOJO), "--version"], stdout=subprocess.PIPE, check=True
    ).stdout
    cpu = re.search(r"^(?:flags|Features)\s*:.*", CPU_FILE.read_text(), re.M)
    parts = (digest(ROOT).encode(), DRIVER.read_bytes(), version)
    processor = cpu[0].encode() if cpu else b""
    return hashlib.sha256(b"\0".join((*parts, processor))).hexdigest()[:24]


def mojo_build(*arguments: str) -> None:
    """Runs the compiler over precompiled sources."""
    package = ROOT / "build" / "package"
    done = subprocess.run(
        [str(MOJO), "build", "-I", str(package), "-I", str(ROOT), *arguments],
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
    if done.stdout:
        print(done.stdout, end="", file=sys.stderr)


def make_driver(stamp: str) -> None:
    """Makes package and driver unless they are there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        # Two builds at the same time make them once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        problem = precompile(ROOT, MOJO)
        if problem:
            raise QuickError(problem)
        library = FOLDER / f"libflare_driver_{stamp}.so"
        if library.exists():
            return
        for old in FOLDER.glob("libflare_driver_*"):
            old.unlink()
        fresh = FOLDER / "fresh.so"
        mojo_build(
            *("--emit", "shared-lib", "-D", f"FLARE_DRIVER={stamp}"),
            *("-o", str(fresh), str(DRIVER)),
        )
        fresh.rename(library)


def build(source: Path, target: Path, options: list[str]) -> None:
    """Builds a program over the driver."""
    for option in options:
        if option.startswith(REFUSED):
            raise QuickError(f"{option}: such a program is built whole")
    stamp = driver_digest()
    make_driver(stamp)
    mojo_build(
        *("-D", f"FLARE_DRIVER={stamp}"),
        *("-Xlinker", "-rpath", "-Xlinker", str(FOLDER)),
        *(*options, "-o", str(target), str(source)),
    )


def main() -> int:
    """Builds the program of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="target", type=Path)
    parser.add_argument("options", nargs="*", help="after --: for mojo build")
    arguments = parser.parse_args()
    target = arguments.target or Path(arguments.source.stem)
    try:
        build(arguments.source, target, arguments.options)
    except QuickError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
