"""Declares how extractors and results describe themselves, and describes
functions by them."""

from std.collections import List, Optional

from flare.http import (
    Extractor,
    Form,
    FromFields,
    FromText,
    Json,
    Path,
    ProblemDetails,
    Query,
    QueryOf,
    Validated,
)
from flare.json import JsonSchema, SchemaSet
from flare.message import Status

from .route_description import ANY_STATUS, RouteDescription

comptime _JSON_TYPE: StaticString = "application/json"
comptime _FORM_TYPE: StaticString = "application/x-www-form-urlencoded"
comptime _TEXT_TYPE: StaticString = "text/plain"
comptime _TEXT_SCHEMA: StaticString = '{"type":"string"}'
comptime _FORM_SCHEMA: StaticString = (
    '{"type":"object","additionalProperties":{"type":"string"}}'
)
comptime _MALFORMED: StaticString = "The request is malformed."
comptime _NOT_VALID: StaticString = "A value of the request is not allowed."

comptime DescribeFunction = def(
    mut RouteDescription, mut SchemaSet
) raises thin -> None
"""A function that describes a route."""


trait DescribesRequest:
    """An extractor that describes its part of a request: a header field, a scheme
    of security. An extractor without this adds nothing to the document.
    """

    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds the extractor's part of the request, and its refusals.

        Parameters:
            first_parameter: The index of the first route parameter that no
                parameter to the left uses.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            Any error; the document is then not made.
        """
        ...


trait DescribesResponse:
    """A result or a handler that describes its responses. The responses of any
    other type are not known.
    """

    @staticmethod
    def describe_response(
        mut route: RouteDescription, mut schemas: SchemaSet
    ) raises:
        """Adds the responses.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            Any error; the document is then not made.
        """
        ...


trait _FieldSchema:
    @staticmethod
    def field_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of a parameter that may be absent."""
        ...


def describe_function[
    R: AnyType, *Es: Extractor
](mut route: RouteDescription, mut schemas: SchemaSet) raises:
    """Describes a handler function by its types.

    Parameters:
        R: The type of the result.
        Es: The types of the parameters.

    Args:
        route: The route.
        schemas: The schemas of the document.

    Raises:
        The errors of types of the program.
    """
    comptime for i in range(Es.length):
        comptime if conforms_to(Es[i], DescribesRequest):
            Es[i].describe_request[_parameters_before[i, *Es]()](route, schemas)
    describe_result[R](route, schemas)


def describe_result[
    R: AnyType
](mut route: RouteDescription, mut schemas: SchemaSet) raises:
    """Describes the responses of a function or of a handler.

    Parameters:
        R: The type of the result, or of the handler.

    Args:
        route: The route.
        schemas: The schemas of the document.

    Raises:
        The errors of types of the program.
    """
    comptime if R == String or R == StaticString:
        route.answers(
            Status.OK, media_type=String(_TEXT_TYPE), schema=_TEXT_SCHEMA
        )
    elif conforms_to(R, DescribesResponse):
        R.describe_response(route, schemas)
    else:
        route.answers(ANY_STATUS, "Not described.")


def schema_of[T: AnyType](mut schemas: SchemaSet) raises -> String:
    """Returns the schema of a type.

    Parameters:
        T: The type.

    Args:
        schemas: The schemas of the document.

    Returns:
        The schema, a JSON object.

    Raises:
        The errors of types of the program.
    """
    return schemas.of[T]()


def _parameters_before[index: Int, *Es: Extractor]() -> Int:
    var count = 0
    comptime for i in range(index):
        count += Es[i].PATH_PARAMETERS
    return count


def _text_schema[T: AnyType](mut schemas: SchemaSet) raises -> String:
    # A type of the program that is read from text may be read from JSON too,
    # in another form.
    comptime if conforms_to(T, FromText) and not conforms_to(T, JsonSchema):
        return String(_TEXT_SCHEMA)
    else:
        return schemas.of[T]()


def _refuses_value[
    T: AnyType
](mut route: RouteDescription, mut schemas: SchemaSet) raises:
    comptime if T != String:
        route.refuses(Status.BAD_REQUEST, schemas, String(_MALFORMED))
    comptime if conforms_to(T, Validated):
        route.refuses(Status.UNPROCESSABLE_CONTENT, schemas, String(_NOT_VALID))


