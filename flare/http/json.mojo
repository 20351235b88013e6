"""Passes JSON to and from handler functions, as structs."""

from flare.core import equals_ignoring_case
from flare.json import (
    FromJson,
    JsonError,
    ToJson,
    decode,
    dumps,
    problems_of,
)
from flare.message import Status

from .builders import ok_json
from .collects_problems import CollectsProblems, refusal_of
from .into_response import IntoResponse
from .rejected_text import REJECTED, expected_type
from .request import Request
from .response import Response
from .validation import FoundProblem, Problems, Validated

comptime _TYPE: StaticString = "application/json"
comptime _SUFFIX: StaticString = "+json"


struct Json[T: Deinitable & Movable](CollectsProblems, IntoResponse):
    """The content of a request or a response, as JSON.

    A handler with a parameter `Json[T]` gets the value in the request's
    content. A handler that returns a `Json[T]` answers with its value:
    `Json(value, status=201)`.

    Parameters:
        T: A type that conforms to `FromJson` as a parameter, and to `ToJson`
            as a result. As a parameter it may conform to `Validated`.
    """

    comptime PATH_PARAMETERS: Int = 0
    """A `Json` parameter uses no parameter of the route."""

    var value: Self.T
    """The value."""
    var status: Int
    """The status of the response; 200 by default. Unused in a parameter."""

    def __init__(out self, var value: Self.T, *, status: Int = Status.OK):
        """Creates a JSON response, or a parameter for tests, from a value.

        Args:
            value: The value.
            status: The status code of the response, 200 to 599.
        """
        self.value = value^
        self.status = status

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Waits for the whole content and parses it.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The value.

        Raises:
            A `Rejection`. The status is 415 if the content is neither
            `application/json` nor `…+json`; the text names the received type.
            It is 400 for malformed JSON, and 422 if the JSON is not such a
            value, or is not valid. The answer lists all problems.
        """
        comptime assert conforms_to(Self.T, FromJson), String(
            reflect[Self.T].name(),
            " is not read from JSON: conform to FromJson",
        )
        var octets = _octets_of(req)
        try:
            var value = decode[Self.T](octets)
            comptime if conforms_to(Self.T, Validated):
                var problems = Problems()
                value.validate(problems)
                if problems:
                    var rejection = problems.rejection()
                    raise rejection^
            return Self(value^)
        except e:
            var refusal = refusal_of[Self, RouterState, first_parameter](
                req, e^
            )
            raise refusal^

    @staticmethod
    def collect[
        RouterState: AnyType, first_parameter: Int
    ](req: Request, mut problems: Problems) raises:
        """Waits for the whole content, and adds all problems in it.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.
            problems: Receives the problems.

        Raises:
            A `Rejection` with status 415 if the content has another type, and
            the errors of reading the content.
        """
        comptime assert conforms_to(Self.T, FromJson)
        var octets = _octets_of(req)
        var found = problems_of[Self.T](octets)
        for problem in found.found:
            problems.note(
                FoundProblem(
                    FoundProblem.BODY,
                    problem.pointer,
                    problem.reason,
                    problem.line,
                    problem.column,
                ),
                status=_status_of(problem.kind),
            )
        if found.are_more:
            problems.are_more = True
        comptime if conforms_to(Self.T, Validated):
            if len(found) == 0:
                decode[Self.T](octets).validate(problems)

    def into_response(var self) raises -> Response:
        """Returns a response with the value as JSON.

        Returns:
            The response, of type `application/json`.

        Raises:
            The text of a `JsonError` if JSON cannot represent the value.
        """
        comptime assert conforms_to(Self.T, ToJson), String(
            reflect[Self.T].name(), " is not written as JSON: conform to ToJson"
        )
        return ok_json(dumps(self.value)).with_status(self.status)


def _is_json(octets: Span[UInt8, _]) -> Bool:
    var end = 0
    while end < len(octets) and octets[end] != UInt8(ord(";")):
        end += 1
    while end > 0 and (octets[end - 1] == 32 or octets[end - 1] == 9):
        end -= 1
    comptime SUFFIX = _SUFFIX.byte_length()
    return equals_ignoring_case(octets[:end], _TYPE.as_bytes()) or (
        end > SUFFIX
        and equals_ignoring_case(octets[end - SUFFIX : end], _SUFFIX.as_bytes())
    )


def _octets_of(
    req: Request,
) raises -> Span[UInt8, origin_of(req)]:
    var type = req.headers.get("Content-Type")
    if not type or not _is_json(type.value().as_bytes()):
        raise Error(REJECTED, 415, " ", expected_type(_TYPE, type))
    return req.body.octets()


def _status_of(kind: Int) -> Int:
    # Malformed JSON is 400; JSON of another shape is 422.
    if kind in (
        JsonError.SYNTAX,
        JsonError.NOT_UTF8,
        JsonError.TOO_DEEP,
        JsonError.TOO_LARGE,
    ):
        return Status.BAD_REQUEST
    return Status.UNPROCESSABLE_CONTENT
