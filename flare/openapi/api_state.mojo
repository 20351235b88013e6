"""Holds the routes of an `ApiRouter`, and their descriptions."""

from std.memory import ArcPointer

from flare.http import Router
from flare.http.endpoint import Endpoint
from flare.http.routing.pattern import bad_route

from .document import ApiRoute


struct ApiState[S: AnyType](Copyable, Movable):
    """The routes of one router, for requests and for the document.

    Parameters:
        S: The state type of the router.
    """

    var router: Router[Self.S]
    """Answers requests."""
    # Shared by the copies of a router, which only read it.
    var routes: ArcPointer[List[ApiRoute]]
    """The routes that the document describes."""
    var tag: String
    """The tag of operations that have none; empty for none."""
    var is_published: Bool
    """Whether the document is made, and no route may be added."""

    def __init__(out self, var tag: String):
        """Creates a state without routes.

        Args:
            tag: The tag of operations that have none.
        """
        self.router = Router[Self.S]()
        self.routes = ArcPointer(List[ApiRoute]())
        self.tag = tag^
        self.is_published = False

    def add(
        mut self, var endpoint: Endpoint, parameters: Int, var route: ApiRoute
    ) raises:
        """Adds a route.

        Args:
            endpoint: The handler.
            parameters: How many route parameters the handler uses by position.
            route: Method, pattern and description.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self.check_open(route.pattern)
        self.router.add_endpoint(
            route.method, route.pattern, endpoint^, parameters
        )
        self.note(route^)

    def note(mut self, var route: ApiRoute):
        """Adds the description of a route.

        Args:
            route: The route.
        """
        if self.routes.count() > 1:
            self.routes = ArcPointer(self.routes[].copy())
        if self.tag and not route.notes.tags:
            route.notes.tags.append(self.tag)
        self.routes[].append(route^)

    def check_open(self, pattern: StringSlice) raises:
        """Refuses a route after the document was made.

        Args:
            pattern: The pattern.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        if self.is_published:
            raise bad_route("the document is published already", pattern)
