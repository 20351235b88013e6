"""Starts servers to be besieged, and judges them from outside."""

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from .probe import is_answered

# The share of a core that a server may use which serves nobody.
IDLE_SHARE_MAX = 0.05
# The share of requests and uploads of others that may be refused meanwhile.
FAILED_SHARE_MAX = 0.25


@dataclass
class Report:
    """Says how a server fared under one attack."""

    attack: str
    slowest_seconds: float = 0.0
    failed_probes: int = 0
    probes: int = 0
    peak_octets: int = 0
    kept_octets: int = 0
    settled_seconds: float = 0.0
    problems: list = field(default_factory=list)

    def __str__(self):
        state = "; ".join(self.problems) if self.problems else "well"
        return (
            f"{self.attack}: {state} (slowest answer"
            f" {self.slowest_seconds:.2f} s, {self.failed_probes} of"
            f" {self.probes} probes failed, peak {self.peak_octets >> 20} MiB,"
            f" kept {self.kept_octets / (1 << 20):.1f} MiB after"
            f" {self.settled_seconds:.1f} s)"
        )


class Besieged:
    """Is one process under siege."""

    # `pooled_max`: connections to an origin that it may keep. `takes_uploads`:
    # it echoes contents, and must do so under attack.
    def __init__(
        self, program, *options, pooled_max=0, takes_uploads=False
    ):
        self.pooled_max = pooled_max
        self.takes_uploads = takes_uploads
        self.is_secure = "tls" in options
        self.process = subprocess.Popen(
            [program, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{program} {options} did not start")
        self.port = int(line)
        self.idle_octets = 0
        self.idle_descriptors = 0

    def note_idle(self):
        """Remembers what the server holds while it serves nobody."""
        self.idle_octets = self.resident_octets()
        self.idle_descriptors = self.descriptors() + self.pooled_max

    def is_alive(self):
        """Returns whether the process runs."""
        return self.process.poll() is None

    def resident_octets(self, name="VmRSS"):
        """Reads a figure of memory."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) << 10
        return 0

    def forget_peak(self):
        """Lets VmHWM begin anew."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as f:
            f.write("5")

    def descriptors(self):
        """Counts the open descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_seconds(self):
        """Reads the CPU time of all threads."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Asks the process to stop; returns its exit code."""
        if self.is_alive():
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        return self.process.returncode


class _Probe:
    """Asks a server while it is attacked, from another process."""

    def __init__(self, server):
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("probe.py"),
             str(server.port), *(["tls"] if server.is_secure else []),
             *(["uploads"] if server.takes_uploads else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._process.stdout.readline()

    def end(self, report):
        """Writes what was found into a report."""
        output, _ = self._process.communicate()
        asked, failed, slowest = output.split()
        report.probes = int(asked)
        report.failed_probes = int(failed)
        report.slowest_seconds = float(slowest)


async def besiege(server, name, act, slowest_seconds_max):
    """Lets `act` attack a server while a probe asks it; returns a report."""
    report = Report(name)
    server.forget_peak()
    probe = _Probe(server)
    try:
        await act
    finally:
        # An origin of the server may be served by the loop of this thread.
        await asyncio.to_thread(probe.end, report)
    if not server.is_alive():
        report.problems.append(f"DIED {server.process.returncode}")
        return report
    report.peak_octets = server.resident_octets("VmHWM")
    if report.failed_probes > FAILED_SHARE_MAX * report.probes:
        report.problems.append("DENIES")
    if report.slowest_seconds > slowest_seconds_max:
        report.problems.append("STALLED")
    return report


async def settle(server, report, given):
    """Waits until a server that nobody attacks is as it was before; adds to the
    report what it still holds, and whether it rests and answers."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(0.2)
        if not server.is_alive():
            report.problems.append(f"DIED {server.process.returncode}")
            return
        report.kept_octets = server.resident_octets() - server.idle_octets
        left = server.descriptors() - server.idle_descriptors
        report.settled_seconds = time.monotonic() - began
        has_settled = report.kept_octets <= given.kept << 20 and left <= 0
        if has_settled or report.settled_seconds > given.settle:
            break
    if report.kept_octets > given.kept << 20:
        report.problems.append("BLOATED")
    if left > 0:
        report.problems.append(f"{left} DESCRIPTORS LEFT")
    before = server.cpu_seconds()
    await asyncio.sleep(1.0)
    if server.cpu_seconds() - before > IDLE_SHARE_MAX:
        report.problems.append("SPINS")
    if not await asyncio.to_thread(
        is_answered, server.port, server.is_secure
    ):
        report.problems.append("ANSWERS NO MORE")
