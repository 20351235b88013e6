"""Parses the command line, measures, and writes the report."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from . import environment
from .clients import allow_many_descriptors
from .database import Databases
from .generators import LEAN_CLIENT, SCRIPTS
from .measures import SLICE_SECONDS, Setting
from .network import own_network
from .products import Pool, write_files, write_pool
from .report import markdown
from .results import Result
from .session import Session
from .targets import BASELINES, BUILD, ROOT, Place, Target, TargetFailed
from .targets import target_of
from .workloads import (
    ARENA,
    BEFORE,
    CPU,
    FLARE,
    LATENCY,
    LEAN,
    MEASURES,
    MEMORY,
    PRODUCTS,
    QUICK,
    SLOW_CLIENTS,
    STORED,
    SYSTEM_CALLS,
    TARGETS,
    TWO_WORKERS,
    WORKLOADS,
    WRK,
    chosen,
    unchanged,
)

_REQUIREMENTS = ROOT / "benchmark" / "requirements.txt"
UNCHANGED_BOUND = 1.02
_QUICK_MEASURES = (CPU, SYSTEM_CALLS, MEMORY)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="benchmark/bench",
        description="Measures flare beside its peers; writes"
        " build/benchmark/report/report.md.",
    )
    parser.add_argument("--full", action="store_true",
                        help="every workload and every measure")
    parser.add_argument("--workloads", nargs="+", metavar="NAME",
                        help="of " + ", ".join(w.name for w in WORKLOADS))
    parser.add_argument("--targets", nargs="+", metavar="NAME",
                        choices=TARGETS,
                        help="of " + ", ".join(TARGETS))
    parser.add_argument("--before", type=Path, metavar="CHECKOUT",
                        help="measure flare beside what another checkout of"
                        " it builds, and claim only that it costs no more"
                        f" than {UNCHANGED_BOUND:.2f} times as much")
    parser.add_argument("--measures", nargs="+", metavar="NAME",
                        choices=MEASURES, help="of " + ", ".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float,
                        help="of one round: 1, with --full 2")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--server-cores", type=_cores, default=(0,))
    parser.add_argument("--load-cores", type=_cores, default=(1,))
    parser.add_argument("--report", type=Path, default=BUILD / "report",
                        help="the folder of the report")
    parser.add_argument("--disturbed", action="store_true",
                        help="count rounds in which the server waited for"
                        " its core; nothing is claimed then")
    parser.add_argument("--congestion", nargs="+", metavar="NAME",
                        default=(),
                        help="the first one of these that the kernel permits")
    parser.add_argument("--may-halt", action="store_true",
                        help="latencies on cores that halt when they are idle,"
                        " as in all other measures")
    parser.add_argument("--no-build", action="store_true",
                        help="take the servers as they were built last")
    given = parser.parse_args(arguments)
    try:
        names = given.workloads or (None if given.full else list(QUICK))
        given.workloads = chosen(names)
    except ValueError as error:
        parser.error(str(error))
    if given.before:
        given.workloads = [
            unchanged(w, UNCHANGED_BOUND) for w in given.workloads
        ]
        given.targets = [*(given.targets or FLARE), *BEFORE]
    else:
        given.targets = given.targets or list(TARGETS)
    if problem := core_problem(
        given.server_cores, given.load_cores, os.sched_getaffinity(0)
    ):
        parser.error(problem)
    if given.measures is None:
        given.measures = MEASURES if given.full else _QUICK_MEASURES
    given.seconds = given.seconds or (2.0 if given.full else 1.0)
    return given


def core_problem(
    server: tuple[int, ...], load: tuple[int, ...], allowed: set[int]
) -> str | None:
    """Says why servers and generators cannot be pinned apart."""
    if set(server) & set(load):
        return "servers and load generators need cores of their own"
    if missing := (set(server) | set(load)) - allowed:
        return f"there is no core {sorted(missing)}"
    return None


def main(arguments: list[str]) -> int:
    """Runs the command; ends with 1 where nothing could be measured."""
    given = parse(arguments)
    signal.signal(signal.SIGTERM, _end)
    _need_programs()
    allow_many_descriptors()
    # The driver must not disturb the server either.
    os.sched_setaffinity(0, set(given.load_cores))
    products = BUILD / "products.json"
    write_pool(BASELINES / "products.py", products)
    write_files(products.with_name("files"))
    folder = BUILD / "work"
    folder.mkdir(parents=True, exist_ok=True)
    targets, missing = _prepare(given)
    place = Place(
        given.server_cores, given.workers, products, BUILD / "logs"
    )
    # Only what measures: building before and drawing after it may install
    # something from the real network.
    with own_network(
        congestion_controls=tuple(given.congestion)
    ) as has_own_network:
        command = ["benchmark/bench", *arguments]
        described = _describe(given, command, has_own_network)
        with Databases(products) as databases:
            session = Session(
                setting_of(given, place, folder),
                Pool(products),
                given.rounds,
                tuple(given.measures),
                _say,
                databases,
            )
            results = _measure(given, session, targets, missing, described)
    _draw(given.report)
    _say(f"\n{given.report / 'report.md'}")
    return 0 if any(result.targets() for result in results) else 1


def setting_of(
    given: argparse.Namespace, place: Place, folder: Path
) -> Setting:
    """Gives what the command line says of how to measure."""
    return Setting(
        place,
        given.load_cores,
        given.seconds,
        min(given.seconds, 1.0),
        folder,
        given.disturbed,
        SLICE_SECONDS,
        may_halt=given.may_halt,
    )


def _describe(
    given: argparse.Namespace, command: list[str], has_own_network: bool
) -> dict[str, str]:
    described = environment.describe(command, has_own_network)
    described["servers"] = (
        f"{given.workers} workers on cores {given.server_cores},"
        f" load on {given.load_cores}"
    )
    described["rounds"] = f"{given.rounds} of {given.seconds:g} s"
    if given.disturbed:
        described["disturbed"] = "servers may have waited: nothing is claimed"
    return described


def _measure(
    given: argparse.Namespace,
    session: Session,
    targets: list[Target],
    missing: dict[str, str],
    described: dict[str, str],
) -> list[Result]:
    results = []
    for workload in given.workloads:
        result = session.measure(workload, targets)
        result.left_out = {**missing, **result.left_out}
        results.append(result)
        # Written after each workload: a long run may be cut short.
        _write(given.report, results, described)
    return results


def _end(*_) -> None:
    """Ends the servers too; a second signal must not keep it from that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("ended by a signal")


