"""Converts parts of a request into the parameters of handler functions."""

from flare.message import QueryParameters

from .collects_problems import CollectsProblems, refusal_of
from .from_fields import FromFields
from .rejection import Rejection
from .request import Request
from .text_value import text_value
from .validation import FoundProblem, Problems, Validated


struct Path[T: Deinitable & Movable](CollectsProblems):
    """The value of a route parameter, by position.

    The first `Path` of a function is the first parameter of the pattern, the
    second one the second.

    Parameters:
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`, and may conform to `Validated`.
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
            expected a number, got 'abc'`. It is 422 if the value is not valid.
        """
        ref parameters = req.unsafe_exchange()[].parameters
        var octets = parameters.value_at(first_parameter)
        if not octets:
            raise Error("http.no_such_parameter the route has too few")
        try:
            return Self(valid_value[Self.T](octets.value()))
        except e:
            var refusal = refusal_of[Self, RouterState, first_parameter](
                req, e^
            )
            raise refusal^

    @staticmethod
    def collect[
        RouterState: AnyType, first_parameter: Int
    ](req: Request, mut problems: Problems) raises:
        """Adds the problem of the route parameter.

        Parameters:
            RouterState: Not used.
            first_parameter: The index of the route parameter.

        Args:
            req: The request.
            problems: Receives the problems.

        Raises:
            The `Rejection` that a `from_text` of the program raised.
        """
        ref parameters = req.unsafe_exchange()[].parameters
        var octets = parameters.value_at(first_parameter)
        if octets:
            _collect_value[Self.T](
                octets.value(),
                FoundProblem.PATH,
                parameters.name_at(first_parameter),
                problems,
            )


struct Query[name: StaticString, T: Deinitable & Movable](CollectsProblems):
    """The value of the first query parameter of a name, if there is one.

    Parameters:
        name: The name, decoded.
        T: `Int`, `UInt64`, `Float64`, `Bool`, `String`, or a type that conforms
            to `FromText`, and may conform to `Validated`.
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
            expected a number, got 'abc'`. It is 422 if the value is not valid.
        """
        var text = req.query_parameters().get(Self.name)
        if not text:
            return Self(None)
        try:
            return Self(valid_value[Self.T](text.value().as_bytes()))
        except e:
            var refusal = refusal_of[Self, RouterState, first_parameter](
                req, e^
            )
            raise refusal^

    @staticmethod
    def collect[
        RouterState: AnyType, first_parameter: Int
    ](req: Request, mut problems: Problems) raises:
        """Adds the problem of the query parameter.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.
            problems: Receives the problems.

        Raises:
            The `Rejection` that a `from_text` of the program raised.
        """
        var text = req.query_parameters().get(Self.name)
        if text:
            _collect_value[Self.T](
                text.value().as_bytes(),
                FoundProblem.QUERY,
                Self.name,
                problems,
            )


struct QueryOf[T: FromFields](CollectsProblems):
    """All parameters of a query, as a struct.

    Parameters:
        T: A struct that conforms to `FromFields`, and may conform to
            `Validated`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `QueryOf` uses no parameter of the route."""

    var value: Self.T
    """The struct."""

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
        """Parses the parameters of the query. Parameters without a field are
        ignored.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The struct.

        Raises:
            A `Rejection` that lists all problems. The status is 400 if a
            parameter is missing or malformed, and 422 if the values are not
            valid.
        """
        return Self(
            fields_of[Self.T](req.query_parameters(), FoundProblem.QUERY)
        )

    @staticmethod
    def collect[
        RouterState: AnyType, first_parameter: Int
    ](req: Request, mut problems: Problems) raises:
        """Adds the problems of the query.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.
            problems: Receives the problems.

        Raises:
            The `Rejection` that a type of the program raised.
        """
        collect_fields[Self.T](
            req.query_parameters(), FoundProblem.QUERY, problems
        )


def fields_of[
    T: FromFields, origin: ImmOrigin
](fields: QueryParameters[origin], place: UInt8) raises -> T:
    """Reads and validates a struct of fields.

    Parameters:
        T: The struct.
        origin: The origin of the fields.

    Args:
        fields: The fields.
        place: Where they are: a constant of `FoundProblem`.

    Returns:
        The struct.

    Raises:
        A `Rejection` that lists all problems.
    """
    var problems = Problems()
    try:
        var value = T.from_fields(fields, place, problems)
        validate_fields(value, place, problems)
        if not problems:
            return value^
    except e:
        if not problems or Rejection.status_of(e):
            raise e^
    var rejection = problems.rejection()
    raise rejection^


def collect_fields[
    T: FromFields, origin: ImmOrigin
](fields: QueryParameters[origin], place: UInt8, mut problems: Problems) raises:
    """Adds the problems of the fields of a struct.

    Parameters:
        T: The struct.
        origin: The origin of the fields.

    Args:
        fields: The fields.
        place: Where they are: a constant of `FoundProblem`.
        problems: Receives the problems.

    Raises:
        The `Rejection` that a type of the program raised.
    """
    var before = len(problems)
    try:
        var value = T.from_fields(fields, place, problems)
        validate_fields(value, place, problems)
    except e:
        if Rejection.status_of(e) or (
            len(problems) == before and not problems.are_more
        ):
            raise e^


@always_inline
def valid_value[T: Deinitable & Movable](octets: Span[UInt8, _]) raises -> T:
    """Parses and validates a value.

    Parameters:
        T: The type of the value.

    Args:
        octets: The text, decoded.

    Returns:
        The value.

    Raises:
        The errors of `text_value`, or an error if the value is not valid.
    """
    var value = text_value[T](octets)
    comptime if conforms_to(T, Validated):
        var problems = Problems()
        value.validate(problems)
        if problems:
            raise Error("http.not_valid")
    return value^


def validate_fields[T: AnyType](value: T, place: UInt8, mut problems: Problems):
    """Validates a value of several fields, if its type conforms to `Validated`.

    Parameters:
        T: The type of the value.

    Args:
        value: The value.
        place: Where the fields are: a constant of `FoundProblem`.
        problems: Receives the problems.
    """
    comptime if conforms_to(T, Validated):
        var before = len(problems)
        value.validate(problems)
        for i in range(before, len(problems)):
            problems.found[i].place = place


def _collect_value[
    T: Deinitable & Movable
](
    octets: Span[UInt8, _],
    place: UInt8,
    name: StringSlice,
    mut problems: Problems,
) raises:
    try:
        var value = text_value[T](octets)
        comptime if conforms_to(T, Validated):
            var before = len(problems)
            value.validate(problems)
            problems.move(before, place, name)
        _ = value^
    except e:
        if Rejection.status_of(e):
            raise e^
        problems.note_value(place, name, String(e))
