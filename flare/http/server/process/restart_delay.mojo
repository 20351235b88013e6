"""Decides when a worker that died is started again."""

comptime TRIES_MAX = 5
"""How often a worker that has never served is started."""

comptime _LONG_LIFE_MS = 1000
comptime _LONG_LIFE_REQUESTS = 100
comptime _SHORTEST_MS = 10
comptime _LONGEST_SERVING_MS = 50
comptime _LONGEST_MS = 5000


struct RestartDelay(Copyable, Movable):
    """Computes the delay before a worker's restart from its early deaths.

    A worker that dies after it has served is restarted within 50 ms, even if it
    dies often. Otherwise a client that crashes it could deny service to others.
    A worker that dies before it serves is restarted after up to 5 s, because
    faster retries help no client.
    """

    var early_deaths: Int
    """Deaths in a row, each after a short life."""

    def __init__(out self):
        """Creates a delay without deaths."""
        self.early_deaths = 0

    def after_death(
        mut self, *, served: Bool, lived_ms: Int, requests: Int
    ) -> Int:
        """Counts a death.

        Args:
            served: Whether the worker has served.
            lived_ms: The lifetime of the worker.
            requests: The number of requests that it received.

        Returns:
            The milliseconds to wait before the next start.
        """
        if served and (
            lived_ms >= _LONG_LIFE_MS or requests >= _LONG_LIFE_REQUESTS
        ):
            self.early_deaths = 0
            return 0
        self.early_deaths += 1
        if self.early_deaths == 1:
            return 0
        var doublings = min(self.early_deaths - 2, 16)
        return min(
            _SHORTEST_MS << doublings,
            _LONGEST_SERVING_MS if served else _LONGEST_MS,
        )
