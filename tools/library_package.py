"""Parses the library once for many builds.

`mojo build` parses all of flare for each program. Where many are built, they
import a precompiled package instead; defines and assertions still take effect
in each program. The package is used only while its stamp names the very sources
that lie in `flare/`, and it never lies beside them.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SECONDS_MAX = 900
ENVIRONMENT = {
    "MODULAR_CRASH_REPORTING_ENABLED": "false",
    "MODULAR_TELEMETRY_ENABLED": "false",
}
# One thread each: where several programs are built at a time, more of them in a
# build take 8 % more of the processors.
BUILD = ("build", "-j", "1")
# Runs a compiler with arguments, in a folder if there is one; gives its status
# and what it has printed.
Compiler = Callable[[list[str], Path | None], tuple[int, str]]


def compiler(mojo: Path) -> Compiler:
    """Gives what runs the compiler of a file."""

    def run(arguments: list[str], folder: Path | None = None) -> tuple[int, str]:
        finished = subprocess.run(
            [mojo, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX,
            env={**os.environ, **ENVIRONMENT},
        )
        return finished.returncode, finished.stdout.decode(errors="replace")

    return run


def include_options(root: Path) -> list[str]:
    """Gives the options with which a program finds flare and the tests."""
    folder = root / "build" / "package"
    stamp = folder / "stamp"
    options = ["-I", str(root)]
    if stamp.exists() and stamp.read_text() == digest(root):
        # The first folder that holds the package wins.
        return ["-I", str(folder), *options]
    return options


def precompile(root: Path, run: Compiler) -> str:
    """Makes the package unless it is there; gives what the compiler says where
    it cannot."""
    stamp = root / "build" / "package" / "stamp"
    if stamp.exists() and stamp.read_text() == digest(root):
        return ""
    return make(root, run)


def make(root: Path, run: Compiler, *options: str) -> str:
    """Makes the package anew; gives what the compiler says where it cannot."""
    folder = root / "build" / "package"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "stamp"
    wanted = digest(root)
    stamp.unlink(missing_ok=True)
    package = str(folder / "flare.mojoc")
    # Errors of programs name the sources as they are named here.
    status, said = run(["precompile", *options, "flare", "-o", package], root)
    if status != 0:
        return said
    if digest(root) == wanted:
        stamp.write_text(wanted)
    return ""


def digest(root: Path) -> str:
    """Sums up the sources of the library."""
    sum_of_sources = hashlib.sha256()
    for path in sorted((root / "flare").rglob("*.mojo")):
        sum_of_sources.update(f"{path.relative_to(root)}\n".encode())
        sum_of_sources.update(hashlib.sha256(path.read_bytes()).digest())
    return sum_of_sources.hexdigest()


def main() -> int:
    """Makes the package of this checkout, where the library has no warnings."""
    root = Path(__file__).resolve().parent.parent
    mojo = Path(os.environ.get("MOJO", root / ".venv/bin/mojo"))
    problem = make(root, compiler(mojo), "--Werror")
    print(problem, end="", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
