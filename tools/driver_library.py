"""Makes the driver library, and the package of programs that call it.

The library holds the functions of flare that are the same in every program
(flare/sys/driver.mojo). `tools/wheel_backend.py` puts one into the wheel, and
`tools/quick.py` makes one for a checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

from library_package import Compiler, digest, precompile

# Only these programs can call one (flare/sys/driver.mojo).
HAS_DRIVER = sys.platform == "linux" and platform.machine() == "x86_64"
# The libraries of the Mojo runtime run on no older processors.
TARGET_CPU = "x86-64-v3"
SOURCE = Path("tools", "driver.mojo")
INSTALLED = Path("flare", "sys", "installed_driver.mojo")
NO_DRIVER = '"whole"'
BRANCH = re.compile(r"^( *)comptime if CALLS_DRIVER:\n", re.MULTILINE)


class BuildError(Exception):
    """Says why there is no program, package or library."""


def succeed(run: Compiler, arguments: list[str], folder: Path | None = None) -> str:
    """Runs the compiler, which must succeed; gives what it has printed."""
    status, said = run(arguments, folder)
    if status != 0:
        raise BuildError(said)
    return said


def make_driver(root: Path, run: Compiler) -> Path:
    """Makes the library and the package of what calls it, unless they are in
    build/quick/ beside one another; gives the library."""
    folder = root / "build" / "quick"
    stamp = driver_digest(root, succeed(run, ["--version"]).encode())
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / driver_name(stamp)
    with open(folder / "lock", "w") as lock:
        # Two builds at the same time make them once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if library.exists():
            return library
        for old in folder.glob(driver_name("*")):
            old.unlink()
        problem = precompile(root, run)
        if problem:
            raise BuildError(problem)
        package = str(folder / "flare.mojoc")
        with tempfile.TemporaryDirectory() as holder:
            write_calling_sources(root, Path(holder), stamp)
            # Errors of programs name the sources as they were named here.
            succeed(
                run,
                ["precompile", "--disable-warnings", "flare", "-o", package],
                Path(holder),
            )
        fresh = folder / "fresh.so"
        succeed(run, build_options(root, root / "build" / "package", fresh))
        fresh.rename(library)
    return library


def driver_digest(root: Path, compiler: bytes) -> str:
    """Sums up all that layouts and code of the library depend on: the sources,
    the options, and the version of the compiler."""
    options = " ".join(build_options(Path(), Path(), Path()))
    parts = (
        digest(root).encode(),
        (root / SOURCE).read_bytes(),
        options.encode(),
        compiler,
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def driver_name(digest_of_sources: str) -> str:
    """Names the file of the library."""
    return f"libflare_driver_{digest_of_sources}.so"


def write_calling_sources(root: Path, folder: Path, digest_of_driver: str) -> None:
    """Writes flare/ into a folder as sources of programs that call a library."""
    shutil.copytree(root / "flare", folder / "flare")
    for path in (folder / "flare").rglob("*.mojo"):
        text = path.read_text()
        if BRANCH.search(text):
            path.write_text(only_calls(text))
    installed = folder / INSTALLED
    text = installed.read_text()
    if text.count(NO_DRIVER) != 1:
        raise RuntimeError(f"{INSTALLED} does not say which library there is")
    installed.write_text(text.replace(NO_DRIVER, f'"{digest_of_driver}"'))


def only_calls(text: str) -> str:
    """Leaves the calls of the library where a function calls it or does the
    work: of code that is not used, the compiler would still import all that it
    leads to."""
    while branch := BRANCH.search(text):
        calls, rest = indented(text[branch.end() :], len(branch[1]))
        other = f"{branch[1]}else:\n"
        if not rest.startswith(other):
            raise RuntimeError(f"no else after: {branch[0]}{calls}")
        _, rest = indented(rest[len(other) :], len(branch[1]))
        calls = re.sub(r"^    ", "", calls, flags=re.MULTILINE)
        text = text[: branch.start()] + calls + "\n" + rest
    return text


def indented(text: str, columns: int) -> tuple[str, str]:
    """Splits a text behind the lines that are indented further."""
    lines = text.splitlines(keepends=True)
    end = 0
    while end < len(lines) and re.match(rf" {{{columns + 1}}}|\n", lines[end]):
        end += 1
    while end > 0 and lines[end - 1] == "\n":
        end -= 1
    return "".join(lines[:end]), "".join(lines[end:])


def build_options(root: Path, package: Path, target: Path) -> list[str]:
    """Gives the options with which the compiler makes the library.

    It finds the libraries of the runtime beside itself, and so needs no folder
    of the machine that has built it."""
    return [
        *("build", "--emit", "shared-lib", "--target-cpu", TARGET_CPU),
        *("-D", "FLARE_DRIVER=self", "-Xlinker", "-rpath"),
        *("-Xlinker", "$ORIGIN", "-I", str(package)),
        *("-o", str(target), str(root / SOURCE)),
    ]
