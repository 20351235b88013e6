"""Measures one workload: gate, warm-up, paired rounds, runs of their own."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Callable

from . import arena, measures, scaling
from .claims import NOT_MEASURED
from .database import Databases
from .generators import LoadFailed
from .integrity import gate
from .measures import NotMeasured, Setting
from .products import Pool
from .results import PAIRED, Result
from .rounds import Sample, alternate, one_by_one
from .targets import Running, Target, TargetFailed, certificates
from .wakeful import wakeful_cores
from .workloads import (
    CPU,
    IDLE,
    INSTRUCTIONS,
    LATENCY,
    MEMORY,
    SYSTEM_CALLS,
    TWO_WORKERS,
    Workload,
)

Say = Callable[[str], None]


class Session:
    """Measures workloads one after another, with the same targets."""

    def __init__(
        self,
        setting: Setting,
        pool: Pool,
        rounds: int,
        wanted: tuple[str, ...],
        say: Say,
        databases: Databases | None = None,
    ):
        self.setting = setting
        self.pool = pool
        self.rounds = rounds
        self.wanted = wanted
        self.say = say
        self.databases = databases

    def measure(self, workload: Workload, targets: list[Target]) -> Result:
        """Measures one workload with all targets that answer it right."""
        self.say(f"\n== {workload.name}: {workload.what}")
        targets = [t for t in targets if t.kind == workload.kind]
        if workload.needs_database:
            if problem := self.databases.problem():
                self.say(f"  left out: {problem}")
                return Result(
                    workload, left_out={t.name: problem for t in targets}
                )
            url = self.databases.fresh()
            targets = [replace(t, database=url) for t in targets]
        if workload.is_secure:
            folder = (
                arena.certificates() if workload.profile else certificates()
            )
            secured = [target.secured(folder) for target in targets]
            targets = [target for target in secured if target]
        elif workload.streams:
            targets = [target.with_prior_knowledge() for target in targets]
        if workload.generator == TWO_WORKERS:
            return self._judge(self._scaling(workload, targets))
        result = Result(workload, may_claim=not self.setting.is_disturbed)
        wanted = [m for m in workload.measures if m in self.wanted]
        paired = any(measure in wanted for measure in PAIRED)
        right = []
        with ExitStack() as stack:
            runs: dict[str, Running] = {}
            for target in targets:
                running = self._admit(target, workload, stack, result)
                if running is None:
                    continue
                right.append(target)
                if paired:
                    runs[target.name] = running
                else:
                    running.stop()
            if CPU in wanted and runs:
                self._cpu(workload, runs, result)
            if LATENCY in wanted and runs:
                with wakeful_cores(not self.setting.may_halt) as are_awake:
                    result.cores_are_awake = are_awake
                    self._latency(workload, runs, result)
            if SYSTEM_CALLS in wanted and runs:
                self._system_calls(workload, runs, result)
        for measure, figure, take in (
            (
                MEMORY,
                "memory_octets",
                measures.idle_octets
                if workload.generator == IDLE
                else measures.memory_octets,
            ),
            (INSTRUCTIONS, "instructions", measures.instructions),
        ):
            if measure in wanted:
                self._single(figure, take, workload, right, result)
        return self._judge(result)

    def _scaling(self, workload: Workload, targets: list[Target]) -> Result:
        if CPU not in self.wanted:
            return Result(workload)
        return scaling.measure(
            self.setting,
            self.pool,
            workload,
            targets,
            self.rounds,
            self._line("cpu_us", "µs"),
        )

    def _judge(self, result: Result) -> Result:
        for words, verdict in result.verdicts():
            if verdict.outcome == NOT_MEASURED:
                continue
            ratio = f" ({verdict.ratio.median:.3f})" if verdict.ratio else ""
            self.say(f"  {verdict.outcome:12} {words}{ratio}")
        return result

    def _admit(
        self,
        target: Target,
        workload: Workload,
        stack: ExitStack,
        result: Result,
    ) -> Running | None:
        # Fresh: what it has answered before would move its counters.
        try:
            running = stack.enter_context(target.run(self.setting.place))
            problem = gate(running.port, workload, self.pool)
        except TargetFailed as error:
            running, problem = None, str(error)
        if problem:
            if running:
                running.stop()
            result.left_out[target.name] = problem
            self.say(f"  {target.name} is left out: {problem}")
            return None
        return running

    def _cpu(
        self, workload: Workload, runs: dict[str, Running], result: Result
    ) -> None:
        self._warm_up(workload, runs, result)
        result.series[CPU] = alternate(
            tuple(runs),
            self.rounds,
            measures.in_slices(self.setting, runs, workload)
            if measures.can_be_sliced(self.setting, workload)
            else one_by_one(
                lambda name: measures.cpu_sample(
                    self.setting, runs[name], workload
                )
            ),
            self._line("cpu_us", "µs"),
        )

    def _warm_up(
        self, workload: Workload, runs: dict[str, Running], result: Result
    ) -> None:
        for name in list(runs):
            try:
                measures.warm_up(self.setting, runs[name], workload)
            except LoadFailed as error:
                result.left_out[name] = str(error)
                self.say(f"  {name} is left out: {error}")
                runs.pop(name).stop()

    def _latency(
        self, workload: Workload, runs: dict[str, Running], result: Result
    ) -> None:
        rates, failures = measures.capacities(self.setting, runs, workload)
        for name, error in failures.items():
            result.notes.append(f"{name}: no latency: {error}")
        if not rates or min(rates.values()) <= 0:
            return
        rate = max(1.0, min(rates.values()) * workload.rate_share)
        result.latency_rate = rate
        self.say(
            f"  latencies at {rate:.0f} requests/s, {result.idle_cores()}"
        )
        result.series[LATENCY] = alternate(
            tuple(rates),
            self.rounds,
            measures.at_rate(self.setting, runs, workload, rate),
            self._line("window_p99", "µs"),
        )

    def _system_calls(
        self, workload: Workload, runs: dict[str, Running], result: Result
    ) -> None:
        try:
            measures.need_strace()
        except NotMeasured as error:
            result.notes.append(f"no system calls: {error}")
            self.say(f"  no system calls: {error}")
            return
        self._warm_up(workload, runs, result)
        result.series[SYSTEM_CALLS] = alternate(
            tuple(runs),
            self.rounds,
            one_by_one(
                lambda name: measures.system_calls(
                    self.setting, runs[name], workload
                )
            ),
            self._line("system_calls", "calls"),
        )

    def _single(
        self,
        figure: str,
        take: Callable[[Setting, Target, Workload], float],
        workload: Workload,
        targets: list[Target],
        result: Result,
    ) -> None:
        found = result.single.setdefault(figure, {})
        for target in targets:
            try:
                found[target.name] = take(self.setting, target, workload)
            except (NotMeasured, TargetFailed, LoadFailed, OSError) as error:
                result.notes.append(f"{target.name}: no {figure}: {error}")
                self.say(f"  {target.name}: no {figure}: {error}")
                continue
            self.say(f"  {target.name} {figure} {found[target.name]:.2f}")

    def _line(
        self, figure: str, unit: str
    ) -> Callable[[int, dict[str, Sample]], None]:
        def say(number: int, line: dict[str, Sample]) -> None:
            cells = []
            for name, sample in sorted(line.items()):
                if sample.problem:
                    cells.append(f"{name} does not count: {sample.problem}")
                else:
                    found = sample.figures.get(figure, 0.0)
                    cells.append(f"{name} {found:.2f} {unit}")
            self.say(f"  round {number}: {'; '.join(cells)}")

        return say
