"""Writes the results of a run down, in Markdown."""

from __future__ import annotations

from .claims import (
    AGREEING,
    NOT_MEASURED,
    OF,
    PAIRS_MIN,
    SPREAD_MAX,
    Spread,
    Verdict,
)
from .processes import WAITED_MAX
from .results import Result
from .workloads import CPU, IDLE, LIMITS, SYSTEM_CALLS

_MIB = 1024 * 1024
_NOTHING = "–"

METHOD = f"""\
CPU is the time that all threads and processes of the server ran, per request
answered, and the kernel's thread for packets on its core; server and load
generator have cores of their own. A round counts only if the server waited for
others, and they ran, for less than {WAITED_MAX:.0%} of its run time.
Targets take turns within a round, and ratios are taken within a round. A claim
passes if the median of at least {PAIRS_MIN} ratios meets its bound and
{AGREEING} of {OF} ratios do. Where the middle half of the ratios is wider than
{SPREAD_MAX:.0%} of the median, nothing is claimed: the row is unstable.
Latencies are those of one rate for all. Where the report says so, idle cores
stayed awake meanwhile: to wake one takes about as long as an answer.
System calls are counted in rounds of their own, in which tracing slows the
server; memory and instructions are taken in single runs.
"""


def markdown(results: list[Result], environment: dict[str, str]) -> str:
    """Gives the whole report."""
    parts = ["# Benchmark", METHOD, _environment(environment)]
    parts += [_section(result) for result in results]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _environment(environment: dict[str, str]) -> str:
    rows = [[name, value] for name, value in environment.items()]
    return "## Environment\n\n" + table(["what", "value"], rows)


def _section(result: Result) -> str:
    workload = result.workload
    parts = [f"## {workload.name}", f"{workload.what}. {_shape(result)}"]
    if result.targets():
        parts.append(_figures(result))
        if result.has_chart:
            parts.append(f"![{workload.name}]({workload.name}.svg)")
    if verdicts := result.verdicts():
        parts += _claims(verdicts)
    notes = [f"- {name}: left out: {why}"
             for name, why in result.left_out.items()]
    notes += [f"- {note}" for note in result.notes + _lost_rounds(result)]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts)


def _claims(verdicts: list[tuple[str, Verdict]]) -> list[str]:
    parts = []
    rows = [
        [words, verdict.outcome, _ratio(verdict.ratio),
         _quartiles(verdict.ratio, 3), _agreeing(verdict)]
        for words, verdict in verdicts
        if verdict.outcome != NOT_MEASURED
    ]
    if rows:
        parts.append(
            table(["claim", "outcome", "ratio", "quartiles", "agree"], rows)
        )
    if missing := [w for w, v in verdicts if v.outcome == NOT_MEASURED]:
        parts.append("Claimed, but not measured: " + "; ".join(missing) + ".")
    return parts


def _shape(result: Result) -> str:
    workload = result.workload
    if workload.generator == IDLE:
        return "11,000 connections against 1,000."
    text = (
        f"{workload.generator}, {workload.threads} threads,"
        f" {workload.connections} connections."
    )
    if result.latency_rate:
        text += (
            f" Latencies at {result.latency_rate:,.0f} requests/s,"
            f" {result.idle_cores()}."
        )
    return text


def _figures(result: Result) -> str:
    columns = _columns(result)
    rows = []
    for name in result.targets():
        rows.append([name, *(cell(result, name) for _, cell in columns)])
    return table(["target", *(title for title, _ in columns)], rows)


def _columns(result: Result) -> list:
    columns = []
    if CPU in result.series:
        columns += [
            ("CPU µs", lambda r, n: _number(r.spread(n, "cpu_us"))),
            ("quartiles", lambda r, n: _quartiles(r.spread(n, "cpu_us"))),
            ("stable", _stability),
            *(
                (f"× {limit}", lambda r, n, limit=limit: _ratio(
                    r.ratio(n, limit, "cpu_us")))
                for limit in LIMITS
                if limit in result.targets()
            ),
            ("requests/s", lambda r, n: _number(r.spread(n, "rate"), 0)),
            ("rounds", lambda r, n: str(r.series[CPU][n].count)
             if n in r.series[CPU] else _NOTHING),
            ("errors", lambda r, n: str(r.series[CPU][n].errors)
             if n in r.series[CPU] else _NOTHING),
        ]
    if result.has_latencies:
        for share in ("p50", "window_p99", "p99", "p99.9"):
            columns.append((
                f"{share.replace('_', ' ')} µs",
                lambda r, n, share=share: _number(r.spread(n, share), 0),
            ))
    if SYSTEM_CALLS in result.series:
        columns.append((
            "system calls",
            lambda r, n: _number(r.spread(n, "system_calls"), 3),
        ))
    for figure, title, scale, digits in (
        ("instructions", "instructions", 1, 0),
        ("memory_octets", _memory_title(result), _memory_unit(result), 1),
    ):
        if result.single.get(figure):
            columns.append((
                title,
                lambda r, n, f=figure, s=scale, d=digits: _plain(
                    r.figure(n, f), s, d
                ),
            ))
    return columns


def _memory_title(result: Result) -> str:
    if result.workload.generator == IDLE:
        return "octets per connection"
    return "peak MiB"


def _memory_unit(result: Result) -> int:
    return 1 if result.workload.generator == IDLE else _MIB


def _stability(result: Result, name: str) -> str:
    spread = result.spread(name, "cpu_us")
    if spread is None:
        return _NOTHING
    return "yes" if spread.is_stable else "unstable"


def _lost_rounds(result: Result) -> list[str]:
    notes = []
    for measure, by_target in result.series.items():
        for name, series in by_target.items():
            if series.problems:
                notes.append(
                    f"{name}: {len(series.problems)} measurements of {measure}"
                    f" do not count; the last: {series.problems[-1]}"
                )
    return notes


def table(titles: list[str], rows: list[list[str]]) -> str:
    """Gives a table; a bar within a cell is escaped."""
    def line(cells):
        escaped = (str(cell).replace("|", "\\|").replace("\n", " ")
                   for cell in cells)
        return "| " + " | ".join(escaped) + " |"

    return "\n".join(
        [line(titles), "|" + "---|" * len(titles), *map(line, rows)]
    )


def _number(spread: Spread | None, digits: int = 2) -> str:
    return _NOTHING if spread is None else f"{spread.median:,.{digits}f}"


def _quartiles(spread: Spread | None, digits: int = 2) -> str:
    if spread is None or spread.count < 2:
        return _NOTHING
    return f"{spread.low:,.{digits}f} to {spread.high:,.{digits}f}"


def _ratio(spread: Spread | None) -> str:
    return _number(spread, 3)


def _agreeing(verdict: Verdict) -> str:
    if verdict.ratio is None:
        return _NOTHING
    return f"{verdict.agreeing} of {verdict.ratio.count}"


def _plain(figure: float | None, scale: int, digits: int) -> str:
    return _NOTHING if figure is None else f"{figure / scale:,.{digits}f}"
