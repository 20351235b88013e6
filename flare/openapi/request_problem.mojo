"""Defines the shape of the answers to requests that extractors refuse.

The values are never made: `flare.http` writes such answers itself.
"""

from flare.json import (
    JsonDescriptions,
    JsonNames,
    JsonOmitsNone,
    JsonSchema,
    SchemaSet,
    ToJson,
)


struct ProblemPlace(JsonSchema, ToJson):
    """The part of a request that has a problem."""

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of the names.

        Args:
            schemas: Not used.

        Returns:
            The schema.

        Raises:
            Never.
        """
        return '{"type":"string","enum":["body","path","query"]}'


struct ProblemEntry(JsonDescriptions, JsonNames, JsonOmitsNone, ToJson):
    """One problem of a request."""

    var place: ProblemPlace
    """The part of the request."""
    var pointer: Optional[String]
    """A JSON Pointer."""
    var name: Optional[String]
    """The name of a parameter."""
    var detail: String
    """The mistake."""
    var line: Optional[Int]
    """The line of a JSON text."""
    var column: Optional[Int]
    """The column of a JSON text."""

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        """Returns the name of a field.

        Args:
            field: The field.

        Returns:
            The name in JSON.
        """
        return "in" if field == "place" else field

    @staticmethod
    def json_description(field: StaticString) -> StaticString:
        """Returns the description of a field.

        Args:
            field: The field.

        Returns:
            The description, or an empty text.
        """
        if field == "pointer":
            return "Where in the value: a JSON Pointer (RFC 6901)."
        if field == "name":
            return "The name of the parameter."
        return ""


struct RequestProblem(JsonDescriptions, JsonOmitsNone, ToJson):
    """The answer to a request with problems (RFC 9457)."""

    var type: String
    """The URI of the kind of problem."""
    var title: String
    """The kind in words."""
    var status: Int
    """The status of the answer."""
    var detail: Optional[String]
    """The mistake."""
    var errors: Optional[List[ProblemEntry]]
    """All problems."""

    @staticmethod
    def json_description(field: StaticString) -> StaticString:
        """Returns the description of a field.

        Args:
            field: The field.

        Returns:
            The description, or an empty text.
        """
        if field == "":
            return "Problem details (RFC 9457)."
        if field == "errors":
            return "Each problem of the request; at most 32."
        return ""