def _cores(text: str) -> tuple[int, ...]:
    return tuple(int(core) for core in text.split(","))


def _say(text: str) -> None:
    print(text, flush=True)


def _need_programs() -> None:
    for program, package in ((WRK, "wrk"), ("taskset", "util-linux")):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: apt-get install {package}")


def _prepare(given: argparse.Namespace) -> tuple[list[Target], dict[str, str]]:
    """Builds the load client and the servers; gives those that are there."""
    if not given.no_build:
        _build_load_client()
    if needs_lean(given) and not LEAN_CLIENT.exists():
        sys.exit(f"there is no {LEAN_CLIENT}; run {SCRIPTS / 'build'}")
    targets, missing, built = [], {}, {}
    for target in servers_of(given):
        name = target.name
        if target.kind != PRODUCTS:
            name = f"{target.kind}_{name}"
        if not given.no_build and target.build not in built:
            _say(f"building {name}")
            try:
                target.prepare()
                built[target.build] = ""
            except (TargetFailed, OSError, subprocess.SubprocessError) as e:
                built[target.build] = str(e)
        if problem := built.get(target.build):
            missing[name] = problem
            _say(f"{name} is left out: {problem}")
        else:
            targets.append(target)
    return targets, missing


def servers_of(given: argparse.Namespace) -> list[Target]:
    """Gives the servers that the workloads ask: each kind has its own."""
    targets = [target_of(name, given.before) for name in given.targets]
    kinds = {workload.kind for workload in given.workloads}
    found = [
        target.of_kind(kind)
        for kind in (PRODUCTS, ARENA, STORED)
        if kind in kinds
        for target in targets
    ]
    return [target for target in found if target]


def needs_lean(given: argparse.Namespace) -> bool:
    """Tells whether something is measured that wrk cannot ask for."""
    return LATENCY in given.measures or any(
        workload.generator in (LEAN, SLOW_CLIENTS, TWO_WORKERS)
        for workload in given.workloads
    )


def _build_load_client() -> None:
    _say("building the load client")
    try:
        subprocess.run([SCRIPTS / "build"], check=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        _say(f"no load client: {error}")


def _write(
    folder: Path, results: list[Result], described: dict[str, str]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(
        markdown(results, described), encoding="utf-8"
    )
    data = {
        "environment": described,
        "results": [result.as_data() for result in results],
    }
    (folder / "figures.json").write_text(json.dumps(data, indent=1))


def _draw(folder: Path) -> None:
    """Draws the charts with an interpreter of its own, which has a plotting
    library; without it the report stands alone."""
    charts = Path(__file__).with_name("charts.py")
    try:
        python = _plotting_python()
        subprocess.run(
            [python, charts, folder / "figures.json", folder],
            check=True,
            timeout=600,
        )
    except (OSError, subprocess.SubprocessError) as error:
        _say(f"no charts: {error}")


def _plotting_python() -> Path:
    home = BUILD / "venv"
    python = home / "bin" / "python3"
    installed = home / "requirements.txt"
    wanted = _REQUIREMENTS.read_text()
    if not installed.exists() or installed.read_text() != wanted:
        _say("installing the plotting library")
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", home],
            check=True,
            timeout=300,
        )
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet",
             "--disable-pip-version-check", "--requirement", _REQUIREMENTS],
            check=True,
            timeout=900,
        )
        installed.write_text(wanted)
    return python
