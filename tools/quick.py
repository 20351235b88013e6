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
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from driver_library import HAS_DRIVER, BuildError, succeed
from driver_library import make_driver as make_library
from library_package import compiler, include_options

ROOT = Path(__file__).resolve().parent.parent
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))


def make_driver() -> Path:
    """Makes library and package unless they are there; gives their folder."""
    return make_library(ROOT, compiler(MOJO)).parent


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
    said = succeed(
        compiler(MOJO),
        ["build", *program_options(), *options, "-o", str(target), str(source)],
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
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
