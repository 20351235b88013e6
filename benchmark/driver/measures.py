"""Takes one figure of one target: the steps of which rounds are made."""

from __future__ import annotations

import re
import shutil
import signal
import statistics
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Sequence

from . import processes
from .bystanders import Bystanders
from .clients import IdleConnections, SlowClients
from .generators import Asking, Load, LoadFailed, load
from .rounds import Measure, Sample, middle_of
from .slices import take_turns
from .targets import Place, Running, Target, TargetFailed
from .workloads import H2LOAD, LEAN, OURS, SLOW_CLIENTS, WRK, Workload

# One wrong answer in so many is an accident; more spoil the round.
REQUESTS_PER_ERROR_MIN = 1000
SLOW_CLIENTS_COUNT = 200
SLOW_PAUSE_SECONDS = 0.1
# Long enough for caches to be warm most of the time.
SLICE_SECONDS = 0.2
# How long a rate is kept before it is the next target's turn: the machine is
# slow for seconds now and then.
_RATE_SECONDS = 0.5
_CAPACITY_TURNS = 7
# Counts differ from round to round: longer ones tell no more.
_TRACED_SECONDS_MAX = 1.0
IDLE_FEW = 1_000
IDLE_MANY = 11_000
_IDLE_SETTLE_SECONDS = 1.0
# To prove who they are takes some servers a tenth of a second of CPU time for
# each connection to the database.
_DATABASE_WARM_UP_SECONDS = 6.0
_CALLGRIND_REQUESTS = (2_000, 12_000)
_ILLEGAL = re.compile("SIGILL|Illegal opcode")
_BROKEN = re.compile("Callgrind: .* Assertion|'impossible' happened")


class NotMeasured(Exception):
    """Says why a figure could not be taken."""


@dataclass(frozen=True)
class Setting:
    """Says where servers and generators run, and how long a round takes."""

    place: Place
    load_cores: tuple[int, ...]
    seconds: float
    warm_up_seconds: float
    folder: Path
    # Rounds count although the server had to wait for its core.
    is_disturbed: bool = False
    # How long a generator asks before it is the next one's turn; none where
    # each asks for its whole time at once.
    slice_seconds: float | None = None
    # On each of the cores a generator asks for its part of the load.
    is_spread: bool = False
    # Latencies too are measured on cores that halt when they are idle.
    may_halt: bool = False

    def asking(self, port: int, seconds: float | None = None) -> Asking:
        """Gives what a generator needs to know."""
        return Asking(
            port,
            self.load_cores,
            seconds or self.seconds,
            self.folder,
            is_spread=self.is_spread,
        )


def ask(running: Running, workload: Workload, asking: Asking) -> Load:
    """Lets the workload's generator ask."""
    if workload.rate is not None and asking.rate is None:
        asking = replace(asking, rate=workload.rate)
    if workload.generator == SLOW_CLIENTS:
        with SlowClients(
            running.port, SLOW_CLIENTS_COUNT, SLOW_PAUSE_SECONDS
        ):
            return load(workload, asking)
    return load(workload, asking)


def warm_up(setting: Setting, running: Running, workload: Workload) -> None:
    """Asks for a while without counting; raises `LoadFailed`."""
    seconds = setting.warm_up_seconds
    if workload.needs_database:
        seconds = max(seconds, _DATABASE_WARM_UP_SECONDS)
    ask(running, workload, setting.asking(running.port, seconds))


def cpu_sample(
    setting: Setting,
    running: Running,
    workload: Workload,
    rate: float | None = None,
    is_restless: bool = False,
) -> Sample:
    """Measures CPU time per request in one round, and latencies where the
    rate is fixed; those are the server's if the generator is restless."""
    asking = replace(
        setting.asking(running.port), rate=rate, is_restless=is_restless
    )
    watch = Watch(running)

    def asked() -> Load:
        with watch.bystanders:
            return ask(running, workload, asking)

    return watch.sample(asked, setting.is_disturbed)


def at_rate(
    setting: Setting, runs: dict[str, Running], workload: Workload, rate: float
) -> Measure:
    """Measures latencies of targets that take turns at one rate."""
    turns = max(1, round(setting.seconds / _RATE_SECONDS))
    setting = replace(setting, seconds=setting.seconds / turns)

    def measure(names: Sequence[str]) -> dict[str, Sample]:
        samples = {name: [] for name in names}
        for turn in range(turns):
            for name in names if turn % 2 == 0 else reversed(names):
                samples[name].append(
                    cpu_sample(
                        setting, runs[name], workload, rate, is_restless=True
                    )
                )
        return {name: middle_of(found) for name, found in samples.items()}

    return measure


