"""Reads what a server's processes used: CPU time, waiting, memory.

A server may be many threads and many processes; all of them count. Figures are
differences between two readings, thread by thread.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# Above this share of its run time, somebody else had the server's core.
WAITED_MAX = 0.02
_STOP_SECONDS = 10.0
_CHILDREN_SECONDS = 1.0


@dataclass(frozen=True)
class Times:
    """Holds nanoseconds of run time and of waiting for the core."""

    run: int
    waited: int
    # What the kernel's threads for packets ran on the core meanwhile, and what
    # all others did.
    softirq: int = 0
    others: int = 0

    @property
    def waited_for_others(self) -> int:
        """Gives the waiting that neither the kernel's work for the server nor
        its own threads explain."""
        return min(max(self.waited - self.softirq, 0), self.others)

    @property
    def is_undisturbed(self) -> bool:
        """Tells whether the core was the server's own."""
        return (
            self.run > 0 and self.waited_for_others < WAITED_MAX * self.run
        )


@dataclass(frozen=True)
class Reading:
    """Holds run time and waiting of each thread at one moment."""

    tasks: dict[tuple[int, int], tuple[int, int]]

    def until(self, later: Reading) -> Times | None:
        """Gives what was used up to `later`; none if a thread has ended,
        because its share is lost with it."""
        if not self.tasks.keys() <= later.tasks.keys():
            return None
        run = waited = 0
        for task, (run_after, waited_after) in later.tasks.items():
            run_before, waited_before = self.tasks.get(task, (0, 0))
            run += run_after - run_before
            waited += waited_after - waited_before
        return Times(run, waited)


def tree(process_id: int) -> list[int]:
    """Gives a process and all that descend from it."""
    found = [process_id]
    for parent in found:
        for task in task_folders(parent):
            try:
                found += map(int, (task / "children").read_text().split())
            except OSError:
                # The thread has ended since it was listed.
                continue
    return found


def read(process_id: int) -> Reading:
    """Reads the times of all threads of a process and its descendants."""
    tasks = {}
    for member in tree(process_id):
        for task, times in task_times(member).items():
            tasks[member, task] = times
    return Reading(tasks)


def task_times(process_id: int) -> dict[int, tuple[int, int]]:
    """Reads run time and waiting of each thread of a process."""
    found = {}
    for task in task_folders(process_id):
        try:
            run, waited, _ = (task / "schedstat").read_text().split()
        except (OSError, ValueError):
            # The thread has ended since it was listed.
            continue
        found[int(task.name)] = (int(run), int(waited))
    return found


def task_folders(process_id: int) -> list[Path]:
    """Lists the threads of a process; none if it has ended."""
    folder = PROC / str(process_id) / "task"
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def memory_octets(process_id: int, field: str = "VmHWM") -> int:
    """Sums a line of the status of a process and its descendants."""
    total = 0
    for member in tree(process_id):
        try:
            status = (PROC / str(member) / "status").read_text()
        except OSError:
            continue
        found = re.search(rf"^{field}:\s+(\d+) kB", status, re.M)
        total += int(found[1]) * 1024 if found else 0
    return total


def stolen_ticks(cores: set[int]) -> int:
    """Gives the clock ticks that a hypervisor kept from these cores."""
    total = 0
    for line in (PROC / "stat").read_text().splitlines():
        found = re.match(r"cpu(\d+) (.*)", line)
        if found and int(found[1]) in cores:
            total += int(found[2].split()[7])
    return total


def stop(process: subprocess.Popen) -> None:
    """Ends a process that we started, and what it has started."""
    members = tree(process.pid)
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    # A server's children may outlive it; nobody else waits for them.
    rest = _await_end(members[1:])
    for member in rest:
        try:
            os.kill(member, signal.SIGKILL)
        except ProcessLookupError:
            continue
    _await_end(rest)


def _await_end(members: list[int]) -> list[int]:
    deadline = time.monotonic() + _CHILDREN_SECONDS
    while members and time.monotonic() < deadline:
        time.sleep(0.01)
        members = [member for member in members if is_running(member)]
    return members


def is_running(process_id: int) -> bool:
    """Tells whether a process runs; one that nobody waited for does not."""
    try:
        status = (PROC / str(process_id) / "status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status
