"""Converts parts of a request into the parameters of handler functions."""

from .request import Extractor, Request
from .text_value import value_of


struct Path[T: Deinitable & Movable](Extractor):
    """The value of a route parameter, by position.

    The first `Path` of a function is the first parameter of the pattern, the
    second one the second.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`.
    """

    comptime PATH_PARAMETERS: Int = 1
    """A `Path` uses one parameter of the route."""

    var value: Self.T
    """The value."""

    def __init__(out self, var value: Self.T):
        """Creates a parameter from a value, for tests that call the handler
        function.

        Args:
            value: The value.
        """
        self.value = value^

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Parses the route parameter.

        Parameters:
            RouterState: Not used.
            first_parameter: The index of the route parameter.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection` with status 400 if the text is not such a value: `id:
            expected a number, got 'abc'`.
        """
        ref parameters = req.unsafe_exchange()[].parameters
        var octets = parameters.value_at(first_parameter)
        if not octets:
            raise Error("http.no_such_parameter the route has too few")
        return Self(
            value_of[Self.T](
                octets.value(), parameters.name_at(first_parameter)
            )
        )


struct Query[name: StaticString, T: Deinitable & Movable](Extractor):
    """The value of the first query parameter of a name, if there is one.

    Parameters:
        name: The name, decoded.
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `Query` uses no parameter of the route."""

    var value: Optional[Self.T]
    """The value; `None` if the query has no such parameter."""

    def __init__(out self, var value: Optional[Self.T]):
        """Creates a parameter from a value, for tests that call the handler
        function.

        Args:
            value: The value, or `None`.
        """
        self.value = value^

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Parses the query parameter.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection` with status 400 if the text is not such a value: `id:
            expected a number, got 'abc'`.
        """
        var text = req.query_parameters().get(Self.name)
        if not text:
            return Self(None)
        return Self(value_of[Self.T](text.value().as_bytes(), Self.name))
