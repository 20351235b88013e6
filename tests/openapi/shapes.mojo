"""Defines the types of the routes that the tests describe."""

from flare.http import (
    Extractor,
    FromFields,
    FromText,
    Handler,
    Problems,
    Request,
    Response,
    Validated,
    ok,
)
from flare.json import FromJson, JsonSchema, SchemaSet, ToJson
from flare.openapi import (
    DescribesRequest,
    DescribesResponse,
    RouteDescription,
    SecurityScheme,
)


@fieldwise_init
struct Item(Copyable, FromJson, ToJson):
    """A thing to sell."""

    var name: String
    var note: Optional[String]


@fieldwise_init
struct Color(FromText, JsonSchema):
    """A value of a text."""

    var name: String

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        """Reads it.

        Args:
            text: The text.

        Returns:
            The color.

        Raises:
            Never.
        """
        return Self(String(text))

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema.

        Args:
            schemas: Not used.

        Returns:
            The schema.

        Raises:
            Never.
        """
        return '{"type":"string","enum":["red"]}'


@fieldwise_init
struct Word(FromText, Validated):
    """A text that is validated."""

    var text: String

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        """Reads it.

        Args:
            text: The text.

        Returns:
            The word.

        Raises:
            Never.
        """
        return Self(String(text))

    def validate(self, mut problems: Problems):
        """Refuses no word.

        Args:
            problems: Not used.
        """
        pass


@fieldwise_init
struct Search(FromFields):
    """The parameters of a query."""

    var text: String
    var limit: Optional[Int]
    var colors: List[Color]


@fieldwise_init
struct Key(DescribesRequest, Extractor):
    """What a client shows."""

    comptime PATH_PARAMETERS: Int = 0

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        """Accepts any request.

        Parameters:
            RouterState: Not used.
            first_parameter: Not used.

        Args:
            req: The request.

        Returns:
            The key.

        Raises:
            Never.
        """
        return Self()

    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds the scheme.

        Parameters:
            first_parameter: Not used.

        Args:
            route: The route.
            schemas: Not used.

        Raises:
            Never.
        """
        route.requires(SecurityScheme.bearer())
        route.answers(401)


@fieldwise_init
struct Plain(DescribesResponse, Handler):
    """A handler that says what it answers."""

    def serve(self, req: Request) raises -> Response:
        """Answers.

        Args:
            req: The request.

        Returns:
            A text.

        Raises:
            Never.
        """
        return ok("plain")

    @staticmethod
    def describe_response(
        mut route: RouteDescription, mut schemas: SchemaSet
    ) raises:
        """Adds a response.

        Args:
            route: The route.
            schemas: Not used.

        Raises:
            Never.
        """
        route.answers(200, "Plain.", media_type="text/plain")
