"""Judges claims of the form "A is at most r times B" by paired rounds.

Pure functions over figures. A pair is what two targets showed one right after
the other, so that what disturbs the machine for longer than a round disturbs
both.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Sequence

PAIRS_MIN = 11
# 9 of 11 pairs must agree with the median; of more pairs the same share.
AGREEING, OF = 9, 11
# Half of the pairs lie within this share of the median, or nothing is claimed.
SPREAD_MAX = 0.10

PASS = "PASS"
FAIL = "FAIL"
UNSTABLE = "unstable"
TOO_FEW = "too few rounds"
NOT_MEASURED = "not measured"
DISTURBED = "not claimed"


@dataclass(frozen=True)
class Spread:
    """Holds the median of figures and where their middle half lies."""

    median: float
    low: float
    high: float
    count: int

    @property
    def share(self) -> float:
        """Tells how wide the middle half is, as a share of the median."""
        if self.median == 0:
            return 0.0 if self.high == self.low else float("inf")
        return (self.high - self.low) / abs(self.median)

    @property
    def is_stable(self) -> bool:
        """Tells whether the figures agree well enough to be claimed."""
        return self.share <= SPREAD_MAX


@dataclass(frozen=True)
class Verdict:
    """Says how a claim came out, and by which ratios."""

    outcome: str
    ratio: Spread | None
    agreeing: int


def spread_of(figures: Sequence[float]) -> Spread:
    """Gives median and quartiles; there is at least one figure."""
    if len(figures) == 1:
        return Spread(figures[0], figures[0], figures[0], 1)
    low, median, high = statistics.quantiles(figures, n=4, method="inclusive")
    return Spread(median, low, high, len(figures))


def ratios_of(
    subject: Sequence[float | None], reference: Sequence[float | None]
) -> list[float]:
    """Pairs the rounds of two targets; a round that one lost pairs nothing."""
    return [
        ours / theirs
        for ours, theirs in zip(subject, reference)
        if ours is not None and theirs is not None and theirs > 0
    ]


def judge(
    ratios: Sequence[float], bound: float, is_strict: bool = False
) -> Verdict:
    """Judges "at most `bound` times"; strict means "less than".

    The claim passes if the median meets the bound and enough pairs do. Ratios
    that lie too far apart prove nothing either way.
    """
    if not ratios:
        return Verdict(NOT_MEASURED, None, 0)

    def meets(ratio: float) -> bool:
        return ratio < bound if is_strict else ratio <= bound

    spread = spread_of(ratios)
    agreeing = sum(map(meets, ratios))
    if len(ratios) < PAIRS_MIN:
        return Verdict(TOO_FEW, spread, agreeing)
    if not spread.is_stable:
        return Verdict(UNSTABLE, spread, agreeing)
    holds = meets(spread.median) and agreeing * OF >= AGREEING * len(ratios)
    return Verdict(PASS if holds else FAIL, spread, agreeing)


def judge_figure(figure: float | None, bound: float) -> Verdict:
    """Judges a figure that one run shows, such as memory per connection."""
    if figure is None:
        return Verdict(NOT_MEASURED, None, 0)
    holds = figure <= bound
    return Verdict(PASS if holds else FAIL, spread_of([figure]), int(holds))
