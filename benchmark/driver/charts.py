"""Draws a chart per workload; a program of its own, which needs matplotlib.

    python charts.py FIGURES.json FOLDER
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
# Text stays text, and the same figures give the same file.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "benchmark"

from matplotlib import pyplot  # noqa: E402

_COLORS = {"flare": "#d9480f", "limit": "#868e96"}
_PEER_COLOR = "#4dabf7"


def main() -> None:
    """Reads the figures and writes one SVG file per workload."""
    results = json.loads(Path(sys.argv[1]).read_text())["results"]
    for result in results:
        bars = _bars(result, "cpu", "cpu_us")
        title = "CPU time per request in µs, median and quartiles"
        if not bars:
            bars, title = _memory_bars(result)
        if not bars:
            bars = _bars(result, "latency", "p50")
            title = "p50 in µs, median and quartiles"
        if bars:
            _draw(result, bars, title, Path(sys.argv[2]))


def _bars(result: dict, measure: str, figure: str) -> list:
    bars = []
    for name, series in result["series"].get(measure, {}).items():
        figures = [
            sample["figures"][figure]
            for sample in series["samples"]
            if sample and figure in sample["figures"]
        ]
        if len(figures) > 1:
            low, middle, high = statistics.quantiles(
                figures, n=4, method="inclusive"
            )
            bars.append((name, middle, middle - low, high - middle))
        elif figures:
            bars.append((name, figures[0], 0, 0))
    return bars


def _memory_bars(result: dict) -> tuple[list, str]:
    figures = result["single"].get("memory_octets", {})
    bars = [(name, octets, 0, 0) for name, octets in figures.items()]
    return bars, "resident octets per connection"


def _draw(result: dict, bars: list, title: str, folder: Path) -> None:
    bars = sorted(bars, key=lambda bar: bar[1], reverse=True)
    names = [bar[0] for bar in bars]
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.35 * len(bars)))
    drawn = axes.barh(
        names,
        [bar[1] for bar in bars],
        xerr=[[bar[2] for bar in bars], [bar[3] for bar in bars]],
        color=[
            _COLORS.get(name.split("_")[0], _PEER_COLOR) for name in names
        ],
        capsize=3,
    )
    axes.bar_label(drawn, fmt="%.2f", padding=4)
    axes.set_title(f"{result['workload']}: {title}", fontsize=10)
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(
        folder / f"{result['workload']}.svg", metadata={"Date": None}
    )
    pyplot.close(figure)


if __name__ == "__main__":
    main()
