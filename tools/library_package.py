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
from pathlib import Path

SECONDS_MAX = 600


def include_options(root: Path) -> list[str]:
    """Gives the options with which a program finds flare and the tests."""
    folder = root / "build" / "package"
    stamp = folder / "stamp"
    options = ["-I", str(root)]
    if stamp.exists() and stamp.read_text() == digest(root):
        # The first folder that holds the package wins.
        return ["-I", str(folder), *options]
    return options


def precompile(root: Path, mojo: Path) -> str:
    """Makes the package unless it is there; gives what the compiler says where
    it cannot."""
    stamp = root / "build" / "package" / "stamp"
    if stamp.exists() and stamp.read_text() == digest(root):
        return ""
    return make(root, mojo)


def make(root: Path, mojo: Path, *options: str) -> str:
    """Makes the package anew; gives what the compiler says where it cannot."""
    folder = root / "build" / "package"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "stamp"
    wanted = digest(root)
    stamp.unlink(missing_ok=True)
    package = folder / "flare.mojoc"
    finished = subprocess.run(
        [mojo, "precompile", *options, root / "flare", "-o", package],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS_MAX,
    )
    if finished.returncode != 0:
        return finished.stdout.decode(errors="replace")
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
    problem = make(root, mojo, "--Werror")
    print(problem, end="", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
