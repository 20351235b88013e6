"""Whatever clients, network and limits do, each request is answered once or cut.

Invariant: a request is answered once and in order, or its connection ends for a
reason; no answer is another request's; and when the server has ended, nothing
is left of it. Each run is a simulated server whose fate a seed decides.
"""

from fuzz.harness import Histogram, run
from fuzz.random import Random

from tests.simulation.run import check_seed, seed_of
from tests.simulation.tally import Tally


def fuzz_server(mut random: Random, mut histogram: Histogram) raises:
    """Runs one simulated server from its beginning to its end.

    Args:
        random: Draws the seed.
        histogram: Counts faults and answers; those of one run are no share of
            anything, their sums are.

    Raises:
        Error: If the invariant does not hold: the trace of the run.
    """
    var tally = Tally()
    check_seed(seed_of(random), tally, is_printed=histogram.is_shown())
    for row in tally.rows:
        histogram.count(row.name, row.count)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_server, has_whole_inputs=False)
