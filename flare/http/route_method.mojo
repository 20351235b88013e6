"""Registers handlers for one method: the type of `router.get` and the like."""

from flare.sys.driver import text_view

from .endpoint import Endpoint
from .request import Extractor
from .function_endpoint import endpoint_of
from .handler import Handler, NoHandler
from .into_response import CanAnswer
from .router_state import RouterState
from .routes import add_route

comptime _Type = Deinitable & Movable


@fieldwise_init
struct RouteMethod[S: AnyType, origin: MutOrigin](TrivialRegisterPassable):
    """Registers handlers for one method; for example `router.get`.

    Parameters:
        S: The state type of the router.
        origin: The router, which must outlive this.
    """

    var _router: Pointer[RouterState, Self.origin]
    var _method: StaticString

    def __call__[H: Handler](self, pattern: StringSlice, var handler: H) raises:
        """Registers a handler: a router, middleware, or a struct of the
        program.

        Parameters:
            H: The type of the handler.

        Args:
            pattern: The pattern of the path.
            handler: The handler.

        Raises:
            Error: `http.bad_route` with the reason: the pattern is malformed,
                or a pattern of the same shape has this method already.
        """
        self._add(pattern, Endpoint(handler^), 0)

    def __call__[
        R: _Type, //
    ](
        self, pattern: StringSlice, function: def() raises thin -> R
    ) raises where CanAnswer[R]:
        """Registers a function with no parameters.

        Parameters:
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, R](function),
            0,
        )

    def __call__[
        R: _Type,
        //,
        function: def() raises thin -> R,
    ](self, pattern: StringSlice) raises where CanAnswer[R]:
        """Registers a function with no parameters: `router.get[f](…)`.

        Parameters:
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self(pattern, function)

    def __call__[
        A: Extractor, R: _Type, //
    ](
        self, pattern: StringSlice, function: def(A) raises thin -> R
    ) raises where CanAnswer[R]:
        """Registers a function with 1 parameter.

        Parameters:
            A: The type of the first parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
        )

    def __call__[
        A: Extractor,
        R: _Type,
        //,
        function: def(A) raises thin -> R,
    ](self, pattern: StringSlice) raises where CanAnswer[R]:
        """Registers a function with 1 parameter: `router.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        # Another call would be ambiguous with the refusal of other results.
        self._add(
            pattern,
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
        )

    def __call__[
        A: Extractor, B: Extractor, R: _Type, //
    ](
        self, pattern: StringSlice, function: def(A, B) raises thin -> R
    ) raises where CanAnswer[R]:
        """Registers a function with 2 parameters.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, R](function),
            A.PATH_PARAMETERS + B.PATH_PARAMETERS,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        R: _Type,
        //,
        function: def(A, B) raises thin -> R,
    ](self, pattern: StringSlice) raises where CanAnswer[R]:
        """Registers a function with 2 parameters: `router.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self(pattern, function)

    def __call__[
        A: Extractor, B: Extractor, C: Extractor, R: _Type, //
    ](
        self,
        pattern: StringSlice,
        function: def(A, B, C) raises thin -> R,
    ) raises where CanAnswer[R]:
        """Registers a function with 3 parameters.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, C, R](function),
            A.PATH_PARAMETERS + B.PATH_PARAMETERS + C.PATH_PARAMETERS,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        R: _Type,
        //,
        function: def(A, B, C) raises thin -> R,
    ](self, pattern: StringSlice) raises where CanAnswer[R]:
        """Registers a function with 3 parameters: `router.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self(pattern, function)

    def __call__[
        A: Extractor, B: Extractor, C: Extractor, D: Extractor, R: _Type, //
    ](
        self,
        pattern: StringSlice,
        function: def(A, B, C, D) raises thin -> R,
    ) raises where CanAnswer[R]:
        """Registers a function with 4 parameters.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            D: The type of the fourth parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, C, D, R](function),
            A.PATH_PARAMETERS
            + B.PATH_PARAMETERS
            + C.PATH_PARAMETERS
            + D.PATH_PARAMETERS,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        D: Extractor,
        R: _Type,
        //,
        function: def(A, B, C, D) raises thin -> R,
    ](self, pattern: StringSlice) raises where CanAnswer[R]:
        """Registers a function with 4 parameters: `router.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            D: The type of the fourth parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self(pattern, function)

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        D: Extractor,
        E: Extractor,
        R: _Type,
        //,
    ](
        self,
        pattern: StringSlice,
        function: def(A, B, C, D, E) raises thin -> R,
    ) raises where CanAnswer[R]:
        """Registers a function with 5 parameters.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            D: The type of the fourth parameter.
            E: The type of the fifth parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, C, D, E, R](function),
            A.PATH_PARAMETERS
            + B.PATH_PARAMETERS
            + C.PATH_PARAMETERS
            + D.PATH_PARAMETERS
            + E.PATH_PARAMETERS,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        D: Extractor,
        E: Extractor,
        R: _Type,
        //,
        function: def(A, B, C, D, E) raises thin -> R,
    ](self, pattern: StringSlice) raises where CanAnswer[R]:
        """Registers a function with 5 parameters: `router.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            D: The type of the fourth parameter.
            E: The type of the fifth parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self(pattern, function)

    @unavailable(
        "the result of a handler is a Response, String, Json[T] or a type that"
        " conforms to IntoResponse: write"
        " 'def name(req: Request) raises -> Response'"
    )
    def __call__[
        A: Extractor, R: _Type, //
    ](
        self, pattern: StringSlice, function: def(A) raises thin -> R
    ) where not CanAnswer[R]:
        """Fails the build for a function whose result is no answer.

        Parameters:
            A: The type of the parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The function.
        """
        ...

    @unavailable(
        "a handler is 'def name(req: Request) raises -> Response': each"
        " parameter is a Request, Path[T], Query[name, T], Json[T], Form[T],"
        " State[T] or Extractor, at most five; the result is a Response,"
        " String, Json[T] or IntoResponse; a closure captures nothing, and a"
        " struct conforms to Handler and is handed over with ^"
    )
    def __call__(self, pattern: StringSlice, *function: NoHandler):
        """Fails the build for a value that is no handler.

        Args:
            pattern: The pattern of the path.
            function: The value.
        """
        ...

    @unavailable(
        "the result of a handler is a Response, String, Json[T] or a type that"
        " conforms to IntoResponse: write"
        " 'def name(req: Request) raises -> Response'"
    )
    def __call__[
        A: Extractor,
        R: _Type,
        //,
        function: def(A) raises thin -> R,
    ](self, pattern: StringSlice) where not CanAnswer[R]:
        """Fails the build for a function whose result is no answer.

        Parameters:
            A: The type of the parameter.
            R: The type of the result.
            function: The function.

        Args:
            pattern: The pattern of the path.
        """
        ...

    @unavailable('write the pattern first: router.get("/users/:id", show_user)')
    def __call__[F: AnyType](self, function: F, pattern: StringSlice):
        """Fails the build if the arguments are exchanged.

        Parameters:
            F: The type of the value.

        Args:
            function: The handler.
            pattern: The pattern of the path.
        """
        ...

    def _add(
        self, pattern: StringSlice, var endpoint: Endpoint, parameters: Int
    ) raises:
        add_route(
            self._router.unsafe_origin_cast[MutUntrackedOrigin](),
            text_view(self._method),
            text_view(pattern),
            endpoint^,
            parameters,
        )
