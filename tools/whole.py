"""Runs the compiler with the package that calls no driver library.

The wheel installs this as the command `flare-whole`. A program that is built
with `flare-whole build` contains all of flare that it uses: for other systems
than x86-64 Linux, for a debugger or a sanitizer that should see inside flare,
or with assertions in flare.
"""

import os
import sys
from pathlib import Path

VARIABLE = "MODULAR_MOJO_MAX_IMPORT_PATH"


def import_path() -> str:
    """Gives the folders in which the compiler looks for packages, the first one
    first. Without a driver library there is only one."""
    here = Path(__file__).resolve().parent
    common = str(here.parent / "modular" / "lib" / "mojo")
    whole = here / "whole"
    return f"{whole},{common}" if whole.is_dir() else common


def main() -> int:
    """Runs the compiler with the arguments of the command line."""
    from mojo.run import subprocess_run_mojo

    os.environ[VARIABLE] = import_path()
    return subprocess_run_mojo(sys.argv[1:]).returncode


if __name__ == "__main__":
    sys.exit(main())
