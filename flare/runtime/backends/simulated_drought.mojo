"""Takes the receive buffers of a pool away for a while, as a seed decides."""

from flare.runtime.buffer_pool import BufferPool

from .simulated_faults import DROUGHT_BUFFERS_MAX
from .simulated_network import SimulatedNetwork


def begin_drought(network: SimulatedNetwork, buffers: BufferPool):
    """Takes all buffers that are left, unless some are away already.

    Args:
        network: The network, which keeps them.
        buffers: The pool; one of more than `DROUGHT_BUFFERS_MAX` is spared.
    """
    ref s = network.state[]
    if len(s.withheld) > 0 or buffers.state[].count_max > DROUGHT_BUFFERS_MAX:
        return
    while True:
        var buffer = buffers.take()
        if not buffer:
            break
        s.withheld.append(buffer.value())
    if len(s.withheld) == 0:
        return
    s.counts.droughts += 1
    s.drought_until_ms = s.now_ms + 1 + s.draws.below(s.faults.delay_ms_max)
    network.note("chance takes buffers", "", -1, len(s.withheld))


def end_drought(network: SimulatedNetwork, buffers: BufferPool) -> Bool:
    """Returns the buffers to the pool at the end of a drought.

    Args:
        network: The network.
        buffers: The pool.

    Returns:
        False before the end, or without a drought.
    """
    ref s = network.state[]
    if len(s.withheld) == 0 or s.now_ms < s.drought_until_ms:
        return False
    network.note("buffers are back", "", -1, len(s.withheld))
    while len(s.withheld) > 0:
        buffers.give(s.withheld.pop())
    return True