def can_be_sliced(setting: Setting, workload: Workload) -> bool:
    """Tells whether the generator may be halted: not where it keeps a rate."""
    return (
        setting.slice_seconds is not None
        and workload.rate is None
        and workload.generator in (WRK, LEAN)
    )


def in_slices(
    setting: Setting, runs: dict[str, Running], workload: Workload
) -> Measure:
    """Measures CPU time per request of targets that take turns."""

    def measure(names: Sequence[str]) -> dict[str, Sample]:
        watches = {name: Watch(runs[name]) for name in names}
        askings = {
            name: setting.asking(runs[name].port)
            for name in names
            if runs[name].is_running()
        }
        with ExitStack() as stack:
            loads = take_turns(
                stack,
                workload,
                askings,
                setting.slice_seconds,
                {name: watch.bystanders for name, watch in watches.items()},
            )
            return {
                name: watch.sample(
                    lambda name=name: loads[name].end(), setting.is_disturbed
                )
                for name, watch in watches.items()
            }

    return measure


class Watch:
    """Sees what a server uses from now on."""

    def __init__(self, running: Running):
        self.running = running
        self.before = running.times()
        self.stolen = processes.stolen_ticks(running.cores)
        self.bystanders = Bystanders(running.process.pid, running.cores)

    def sample(self, end: Callable[[], Load], is_disturbed: bool) -> Sample:
        """Gives the sample of a load, which `end` waits for."""
        running = self.running
        if not running.is_running():
            return Sample(
                {}, problem=f"the server has ended: {running.log_end()}"
            )
        try:
            counted = end()
        except LoadFailed as error:
            return Sample({}, problem=str(error))
        times = self.before.until(running.times())
        if times:
            times = replace(
                times,
                softirq=self.bystanders.ran.softirq,
                others=self.bystanders.ran.others,
            )
        figures = figures_of(counted, times)
        figures["stolen_ticks"] = (
            processes.stolen_ticks(running.cores) - self.stolen
        )
        return Sample(
            figures,
            counted.error_count,
            problem_of(counted, times, is_disturbed),
        )


def figures_of(
    counted: Load, times: processes.Times | None
) -> dict[str, float]:
    """Gives the figures of a round."""
    figures = {"rate": counted.rate, **counted.latency_us}
    if times and counted.requests:
        run = times.run + times.softirq
        figures["cpu_us"] = run / 1000 / counted.requests
        figures["softirq"] = times.softirq / max(run, 1)
        figures["waited"] = times.waited_for_others / max(times.run, 1)
    return figures


def problem_of(
    counted: Load, times: processes.Times | None, is_disturbed: bool = False
) -> str:
    """Says why a round does not count, or nothing."""
    if counted.requests == 0:
        return "no request was answered"
    if counted.error_count * REQUESTS_PER_ERROR_MIN > counted.requests:
        return f"{counted.error_count} errors: {counted.errors}"
    if times is None:
        return "a thread of the server has ended"
    if not times.is_undisturbed and not is_disturbed:
        share = times.waited_for_others / max(times.run, 1)
        return f"the server waited {share:.1%} of its run time for others"
    return ""


def capacities(
    setting: Setting, runs: dict[str, Running], workload: Workload
) -> tuple[dict[str, float], dict[str, LoadFailed]]:
    """Gives the rate that each target answers when the client never rests, and
    why it is not known of the others.

    It is the median of turns: a machine that is slow for one of them would
    lower the rate at which all targets are asked. Who fails in one of them
    would fail in a round as well.
    """
    saturating = replace(workload, rate=None)
    if workload.generator != H2LOAD:
        saturating = replace(saturating, generator=LEAN)
    rates: dict[str, list[float]] = {name: [] for name in runs}
    failures: dict[str, LoadFailed] = {}
    for turn in range(_CAPACITY_TURNS):
        for name in list(rates) if turn % 2 == 0 else list(reversed(rates)):
            asking = setting.asking(runs[name].port, _RATE_SECONDS)
            try:
                rates[name].append(load(saturating, asking).rate)
            except LoadFailed as error:
                failures[name] = error
                del rates[name]
    return {
        name: statistics.median(found) for name, found in rates.items()
    }, failures


def memory_octets(
    setting: Setting, target: Target, workload: Workload
) -> float:
    """Measures the peak memory of a fresh server under the workload."""
    with target.run(setting.place) as running:
        if workload.needs_database:
            warm_up(setting, running, workload)
        ask(running, workload, setting.asking(running.port))
        return float(running.memory_octets("VmHWM"))


