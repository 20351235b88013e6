"""Sees who else runs on a server's cores.

A server of several threads waits for itself: that its threads wait says little
about others. What others ran does.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from . import processes

# In `/proc/PID/task/TID/stat`, behind the name: the state is field 3, the core
# that the thread ran on last is field 39.
_CORE_FIELD = 39 - 3


@dataclass(frozen=True)
class Ran:
    """Holds the nanoseconds that others ran on a server's cores."""

    # The kernel's own threads for packets. They do their work in the server's
    # place when there is much of it, and the server waits for them.
    softirq: int = 0
    others: int = 0


class Bystanders:
    """Counts what others run on a server's cores during `with` blocks.

    A thread counts for the core that it ran on last; one that began and ended
    within a block is not seen.
    """

    def __init__(self, process_id: int, cores: set[int]):
        self.process_id = process_id
        self.cores = cores
        self.ran = Ran()

    def __enter__(self) -> Bystanders:
        self._before = _run_times()
        return self

    def __exit__(self, *_) -> None:
        softirq, others = self.ran.softirq, self.ran.others
        own = set(processes.tree(self.process_id))
        for task, run in _run_times().items():
            ran = run - self._before.get(task, 0)
            if ran <= 0 or task[0] in own:
                continue
            name, core = _name_and_core(task)
            if core not in self.cores:
                continue
            if re.fullmatch(r"ksoftirqd/\d+", name):
                softirq += ran
            else:
                others += ran
        self.ran = Ran(softirq, others)


def _run_times() -> dict[tuple[int, int], int]:
    return {
        (int(process), task): run
        for process in os.listdir(processes.PROC)
        if process.isdigit()
        for task, (run, _) in processes.task_times(int(process)).items()
    }


def _name_and_core(task: tuple[int, int]) -> tuple[str, int]:
    path = processes.PROC / str(task[0]) / "task" / str(task[1]) / "stat"
    try:
        before, _, fields = path.read_text().rpartition(")")
        return before.partition("(")[2], int(fields.split()[_CORE_FIELD])
    except (OSError, IndexError):
        return "", -1
