"""Defines the notes of a program on a route."""

from std.collections import List, Optional

from flare.json import SchemaSet

from .describes import schema_of
from .route_description import (
    ANY_STATUS,
    ResponseDescription,
    RouteDescription,
)
from .security_scheme import SecurityScheme

comptime _SchemaFunction = def(mut SchemaSet) raises thin -> String
comptime _JSON_TYPE: StaticString = "application/json"


@fieldwise_init
struct _Content(Copyable, Movable):
    # Of a response its status; 0 of a request.
    var status: Int
    var description: String
    var media_type: String
    # None if the content is not known.
    var schema: Optional[_SchemaFunction]
    var is_problem: Bool


@fieldwise_init
struct _ParameterText(Copyable, Movable):
    var name: String
    var text: String


struct ApiOperation(Copyable, Movable):
    """Notes of a program on a route, for the document.

    A text alone is the summary: `api.get("/items", list_items, "Lists all
    items")`. The methods return the operation with one more note.
    """

    var summary: String
    """One line for a list."""
    var description: String
    """More, in CommonMark."""
    var tags: List[String]
    """The groups to which it belongs."""
    var id: String
    """The name of the operation for generated clients; by default, method and
    path.
    """
    var is_deprecated: Bool
    """Whether clients should stop using it."""
    var is_hidden: Bool
    """Whether the document leaves it out."""
    var needs_no_security: Bool
    """Whether it needs none of the schemes of the whole API."""
    var _contents: List[_Content]
    var _parameters: List[_ParameterText]
    var _security: List[SecurityScheme]

    def __init__(
        out self,
        var summary: String = "",
        *,
        var description: String = "",
        var tag: String = "",
        var id: String = "",
    ):
        """Creates the notes of a route.

        Args:
            summary: One line for a list.
            description: More, in CommonMark.
            tag: The group to which it belongs.
            id: The name of the operation for generated clients.
        """
        self.summary = summary^
        self.description = description^
        self.tags = List[String]()
        if tag:
            self.tags.append(tag^)
        self.id = id^
        self.is_deprecated = False
        self.is_hidden = False
        self.needs_no_security = False
        self._contents = List[_Content]()
        self._parameters = List[_ParameterText]()
        self._security = List[SecurityScheme]()

    @implicit
    def __init__(out self, summary: StringLiteral):
        """Creates the notes of a route that has a summary only.

        Args:
            summary: One line for a list.
        """
        self = Self(String(summary))

    def answers[T: AnyType](var self, status: Int, what: String = "") -> Self:
        """Adds a response with JSON. One from 200 to 299 stands in for that of
        the result's type.

        Parameters:
            T: The type of the value.

        Args:
            status: The status.
            what: The meaning; by default the reason phrase.

        Returns:
            The operation.
        """
        self._contents.append(
            _Content(status, what, _JSON_TYPE, schema_of[T], False)
        )
        return self^

    def answers(var self, status: Int, what: String = "") -> Self:
        """Adds a response of the type that the function returns, or without a
        known content.

        Args:
            status: The status. From 200 to 299, it stands in for that of the
                result's type, whose content is kept: `answers(201)`.
            what: The meaning; by default the reason phrase.

        Returns:
            The operation.
        """
        self._contents.append(_Content(status, what, "", None, False))
        return self^

    def problem(var self, status: Int, what: String = "") -> Self:
        """Adds a response with problem details (RFC 9457).

        Args:
            status: The status, from 400 on.
            what: The meaning; by default the reason phrase.

        Returns:
            The operation.
        """
        self._contents.append(_Content(status, what, "", None, True))
        return self^

    def accepts[
        T: AnyType
    ](var self, media_type: String = String(_JSON_TYPE)) -> Self:
        """Adds a content that the function reads out of its `Request`.

        Parameters:
            T: The type of the value.

        Args:
            media_type: The media type.

        Returns:
            The operation.
        """
        self._contents.append(_Content(0, "", media_type, schema_of[T], False))
        return self^

    def accepts(var self, media_type: String) -> Self:
        """Adds a content of any shape that the function reads out of its
        `Request`.

        Args:
            media_type: The media type, such as `multipart/form-data`.

        Returns:
            The operation.
        """
        self._contents.append(_Content(0, "", media_type, None, False))
        return self^

    def parameter(var self, name: String, description: String) -> Self:
        """Describes a parameter of path or query.

        Args:
            name: The name.
            description: The description.

        Returns:
            The operation.
        """
        self._parameters.append(_ParameterText(name, description))
        return self^

    def requires(var self, scheme: SecurityScheme) -> Self:
        """Adds a scheme that a client needs. The operation then needs none of
        the schemes of the whole API.

        Args:
            scheme: The scheme.

        Returns:
            The operation.
        """
        self._security.append(scheme.copy())
        return self^

    def public(var self) -> Self:
        """Returns the operation, which needs none of the schemes of the whole
        API.

        Returns:
            The operation.
        """
        self.needs_no_security = True
        return self^

    def deprecated(var self) -> Self:
        """Returns the operation, marked as deprecated.

        Returns:
            The operation.
        """
        self.is_deprecated = True
        return self^

    def hidden(var self) -> Self:
        """Returns the operation, left out of the document.

        Returns:
            The operation.
        """
        self.is_hidden = True
        return self^

    def parameter_text(self, name: StringSlice) -> String:
        """Returns the description of a parameter.

        Args:
            name: The name.

        Returns:
            The description; empty for none.
        """
        for parameter in self._parameters:
            if StringSlice(parameter.name) == name:
                return parameter.text
        return String()

    def add_to(
        self, mut route: RouteDescription, mut schemas: SchemaSet
    ) raises:
        """Adds the notes to the description by the types.

        Args:
            route: The description of the route by its types.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        for scheme in self._security:
            route.requires(scheme)
        var result = _take_result(route)
        var is_replaced = False
        for note in self._contents:
            if note.status == 0:
                route.takes_content(note.media_type, _text_of(note, schemas))
            elif note.is_problem:
                _drop(route, note.status)
                route.refuses(note.status, schemas, note.description)
            else:
                _drop(route, note.status)
                var media_type = note.media_type
                var schema = _text_of(note, schemas)
                if note.status < 300:
                    is_replaced = True
                    if not note.schema and result and note.status != 204:
                        media_type = result.value().media_type
                        schema = result.value().schema
                elif note.status < 400:
                    # A function that redirects may return nothing else.
                    is_replaced |= (
                        Bool(result) and result.value().status == ANY_STATUS
                    )
                route.answers(
                    note.status,
                    note.description,
                    media_type=media_type,
                    schema=schema,
                )
        if result and not is_replaced:
            route.responses.append(result.take())


def _text_of(note: _Content, mut schemas: SchemaSet) raises -> String:
    if note.schema:
        return note.schema.value()(schemas)
    return "{}"


def _take_result(
    mut route: RouteDescription,
) -> Optional[ResponseDescription]:
    for i in range(len(route.responses)):
        var status = route.responses[i].status
        if status == ANY_STATUS or (status >= 200 and status <= 299):
            return route.responses.pop(i)
    return None


def _drop(mut route: RouteDescription, status: Int):
    for i in range(len(route.responses)):
        if route.responses[i].status == status:
            _ = route.responses.pop(i)
            return
