"""Compares two workers with one, at twice the rate.

What workers share shows as CPU time per request that grows with their number.
Two workers need two cores and the load generators a third; where there are only
two, a generator runs on each of them, for one worker as for two. So both share
their first core, and both answer on it what comes from it and from the other.
Waiting is no CPU time: such rounds count, and the report says so.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Callable

from . import measures
from .generators import LoadFailed
from .integrity import gate
from .measures import Setting
from .products import Pool
from .results import Result
from .rounds import Sample, alternate, one_by_one
from .targets import Running, Target, TargetFailed
from .workloads import CPU, FLARE, TWO_WORKERS_SUFFIX, Workload

Report = Callable[[int, dict[str, Sample]], None]


def settings_of(setting: Setting) -> tuple[Setting, Setting, bool]:
    """Gives where one worker runs and where two do, and whether they share
    their cores with load generators."""
    cores = setting.place.cores
    is_shared = len(cores) < 2
    if is_shared:
        cores = (cores + setting.load_cores)[:2]
        setting = replace(
            setting, load_cores=cores, is_spread=True, is_disturbed=True
        )
    return (
        replace(setting, place=replace(
            setting.place, cores=cores[:1], workers=1
        )),
        replace(setting, place=replace(
            setting.place, cores=cores[:2], workers=2
        )),
        is_shared,
    )


def measure(
    setting: Setting,
    pool: Pool,
    workload: Workload,
    targets: list[Target],
    rounds: int,
    report: Report,
) -> Result:
    """Measures flare's targets with one and with two workers."""
    result = Result(workload, may_claim=not setting.is_disturbed)
    one, two, is_shared = settings_of(setting)
    if is_shared:
        result.notes.append(
            "workers share their cores with load generators"
        )
    with ExitStack() as stack:
        runs: dict[str, tuple[Setting, Running, float]] = {}
        for target in targets:
            if target.name not in FLARE:
                continue
            try:
                runs.update(_start(target, one, two, workload, pool, stack))
            except (TargetFailed, LoadFailed) as error:
                result.left_out[target.name] = str(error)
        if not runs:
            return result

        def sample(name: str) -> Sample:
            where, running, rate = runs[name]
            return measures.cpu_sample(where, running, workload, rate)

        result.series[CPU] = alternate(
            tuple(runs), rounds, one_by_one(sample), report
        )
    return result


def _start(
    target: Target,
    one: Setting,
    two: Setting,
    workload: Workload,
    pool: Pool,
    stack: ExitStack,
) -> dict[str, tuple[Setting, Running, float]]:
    first = stack.enter_context(target.run(one.place))
    # The logs must not be one file.
    pair = replace(target, name=target.name + TWO_WORKERS_SUFFIX)
    second = stack.enter_context(pair.run(two.place))
    for running in (first, second):
        if problem := gate(running.port, workload, pool):
            raise TargetFailed(problem)
    rates, failures = measures.capacities(
        one, {target.name: first}, workload
    )
    if failures:
        raise failures[target.name]
    rate = rates[target.name] * workload.rate_share
    measures.warm_up(two, second, workload)
    return {
        target.name: (one, first, rate),
        pair.name: (two, second, 2 * rate),
    }
