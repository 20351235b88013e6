"""Asks for workloads over HTTP/2, by h2load, and checks the answers by curl."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# So many different targets, as a site has: none is worth remembering.
URLS = 1_000
_CURL_SECONDS_MAX = 10
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


def command(
    url: str, suite: str, connections: int, streams: int, seconds: float,
    folder: Path,
) -> list[str]:
    """Gives the command that asks for the targets of a URL."""
    urls = folder / f"{re.sub('[^0-9a-z]+', '_', url)}.urls"
    urls.write_text("".join(f"{url}?id={i}\n" for i in range(URLS)))
    return [
        "h2load",
        "-t1",
        f"-c{connections}",
        f"-m{streams}",
        f"--duration={max(1, round(seconds))}",
        "--warm-up-time=0",
        f"--tls13-ciphers={suite}",
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


def problem_of(
    url: str, contents: Sequence[bytes], suite: str
) -> str | None:
    """Says what is wrong with a server's answers."""
    for program in ("curl", "h2load"):
        if not shutil.which(program):
            return f"{program} is missing"
    choice = ["--http2"] if url.startswith("https") else [
        "--http2-prior-knowledge"
    ]
    for i in range(_ANSWERS):
        asked = subprocess.run(
            [
                "curl", "-sk", *choice, "--tls13-ciphers", suite,
                "--max-time", str(_CURL_SECONDS_MAX),
                "-w", "\n%{http_version} %{http_code}", f"{url}?id={i}",
            ],
            capture_output=True,
        )
        content, _, said = asked.stdout.rpartition(b"\n")
        if said != b"2 200":
            return f"it answers {said.decode('latin-1')!r}, not HTTP/2 with 200"
        if content not in contents:
            return f"the content is {content[:80]!r}"
    return None
