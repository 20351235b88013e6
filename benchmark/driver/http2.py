"""Asks for workloads over HTTP/2, by h2load, and checks the answers by curl."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .workloads import Workload

# So many different targets, as a site has: none is worth remembering.
URLS = 1_000
_CURL_SECONDS_MAX = 10
_LOG = "--log-file="
_SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
# So many requests show a p99 of their own.
_WINDOW = 1_000
_ANSWERS = 3
_COUNTED = re.compile(
    r"finished in ([\d.]+)(us|ms|s), [\d.]+ req/s.*?"
    r"requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, "
    r"(\d+) failed, (\d+) errored, (\d+) timeout",
    re.S,
)
_STATUS = re.compile(r"status codes: (\d+) 2xx")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class BadOutput(Exception):
    """Says what h2load printed instead of its counts."""


def urls_of(workload: Workload, url: str) -> list[str]:
    """Gives what is asked for in turn."""
    if workload.paths:
        origin = url.removesuffix(workload.path)
        return [origin + path for path in workload.paths]
    return [f"{url}?id={i}" for i in range(URLS)]


def command(
    workload: Workload,
    url: str,
    suite: str,
    seconds: float,
    folder: Path,
    rate: float | None = None,
) -> list[str]:
    """Gives the command that asks for a workload. At a fixed rate, it writes
    down how long each answer took."""
    urls = folder / f"{re.sub('[^0-9a-z]+', '_', url)}.urls"
    urls.write_text("".join(f"{one}\n" for one in urls_of(workload, url)))
    paced = []
    if rate is not None:
        taken = urls.with_suffix(".taken")
        # h2load appends to it.
        taken.unlink(missing_ok=True)
        paced = [f"--rps={rate / workload.connections:.2f}", f"{_LOG}{taken}"]
    return [
        "h2load",
        "-t1",
        f"-c{workload.connections}",
        f"-m{workload.streams}",
        f"--duration={max(1, round(seconds))}",
        "--warm-up-time=0",
        f"--tls13-ciphers={suite}",
        *(f"--header={field}" for field in workload.fields),
        *paced,
        f"--input-file={urls}",
    ]


def counted(output: str) -> tuple[int, float, dict[str, int]]:
    """Reads what h2load prints: right answers, seconds, and errors."""
    found = _COUNTED.search(output)
    good = _STATUS.search(output)
    if not found or not good:
        raise BadOutput(f"h2load printed no count: {output.strip()[-400:]}")
    # The last requests are under way when the time is over.
    errors = {
        kind: int(count)
        for kind, count in zip(("failed", "errored"), found.groups()[3:5])
        if int(count)
    }
    wrong = int(found[3]) - int(good[1])
    if wrong:
        errors["status"] = wrong
    return int(good[1]), float(found[1]) * _UNITS[found[2]], errors


def latencies_of(command: Sequence[str]) -> dict[str, float]:
    """Gives percentiles of what a command wrote down, in microseconds; nothing
    if it did not."""
    logs = [one.removeprefix(_LOG) for one in command if one.startswith(_LOG)]
    if not logs:
        return {}
    lines = Path(logs[0]).read_text().splitlines()
    taken = [float(line.split("\t")[2]) for line in lines]
    if not taken:
        return {}
    whole = range(0, len(taken) - _WINDOW + 1, _WINDOW)
    windows = [quantile(taken[i : i + _WINDOW], 0.99) for i in whole]
    return {
        **{name: quantile(taken, share) for name, share in _SHARES.items()},
        "window_p99": quantile(windows or taken, 0.5),
    }


def quantile(figures: Sequence[float], share: float) -> float:
    """Gives the figure that this share of them does not exceed."""
    ordered = sorted(figures)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def problem_of(
    workload: Workload, url: str, contents: Sequence[bytes], suite: str
) -> str | None:
    """Says what is wrong with a server's answers."""
    for program in ("curl", "h2load"):
        if not shutil.which(program):
            return f"{program} is missing"
    choice = ["--http2"] if url.startswith("https") else [
        "--http2-prior-knowledge"
    ]
    fields = [word for field in workload.fields for word in ("-H", field)]
    for one in urls_of(workload, url)[:_ANSWERS]:
        asked = subprocess.run(
            [
                "curl", "-sk", *choice, *fields, "--tls13-ciphers", suite,
                "--max-time", str(_CURL_SECONDS_MAX),
                "-w", "\n%{http_version} %{http_code}", one,
            ],
            capture_output=True,
        )
        content, _, said = asked.stdout.rpartition(b"\n")
        if said != b"2 200":
            return f"it answers {said.decode('latin-1')!r}, not HTTP/2 with 200"
        if content not in contents:
            return f"the content is {content[:80]!r}"
    return None
