"""Takes a sample of a server each second, for as long as it has viewers.

Each worker has a view of its own. Its viewers share the samples: the first of
them that finds the second over takes the next one. So a page without viewers
costs no time, and has no fiber of its own that would have to end.
"""

from flare.core import PointerTo
from flare.metrics.registry_state import RegistryState
from flare.runtime.reactor import Reactor
from flare.sys.clock import unix_ms

from ..server.records.server_metrics import server_state
from ..server.records.slow_requests import SlowRequests
from .latency import heat_rows
from .route_rows import RouteRows
from .sample_text import (
    SLOW_TOLD_MAX,
    SampleFacts,
    first_messages,
    sample_message,
)
from .worker_rows import WorkerRows

comptime VIEWERS_MAX = 16
"""The most viewers of a worker."""
comptime SAMPLE_MS = 1000
"""How often a sample is taken, in milliseconds."""

comptime _SAMPLES_KEPT = 8
# Without a look for so long, the next viewer begins anew.
comptime _STALE_MS = 5000


struct StatusView(Movable):
    """The samples for the viewers of one worker."""

    var registry: PointerTo[RegistryState]
    """The registry."""
    var slow: SlowRequests
    """The slow requests of its servers."""
    var viewers: Int
    """How many event streams are open."""
    var number: Int
    """The number of the latest sample; 0 before the first look."""
    var routes: RouteRows
    """The routes."""
    var workers: WorkerRows
    """The workers."""
    var heat: List[Int]
    """The row of the heat map, by bucket."""
    var slow_known: Int
    """The number of the latest slow request that viewers have."""
    var due_ms: Int
    """When the next sample is due, by the loop's clock."""
    var _sampled_ns: Int
    var _samples: List[String]
    var _highest: Int

    def __init__(
        out self, registry: PointerTo[RegistryState], slow: SlowRequests
    ):
        """Creates the view before the first look.

        Args:
            registry: The registry.
            slow: The slow requests of its servers.
        """
        self.registry = registry
        self.slow = slow
        self.viewers = 0
        self.number = 0
        self.routes = RouteRows()
        self.workers = WorkerRows()
        self.heat = []
        self.slow_known = 0
        self.due_ms = 0
        self._sampled_ns = 0
        self._samples = []
        self._highest = 0

    def refresh(mut self, reactor: Reactor, own_route: StringSlice) raises:
        """Takes a sample if one is due.

        Args:
            reactor: The loop of the caller.
            own_route: The route of the status page, which is not counted.

        Raises:
            Error: Never, as the samples are whole texts.
        """
        var now_ms = reactor.refresh_now_ms()
        if self.number != 0 and now_ms < self.due_ms:
            return
        var now_ns = reactor.clock_ns()
        if self.number == 0 or now_ms > self.due_ms + _STALE_MS:
            self.forget()
            self.heat = heat_rows(self.registry[].table.edges)
            self._read(own_route)
            # No other view, and no later beginning, has the same numbers.
            self.number = max(unix_ms(), self._highest + 2)
            self.slow_known = self.slow.count()
            self.due_ms = now_ms + SAMPLE_MS
        else:
            self._read(own_route)
            self.number += 1
            self._highest = self.number
            if len(self._samples) == _SAMPLES_KEPT:
                _ = self._samples.pop(0)
            var facts = self._facts(now_ns)
            self._samples.append(
                sample_message(
                    self.routes,
                    self.workers,
                    self.heat,
                    self.registry[].table.edges,
                    facts,
                )
            )
            # Its beat stays, unless the worker was away for long.
            self.due_ms = max(self.due_ms + SAMPLE_MS, now_ms + SAMPLE_MS // 2)
        self._sampled_ns = now_ns

    def messages_after(self, number: Int) raises -> List[String]:
        """Returns the messages that a viewer does not have yet.

        Args:
            number: The number of the latest sample that it has; 0 for none.

        Returns:
            JSON objects, in order. If the viewer is new, or has missed some,
            the first one says so, and the names of all routes follow.

        Raises:
            Error: Never, as the messages are whole texts.
        """
        var first = self.number - len(self._samples)
        if number < first or number > self.number:
            # The present state takes the place of the samples before.
            var facts = SampleFacts(
                self.number, self.registry[].created_ms, self.slow.limit_ns()
            )
            facts.counts = Bool(server_state(self.registry))
            return first_messages(self.routes, facts)
        var messages = List[String]()
        for i in range(number - first, len(self._samples)):
            messages.append(self._samples[i])
        return messages^

    def forget(mut self):
        """Frees the samples, after the last viewer has left."""
        self.number = 0
        self.routes = RouteRows()
        self.workers = WorkerRows()
        self._samples = []
        self.heat = []

    def _facts(mut self, now_ns: Int) -> SampleFacts:
        var facts = SampleFacts(
            self.number, self.registry[].created_ms, self.slow.limit_ns()
        )
        facts.interval_ms = max(
            (now_ns - self._sampled_ns + 500_000) // 1_000_000, 1
        )
        facts.now_ns = now_ns
        facts.slow = self.slow.after(self.slow_known)
        if len(facts.slow) > SLOW_TOLD_MAX:
            # The rest follows with the next sample.
            facts.slow.shrink(SLOW_TOLD_MAX)
        if len(facts.slow) > 0:
            self.slow_known = facts.slow[len(facts.slow) - 1].number
        return facts^

    def _read(mut self, own_route: StringSlice):
        var servers = server_state(self.registry)
        if servers:
            self.routes.read(self.registry, servers.value()[].number, own_route)
            self.workers.read(self.registry)
