"""Knows who can be measured: how each is built, started, asked and ended."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from . import arena, processes
from .workloads import ARENA, BEFORE, OURS, PRODUCTS, STORED

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "benchmark"
BASELINES = ROOT / "benchmark" / "baselines"
# Nothing here sends reports or needs a crash handler.
QUIET = {
    "MODULAR_CRASH_REPORTING_ENABLED": "false",
    "MODULAR_TELEMETRY_ENABLED": "false",
}
_START_SECONDS = 20.0
# The best without AVX-512, which valgrind lacks.
_VALGRIND_CPU = "x86-64-v3"
_BUILD_SECONDS = 3600.0


class TargetFailed(Exception):
    """Says why a target cannot be measured."""


@dataclass(frozen=True)
class Target:
    """Names a server and the scripts that build and start it."""

    name: str
    start: tuple[str, ...]
    build: tuple[str, ...]
    # What stands behind the common arguments PORT WORKERS PRODUCTS.
    options: tuple[str, ...] = ()
    # Which workloads its program is for.
    kind: str = PRODUCTS
    # The folder that the arena's servers read in the place of the products.
    data: Path | None = None
    # The URL of the database that it asks; none if it asks none.
    database: str = ""
    # The processor that it was built for; none for the one at hand.
    cpu: str = ""

    def prepare(self) -> None:
        """Builds the server; raises `TargetFailed` where it cannot be."""
        if not Path(self.start[0]).exists():
            raise TargetFailed(f"there is no {self.start[0]}")
        finished = subprocess.run(
            self.build,
            capture_output=True,
            text=True,
            env={**os.environ, **QUIET},
            timeout=_BUILD_SECONDS,
        )
        if finished.returncode != 0:
            output = (finished.stdout + finished.stderr).strip()
            raise TargetFailed(f"not built: {output[-400:]}")

    def for_valgrind(self) -> Target:
        """Gives the server built for a processor that valgrind knows, where
        it can be; peers are what they are."""
        if self.name not in OURS:
            return self
        return replace(
            self,
            build=(*self.build, _VALGRIND_CPU),
            cpu=_VALGRIND_CPU,
        )

    def secured(self, certificates: Path) -> Target | None:
        """Gives the server inside of TLS; none where there is none."""
        start = Path(self.start[0]).with_name("start_https")
        if not start.exists():
            return None
        return replace(
            self,
            start=(str(start),),
            options=(str(certificates), *self.options),
        )

    def with_prior_knowledge(self) -> Target:
        """Gives the server to which clients speak HTTP/2 without TLS; most
        need to know that beforehand."""
        start = Path(self.start[0]).with_name("start_h2c")
        if not start.exists():
            return self
        return replace(self, start=(str(start),))

    def of_kind(self, kind: str) -> Target | None:
        """Gives the target's server for a kind of workloads; none where there
        is none."""
        if kind == PRODUCTS:
            return self
        if self.name in OURS:
            folder = Path(self.start[0]).parents[1] / kind
            build = (str(folder / "build"), *self.build[1:])
        elif kind == ARENA:
            folder = BASELINES / f"arena_{self.name}"
            build = (self.build[0], folder.name)
        else:
            # The same program, which is told of a database.
            folder, build = Path(self.start[0]).parent, self.build
        name = "start"
        if kind == STORED and self.name not in OURS:
            name = "start_stored"
        if not (folder / name).exists():
            return None
        return replace(
            self,
            start=(str(folder / name),),
            build=build,
            kind=kind,
            data=arena.data() if kind == ARENA else None,
        )

    def arguments(self) -> list[str]:
        """Gives what stands behind PORT WORKERS PRODUCTS."""
        last = [self.database, self.cpu]
        while last and not last[-1]:
            last.pop()
        if self.kind == PRODUCTS:
            # These know no database.
            last = last[1:]
        return [*self.options, *last]

    def run(self, place: Place) -> Running:
        """Starts the server on the cores of `place`."""
        return Running(self, place)


@dataclass(frozen=True)
class Place:
    """Says where and with what servers run."""

    cores: tuple[int, ...]
    workers: int
    products: Path
    logs: Path
    # Such as valgrind, in front of the start script.
    wrapper: tuple[str, ...] = ()


class Running:
    """Is a server that answers; a `with` block ends it."""

    def __init__(self, target: Target, place: Place):
        self.name = target.name
        self.cores = set(place.cores)
        self.port = free_port()
        place.logs.mkdir(parents=True, exist_ok=True)
        self._log_path = place.logs / f"{target.name}.log"
        cores = ",".join(map(str, place.cores))
        with open(self._log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", cores, *place.wrapper, *target.start,
                 str(self.port), str(place.workers),
                 str(target.data or place.products),
                 *target.arguments()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **QUIET},
                start_new_session=True,
            )
        try:
            self._await_answers()
        except TargetFailed:
            self.stop()
            raise

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def _await_answers(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise TargetFailed(f"it ended at once: {self.log_end()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise TargetFailed(f"it does not listen: {self.log_end()}")

    def log_end(self) -> str:
        """Gives the end of what the server has printed."""
        return self._log_path.read_text(errors="replace").strip()[-400:]

    def is_running(self) -> bool:
        """Tells whether the server's first process runs."""
        return self.process.poll() is None

    def times(self) -> processes.Reading:
        """Reads the CPU time of all threads and child processes."""
        return processes.read(self.process.pid)

    def memory_octets(self, field: str = "VmHWM") -> int:
        """Sums a memory figure over all processes."""
        return processes.memory_octets(self.process.pid, field)

    def process_ids(self) -> list[int]:
        """Gives the ids of all processes."""
        return processes.tree(self.process.pid)

    def stop(self) -> None:
        """Ends the server."""
        processes.stop(self.process)


def free_port() -> int:
    """Finds a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificates() -> Path:
    """Makes the certificates of the tests, and tells where they are."""
    folder = ROOT / "build" / "tls_certificates"
    script = ROOT / "tests" / "tls" / "make_certificates.sh"
    subprocess.run(["sh", script, folder], check=True, cwd=ROOT, timeout=60)
    return folder


def target_of(name: str, before: Path | None = None) -> Target:
    """Returns the target of this name; `before` is the checkout that builds
    those of `BEFORE`."""
    if name in OURS:
        folder = (before if name in BEFORE else ROOT) / "benchmark" / "flare"
        return Target(
            name,
            (str(folder / "start"),),
            (str(folder / "build"),),
            (name.split("_", 1)[1],),
        )
    return Target(
        name,
        (str(BASELINES / name / "start"),),
        (str(BASELINES / "build"), name),
    )
