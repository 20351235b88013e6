"""Turns parts of a request into the parameters of a user's function."""

from .request import Request
from .text_value import value_of


trait Extractor(Deinitable, Movable):
    """Is a type that a handler's parameter can have."""

    comptime PATH_PARAMETERS: Int
    """How many parameters of the route it takes."""

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Takes the value out of a request.

        Parameters:
            RouterState: The state that the router was declared with.
            first_parameter: The index of the first parameter of the route that
                nobody to the left has taken.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection` that becomes the answer, or anything else, which
            becomes a 500.
        """
        ...


struct Path[T: Deinitable & Movable](Extractor):
    """Is the value of a route's parameter, found by its place.

    The first `Path` of a function takes the first parameter of the pattern,
    the second one the second.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`.
    """

    comptime PATH_PARAMETERS: Int = 1
    """It takes one parameter."""

    var value: Self.T
    """The value."""

    def __init__(out self, var value: Self.T):
        """Holds a value, so that tests can call the function.

        Args:
            value: The value.
        """
        self.value = value^

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Reads the parameter.

        Parameters:
            RouterState: Not used.
            first_parameter: The index of the parameter.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection` with status 400 if the text is no such value: `id:
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
    """Is the value of the first query parameter of a name, if there is one.

    Parameters:
        name: The name, without escapes.
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """It takes no parameter of the route."""

    var value: Optional[Self.T]
    """The value, or none if the query has no such parameter."""

    def __init__(out self, var value: Optional[Self.T]):
        """Holds a value, so that tests can call the function.

        Args:
            value: The value, or none.
        """
        self.value = value^

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Reads the parameter.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection` with status 400 if the text is no such value: `id:
            expected a number, got 'abc'`.
        """
        var text = req.query_parameters().get(Self.name)
        if not text:
            return Self(None)
        return Self(value_of[Self.T](text.value().as_bytes(), Self.name))
