"""Whatever is inserted, replaced and removed, a map holds what a list holds.

Invariant: after every operation lines, wire form and known names are those of
a list of pairs, and an insertion is refused exactly when the rules say so.
"""

from fuzz.harness import Histogram, run
from fuzz.header_map_model import Program, random_program
from fuzz.random import Random, mutate


def fuzz_header_map(mut random: Random, mut histogram: Histogram) raises:
    """Runs one random program on the map and on the list.

    Args:
        random: Draws the program.
        histogram: Counts what the program did.

    Raises:
        Error: If map and list disagree.
    """
    var octets = random_program(random)
    if random.chance(30):
        octets = mutate(octets, random)
    histogram.input(octets)
    var program = Program(octets)
    program.run()
    if program.accepted == 0:
        histogram.count("nothing inserted")
    elif program.refused == 0:
        histogram.count_whole("all insertions taken")
    else:
        histogram.count_whole("some insertions taken, some refused")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_header_map)
