"""Whatever is armed, cancelled and advanced, the wheel fires what a list fires.

Invariant: every entry fires at the first advance that reaches its deadline,
none fires early, twice or after its cancel, and no wait is announced that is
longer than the next deadline.
"""

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate
from fuzz.timer_wheel_model import Program


def _program(mut random: Random) -> List[UInt8]:
    var octets = List[UInt8]()
    var widest = random.between(1, 63)
    octets.append(UInt8(random.below(widest)))
    octets.append(random.octet())
    for _ in range(random.between(1, 40)):
        octets.append(UInt8(random.below(8)))
        octets.append(random.octet())
        octets.append(UInt8(random.below(widest)))
        octets.append(random.octet())
    return octets^


def fuzz_timer_wheel(mut random: Random, mut histogram: Histogram) raises:
    """Runs one random program on the wheel and on the list.

    Args:
        random: Draws the program.
        histogram: Counts what the program did.

    Raises:
        Error: If wheel and list disagree.
    """
    var octets = _program(random)
    if random.chance(30):
        octets = mutate(octets, random)
    histogram.input(octets)
    var program = Program(octets)
    var outcome = program.run()
    if outcome.fired == 0:
        histogram.count("nothing fired")
    elif outcome.longest_jump_ms >= 1 << 24:
        histogram.count_whole("fired, with a jump over 2^24 ms")
    elif outcome.longest_jump_ms >= 64:
        histogram.count_whole("fired, with a jump over 64 ms")
    else:
        histogram.count_whole("fired, small steps only")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_timer_wheel)
