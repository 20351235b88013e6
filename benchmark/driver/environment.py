"""Records where a run took place, and with which versions."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from .network import congestion_control
from .targets import BASELINES, ROOT

_PROGRAMS = {
    "gcc": ["gcc", "--version"],
    "go": ["go", "version"],
    "rustc": ["rustc", "--version"],
    "mojo": [str(ROOT / ".venv/bin/mojo"), "--version"],
    "wrk": ["wrk", "-v"],
    "nginx": ["nginx", "-v"],
    "strace": ["strace", "--version"],
}
# The Go and Rust packages that peers are made of.
_MODULE = re.compile(r"\s(\S+/(?:fasthttp|fiber/v\d+)) (v[\w.+-]+)")
_LOCKED = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"')
_CRATES = ("actix-web", "axum", "hyper", "may_minihttp", "ntex")


def describe(arguments: list[str], has_own_network: bool) -> dict[str, str]:
    """Gives what a reader needs to judge or repeat the run. It is called
    where measuring takes place: its network may not be the machine's."""
    found = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "command": " ".join(arguments),
        "commit": _commit(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "kernel": platform.release(),
        "network": (
            "a namespace of its own" if has_own_network else "the machine's"
        ),
        "congestion control": congestion_control(),
        "python": sys.version.split()[0],
    }
    for name, command in _PROGRAMS.items():
        if line := _first_line(command):
            found[name] = line
    return {**found, **_packages()}


def _commit() -> str:
    commit = _first_line(["git", "-C", str(ROOT), "rev-parse", "HEAD"])
    changed = _first_line(
        ["git", "-C", str(ROOT), "status", "--porcelain", "flare", "benchmark"]
    )
    return commit + (" with changes" if changed else "")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _first_line(command: list[str]) -> str:
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    # Some print their version on the standard error and end with 1.
    output = (finished.stdout + finished.stderr).strip()
    return output.splitlines()[0].strip() if output else ""


def _packages() -> dict[str, str]:
    found = {}
    for path in BASELINES.glob("**/go.mod"):
        found.update(_MODULE.findall(path.read_text()))
    for path in BASELINES.glob("**/Cargo.lock"):
        for name, version in _LOCKED.findall(path.read_text()):
            if name in _CRATES:
                found[name] = version
    return found
