"""Keeps what a run has shown, and judges its claims."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from .claims import (
    DISTURBED,
    NOT_MEASURED,
    Spread,
    Verdict,
    judge,
    judge_figure,
    ratios_of,
    spread_of,
)
from .rounds import Series
from .workloads import (
    ABSOLUTE,
    BEST_OF_ALL,
    BEST_PEER,
    CPU,
    FIGURES,
    LATENCY,
    OURS,
    FILE_SERVERS,
    PEERS,
    SYSTEM_CALLS,
    Claim,
    Workload,
)

PAIRED = (CPU, LATENCY, SYSTEM_CALLS)


@dataclass
class Result:
    """Holds all figures of one workload."""

    workload: Workload
    # False where the machine was not the run's own.
    may_claim: bool = True
    # By measure and target, for what is measured in paired rounds.
    series: dict[str, dict[str, Series]] = field(default_factory=dict)
    # By figure and target, for what one run shows.
    single: dict[str, dict[str, float]] = field(default_factory=dict)
    # By target: why it was left out, or why a figure is missing.
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    latency_rate: float | None = None
    # Whether idle cores were kept awake while latencies were measured.
    cores_are_awake: bool = False

    def idle_cores(self) -> str:
        """Says what cores did that idled while latencies were measured."""
        if self.cores_are_awake:
            return "on cores that stay awake"
        return "on cores that halt when they are idle"

    def targets(self) -> list[str]:
        """Names the targets that have a figure, in the order measured."""
        found = [name for each in self.series.values() for name in each]
        found += [name for each in self.single.values() for name in each]
        return list(dict.fromkeys(found))

    def spread(self, target: str, figure: str) -> Spread | None:
        """Gives median and quartiles of a figure, if there are any."""
        series = self._series(target, FIGURES.get(figure, CPU))
        counted = series.counted(figure) if series else []
        return spread_of(counted) if counted else None

    def ratio(self, target: str, other: str, figure: str) -> Spread | None:
        """Gives the paired ratio of two targets, if there are pairs."""
        ratios = self._ratios(target, other, figure)
        return spread_of(ratios) if ratios else None

    def figure(self, target: str, figure: str) -> float | None:
        """Gives a figure of which there is one per run."""
        return self.single.get(figure, {}).get(target)

    def verdict(self, claim: Claim) -> tuple[str, Verdict]:
        """Judges a claim; gives it in words, with the reference found."""
        reference = self._reference(claim)
        words = str(claim)
        if reference != claim.reference:
            words += f" ({reference or 'nobody'})"
        if FIGURES[claim.figure] in PAIRED:
            ratios = self._ratios(claim.subject, reference, claim.figure)
            return words, judge(ratios, claim.bound, claim.is_strict)
        # What one run shows is claimed of the figure itself only.
        assert claim.reference == ABSOLUTE, words
        subject = self.figure(claim.subject, claim.figure)
        return words, judge_figure(subject, claim.bound)

    def verdicts(self) -> list[tuple[str, Verdict]]:
        """Judges all claims."""
        found = [self.verdict(claim) for claim in self.workload.claims]
        if self.may_claim:
            return found
        return [
            (words, replace(verdict, outcome=DISTURBED))
            if verdict.outcome != NOT_MEASURED
            else (words, verdict)
            for words, verdict in found
        ]

    def _series(self, target: str, measure: str) -> Series | None:
        if measure == LATENCY and self.workload.rate is not None:
            # The rate is fixed anyway: the rounds of CPU show latencies too.
            measure = CPU
        return self.series.get(measure, {}).get(target)

    @property
    def has_latencies(self) -> bool:
        """Tells whether latencies were taken at a fixed rate."""
        return LATENCY in self.series or (
            CPU in self.series and self.workload.rate is not None
        )

    @property
    def has_chart(self) -> bool:
        """Tells whether there is a figure that charts are drawn of."""
        return bool(
            CPU in self.series
            or LATENCY in self.series
            or self.single.get("memory_octets")
        )

    def _ratios(self, target: str, other: str, figure: str) -> list[float]:
        ours = self._series(target, FIGURES[figure])
        theirs = self._series(other, FIGURES[figure])
        if not ours or not theirs:
            return []
        return ratios_of(ours.figures(figure), theirs.figures(figure))

    def _reference(self, claim: Claim) -> str:
        if claim.reference not in (BEST_OF_ALL, BEST_PEER):
            return claim.reference
        candidates = [
            name
            for name in self.targets()
            if name != claim.subject
            and (
                name in (*PEERS, *FILE_SERVERS)
                or (claim.reference == BEST_OF_ALL and name not in OURS)
            )
        ]
        medians = {
            name: spread.median
            for name in candidates
            if (spread := self.spread(name, claim.figure))
        }
        return min(medians, key=medians.__getitem__, default="")

    def as_data(self) -> dict:
        """Gives everything in a shape that JSON can hold."""
        return {
            "workload": self.workload.name,
            "what": self.workload.what,
            "series": {
                measure: {
                    name: {
                        "samples": [
                            asdict(sample) if sample else None
                            for sample in each.samples
                        ],
                        "problems": each.problems,
                    }
                    for name, each in by_target.items()
                }
                for measure, by_target in self.series.items()
            },
            "single": self.single,
            "left_out": self.left_out,
            "notes": self.notes,
            "latency_rate": self.latency_rate,
            "cores_are_awake": self.cores_are_awake,
            "claims": [
                {
                    "claim": words,
                    "outcome": verdict.outcome,
                    "ratio": asdict(verdict.ratio) if verdict.ratio else None,
                    "agreeing": verdict.agreeing,
                }
                for words, verdict in self.verdicts()
            ],
        }
