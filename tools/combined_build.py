"""Builds many small programs as one, which does what its name says.

Most of the time of a build goes into the library, which programs share: together
they are built in a fraction of the time. Each program is a link to the binary;
which `main` runs is decided by the name that it was started by.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ENTRY = "all_programs"
# A program that exports functions replaces those of the runtime, for all that is
# built with it; and it can only where it is not built with others.
_EXPORTS = re.compile(r"^@export\(", re.MULTILINE)


def is_alone(source: Path) -> bool:
    """Tells whether a program does what its name says only if built alone."""
    return bool(_EXPORTS.search(source.read_text()))


def name_of(source: Path) -> str:
    """Names a program: `all.mojo` runs what its folder is called after."""
    return source.parent.name if source.stem == "all" else source.stem


def module_of(source: Path) -> str:
    """Names the copy of a program: names of examples begin with digits, which
    no module's may."""
    return f"program_{name_of(source)}"


def write_sources(sources: list[Path], folder: Path) -> Path:
    """Writes a program that holds the others, and copies of them beside it;
    gives its source."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = ["from std.sys import argv", ""]
    for source in sources:
        module = module_of(source)
        shutil.copyfile(source, folder / f"{module}.mojo")
        lines.append(f"from {module} import main as main_of_{name_of(source)}")
    lines += ["", "", "def main() raises:", "    var name = String(argv()[0])"]
    for source in sources:
        lines += [
            f'    if name.endswith("/{name_of(source)}"):',
            f"        return main_of_{name_of(source)}()",
        ]
    lines += ['    raise Error("no program is called ", name)', ""]
    entry = folder / f"{ENTRY}.mojo"
    entry.write_text("\n".join(lines))
    return entry


def link(binary: Path, programs: list[Path]) -> None:
    """Gives the binary the names of its programs."""
    for program in programs:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.unlink(missing_ok=True)
        program.symlink_to(binary)
