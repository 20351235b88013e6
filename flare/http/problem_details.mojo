"""Describes errors to clients as problem details (RFC 9457)."""

from flare.json import JsonOutput, dumps
from flare.message import reason_phrase

from .builders import rejection_answer
from .into_response import IntoResponse
from .rejected_text import REJECTED
from .response import Response

comptime _OWN_MEMBERS: List[StaticString] = [
    "type",
    "title",
    "status",
    "detail",
    "instance",
]


struct ProblemDetails(Copyable, IntoResponse, Movable, Writable):
    """An error as `application/problem+json`: a handler returns it, or its
    response, `problem^.into_response()`.

    An extractor may raise it: `raise Error(problem)`.
    """

    var status: Int
    """The status of the answer, 400 to 599."""
    var detail: String
    """The mistake of this request, for the author of the client; left out if
    it is empty.
    """
    var title: String
    """The kind of problem in words; if it is empty, the reason phrase of the
    status.
    """
    var type: String
    """The URI of the kind of problem. `about:blank` means that the status says
    all.
    """
    var instance: String
    """The URI of this occurrence; left out if it is empty."""
    var _names: List[String]
    var _values: List[String]

    def __init__(
        out self,
        status: Int,
        var detail: String = "",
        *,
        var title: String = "",
        var type: String = "about:blank",
        var instance: String = "",
    ):
        """Creates a problem. Omitted arguments have their defaults.

        Args:
            status: The status of the answer, 400 to 599.
            detail: The mistake of this request.
            title: The kind of problem in words.
            type: The URI of the kind of problem.
            instance: The URI of this occurrence.
        """
        self.status = status
        self.detail = detail^
        self.title = title^
        self.type = type^
        self.instance = instance^
        self._names = List[String]()
        self._values = List[String]()

    def set[T: AnyType, //](mut self, var name: String, value: T) raises:
        """Adds a member, or replaces it (RFC 9457 section 3.2).

        Parameters:
            T: A type that conforms to `ToJson`.

        Args:
            name: The name of the member.
            value: The value.

        Raises:
            Error: `http.bad_problem` if the name is one of the members above;
                or the text of a `JsonError` if the value has no JSON.
        """
        for own in materialize[_OWN_MEMBERS]():
            if name == own:
                raise Error("http.bad_problem ", own, " is a field")
        var text = dumps(value)
        for i in range(len(self._names)):
            if self._names[i] == name:
                self._values[i] = text^
                return
        self._names.append(name^)
        self._values.append(text^)

    def into_response(var self) raises -> Response:
        """Returns the answer.

        Returns:
            The response, of type `application/problem+json`.

        Raises:
            Never.
        """
        return rejection_answer(self.status, self.text().as_bytes())

    def text(self) -> String:
        """Returns the problem as JSON.

        Returns:
            An object.
        """
        var output = JsonOutput()
        var json = output.writer()
        try:
            json.begin_object()
            json.key("type")
            json.string(self.type)
            json.key("title")
            if self.title:
                json.string(self.title)
            else:
                json.string(reason_phrase(self.status))
            json.key("status")
            json.int(self.status)
            if self.detail:
                json.key("detail")
                json.string(self.detail)
            if self.instance:
                json.key("instance")
                json.string(self.instance)
            for i in range(len(self._names)):
                json.key(self._names[i])
                json.unsafe_raw(self._values[i].as_bytes())
            json.end_object()
            return output.take_text()
        except:
            # An object of one level is never too deep.
            return "{}"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text of an error that is answered with the problem, if
        the status is 400 to 499. The router does that if an extractor raises
        the error; elsewhere `Rejection.response_of` returns the answer.

        Args:
            writer: The destination.
        """
        writer.write(REJECTED, self.status, " ", self.text())
