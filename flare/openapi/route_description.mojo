"""Collects the requests and responses of one route, for the document."""

from std.collections import List

from flare.json import SchemaSet
from flare.message import reason_phrase

from .request_problem import RequestProblem
from .security_scheme import SecurityScheme

comptime PROBLEM_TYPE: StaticString = "application/problem+json"
"""The media type of refusals that list problems."""
comptime ANY_STATUS = 0
"""Stands for every status that the document does not list."""


@fieldwise_init
struct ParameterDescription(Copyable, Movable):
    """A parameter of the query, a header field or a cookie."""

    var place: StaticString
    """`query`, `header` or `cookie`."""
    var name: String
    """The name."""
    var schema: String
    """Its schema, a JSON object."""
    var is_required: Bool
    """Whether the request is refused without it."""


@fieldwise_init
struct ContentDescription(Copyable, Movable):
    """A content that a route takes."""

    var media_type: String
    """The media type."""
    var schema: String
    """Its schema, a JSON object."""


@fieldwise_init
struct ResponseDescription(Copyable, Movable):
    """A response of a route."""

    var status: Int
    """The status, or `ANY_STATUS`."""
    var description: String
    """The meaning; if it is empty, the reason phrase of the status."""
    var media_type: String
    """The media type; empty if it is not known, or without content."""
    var schema: String
    """The schema of the content, a JSON object."""


struct RouteDescription(Movable):
    """The requests and responses of a route."""

    var path_schemas: List[String]
    """The schemas of route parameters, by index; empty for a text."""
    var parameters: List[ParameterDescription]
    """The other parameters."""
    var contents: List[ContentDescription]
    """The contents that the route takes; none if it reads none."""
    var responses: List[ResponseDescription]
    """The responses, one for each status."""
    var security: List[SecurityScheme]
    """The schemes that a client needs, all of them."""

    def __init__(out self):
        """Creates the description of a route that takes nothing."""
        self.path_schemas = List[String]()
        self.parameters = List[ParameterDescription]()
        self.contents = List[ContentDescription]()
        self.responses = List[ResponseDescription]()
        self.security = List[SecurityScheme]()

    def takes_path(mut self, index: Int, var schema: String):
        """Adds the type of a route parameter.

        Args:
            index: The index of the parameter in the pattern.
            schema: Its schema.
        """
        while len(self.path_schemas) <= index:
            self.path_schemas.append(String())
        self.path_schemas[index] = schema^

    def takes_query(
        mut self, var name: String, var schema: String, *, is_required: Bool
    ):
        """Adds a parameter of the query, unless it is there.

        Args:
            name: The name.
            schema: Its schema.
            is_required: Whether the request is refused without it.
        """
        self._takes("query", name^, schema^, is_required)

    def takes_header(
        mut self, var name: String, var schema: String, *, is_required: Bool
    ):
        """Adds a header field, unless it is there.

        Args:
            name: The name of the field.
            schema: Its schema.
            is_required: Whether the request is refused without it.
        """
        self._takes("header", name^, schema^, is_required)

    def takes_content(mut self, var media_type: String, var schema: String):
        """Adds a content that the route takes.

        Args:
            media_type: The media type.
            schema: Its schema.
        """
        self.contents.append(ContentDescription(media_type^, schema^))

    def answers(
        mut self,
        status: Int,
        var description: String = "",
        *,
        var media_type: String = "",
        var schema: String = "{}",
    ):
        """Adds a response, unless there is one with that status.

        Args:
            status: The status, or `ANY_STATUS`.
            description: The meaning; by default the reason phrase.
            media_type: The media type; by default unknown.
            schema: The schema of the content.
        """
        for response in self.responses:
            if response.status == status:
                return
        if not description and status != ANY_STATUS:
            description = String(reason_phrase(status))
        self.responses.append(
            ResponseDescription(status, description^, media_type^, schema^)
        )

    def refuses(
        mut self,
        status: Int,
        mut schemas: SchemaSet,
        var description: String = "",
    ) raises:
        """Adds a response with problem details (RFC 9457).

        Args:
            status: The status.
            schemas: The schemas of the document.
            description: The meaning; by default the reason phrase.

        Raises:
            Never.
        """
        self.answers(
            status,
            description^,
            media_type=String(PROBLEM_TYPE),
            schema=schemas.of[RequestProblem](),
        )

    def requires(mut self, scheme: SecurityScheme):
        """Adds a scheme that a client needs.

        Args:
            scheme: The scheme.
        """
        for own in self.security:
            if own.name == scheme.name:
                return
        self.security.append(scheme.copy())

    def _takes(
        mut self,
        place: StaticString,
        var name: String,
        var schema: String,
        is_required: Bool,
    ):
        for parameter in self.parameters:
            if parameter.place == place and parameter.name == name:
                return
        self.parameters.append(
            ParameterDescription(place, name^, schema^, is_required)
        )
