"""Starts the load generators and reads what they counted."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import http2
from .targets import BUILD, ROOT
from .workloads import H2LOAD, LEAN, RESUMING, WRK, Workload

SCRIPTS = ROOT / "benchmark" / "load"
LEAN_CLIENT = BUILD / "lean"
# What a generator may need beyond the time it was given.
_MARGIN_SECONDS = 60.0
_OPENSSL = "openssl"
# Longer than the pause between two requests of any rate that is asked for.
_SPIN_US = 10_000
# The suite in which all targets are asked; RFC 8446 and RFC 5289 name them.
SUITE = "TLS_AES_128_GCM_SHA256"
SUITE_OF_TLS_1_2 = "ECDHE-ECDSA-AES128-GCM-SHA256"
_UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6}


class LoadFailed(Exception):
    """Says why a generator did not do its work."""


@dataclass(frozen=True)
class Load:
    """Holds what a generator counted."""

    requests: int
    seconds: float
    errors: dict[str, int] = field(default_factory=dict)
    # From a percentile such as "p99" to microseconds.
    latency_us: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Gives the answers per second."""
        return self.requests / self.seconds if self.seconds > 0 else 0.0

    @property
    def error_count(self) -> int:
        """Counts what went wrong, of whatever kind."""
        return sum(self.errors.values())


@dataclass(frozen=True)
class Asking:
    """Says where the generator runs and for how long."""

    port: int
    cores: tuple[int, ...]
    seconds: float
    # Files to upload lie here.
    folder: Path
    # Requests per second in all, or as many as are answered.
    rate: float | None = None
    # The generator will be halted now and then, for longer than wrk bears.
    is_halted: bool = False
    # The generator polls where it would sleep. Woken for each answer it would
    # be busy with that at rates which the server bears easily, and its latencies
    # would be its own.
    is_restless: bool = False
    # On each core a generator asks for its part; latencies are not known then.
    is_spread: bool = False


def command_of(workload: Workload, asking: Asking) -> list[str]:
    """Gives the command that asks for the workload.

    A fixed rate needs the lean client, if the workload names wrk, which knows
    none.
    """
    cores = ",".join(map(str, asking.cores))
    pinned = ["taskset", "-c", cores]
    if workload.generator == RESUMING:
        return pinned + _resuming(asking)
    if workload.generator == H2LOAD:
        return pinned + http2.command(
            workload, url_of(workload, asking.port), SUITE, asking.seconds,
            asking.folder, asking.rate,
        )
    if workload.generator == WRK and asking.rate is None:
        return pinned + _wrk(workload, asking)
    return pinned + _lean(workload, asking)


def load(workload: Workload, asking: Asking) -> Load:
    """Asks until the time is over; raises `LoadFailed`."""
    commands = [command_of(*part) for part in _parts_of(workload, asking)]
    with ThreadPoolExecutor(len(commands)) as pool:
        running = [
            pool.submit(_run, command, asking.seconds) for command in commands
        ]
    return sum_of([one.result() for one in running])


