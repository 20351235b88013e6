"""Whatever a server and the network do, a client's WebSocket has one end.

Invariant: the calls of the program end with the right errors; what both ends
receive is the beginning of what was sent; each WebSocket has one cause of its
end, which fits what has happened; and nothing is left of it. Each run is a
simulated server whose script a seed draws.
"""

from fuzz.harness import Histogram, run
from fuzz.random import Random

from tests.ws.random_clients import check_client_seed


def fuzz_ws_client(mut random: Random, mut histogram: Histogram) raises:
    """Runs one client from its handshake to its end.

    Args:
        random: Draws the seed.
        histogram: Counts whether the WebSocket was opened.

    Raises:
        Error: If the invariant does not hold.
    """
    var opened = check_client_seed(
        Int(random.next() >> 2), is_traced=histogram.is_shown()
    )
    histogram.count("opened" if opened > 0 else "not opened")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_ws_client, has_whole_inputs=False)
