"""Measures targets in alternating rounds, so that their figures pair.

In each round every target is asked once, and every other round in the opposite
order. What was disturbed is asked again at the end of the round; what stays
disturbed leaves a gap, and rounds are added until each target has enough, or
time runs out.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Callable, Sequence

ATTEMPTS_MAX = 3
ROUNDS_FACTOR_MAX = 2


@dataclass(frozen=True)
class Sample:
    """Holds what one target showed in one round."""

    # The figures that pair, such as "cpu_us"; lower is better.
    figures: dict[str, float]
    errors: int = 0
    # Why the sample does not count, or nothing.
    problem: str = ""


@dataclass
class Series:
    """Holds the samples of one target, one per round; none for a gap."""

    samples: list[Sample | None] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def figures(self, name: str) -> list[float | None]:
        """Gives a figure of each round; none for a gap."""
        return [
            sample.figures.get(name) if sample else None
            for sample in self.samples
        ]

    def counted(self, name: str) -> list[float]:
        """Gives a figure of the rounds that count."""
        return [figure for figure in self.figures(name) if figure is not None]

    @property
    def errors(self) -> int:
        """Counts the errors of the rounds that count."""
        return sum(sample.errors for sample in self.samples if sample)

    @property
    def count(self) -> int:
        """Counts the rounds that count."""
        return sum(sample is not None for sample in self.samples)


def middle_of(samples: Sequence[Sample]) -> Sample:
    """Gives the medians of several samples as one, of those that count; none
    does where fewer than half of them do."""
    whole = [sample for sample in samples if not sample.problem]
    if 2 * len(whole) < len(samples):
        return next(sample for sample in samples if sample.problem)
    names = set.intersection(*(set(sample.figures) for sample in whole))
    figures = {
        name: statistics.median(sample.figures[name] for sample in whole)
        for name in names
    }
    return Sample(figures, sum(sample.errors for sample in whole))


Measure = Callable[[Sequence[str]], dict[str, Sample]]


def one_by_one(measure: Callable[[str], Sample]) -> Measure:
    """Measures targets one after another."""
    return lambda names: {name: measure(name) for name in names}


def alternate(
    names: Sequence[str],
    rounds: int,
    measure: Measure,
    report: Callable[[int, dict[str, Sample]], None],
) -> dict[str, Series]:
    """Measures until every target has `rounds` samples that count, in the
    same rounds, but not for more than twice as many rounds."""
    series = {name: Series() for name in names}
    whole = number = 0
    while whole < rounds and number < rounds * ROUNDS_FACTOR_MAX:
        order = names if number % 2 == 0 else tuple(reversed(names))
        line = _measure_again(order, measure, series)
        for name, sample in line.items():
            series[name].samples.append(None if sample.problem else sample)
        number += 1
        whole += not any(sample.problem for sample in line.values())
        report(number, line)
    return series


def _measure_again(
    names: Sequence[str], measure: Measure, series: dict[str, Series]
) -> dict[str, Sample]:
    line: dict[str, Sample] = {}
    for _ in range(ATTEMPTS_MAX):
        line.update(measure(names))
        names = tuple(name for name in names if line[name].problem)
        for name in names:
            series[name].problems.append(line[name].problem)
        if not names:
            break
    return line
