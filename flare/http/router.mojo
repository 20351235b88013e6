"""Dispatches requests by method and path.

The most specific pattern wins; `flare.http.routing` has the rules. A request
without a route gets 404; 405 with Allow; 501 if the method is unknown; or 400
if servers disagree about its path. HEAD uses the route of GET. OPTIONS is
answered from the table of routes (RFC 9110 sections 9.3.2 and 9.3.7).
"""

from flare.core import Erased, PointerTo
from flare.sys.driver import text_view

from .endpoint import Endpoint, MakesEndpoint
from .function_endpoint import endpoint_of
from .handler import Handler
from .into_response import CanAnswer
from .request import Extractor, Request
from .response import Response
from .route_method import RouteMethod
from .router_functions import router_functions
from .router_state import RouterState
from .routes import (
    add_route,
    answer,
    close_router,
    copy_router,
    mount,
    open_router,
)
from .state import ExpectsState, NoState


struct Router[S: AnyType = NoState](
    ExpectsState, Handler, MakesEndpoint, Sized
):
    """Passes each request to the handler for its method and path.

    `router.get("/users/:id", handler)` takes a function or any `Handler`. So
    do `post`, `put`, `patch`, `delete`, `head` and `options`. A function's
    parameters may be extractors: `Path[T]`, `Query[name, T]`, `State[T]`,
    `Request`. Changing a copy does not change the original.

    Parameters:
        S: The state type for `State[S]` parameters of functions.
    """

    comptime ExpectedState: AnyType = Self.S
    """The state type that an `App` around the router must have."""

    # Behind a pointer so that `get` and its like can refer to it.
    var _state: PointerTo[RouterState]

    def __init__(out self):
        """Creates a router without routes, which answers 404."""
        self._state = open_router()

    def __init__(out self, *, copy: Self):
        """Copies a router; the routes are shared, the handlers copied.

        Args:
            copy: The router to copy.
        """
        self._state = copy_router(copy._erased()).unsafe_bitcast[RouterState]()

    def __init__(out self, *, deinit move: Self):
        """Moves a router.

        Args:
            move: The router to move.
        """
        self._state = move._state

    def __deinit__(deinit self):
        """Frees the routes and handlers."""
        close_router(self._erased())

    def __getattr__(
        mut self, member: type_of("get")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for GET.

        Args:
            member: The name `get`.

        Returns:
            The registration to call: `router.get("/path", handler)`.
        """
        return self._method("GET")

    def __getattr__(
        mut self, member: type_of("post")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for POST.

        Args:
            member: The name `post`.

        Returns:
            The registration to call: `router.post("/path", handler)`.
        """
        return self._method("POST")

    def __getattr__(
        mut self, member: type_of("put")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for PUT.

        Args:
            member: The name `put`.

        Returns:
            The registration to call: `router.put("/path", handler)`.
        """
        return self._method("PUT")

    def __getattr__(
        mut self, member: type_of("patch")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for PATCH.

        Args:
            member: The name `patch`.

        Returns:
            The registration to call: `router.patch("/path", handler)`.
        """
        return self._method("PATCH")

    def __getattr__(
        mut self, member: type_of("delete")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for DELETE.

        Args:
            member: The name `delete`.

        Returns:
            The registration to call: `router.delete("/path", handler)`.
        """
        return self._method("DELETE")

    def __getattr__(
        mut self, member: type_of("head")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for HEAD. Without one, the handler of GET
        answers.

        Args:
            member: The name `head`.

        Returns:
            The registration to call: `router.head("/path", handler)`.
        """
        return self._method("HEAD")

    def __getattr__(
        mut self, member: type_of("options")
    ) -> RouteMethod[Self.S, origin_of(self)]:
        """Registers a handler for OPTIONS. The pattern `*` is the server
        itself.

        Args:
            member: The name `options`.

        Returns:
            The registration to call: `router.options("/path", handler)`.
        """
        return self._method("OPTIONS")

    @unavailable(
        "a router has get, post, put, patch, delete, head and options;"
        ' route("PURGE", pattern, handler) takes any method, and'
        " mount(prefix, other) the routes of another router"
    )
    def __getattr__[T: AnyType](mut self, member: T):
        """Fails the build for a member that no router has.

        Parameters:
            T: The type of the name.

        Args:
            member: The name.
        """
        ...

    def route[
        H: Handler
    ](
        mut self, method: StringSlice, pattern: StringSlice, var handler: H
    ) raises:
        """Registers a handler for any method, including extension methods.

        Parameters:
            H: The type of the handler.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern of the path.
            handler: The handler.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self.add_endpoint(method, pattern, Endpoint(handler^), 0)

    def route[
        A: Extractor, R: Deinitable & Movable, //
    ](
        mut self,
        method: StringSlice,
        pattern: StringSlice,
        function: def(A) raises thin -> R,
    ) raises where CanAnswer[R]:
        """Registers a function for any method, including extension methods.

        Parameters:
            A: The type of the parameter, such as `Request`.
            R: The type of the result.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self.add_endpoint(
            method,
            pattern,
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
        )

    def mount(mut self, prefix: StringSlice, other: Self) raises:
        """Adds all routes of another router under a prefix.

        The other router's pattern `/` becomes the prefix itself. Its functions
        count `Path` parameters from the start of the joined pattern.

        Args:
            prefix: A pattern without `*`, such as `/api`.
            other: The router; its handlers are copied.

        Raises:
            Error: `http.bad_route` with the reason. The routes before the
                refused one are then added.
        """
        mount(self._state, text_view(prefix), other._state)

    def add_endpoint(
        mut self,
        method: StringSlice,
        pattern: StringSlice,
        var endpoint: Endpoint,
        parameters: Int,
    ) raises:
        """Adds a route: the last step of all registrations.

        Args:
            method: The method.
            pattern: The pattern of the path.
            endpoint: The handler.
            parameters: How many route parameters the handler uses by position.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        add_route(
            self._state,
            text_view(method),
            text_view(pattern),
            endpoint^,
            parameters,
        )

    def __len__(self) -> Int:
        """Returns the number of routes.

        Returns:
            The number.
        """
        return len(self._state[].table[])

    @always_inline
    def _erased(self) -> Erased:
        return self._state.unsafe_bitcast[NoneType]()

    def _method(
        mut self, method: StaticString
    ) -> RouteMethod[Self.S, origin_of(self)]:
        return RouteMethod[Self.S, origin_of(self)](
            self._state.unsafe_origin_cast[origin_of(self)](), method
        )

    def serve(self, req: Request) raises -> Response:
        """Answers a request through the handler of its route.

        Args:
            req: The request.

        Returns:
            The handler's response, or the router's own.

        Raises:
            The error of the handler.
        """
        return answer(self._erased(), req.unsafe_exchange())

    def into_endpoint(deinit self) -> Endpoint:
        """Returns an endpoint whose functions are those of the driver library.

        Returns:
            The endpoint, which owns the routes.
        """
        ref functions = router_functions()[]
        return Endpoint(
            object=self._state.unsafe_bitcast[NoneType](),
            serve=functions.answer,
            copy=functions.copy_router,
            destroy=functions.close_router,
        )
