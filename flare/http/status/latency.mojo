"""Reads quantiles and the rows of a heat map from the counts of a histogram.
"""

from flare.metrics.buckets import BUCKETS, EDGES

comptime HEAT_ROWS = 48
"""The rows of the heat map: six for each power of ten, from 1 µs to 100 s. The
first has all shorter times, the last all longer ones."""

comptime _ROWS_PER_DECADE = 6
# Ten to the power of n / 6, in thousandths.
comptime _STEPS: List[Int] = [1000, 1468, 2154, 3162, 4642, 6813]


def quantile_us(
    counts: List[Int], edges: List[Int], *, per_mille: Int
) -> Optional[Int]:
    """Returns a quantile of the times in a histogram.

    Args:
        counts: The count of each bucket; further numbers after them are
            ignored.
        edges: The edges of the buckets, in nanoseconds.
        per_mille: The quantile: 500 for the median.

    Returns:
        The time in microseconds, at least 1, by the place of the quantile
        within its bucket; `None` if there are no counts.
    """
    var total = 0
    for i in range(BUCKETS):
        total += counts[i]
    if total == 0:
        return None
    # The smallest rank that has this share of all times at or below it.
    var rank = max((total * per_mille + 999) // 1000, 1)
    var below = 0
    for i in range(BUCKETS):
        if below + counts[i] >= rank:
            var lower = edges[i - 1] if i > 0 else 0
            var upper = edges[min(i, EDGES - 1)]
            # A bucket's times are taken as evenly spread.
            var place = 2 * (rank - below) - 1
            var ns = lower + (upper - lower) * place // (2 * counts[i])
            return max((ns + 500) // 1000, 1)
        below += counts[i]
    return None


def heat_rows(edges: List[Int]) -> List[Int]:
    """Returns the row of the heat map for each bucket.

    Args:
        edges: The edges of the buckets, in nanoseconds.

    Returns:
        The rows, by bucket. A bucket belongs to the row of its lower edge.
    """
    var rows: List[Int] = [0]
    for i in range(EDGES):
        var decade = 0
        var rest = edges[i]
        while rest >= 10_000:
            rest //= 10
            decade += 1
        var step = 0
        var steps = materialize[_STEPS]()
        while step + 1 < _ROWS_PER_DECADE and rest >= steps[step + 1]:
            step += 1
        rows.append(min(decade * _ROWS_PER_DECADE + step, HEAT_ROWS - 1))
    return rows^