def _parts_of(
    workload: Workload, asking: Asking
) -> list[tuple[Workload, Asking]]:
    if asking.is_spread:
        count = len(asking.cores)
        part = replace(
            workload, connections=max(1, workload.connections // count)
        )
        rate = asking.rate and asking.rate / count
        return [
            (part, replace(asking, cores=(core,), rate=rate))
            for core in asking.cores
        ]
    # `openssl s_time` has one connection at a time.
    copies = workload.connections if workload.generator == RESUMING else 1
    return [(workload, asking)] * copies


def sum_of(loads: Sequence[Load]) -> Load:
    """Adds up what generators counted that asked at the same time."""
    if len(loads) == 1:
        return loads[0]
    errors = Counter()
    for one in loads:
        errors.update(one.errors)
    return Load(
        sum(one.requests for one in loads),
        max(one.seconds for one in loads),
        dict(errors),
    )


def _run(command: list[str], seconds: float) -> Load:
    try:
        finished = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds + _MARGIN_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise LoadFailed(f"{command[3]} did not end") from error
    return parse(command, finished.returncode, finished.stdout, finished.stderr)


def parse(command: list[str], code: int, output: str, errors: str) -> Load:
    """Reads what the generator of a command has printed; raises
    `LoadFailed`."""
    if code != 0:
        raise LoadFailed((errors or output).strip()[-400:])
    if Path(command[3]).name == WRK:
        return parse_wrk(output)
    if command[3] == _OPENSSL:
        return parse_resuming(output)
    if command[3] == H2LOAD:
        try:
            return Load(
                *http2.counted(output), http2.latencies_of(command)
            )
        except http2.BadOutput as error:
            raise LoadFailed(str(error)) from error
    return parse_lean(output)


def url_of(workload: Workload, port: int) -> str:
    """Gives the URL that is asked for."""
    scheme = "https" if workload.is_secure else "http"
    return f"{scheme}://127.0.0.1:{port}{workload.path}"


def _wrk(workload: Workload, asking: Asking) -> list[str]:
    command = [
        "wrk",
        f"-t{workload.threads}",
        f"-c{workload.connections}",
        f"-d{max(1, round(asking.seconds))}s",
        "--latency",
    ]
    if asking.is_halted:
        command += ["--timeout", f"{asking.seconds:.0f}s"]
    behind = []
    for field in workload.fields:
        command += ["-H", field]
    if workload.depth > 1:
        command += ["-s", str(SCRIPTS / "pipelined.lua")]
    elif workload.profile:
        command += ["-s", str(SCRIPTS / "arena.lua")]
        behind = ["--", workload.profile]
    elif workload.paths:
        command += ["-s", str(SCRIPTS / "paths.lua")]
        behind = ["--", *workload.paths]
    elif workload.close_percent == 100:
        command += ["-H", "Connection: close"]
    elif workload.close_percent:
        command += ["-s", str(SCRIPTS / "mixed_keepalive.lua")]
    return [*command, url_of(workload, asking.port), *behind]


def _resuming(asking: Asking) -> list[str]:
    # In TLS 1.3 a ticket follows the handshake, and s_time does not wait for
    # it: there it would shake hands in full.
    return [
        _OPENSSL, "s_time", "-reuse", "-tls1_2",
        "-cipher", SUITE_OF_TLS_1_2,
        "-time", str(max(1, round(asking.seconds))),
        "-connect", f"127.0.0.1:{asking.port}",
    ]


def _lean(workload: Workload, asking: Asking) -> list[str]:
    command = [
        str(LEAN_CLIENT),
        "-c", str(workload.connections),
        "-d", f"{asking.seconds:g}",
    ]
    if asking.rate is not None:
        command += ["-R", f"{asking.rate:.0f}"]
        if asking.is_restless:
            command += ["--random", "--spin", str(_SPIN_US)]
    elif workload.depth > 1:
        command += ["-p", str(workload.depth)]
    if workload.requests_per_connection:
        command += ["-n", str(workload.requests_per_connection)]
    if workload.close_percent:
        command += ["--close-share", str(workload.close_percent)]
    if workload.is_websocket:
        command.append("--websocket")
    if workload.lengths_vary:
        command.append("--lengths-vary")
    if workload.method != "GET":
        content = asking.folder / f"{workload.content_octets}.content"
        if not content.exists():
            content.write_bytes(b"x" * workload.content_octets)
        command += ["-m", workload.method, "-b", str(content)]
    return [*command, "127.0.0.1", str(asking.port), workload.path]


def parse_wrk(output: str) -> Load:
    """Reads what wrk prints."""
    counted = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s|m)\b", output)
    if not counted:
        raise LoadFailed(f"wrk printed no count: {output.strip()[-400:]}")
    errors = {}
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    if wrong:
        errors["status"] = int(wrong[1])
    for kind, count in re.findall(
        r"(connect|read|write|timeout) (\d+)", output
    ):
        if int(count):
            errors[kind] = int(count)
    latency = {
        f"p{share}": float(figure) * _UNITS_US[unit]
        for share, figure, unit in re.findall(
            r"^ +(\d+)% +([\d.]+)(us|ms|s|m)\b", output, re.M
        )
    }
    seconds = float(counted[2]) * _UNITS_US[counted[3]] / 1e6
    return Load(int(counted[1]), seconds, errors, latency)


def parse_resuming(output: str) -> Load:
    """Reads what `openssl s_time` prints: a letter for each connection, `r` if
    it went on with a session, and sums."""
    counted = re.search(
        r"([rt*]+)\s+\d+ connections in [\d.]+s; .*?"
        r"(\d+) connections in (\d+) real seconds",
        output,
        re.S,
    )
    if not counted:
        raise LoadFailed(f"s_time printed no count: {output.strip()[-400:]}")
    requests = int(counted[2])
    full = len(counted[1]) - counted[1].count("r")
    errors = {"full": full} if full else {}
    return Load(requests, float(counted[3]), errors)


def parse_lean(output: str) -> Load:
    """Reads the JSON object that the lean client prints."""
    try:
        found = json.loads(output)
        return Load(
            int(found["requests"]),
            float(found["seconds"]),
            {kind: n for kind, n in found["errors"].items() if n},
            {
                name: float(us)
                for name, us in found["latency_us"].items()
                if name != "count"
            },
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoadFailed(f"{LEAN} printed {output!r}") from error
