"""Decides what a simulated run is like: the limits, the faults, the clients."""

from flare.http.server.config import ServerConfig
from flare.http.server.log import LogSink
from flare.runtime.backends.simulated_faults import Draws, SimulatedFaults
from flare.runtime.reactor import ReactorConfig

from .client import Client
from .plan import plan_requests

comptime SHORT_HANDLER_MS = 25
"""The time that handlers have where it is short."""
comptime REQUESTS_MAX = 10
"""The most that a client asks."""


struct Scenario(Movable):
    """Holds what a seed has decided before anything happens."""

    var draws: Draws
    """Decides the rest."""
    var config: ServerConfig
    """The limits of the server."""
    var reactor: ReactorConfig
    """The bounds of its reactor."""
    var faults: SimulatedFaults
    """What goes wrong on the network."""
    var clients: List[Client]
    """Who comes."""
    var request_count: Int
    """How many requests they have."""
    var is_calm: Bool
    """No limit is low and nobody misbehaves: every answer must come."""
    var few_requests: Bool
    """Requests in flight are few: the answer may be 503."""
    var few_fibers: Bool
    """Fibers are few: the answer may be 503."""
    var few_slots: Bool
    """Connections are few: others wait."""
    var short_handlers: Bool
    """Handlers have little time: the answer may be 500."""
    var requests_per_connection: Int
    """After so many the connection ends."""
    var is_crowded: Bool
    """Somebody could not be accepted at once: room is made for who waits."""
    var stop_at: Int
    """The step at which the server is asked to stop, or -1."""
    var abort_at: Int
    """The step at which everything is cut off, or -1."""

    def __init__(out self, seed: Int):
        """Decides.

        Args:
            seed: The seed.
        """
        self.draws = Draws(seed ^ 0x5EED_0000_0000)
        self.is_calm = self.draws.strikes(300)
        self.config = ServerConfig(log=LogSink.nowhere())
        self.config.half_close_allowed = self.draws.strikes(300)
        self.reactor = ReactorConfig(fibers_max=64, receive_buffers_max=64)
        self.faults = SimulatedFaults.frequent()
        self.few_requests = False
        self.few_fibers = False
        self.few_slots = False
        self.short_handlers = False
        self.requests_per_connection = Int.MAX
        self.is_crowded = False
        self.stop_at = -1
        self.abort_at = -1
        self.clients = []
        self.request_count = 0
        if self.is_calm:
            self.faults.accept_errors = 0
        else:
            self._draw_limits()
        self._draw_clients()

    def may_refuse(self) -> Bool:
        """Tells whether 503 is an answer.

        Returns:
            True if a limit is low.
        """
        return self.few_requests or self.few_fibers or self.is_crowded

    def text(self) -> String:
        """Describes what was decided, and what came of it.

        Returns:
            A line for the limits and some for each client.
        """
        var text = String("    ")
        if self.is_calm:
            text += "calm; "
        if self.config.half_close_allowed:
            text += "half-closing allowed; "
        if self.few_requests:
            text += "few requests; "
        if self.few_fibers:
            text += "few fibers; "
        if self.few_slots:
            text += "few slots; "
        if self.short_handlers:
            text += "short handlers; "
        if self.requests_per_connection < Int.MAX:
            text += String(self.requests_per_connection, " per connection; ")
        text += String("stop at ", self.stop_at, ", abort at ", self.abort_at)
        text += "\n"
        for client in self.clients:
            text += client.text()
        return text^

    def _draw_limits(mut self):
        if self.draws.strikes(300):
            self.faults = SimulatedFaults.frequent(resets=30)
        if self.draws.strikes(220):
            # Descriptors have run out, and come back one at a time.
            self.faults.accept_errors = 900
            self.config.overload_timeout_ms = 100 + self.draws.below(200)
        self.few_requests = self.draws.strikes(250)
        if self.few_requests:
            self.config.max_requests_in_flight = 1 + self.draws.below(2)
        self.few_fibers = self.draws.strikes(200)
        if self.few_fibers:
            self.reactor.fibers_max = 1 + self.draws.below(2)
        self.few_slots = self.draws.strikes(400)
        if self.few_slots:
            self.config.max_connections = 1 + self.draws.below(2)
        self.short_handlers = self.draws.strikes(300)
        if self.short_handlers:
            self.config.handler_timeout_ms = SHORT_HANDLER_MS
        if self.draws.strikes(150):
            self.requests_per_connection = 1 + self.draws.below(5)
            self.config.max_keepalive_requests = self.requests_per_connection
        if self.draws.strikes(500):
            self.stop_at = self.draws.below(80)
            if self.draws.strikes(600):
                self.abort_at = self.stop_at + self.draws.below(20)

    def _draw_clients(mut self):
        var number = 0
        var count = 1 + self.draws.below(6)
        for _ in range(count):
            var client = Client(plan_requests(self.draws, number, REQUESTS_MAX))
            client.draw_behavior(self.draws, not self.is_calm)
            self.clients.append(client^)
        self.request_count = number
