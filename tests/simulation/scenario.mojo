"""Decides what a simulated run is like: the limits, the faults, the clients."""

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_faults import Draws, SimulatedFaults
from flare.runtime.reactor import ReactorConfig

from .client import Client
from .ledger import Activity
from .plan import plan_requests

comptime SHORT_HANDLER_MS = 20
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
    var few_octets: Bool
    """Little may be buffered: the answer may be 503, even if its handler has
    begun, and another protocol may be cut off."""
    var few_slots: Bool
    """Connections are few: others wait."""
    var short_handlers: Bool
    """Handlers have little time: the answer may be 500."""
    var requests_per_connection: Int
    """After so many the connection ends."""
    var stop_at: Int
    """The step before which the server is not asked to stop, or -1."""
    var stop_during: Activity
    """What it is to be at when it is asked."""
    var abort_after: Int
    """So many steps after it was asked everything is cut off, or -1."""
    var accepting_failed: Bool
    """Descriptors or memory ran out: room is made, or who waits is answered."""
    var has_shed: Bool
    """Connections were cut off because they held most of a full budget."""
    var has_stopped: Bool
    """The server was asked to stop."""
    var was_cut_off: Bool
    """The server had connections when everything was cut off: by order, or
    because its time to stop was over."""

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
        if self.draws.strikes(680):
            self.reactor.large_buffers_max = 0
        self.faults = SimulatedFaults.frequent()
        self.few_requests = False
        self.few_fibers = False
        self.few_octets = False
        self.few_slots = False
        self.short_handlers = False
        self.requests_per_connection = Int.MAX
        self.stop_at = -1
        self.stop_during = Activity.ANY
        self.abort_after = -1
        self.accepting_failed = False
        self.has_shed = False
        self.has_stopped = False
        self.was_cut_off = False
        self.clients = []
        self.request_count = 0
        if self.is_calm:
            self.faults.accept_errors = 0
        else:
            self._draw_limits()
        self._draw_clients()

    def is_crowded(self) -> Bool:
        """Tells whether room is made for who waits.

        Returns:
            True if somebody could not be accepted at once.
        """
        return self.few_slots or self.accepting_failed

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
        if self.few_octets:
            text += "few octets; "
        if self.few_slots:
            text += "few slots; "
        if self.short_handlers:
            text += "short handlers; "
        if self.requests_per_connection < Int.MAX:
            text += String(self.requests_per_connection, " per connection; ")
        if self.reactor.large_buffers_max == 0:
            text += "no large buffers; "
        if self.has_shed:
            text += "has shed; "
        if self.has_stopped:
            text += "was stopped; "
        if self.was_cut_off:
            text += "was cut off; "
        text += "\n"
        for client in self.clients:
            text += client.text()
        return text^

    def _draw_limits(mut self):
        if self.draws.strikes(720):
            self._draw_stop()
        if self.draws.strikes(330):
            self.faults = SimulatedFaults.frequent(resets=30)
        if self.stop_during == Activity.ANY and self.draws.strikes(320):
            # Descriptors have run out, and come back one at a time.
            self.faults.accept_errors = 900
            self.config.overload_timeout_ms = 100 + self.draws.below(200)
        # Only one of the three, so that a 503 tells which one was met.
        self.few_requests = self.draws.strikes(420)
        self.few_fibers = not self.few_requests and self.draws.strikes(470)
        if self.few_requests:
            self.config.max_requests_in_flight = 1 + self.draws.below(2)
        self.few_octets = not self.few_requests and not self.few_fibers
        if self.few_octets:
            self.config.max_buffered_octets = 24_000 + self.draws.below(28_000)
            self.config.overload_timeout_ms = 30 + self.draws.below(100)
        if self.few_fibers:
            self.reactor.fibers_max = 1 + self.draws.below(3) // 2
        self.few_slots = self.draws.strikes(400)
        if self.few_slots:
            self.config.max_connections = 1 + self.draws.below(2)
        self.short_handlers = self.draws.strikes(450)
        if self.short_handlers:
            self.config.handler_timeout_ms = SHORT_HANDLER_MS
        if self.draws.strikes(150):
            self.requests_per_connection = 1 + self.draws.below(5)
            self.config.max_keepalive_requests = self.requests_per_connection

    def _draw_stop(mut self):
        self.stop_at = self.draws.below(80)
        if self.draws.strikes(850):
            self.stop_at = 0
            # Answers are soon written: it takes more tries to meet one.
            self.stop_during = Activity.WRITES
            if self.draws.strikes(840):
                self.stop_during = Activity(1 + self.draws.below(3))
        if self.draws.strikes(600):
            self.abort_after = self.draws.below(20)

    def _draw_clients(mut self):
        var number = 0
        var count = 1 + self.draws.below(6)
        for i in range(count):
            var spawns = 800 if self.few_fibers else 0
            var client = Client(
                plan_requests(
                    self.draws,
                    number,
                    REQUESTS_MAX,
                    self._first_activity(i),
                    spawns,
                )
            )
            client.draw_behavior(self.draws, not self.is_calm)
            self.clients.append(client^)
        self.request_count = number

    def _first_activity(self, client: Int) -> Activity:
        """Lets somebody ask for what is to be going on at the stop, and the
        next ones for what may be going on besides."""
        if self.stop_during == Activity.ANY or client >= 3:
            return Activity.ANY
        return Activity((self.stop_during.value - 1 + client) % 3 + 1)
