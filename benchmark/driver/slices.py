"""Lets load generators ask in turn, for a slice of a second each.

A machine that is slow for some seconds is so for all targets then: their
figures still pair. A generator between two slices is halted by SIGSTOP, so that
its connections stay.
"""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace

from . import generators
from .bystanders import Bystanders
from .generators import Asking, Load, LoadFailed
from .workloads import Workload

# A generator that nobody interrupts ends by itself after so many seconds.
_SECONDS_MAX = 600.0
_START_SECONDS = 0.1
# A server still answers what is in flight when its generator is halted.
_REST_SECONDS = 0.005
# It waits for the database as well.
_DATABASE_REST_SECONDS = 0.05
_END_SECONDS = 30.0


class HaltedLoad:
    """Is a generator that is halted between its turns; a `with` block ends
    it."""

    def __init__(self, workload: Workload, asking: Asking):
        self.command = generators.command_of(
            workload, replace(asking, seconds=_SECONDS_MAX, is_halted=True)
        )
        self.seconds = 0.0
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> HaltedLoad:
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def go_on(self, seconds: float) -> None:
        """Asks for some time."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGSTOP)
        self.seconds += time.monotonic() - begun

    def end(self) -> Load:
        """Ends it and gives what it counted; raises `LoadFailed`."""
        # Of a halted process any thread may take the interrupt, once it goes
        # on; of a running one the main thread does, which waits for it.
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        try:
            output, errors = self.process.communicate(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise LoadFailed(f"{self.command[3]} did not end") from error
        counted = generators.parse(
            self.command, self.process.returncode, output, errors
        )
        return replace(counted, seconds=self.seconds)


def take_turns(
    stack: ExitStack,
    workload: Workload,
    askings: dict[str, Asking],
    slice_seconds: float,
    bystanders: dict[str, Bystanders],
) -> dict[str, HaltedLoad]:
    """Lets one generator for each target ask for its time, slice by slice;
    they are halted then, and end with `stack`. The bystanders of each target
    are counted in its slices."""
    rest = (
        _DATABASE_REST_SECONDS if workload.needs_database else _REST_SECONDS
    )
    loads = {}
    for name, asking in askings.items():
        loads[name] = stack.enter_context(HaltedLoad(workload, asking))
        # It connects.
        _take_turn(loads[name], _START_SECONDS, bystanders[name], rest)
    order = list(loads)
    longest = max((asking.seconds for asking in askings.values()), default=0)
    for _ in range(max(1, round(longest / slice_seconds))):
        for name in order:
            _take_turn(loads[name], slice_seconds, bystanders[name], rest)
        order.reverse()
    return loads


def _take_turn(
    load: HaltedLoad, seconds: float, bystanders: Bystanders, rest: float
) -> None:
    with bystanders:
        load.go_on(seconds)
        time.sleep(rest)
