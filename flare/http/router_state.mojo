"""Defines the state of a router."""

from std.memory import ArcPointer

from .endpoint import Endpoint
from .routing import RouteTable
from .routing.pattern import RoutePattern, bad_route


struct RouterState(Copyable, Movable):
    """The routes and handlers of one router."""

    # Shared by the copies of a router, which only read it.
    var table: ArcPointer[RouteTable]
    """The routes; their endpoints are indices of `endpoints`."""
    var endpoints: List[Endpoint]
    """The handlers."""

    def __init__(out self):
        """Creates a state without routes."""
        self.table = ArcPointer(RouteTable())
        self.endpoints = List[Endpoint]()

    def own_table(mut self):
        """Copies the table if another router shares it, before a route is
        added.
        """
        if self.table.count() > 1:
            self.table = ArcPointer(self.table[].copy())

    def add(
        mut self,
        method: StringSlice,
        pattern: StringSlice,
        var endpoint: Endpoint,
        path_parameters: Int,
    ) raises:
        """Adds a route.

        Args:
            method: The method.
            pattern: The pattern.
            endpoint: The handler.
            path_parameters: How many route parameters the handler uses by
                position.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        if path_parameters > RoutePattern(pattern).parameter_count():
            raise bad_route(
                "the function takes more path parameters than the pattern has",
                pattern,
            )
        self.own_table()
        self.table[].add(method, pattern, len(self.endpoints))
        self.endpoints.append(endpoint^)
