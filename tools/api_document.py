"""Asks the compiler once for the documentation of the library.

`make check` asks for it with errors for missing docstrings; the site is written
from the same file, while it is of the sources that lie in `flare/`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from library_package import Compiler, compiler, digest

ROOT = Path(__file__).resolve().parent.parent
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
FILE = ROOT / "build" / "site" / "api.json"
CHECKS = ("--diagnose-missing-doc-strings", "--Werror")


def make(run: Compiler, *options: str) -> str:
    """Writes the file anew; gives what the compiler says where it cannot."""
    stamp = FILE.with_suffix(".stamp")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    wanted = digest(ROOT)
    status, said = run(["doc", *options, "-o", str(FILE), "flare"], ROOT)
    if status != 0:
        return said
    stamp.write_text(wanted)
    return ""


def documentation() -> dict:
    """Reads what `mojo doc` finds in the sources as they are now."""
    stamp = FILE.with_suffix(".stamp")
    if not stamp.exists() or stamp.read_text() != digest(ROOT):
        problem = make(compiler(MOJO))
        if problem:
            raise RuntimeError(problem)
    return json.loads(FILE.read_text())


def main() -> int:
    """Writes the file, where no docstring is missing."""
    problem = make(compiler(MOJO), *CHECKS)
    print(problem, end="", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