def _takes_fields[
    T: FromFields
](mut route: RouteDescription, mut schemas: SchemaSet) raises:
    comptime names = reflect[T].field_names()
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime name: StaticString = names[i]
        comptime if conforms_to(F, _FieldSchema):
            route.takes_query(
                String(name), F.field_schema(schemas), is_required=False
            )
        else:
            route.takes_query(
                String(name), _text_schema[F](schemas), is_required=True
            )


def _form_schema[T: FromFields](mut schemas: SchemaSet) raises -> String:
    # Written in place: as JSON, the same struct may have other names.
    comptime names = reflect[T].field_names()
    var properties = String()
    var required = String()
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime name: StaticString = names[i]
        var schema: String
        comptime if conforms_to(F, _FieldSchema):
            schema = F.field_schema(schemas)
        else:
            schema = _text_schema[F](schemas)
            required.write("," if required else "", '"', name, '"')
        properties.write("," if properties else "", '"', name, '":', schema)
    var text = String('{"type":"object","properties":{', properties, "}")
    if required:
        text.write(',"required":[', required, "]")
    text.write("}")
    return text^


__extension Path(DescribesRequest):
    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds the type of the route parameter.

        Parameters:
            first_parameter: The index of the route parameter.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        route.takes_path(first_parameter, _text_schema[Self.T](schemas))
        _refuses_value[Self.T](route, schemas)


__extension Query(DescribesRequest):
    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds the parameter of the query.

        Parameters:
            first_parameter: Not used.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        route.takes_query(
            String(Self.name), _text_schema[Self.T](schemas), is_required=False
        )
        _refuses_value[Self.T](route, schemas)


__extension QueryOf(DescribesRequest):
    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds a parameter of the query for each field.

        Parameters:
            first_parameter: Not used.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        _takes_fields[Self.T](route, schemas)
        _refuses_value[Self.T](route, schemas)


__extension Json(DescribesRequest):
    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds the content.

        Parameters:
            first_parameter: Not used.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        route.takes_content(String(_JSON_TYPE), schemas.of[Self.T]())
        route.refuses(Status.BAD_REQUEST, schemas, String(_MALFORMED))
        _refuses_type(route)
        route.refuses(Status.UNPROCESSABLE_CONTENT, schemas, String(_NOT_VALID))


__extension Form(DescribesRequest):
    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        """Adds the content.

        Parameters:
            first_parameter: Not used.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        comptime if conforms_to(Self.T, FromFields):
            route.takes_content(
                String(_FORM_TYPE), _form_schema[Self.T](schemas)
            )
        else:
            route.takes_content(String(_FORM_TYPE), String(_FORM_SCHEMA))
        _refuses_value[Self.T](route, schemas)
        _refuses_type(route)


__extension Json(DescribesResponse):
    @staticmethod
    def describe_response(
        mut route: RouteDescription, mut schemas: SchemaSet
    ) raises:
        """Adds the response with the value.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            The errors of types of the program.
        """
        route.answers(
            Status.OK,
            media_type=String(_JSON_TYPE),
            schema=schemas.of[Self.T](),
        )


__extension ProblemDetails(DescribesResponse):
    @staticmethod
    def describe_response(
        mut route: RouteDescription, mut schemas: SchemaSet
    ) raises:
        """Adds the problem, whose status is not known.

        Args:
            route: The route.
            schemas: The schemas of the document.

        Raises:
            Never.
        """
        route.refuses(ANY_STATUS, schemas, "A problem.")


__extension Optional(_FieldSchema):
    @staticmethod
    def field_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of the value.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema.

        Raises:
            The errors of types of the program.
        """
        return _text_schema[Self.T](schemas)


__extension List(_FieldSchema):
    @staticmethod
    def field_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of all values.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema.

        Raises:
            The errors of types of the program.
        """
        return String(
            '{"type":"array","items":', _text_schema[Self.T](schemas), "}"
        )


def _refuses_type(mut route: RouteDescription):
    route.answers(
        Status.UNSUPPORTED_MEDIA_TYPE,
        "The content has another type.",
        media_type=String(_TEXT_TYPE),
        schema=String(_TEXT_SCHEMA),
    )
