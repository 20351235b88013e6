"""Dispatches requests as a `Router` does, and describes its routes as OpenAPI.

The types of each function describe the requests and responses of its route, so a
program writes nothing twice. The describing functions are in programs only that use an
`ApiRouter`.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http import (
    CanAnswer,
    Extractor,
    Handler,
    NoState,
    Request,
    Response,
    Router,
)
from flare.http.endpoint import Endpoint
from flare.http.function_endpoint import endpoint_of
from flare.http.state import ExpectsState

from .api_method import ApiMethod
from .api_operation import ApiOperation
from .api_state import ApiState
from .describes import describe_function, describe_result
from .document import ApiRoute, document_of
from .docs_page import docs_page, relative_path
from .open_api import OpenApi
from .published import PublishedText


struct ApiRouter[S: AnyType = NoState](ExpectsState, Handler, Sized):
    """A `Router` that describes the requests and responses of its routes.

    It registers handlers as a `Router` does. A last argument says more about a
    route: `api.get("/items/:id", show_item, "Shows an item")`. `publish` then
    adds the OpenAPI document and a page that shows it.

    Parameters:
        S: The state type for `State[S]` parameters of functions.
    """

    comptime ExpectedState: AnyType = Self.S
    """The state type that an `App` around the router must have."""

    # Behind a pointer so that `get` and its like can refer to it.
    var _state: PointerTo[ApiState[Self.S]]

    def __init__(out self, *, var tag: String = ""):
        """Creates a router without routes, which answers 404.

        Args:
            tag: The tag of its operations, unless they have their own: a group
                in the document; by default none.
        """
        self._state = heap_create(ApiState[Self.S](tag^))

    def __init__(out self, *, copy: Self):
        """Copies a router; the routes are shared, the handlers copied.

        Args:
            copy: The router to copy.
        """
        self._state = heap_create(copy._state[].copy())

    def __init__(out self, *, deinit move: Self):
        """Moves a router.

        Args:
            move: The router to move.
        """
        self._state = move._state

    def __deinit__(deinit self):
        """Frees the routes and handlers."""
        heap_destroy(self._state)

    def __getattr__(
        mut self, member: type_of("get")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for GET.

        Args:
            member: The name `get`.

        Returns:
            The registration to call: `api.get("/path", handler, "Summary")`.
        """
        return self._method("GET")

    def __getattr__(
        mut self, member: type_of("post")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for POST.

        Args:
            member: The name `post`.

        Returns:
            The registration to call: `api.post("/path", handler, "Summary")`.
        """
        return self._method("POST")

    def __getattr__(
        mut self, member: type_of("put")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for PUT.

        Args:
            member: The name `put`.

        Returns:
            The registration to call: `api.put("/path", handler, "Summary")`.
        """
        return self._method("PUT")

    def __getattr__(
        mut self, member: type_of("patch")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for PATCH.

        Args:
            member: The name `patch`.

        Returns:
            The registration to call: `api.patch("/path", handler, "Summary")`.
        """
        return self._method("PATCH")

    def __getattr__(
        mut self, member: type_of("delete")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for DELETE.

        Args:
            member: The name `delete`.

        Returns:
            The registration to call: `api.delete("/path", handler, "Summary")`.
        """
        return self._method("DELETE")

    def __getattr__(
        mut self, member: type_of("head")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for HEAD.

        Args:
            member: The name `head`.

        Returns:
            The registration to call: `api.head("/path", handler, "Summary")`.
        """
        return self._method("HEAD")

    def __getattr__(
        mut self, member: type_of("options")
    ) -> ApiMethod[Self.S, origin_of(self)]:
        """Registers a handler for OPTIONS.

        Args:
            member: The name `options`.

        Returns:
            The registration to call: `api.options("/path", handler, "Summary")`.
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
        mut self,
        method: StringSlice,
        pattern: StringSlice,
        var handler: H,
        var notes: ApiOperation = ApiOperation(),
    ) raises:
        """Registers a handler for any method. OpenAPI 3.1 has no place for
        extension methods: the document leaves them out.

        Parameters:
            H: The type of the handler.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern of the path.
            handler: The handler.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._state[].add(
            Endpoint(handler^),
            0,
            ApiRoute(
                String(method), String(pattern), describe_result[H], notes^
            ),
        )

    def route[
        A: Extractor, R: Deinitable & Movable, //
    ](
        mut self,
        method: StringSlice,
        pattern: StringSlice,
        function: def(A) raises thin -> R,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function for any method.

        Parameters:
            A: The type of the parameter, such as `Request`.
            R: The type of the result.

        Args:
            method: The method, a case-sensitive token (RFC 9110 section 9.1).
            pattern: The pattern of the path.
            function: The handler function.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._state[].add(
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
            ApiRoute(
                String(method),
                String(pattern),
                describe_function[R, A],
                notes^,
            ),
        )

    def mount(mut self, prefix: StringSlice, other: Self) raises:
        """Adds all routes of another router under a prefix, with their
        descriptions.

        Args:
            prefix: A pattern without `*`, such as `/api`.
            other: The router; its handlers are copied.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self.mount(prefix, other._state[].router)
        var front = prefix.removesuffix("/")
        for route in other._state[].routes[]:
            var joined = route.copy()
            if front:
                joined.pattern = String(
                    front, "" if route.pattern == "/" else route.pattern
                )
            self._state[].note(joined^)

    def mount(mut self, prefix: StringSlice, other: Router[Self.S]) raises:
        """Adds all routes of a plain router under a prefix. The document leaves
        them out.

        Args:
            prefix: A pattern without `*`, such as `/api`.
            other: The router; its handlers are copied.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._state[].check_open(prefix)
        self._state[].router.mount(prefix, other)

    def document(self, about: OpenApi) raises -> String:
        """Returns the OpenAPI document of all routes.

        Args:
            about: Title, version and more.

        Returns:
            A JSON text of OpenAPI 3.1.

        Raises:
            Error: `openapi.two_ids`, `openapi.two_schemes` or
                `json.bad_schema`, or the error of a type of the program.
        """
        return document_of(self._state[].routes[], about)

    def publish(
        mut self,
        about: OpenApi,
        *,
        document: StringSlice = "/openapi.json",
        page: StringSlice = "/docs",
    ) raises:
        """Adds two routes for GET: the OpenAPI document of all other routes,
        and a page that shows it and sends requests. Call it after the other
        routes are there.

        The document is made at once and answered from memory, with an ETag.
        Anyone who reaches the routes can read them.

        Args:
            about: Title, version and more.
            document: The pattern of the document.
            page: The pattern of the page; empty for none.

        Raises:
            Error: `http.bad_route` with the reason, or the errors of
                `document`.
        """
        self._state[].check_open(document)
        ref router = self._state[].router
        router.get(
            document,
            PublishedText(self.document(about), "application/json"),
        )
        if page:
            router.get(page, docs_page(relative_path(page, document)))
        self._state[].is_published = True

    def router(self) -> Router[Self.S]:
        """Returns the routes without their descriptions.

        Returns:
            A plain router, which another plain router can mount.
        """
        return self._state[].router.copy()

    def __len__(self) -> Int:
        """Returns the number of routes.

        Returns:
            The number, with those of the document and the page.
        """
        return len(self._state[].router)

    def serve(self, req: Request) raises -> Response:
        """Answers a request through the handler of its route.

        Args:
            req: The request.

        Returns:
            The handler's response, or the router's own.

        Raises:
            The error of the handler.
        """
        return self._state[].router.serve(req)

    def _method(
        mut self, method: StaticString
    ) -> ApiMethod[Self.S, origin_of(self)]:
        return ApiMethod[Self.S, origin_of(self)](
            self._state.unsafe_origin_cast[origin_of(self)](), method
        )