def idle_octets(setting: Setting, target: Target, workload: Workload) -> float:
    """Measures what an idle connection adds to the resident memory."""
    with target.run(setting.place) as running:
        with IdleConnections(running.port) as idle:
            idle.grow(IDLE_FEW, workload.path, _IDLE_SETTLE_SECONDS)
            few = running.memory_octets("VmRSS")
            idle.grow(IDLE_MANY, workload.path, _IDLE_SETTLE_SECONDS)
            many = running.memory_octets("VmRSS")
    return (many - few) / (IDLE_MANY - IDLE_FEW)


def need_strace() -> None:
    """Raises `NotMeasured` where system calls cannot be counted."""
    if not shutil.which("strace"):
        raise NotMeasured("strace is missing: apt-get install strace")


def system_calls(
    setting: Setting, running: Running, workload: Workload
) -> Sample:
    """Counts the system calls per request in one round, traced by strace."""
    summary = setting.folder / f"{running.name}.strace"
    seconds = min(setting.seconds, _TRACED_SECONDS_MAX)
    attached = [f"-p{member}" for member in running.process_ids()]
    tracer = subprocess.Popen(
        ["strace", "-c", "-f", "-o", str(summary), *attached],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _await_attached(tracer)
        counted = ask(
            running, workload, setting.asking(running.port, seconds)
        )
    except (LoadFailed, NotMeasured) as error:
        return Sample({}, problem=str(error))
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=20)
    if counted.requests == 0:
        return Sample({}, problem="no request was answered under strace")
    try:
        calls = calls_in(summary.read_text()) / counted.requests
    except NotMeasured as error:
        return Sample({}, problem=str(error))
    return Sample({"system_calls": calls}, counted.error_count)


def _await_attached(tracer: subprocess.Popen) -> None:
    line = tracer.stderr.readline()
    if b"attached" not in line:
        raise NotMeasured(f"strace: {line.decode(errors='replace').strip()}")


def calls_in(summary: str) -> int:
    """Reads the sum of the calls that strace -c has counted."""
    for line in summary.splitlines():
        words = line.split()
        if words and words[-1] == "total" and len(words) >= 5:
            return int(words[3])
    raise NotMeasured("strace printed no sum")


def instructions(
    setting: Setting, target: Target, workload: Workload
) -> float:
    """Counts the instructions per request, by callgrind.

    What the start and the end of the server take is taken off as the
    difference between a long and a short run.
    """
    if not shutil.which("valgrind"):
        raise NotMeasured("valgrind is missing: apt-get install valgrind")
    target = target.for_valgrind()
    if target.name in OURS:
        target.prepare()
    few, many = _CALLGRIND_REQUESTS
    asked_few, taken_few = _callgrind(setting, target, workload, few)
    asked_many, taken_many = _callgrind(setting, target, workload, many)
    if asked_many <= asked_few:
        raise NotMeasured("the runs under callgrind answered alike")
    return (taken_many - taken_few) / (asked_many - asked_few)


def _callgrind(
    setting: Setting, target: Target, workload: Workload, rate: int
) -> tuple[int, int]:
    output = setting.folder / f"{target.name}.callgrind"
    for old in setting.folder.glob(f"{output.name}.*"):
        old.unlink()
    place = replace(
        setting.place,
        wrapper=(
            "valgrind", "--quiet", "--tool=callgrind", "--trace-children=yes",
            f"--callgrind-out-file={output}.%p",
        ),
    )
    try:
        with target.run(place) as running:
            asking = replace(setting.asking(running.port, 1.0), rate=rate)
            counted = load(workload, asking)
            members = running.process_ids()
    except (TargetFailed, LoadFailed) as error:
        log = (place.logs / f"{target.name}.log").read_text(errors="replace")
        if _ILLEGAL.search(log):
            error = "it does not know all instructions of this build"
        elif _BROKEN.search(log):
            error = "valgrind itself failed on this program"
        raise NotMeasured(f"under callgrind: {error}") from None
    taken = 0
    for member in members:
        profile = Path(f"{output}.{member}")
        if not profile.exists() or not instructions_in(profile.read_text()):
            raise NotMeasured("a process left no profile of callgrind")
        taken += instructions_in(profile.read_text())
    return counted.requests, taken


def instructions_in(profile: str) -> int:
    """Reads the sum of a profile of callgrind."""
    found = re.search(r"^(?:summary|totals): (\d+)", profile, re.M)
    return int(found[1]) if found else 0
