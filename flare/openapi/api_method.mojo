"""Registers handlers of an `ApiRouter` for one method."""

from flare.http import CanAnswer, Extractor, Handler
from flare.http.endpoint import Endpoint
from flare.http.function_endpoint import endpoint_of
from flare.http.handler import NoHandler

from .api_operation import ApiOperation
from .api_state import ApiState
from .describes import DescribeFunction, describe_function, describe_result
from .document import ApiRoute

comptime _Type = Deinitable & Movable


@fieldwise_init
struct ApiMethod[S: AnyType, origin: MutOrigin](TrivialRegisterPassable):
    """Registers handlers for one method; for example `api.get`.

    Parameters:
        S: The state type of the router.
        origin: The router, which must outlive this.
    """

    var _state: Pointer[ApiState[Self.S], Self.origin]
    var _method: StaticString

    def __call__[
        H: Handler
    ](
        self,
        pattern: StringSlice,
        var handler: H,
        var notes: ApiOperation = ApiOperation(),
    ) raises:
        """Registers a handler: middleware, or a struct of the program.

        Parameters:
            H: The type of the handler. It may conform to `DescribesResponse`.

        Args:
            pattern: The pattern of the path.
            handler: The handler.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(pattern, Endpoint(handler^), 0, describe_result[H], notes^)

    def __call__[
        R: _Type,
        //,
    ](
        self,
        pattern: StringSlice,
        function: def() raises thin -> R,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with no parameters.

        Parameters:
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, R](function),
            0,
            describe_function[R],
            notes^,
        )

    def __call__[
        R: _Type,
        //,
        function: def() raises thin -> R,
    ](
        self,
        pattern: StringSlice,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with no parameters: `api.get[f](…)`.

        Parameters:
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, R](function),
            0,
            describe_function[R],
            notes^,
        )

    def __call__[
        A: Extractor,
        R: _Type,
        //,
    ](
        self,
        pattern: StringSlice,
        function: def(A) raises thin -> R,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 1 parameter.

        Parameters:
            A: The type of the first parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
            describe_function[R, A],
            notes^,
        )

    def __call__[
        A: Extractor,
        R: _Type,
        //,
        function: def(A) raises thin -> R,
    ](
        self,
        pattern: StringSlice,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 1 parameter: `api.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, R](function),
            A.PATH_PARAMETERS,
            describe_function[R, A],
            notes^,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        R: _Type,
        //,
    ](
        self,
        pattern: StringSlice,
        function: def(A, B) raises thin -> R,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 2 parameters.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            R: The type of the result.

        Args:
            pattern: The pattern of the path.
            function: The handler function.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, R](function),
            A.PATH_PARAMETERS + B.PATH_PARAMETERS,
            describe_function[R, A, B],
            notes^,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        R: _Type,
        //,
        function: def(A, B) raises thin -> R,
    ](
        self,
        pattern: StringSlice,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 2 parameters: `api.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, R](function),
            A.PATH_PARAMETERS + B.PATH_PARAMETERS,
            describe_function[R, A, B],
            notes^,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        R: _Type,
        //,
    ](
        self,
        pattern: StringSlice,
        function: def(A, B, C) raises thin -> R,
        var notes: ApiOperation = ApiOperation(),
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
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, C, R](function),
            A.PATH_PARAMETERS + B.PATH_PARAMETERS + C.PATH_PARAMETERS,
            describe_function[R, A, B, C],
            notes^,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        R: _Type,
        //,
        function: def(A, B, C) raises thin -> R,
    ](
        self,
        pattern: StringSlice,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 3 parameters: `api.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.
            notes: Descriptions beyond the types, for the document.

        Raises:
            Error: `http.bad_route` with the reason.
        """
        self._add(
            pattern,
            endpoint_of[Self.S, A, B, C, R](function),
            A.PATH_PARAMETERS + B.PATH_PARAMETERS + C.PATH_PARAMETERS,
            describe_function[R, A, B, C],
            notes^,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        D: Extractor,
        R: _Type,
        //,
    ](
        self,
        pattern: StringSlice,
        function: def(A, B, C, D) raises thin -> R,
        var notes: ApiOperation = ApiOperation(),
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
            notes: Descriptions beyond the types, for the document.

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
            describe_function[R, A, B, C, D],
            notes^,
        )

    def __call__[
        A: Extractor,
        B: Extractor,
        C: Extractor,
        D: Extractor,
        R: _Type,
        //,
        function: def(A, B, C, D) raises thin -> R,
    ](
        self,
        pattern: StringSlice,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 4 parameters: `api.get[f](…)`.

        Parameters:
            A: The type of the first parameter.
            B: The type of the second parameter.
            C: The type of the third parameter.
            D: The type of the fourth parameter.
            R: The type of the result.
            function: The handler function.

        Args:
            pattern: The pattern of the path.
            notes: Descriptions beyond the types, for the document.

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
            describe_function[R, A, B, C, D],
            notes^,
        )

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
        var notes: ApiOperation = ApiOperation(),
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
            notes: Descriptions beyond the types, for the document.

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
            describe_function[R, A, B, C, D, E],
            notes^,
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
    ](
        self,
        pattern: StringSlice,
        var notes: ApiOperation = ApiOperation(),
    ) raises where CanAnswer[R]:
        """Registers a function with 5 parameters: `api.get[f](…)`.

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
            notes: Descriptions beyond the types, for the document.

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
            describe_function[R, A, B, C, D, E],
            notes^,
        )

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

    def _add(
        self,
        pattern: StringSlice,
        var endpoint: Endpoint,
        parameters: Int,
        describe: DescribeFunction,
        var notes: ApiOperation,
    ) raises:
        self._state[].add(
            endpoint^,
            parameters,
            ApiRoute(String(self._method), String(pattern), describe, notes^),
        )
