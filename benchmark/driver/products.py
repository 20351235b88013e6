"""Knows what a right answer about products is, computed independently.

Beside the pool lies a folder of files, `files`. The pool is a file with one product per line of a JSON array. `/read` and
`/list` go round the pool; `/compute` draws by xorshift64* from a fixed seed.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

FILE_OCTETS = (1_000, 20_000, 60_000, 100_000, 1_000_000)
# When all of them were last modified, as `FILE_DATE` says too.
FILE_SECONDS = 1_767_225_600
# The length of a compressed sibling, whose content no server looks at.
SIBLING_OCTETS = {60_000: 20_000}
# The files of a small site, in the folder `site`: their names and lengths. Each
# has siblings, a quarter and a third as long.
SITE = (
    ("index.html", 12_000), ("about.html", 8_000), ("help.html", 20_000),
    ("reset.css", 2_000), ("layout.css", 16_000), ("theme.css", 40_000),
    ("print.css", 4_000), ("icons.css", 9_000), ("app.js", 120_000),
    ("vendor.js", 200_000), ("router.js", 24_000), ("forms.js", 30_000),
    ("chart.js", 60_000), ("search.js", 18_000), ("logo.svg", 3_000),
    ("icons.svg", 28_000), ("map.svg", 48_000), ("menu.json", 6_000),
    ("places.json", 36_000), ("texts.json", 50_000),
)  # fmt: skip
SITE_CODINGS = {"br": 4, "gz": 3}
SEED = 0x9E3779B97F4A7C15
_FACTOR = 0x2545F4914F6CDD1D
_MASK = (1 << 64) - 1
_LIST = 25
_PICKS = 100
_BINS = 10
_TOP = 5


class Pool:
    """Holds the products in the order of the file."""

    def __init__(self, path: Path):
        lines = path.read_text(encoding="ascii").splitlines()
        self._texts = [
            line.rstrip(",") for line in lines if line.startswith("{")
        ]
        self._parsed = [json.loads(text) for text in self._texts]

    def reads(self) -> tuple[bytes, ...]:
        """Gives the contents that `/read` goes round."""
        return tuple(text.encode() for text in self._texts)

    def lists(self) -> tuple[bytes, ...]:
        """Gives the contents that `/list` goes round."""
        texts = self._texts
        return tuple(
            f"[{','.join(texts[i : i + _LIST])}]".encode()
            for i in range(0, len(texts), _LIST)
        )

    def computations(self, count: int) -> tuple[bytes, ...]:
        """Gives the first answers of a worker to `/compute`."""
        state = SEED
        found = []
        for _ in range(count):
            picks = []
            for _ in range(_PICKS):
                state, number = draw(state)
                picks.append(self._parsed[(number >> 32) % len(self._parsed)])
            found.append(statistics_of(picks))
        return tuple(found)


def draw(state: int) -> tuple[int, int]:
    """Gives the next state of xorshift64* and the number drawn."""
    state ^= state >> 12
    state = (state ^ state << 25) & _MASK
    state ^= state >> 27
    return state, state * _FACTOR & _MASK


def statistics_of(picks: list[dict]) -> bytes:
    """Gives the JSON text that sums up products."""
    prices = sorted(pick["price"] for pick in picks)
    # Not sum(): newer Pythons sum floats more exactly than a plain loop.
    total = 0.0
    for price in prices:
        total += price
    mean = total / len(prices)
    squares = 0.0
    for price in prices:
        squares += (price - mean) * (price - mean)
    span = prices[-1] - prices[0]
    bins = [0] * _BINS
    for price in prices:
        place = int((price - prices[0]) * _BINS / span) if span > 0 else 0
        bins[min(place, _BINS - 1)] += 1
    brands: dict[str, int] = {}
    for pick in picks:
        brands[pick["brand"]] = brands.get(pick["brand"], 0) + 1
    top = sorted(brands.items(), key=lambda item: (-item[1], item[0]))[:_TOP]
    text = {
        "count": len(picks),
        "mean_cents": _rounded(mean * 100),
        "standard_deviation_cents": _rounded(
            math.sqrt(squares / len(prices)) * 100
        ),
        "histogram": bins,
        "top_brands": [{"brand": b, "count": n} for b, n in top],
    }
    return json.dumps(text, separators=(",", ":")).encode()


def write_pool(script: Path, path: Path) -> None:
    """Lets the script that the peers' servers share write the pool."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, script, path], check=True, timeout=120)


def sibling_octets(octets: int, share: int) -> int:
    """Gives the length of a file's sibling: no file is as long."""
    return octets // share + 1


def file_content(octets: int) -> bytes:
    """Gives the content of the file that is called by its length."""
    return b"x" * octets


def write_files(folder: Path) -> None:
    """Writes the files of `/files`."""
    folder.mkdir(parents=True, exist_ok=True)
    for octets in FILE_OCTETS:
        path = folder / f"{octets}.bin"
        path.write_bytes(file_content(octets))
        os.utime(path, (FILE_SECONDS, FILE_SECONDS))
        if octets in SIBLING_OCTETS:
            sibling = Path(f"{path}.br")
            sibling.write_bytes(file_content(SIBLING_OCTETS[octets]))
            os.utime(sibling, (FILE_SECONDS, FILE_SECONDS))
    site = folder / "site"
    site.mkdir(exist_ok=True)
    for name, octets in SITE:
        (site / name).write_bytes(file_content(octets))
        for coding, share in SITE_CODINGS.items():
            sibling = site / f"{name}.{coding}"
            sibling.write_bytes(file_content(sibling_octets(octets, share)))
    for path in site.iterdir():
        os.utime(path, (FILE_SECONDS, FILE_SECONDS))
    site.chmod(0o755)
    # The worker of a server that was started as root runs as somebody else.
    folder.chmod(0o755)


def _rounded(value: float) -> int:
    # Half away from zero, as C's llround has it; no value is negative.
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)
