"""Collects the problems of a request.

The answer is a document of type `application/problem+json` (RFC 9457) that
lists all problems.
"""

from std.collections import Dict, List, Optional

from flare.json import JsonOutput, JsonWriter
from flare.json.findings import POINTER_OCTETS_MAX, escaped_token
from flare.message import Status, reason_phrase

from .rejected_text import REJECTED

comptime PROBLEMS_MAX = 32
"""The most problems that an answer lists."""


trait Validated:
    """A type that checks its values after they were read from a request.

    `Json`, `Form`, `QueryOf`, `Path` and `Query` call `validate`. A list, an
    `Optional` or a dictionary of such values calls it for each of them.
    """

    def validate(self, mut problems: Problems):
        """Adds the problems of the value.

        It may be called twice for one request, so it changes nothing. It
        raises no errors.

        Args:
            problems: Receives the problems.
        """
        ...


@fieldwise_init
struct FoundProblem(Copyable, Movable):
    """One problem, and where it is."""

    comptime BODY: UInt8 = 0
    """In the content."""
    comptime PATH: UInt8 = 1
    """In a parameter of the route."""
    comptime QUERY: UInt8 = 2
    """In a parameter of the query."""

    var place: UInt8
    """One of the constants above."""
    var pointer: String
    """A JSON Pointer (RFC 6901), such as `/items/3/price`. In path and query,
    its first token is the name of the parameter.
    """
    var detail: String
    """The mistake, for the author of the request."""
    var line: Int
    """The line of a JSON text, from 1; 0 without such a text."""
    var column: Int
    """The column in characters, from 1; 0 without such a text."""


struct Problems(Boolable, Movable, Sized):
    """The problems of a request, at most 32. More are counted only.

    An empty list has no memory.
    """

    var found: List[FoundProblem]
    """The problems, in the order in which they were found."""
    var are_more: Bool
    """Whether there are more than 32."""
    var status: Int
    """The status of the answer: 400 if a value could not be read at all, else
    422.
    """

    def __init__(out self):
        """Creates an empty list."""
        self.found = List[FoundProblem]()
        self.are_more = False
        self.status = Status.UNPROCESSABLE_CONTENT

    @always_inline
    def require(
        mut self, condition: Bool, pointer: StringSlice, detail: StringSlice
    ):
        """Adds a problem unless a condition is met.

        Args:
            condition: The condition.
            pointer: The JSON Pointer (RFC 6901) of the value within this one,
                such as `/price`; empty for this one. A missing first `/` is
                added.
            detail: The mistake, such as `must be positive`.
        """
        if not condition:
            self.add(pointer, detail)

    @no_inline
    def add(mut self, pointer: StringSlice, detail: StringSlice):
        """Adds a problem.

        Args:
            pointer: The JSON Pointer of the value within this one; empty for
                this one. A missing first `/` is added.
            detail: The mistake.
        """
        if self._is_full():
            return
        var own = String()
        if pointer and not pointer.startswith("/"):
            own.write("/")
        own.write(pointer)
        _shorten(own)
        self.found.append(
            FoundProblem(FoundProblem.BODY, own^, String(detail), 0, 0)
        )

    @always_inline
    def at[V: AnyType](mut self, name: StringSlice, value: V):
        """Validates a part of a value: a struct, or an `Optional`, a list or a
        dictionary of them.

        Parameters:
            V: The type of the part. It is passed over unless it
                conforms to `Validated`.

        Args:
            name: The name of the part, as clients write it.
            value: The part.
        """
        comptime if conforms_to(V, Validated):
            var before = len(self)
            value.validate(self)
            if len(self) > before:
                self.move(before, FoundProblem.BODY, name)

    @always_inline
    def at[V: AnyType](mut self, index: Int, value: V):
        """Validates an element of a list.

        Parameters:
            V: The type of the element. It is passed over unless it
                conforms to `Validated`.

        Args:
            index: The index of the element.
            value: The element.
        """
        comptime if conforms_to(V, Validated):
            var before = len(self)
            value.validate(self)
            if len(self) > before:
                self.move(before, FoundProblem.BODY, String(index))

    @no_inline
    def move(mut self, start: Int, place: UInt8, name: StringSlice):
        """Puts a name in front of the pointers of the latest problems.

        Args:
            start: How many problems stay as they are.
            place: Where the others are: a constant of `FoundProblem`.
            name: The name of the value that contains them.
        """
        var token = escaped_token(name)
        for i in range(start, len(self.found)):
            ref problem = self.found[i]
            problem.place = place
            var pointer = String("/", token, problem.pointer)
            _shorten(pointer)
            problem.pointer = pointer^

    @no_inline
    def note(mut self, var problem: FoundProblem, *, status: Int):
        """Adds a problem of a value that could not be read.

        Args:
            problem: The problem.
            status: The status that answers it alone: 400 or 422.
        """
        if status == Status.BAD_REQUEST:
            self.status = status
        if not self._is_full():
            self.found.append(problem^)

    def note_value(mut self, place: UInt8, name: StringSlice, detail: String):
        """Adds a problem of a parameter or field that could not be read.

        Args:
            place: Where it is: a constant of `FoundProblem`.
            name: The name.
            detail: The mistake.
        """
        var pointer = String("/", escaped_token(name))
        _shorten(pointer)
        self.note(
            FoundProblem(place, pointer^, detail, 0, 0),
            status=Status.BAD_REQUEST,
        )

    def __len__(self) -> Int:
        """Returns the number of problems that the answer lists.

        Returns:
            The number, at most 32.
        """
        return len(self.found)

    def __bool__(self) -> Bool:
        """Returns whether there is a problem.

        Returns:
            True if the request is refused.
        """
        return len(self.found) > 0

    @no_inline
    def rejection(self) raises -> Error:
        """Returns the error by which an extractor refuses the request.

        Returns:
            The error, which is answered with all problems.

        Raises:
            Never.
        """
        var output = JsonOutput()
        self._write(output.writer())
        return Error(REJECTED, self.status, " ", output.take_text())

    def _write(self, json: JsonWriter) raises:
        json.begin_object()
        json.key("type")
        json.string("about:blank")
        json.key("title")
        json.string(reason_phrase(self.status))
        json.key("status")
        json.int(self.status)
        json.key("detail")
        json.string(self._summary())
        json.key("errors")
        json.begin_array()
        for problem in self.found:
            _write_problem(problem, json)
        json.end_array()
        json.end_object()

    def _summary(self) -> String:
        if self.are_more:
            return String(
                "The request has more than ", PROBLEMS_MAX, " problems."
            )
        if len(self) == 1:
            return "The request has 1 problem."
        return String("The request has ", len(self), " problems.")

    def _is_full(mut self) -> Bool:
        if len(self.found) < PROBLEMS_MAX:
            return False
        self.are_more = True
        return True


