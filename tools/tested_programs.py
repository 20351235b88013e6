"""Builds the programs that tests in Python run: once, whoever needs them first.

They call the driver library, as with a wheel, but for the one that is asked
most.
"""

from __future__ import annotations

import fcntl
import functools
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from combined_build import link, write_sources
from library_package import BUILD, include_options
from quick import program_options

ROOT = Path(__file__).resolve().parent.parent
MOJO = Path(os.environ.get("MOJO", ROOT / ".venv/bin/mojo"))
PROGRAMS = ROOT / "tests" / "programs"
EXAMPLES = ROOT / "examples"
FOLDER = ROOT / "build" / "loopback"
BUILD_SECONDS_MAX = 600
# The server under test contains what would else be in the library.
WHOLE = PROGRAMS / "subject.mojo"
_MAIN = re.compile(r"^def main\(", re.MULTILINE)
# Small ones, which share most of what their builds take.
TOGETHER = (
    *(
        PROGRAMS / f"{name}.mojo"
        for name in (
            "allocations",
            "downloader",
            "encoding_peer",
            "fetcher",
            "files",
            "forms",
            "gateway",
            "grpc_server",
            "json_bodies",
            "lookups",
            "noisy",
            "passed",
            "supervised",
            "tls_peer",
            "watched",
            "ws_peer",
            "ws_talk",
        )
    ),
    EXAMPLES / "30_reverse_proxy.mojo",
    EXAMPLES / "demo.mojo",
)


def build(source: Path) -> Path:
    """Builds a program unless it is newer than its sources; gives its path.

    A source in a folder of its own is built with the modules beside it, and with
    the other programs there as one. Raises RuntimeError with what the compiler
    says."""
    if source.parent in (PROGRAMS, EXAMPLES):
        program = FOLDER / source.stem
        return _once(program, _stamp(), lambda: _compile(source, program))
    folder = FOLDER / source.parent.name
    _once(
        folder / "programs",
        _stamp(source.parent),
        lambda: _compile_folder(source.parent, folder),
    )
    return folder / source.stem


def build_sanitized(source: Path) -> Path:
    """Builds a program with AddressSanitizer, flare included."""
    program = FOLDER / f"{source.stem}_sanitized"
    options = ["--sanitize", "address", "-g1", "-I", ROOT]
    return _once(
        program,
        _stamp(),
        lambda: _succeed([MOJO, *BUILD, *options, "-I", source.parent,
                          "-o", program, source]),
    )


def _once(program: Path, stamp: str, make: Callable[[], None]) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{program}.lock", "w") as lock:
        # Test files run at the same time; the first one builds for all.
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp_file = Path(f"{program}.stamp")
        if (
            program.exists()
            and stamp_file.exists()
            and stamp_file.read_text() == stamp
        ):
            return program
        # What was built together must not be written over.
        program.unlink(missing_ok=True)
        make()
        stamp_file.write_text(stamp)
    return program


def build_together() -> str:
    """Builds the small programs as one, for `build` to find; gives what the
    compiler says where that fails: then each is built alone."""
    stamp = _stamp()
    folder = ROOT / "build" / "combined" / "programs"
    entry = write_sources(list(TOGETHER), folder)
    binary = folder / "programs"
    try:
        _compile(entry, binary)
    except RuntimeError as error:
        return str(error)
    programs = [FOLDER / source.stem for source in TOGETHER]
    link(binary, programs)
    for program in programs:
        Path(f"{program}.stamp").write_text(stamp)
    return ""


def _compile_folder(sources: Path, folder: Path) -> None:
    programs = [
        path
        for path in sorted(sources.glob("*.mojo"))
        if _MAIN.search(path.read_text())
    ]
    entry = write_sources(programs, folder / "sources")
    binary = folder / "programs"
    options = [*program_options(), "-I", sources]
    _succeed([MOJO, *BUILD, *options, "-o", binary, entry])
    link(binary, [folder / path.stem for path in programs])


def _compile(source: Path, program: Path) -> None:
    options = include_options(ROOT) if source == WHOLE else program_options()
    _succeed([MOJO, *BUILD, *options, "-o", program, source])


def _succeed(command: list[str | Path]) -> None:
    finished = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=BUILD_SECONDS_MAX,
    )
    if finished.returncode != 0:
        raise RuntimeError(finished.stdout.decode(errors="replace"))


@functools.lru_cache
def _stamp(*folders: Path) -> str:
    sources = [
        *PROGRAMS.glob("*.mojo"),
        *TOGETHER,
        *(ROOT / "flare").rglob("*.mojo"),
        *(path for folder in folders for path in folder.glob("*.mojo")),
    ]
    newest = max(path.stat().st_mtime_ns for path in sources)
    return f"{newest} {len(sources)}"
