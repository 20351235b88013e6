"""Runs fibers of a program, such as those of a client, on a simulated network.
"""

from flare.runtime.backend import BackendKind
from flare.runtime.backends.simulated import SimulatedBackend
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import SimulatedNetwork
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.reactor import (
    RECEIVE_BUFFER_OCTETS,
    Reactor,
    ReactorConfig,
)


struct World(TrivialRegisterPassable):
    """A network, and the loop of one thread on it."""

    var network: SimulatedNetwork
    """The network."""
    var reactor: Reactor
    """The loop."""

    def __init__(out self, seed: Int, faults: SimulatedFaults):
        """Creates a network without sockets.

        Args:
            seed: Decides all random events.
            faults: The faults of the network.
        """
        self.network = SimulatedNetwork.create(seed, faults)
        var config = ReactorConfig(fibers_max=64, receive_buffers_max=64)
        var buffers = BufferPool.create(
            RECEIVE_BUFFER_OCTETS, config.receive_buffers_max
        )
        self.reactor = Reactor.over(
            SimulatedBackend(self.network, buffers),
            BackendKind.SIMULATED,
            config,
            buffers,
        )

    def destroy(self):
        """Frees both."""
        self.reactor.destroy()
        self.network.destroy()

    def turn(self, until_ms: Int):
        """Runs a turn, during which time may pass.

        Args:
            until_ms: The latest time at its end.
        """
        self.network.limit_clock(until_ms)
        self.reactor.turn()

    def remains(self) -> String:
        """Returns a list of what is left.

        Returns:
            The list; empty if nothing is in use.
        """
        ref r = self.reactor.state[]
        var text = String()
        _note(text, "fibers", r.fibers.busy())
        _note(text, "timers", self.reactor.timers().armed_count())
        _note(text, "operations", r.in_flight)
        _note(text, "operations of the network", self.network.in_flight())
        _note(text, "misuses of descriptors", self.network.misuses())
        _note(text, "large buffers", self.reactor.large_buffers().lent())
        _note(
            text,
            "receive buffers",
            self.reactor.buffers().lent() - self.network.withheld_buffers(),
        )
        return text^


def _note(mut text: String, name: StringSlice, count: Int):
    if count != 0:
        text += String("" if text == "" else ", ", count, " ", name)