__extension List(Validated):
    def validate(self, mut problems: Problems):
        """Validates each element.

        Args:
            self: The value.
            problems: Receives the problems.
        """
        comptime if conforms_to(Self.T, Validated):
            for i in range(len(self)):
                problems.at(i, self[i])


__extension Optional(Validated):
    def validate(self, mut problems: Problems):
        """Validates the value, if there is one.

        Args:
            self: The value.
            problems: Receives the problems.
        """
        comptime if conforms_to(Self.T, Validated):
            if self:
                self.unsafe_value().validate(problems)


__extension Dict(Validated):
    def validate(self, mut problems: Problems):
        """Validates each value.

        Args:
            self: The value.
            problems: Receives the problems.
        """
        comptime if conforms_to(Self.V, Validated):
            comptime assert conforms_to(
                Self.V, Copyable
            ), "the values of a dictionary are validated if they are Copyable"
            comptime assert (
                reflect[Self.K].name() == reflect[String].name()
            ), "the keys of a dictionary that is validated are of type String"
            for item in self.items():
                problems.at(rebind[String](item.key), item.value)


def _write_problem(problem: FoundProblem, json: JsonWriter) raises:
    json.begin_object()
    json.key("in")
    if problem.place == FoundProblem.BODY:
        json.string("body")
        json.key("pointer")
        json.string(problem.pointer)
    else:
        json.string("path" if problem.place == FoundProblem.PATH else "query")
        _write_name(problem.pointer, json)
    json.key("detail")
    json.string(problem.detail)
    if problem.line > 0:
        json.key("line")
        json.int(problem.line)
        json.key("column")
        json.int(problem.column)
    json.end_object()


def _write_name(pointer: StringSlice, json: JsonWriter) raises:
    # A problem of several parameters together has no name.
    if pointer.byte_length() == 0:
        return
    var end = pointer.find("/", 1)
    if end < 0:
        end = pointer.byte_length()
    json.key("name")
    json.string(
        String(pointer[byte=1:end]).replace("~1", "/").replace("~0", "~")
    )
    if end < pointer.byte_length():
        json.key("pointer")
        json.string(pointer[byte=end:])


def _shorten(mut pointer: String):
    # The pointer of an enclosing value, if that of the value is too long.
    while pointer.byte_length() > POINTER_OCTETS_MAX:
        var end = pointer.rfind("/")
        if end < 0:
            end = 0
        var front = String(pointer[byte=:end])
        pointer = front^
