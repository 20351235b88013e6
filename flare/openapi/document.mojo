"""Writes the OpenAPI document of a list of routes (OpenAPI 3.1)."""

from std.collections import List

from flare.json import JsonOutput, JsonWriter, SchemaSet

from .api_operation import ApiOperation
from .describes import DescribeFunction
from .open_api import OpenApi
from .path_template import PathTemplate
from .route_description import ANY_STATUS, RouteDescription
from .security_scheme import SecurityScheme

# The oldest version with JSON Schema as it is: readers know it best.
comptime _VERSION: StaticString = "3.1.0"
# The methods that OpenAPI 3.1 has names for.
comptime _METHODS: List[StaticString] = [
    "GET",
    "PUT",
    "POST",
    "DELETE",
    "OPTIONS",
    "HEAD",
    "PATCH",
    "TRACE",
]
comptime _REST_TEXT: StaticString = (
    "The rest of the path. It may contain slashes."
)


@fieldwise_init
struct ApiRoute(Copyable, Movable):
    """A route with its description."""

    var method: String
    """The method."""
    var pattern: String
    """The pattern."""
    var describe: DescribeFunction
    """Describes the route by the types of its handler."""
    var notes: ApiOperation
    """The notes of the program."""


@fieldwise_init
struct _Path(Copyable, Movable):
    var template: PathTemplate
    # Indices of routes.
    var routes: List[Int]


struct _Document(Movable):
    var output: JsonOutput
    var schemas: SchemaSet
    var tags: List[String]
    var ids: List[String]
    var schemes: List[SecurityScheme]

    def __init__(out self):
        self.output = JsonOutput()
        self.schemas = SchemaSet("#/components/schemas/")
        self.tags = List[String]()
        self.ids = List[String]()
        self.schemes = List[SecurityScheme]()


def document_of(routes: List[ApiRoute], about: OpenApi) raises -> String:
    """Returns the OpenAPI document of routes.

    It leaves out hidden routes, `OPTIONS *`, and methods that OpenAPI 3.1 does
    not know. If a pattern with a rest and one with a parameter share a template
    and a method, it describes the one with the parameter.

    Args:
        routes: The routes.
        about: The head of the document.

    Returns:
        A JSON text.

    Raises:
        Error: `openapi.two_schemes` if two schemes of security share a name,
            `openapi.two_ids` if two operations share an id, `json.bad_schema`,
            or the errors of types of the program.
    """
    var document = _Document()
    var json = document.output.writer()
    json.begin_object()
    json.key("openapi")
    json.string(_VERSION)
    json.key("info")
    _write_info(json, about)
    if about.servers:
        json.key("servers")
        json.begin_array()
        for server in about.servers:
            json.begin_object()
            json.key("url")
            json.string(server)
            json.end_object()
        json.end_array()
    _reserve_ids(document, routes)
    json.key("paths")
    json.begin_object()
    for path in _paths_of(routes):
        json.key(path.template.text)
        json.begin_object()
        for index in path.routes:
            ref route = routes[index]
            json.key(route.method.lower())
            _write_operation(document, route, path.template)
        json.end_object()
    json.end_object()
    _write_components(document, about)
    _write_security(document, json, about.security)
    _write_tags(document)
    json.end_object()
    return document.schemas.finished(document.output.take_text())


def _write_info(json: JsonWriter, about: OpenApi) raises:
    json.begin_object()
    json.key("title")
    json.string(about.title)
    json.key("version")
    json.string(about.version)
    _write_text(json, "description", about.description)
    json.end_object()


def _paths_of(routes: List[ApiRoute]) raises -> List[_Path]:
    var paths = List[_Path]()
    # A pattern with a rest matches the paths of no other pattern: it is last.
    for wants_rest in [False, True]:
        for i in range(len(routes)):
            ref route = routes[i]
            if (
                route.notes.is_hidden
                or route.pattern == "*"
                or not _is_known(route.method)
            ):
                continue
            var template = PathTemplate(route.pattern)
            if template.has_rest != wants_rest:
                continue
            var at = 0
            while (
                at < len(paths) and paths[at].template.shape != template.shape
            ):
                at += 1
            if at == len(paths):
                paths.append(_Path(template^, List[Int]()))
            var is_there = False
            for index in paths[at].routes:
                is_there |= routes[index].method == route.method
            if not is_there:
                paths[at].routes.append(i)
    return paths^


def _is_known(method: String) -> Bool:
    for known in materialize[_METHODS]():
        if method == known:
            return True
    return False


def _write_operation(
    mut document: _Document, route: ApiRoute, template: PathTemplate
) raises:
    var json = document.output.writer()
    var found = RouteDescription()
    route.describe(found, document.schemas)
    route.notes.add_to(found, document.schemas)
    json.begin_object()
    if route.notes.tags:
        json.key("tags")
        json.begin_array()
        for tag in route.notes.tags:
            json.string(tag)
            if tag not in document.tags:
                document.tags.append(tag)
        json.end_array()
    _write_text(json, "summary", route.notes.summary)
    _write_text(json, "description", route.notes.description)
    json.key("operationId")
    json.string(_id_of(document, route, template))
    _write_parameters(json, route.notes, template, found)
    _write_contents(json, found)
    _write_responses(json, found)
    if route.notes.is_deprecated:
        json.key("deprecated")
        json.bool(True)
    if found.security or route.notes.needs_no_security:
        json.key("security")
        _write_requirement(document, json, found.security)
    json.end_object()


def _write_parameters(
    json: JsonWriter,
    notes: ApiOperation,
    template: PathTemplate,
    found: RouteDescription,
) raises:
    if not template.names and not found.parameters:
        return
    json.key("parameters")
    json.begin_array()
    for i in range(len(template.names)):
        var schema = String()
        if i < len(found.path_schemas):
            schema = found.path_schemas[i]
        if not schema:
            schema = '{"type":"string"}'
        var is_rest = template.has_rest and i == len(template.names) - 1
        var text = notes.parameter_text(template.names[i])
        if not text and is_rest:
            text = String(_REST_TEXT)
        _begin_parameter(json, template.names[i], "path", text, True)
        json.unsafe_raw(schema.as_bytes())
        if is_rest:
            # The page then leaves the slashes of a value as they are.
            json.key("x-flare-rest")
            json.bool(True)
        json.end_object()
    for parameter in found.parameters:
        _begin_parameter(
            json,
            parameter.name,
            parameter.place,
            notes.parameter_text(parameter.name),
            parameter.is_required,
        )
        json.unsafe_raw(parameter.schema.as_bytes())
        json.end_object()
    json.end_array()


def _begin_parameter(
    json: JsonWriter,
    name: String,
    place: StaticString,
    description: String,
    is_required: Bool,
) raises:
    json.begin_object()
    json.key("name")
    json.string(name)
    json.key("in")
    json.string(place)
    _write_text(json, "description", description)
    json.key("required")
    json.bool(is_required)
    json.key("schema")


def _write_contents(json: JsonWriter, found: RouteDescription) raises:
    if not found.contents:
        return
    json.key("requestBody")
    json.begin_object()
    json.key("required")
    json.bool(True)
    json.key("content")
    json.begin_object()
    for content in found.contents:
        _write_content(json, content.media_type, content.schema)
    json.end_object()
    json.end_object()


def _write_content(json: JsonWriter, media_type: String, schema: String) raises:
    json.key(media_type)
    json.begin_object()
    if schema != "{}":
        json.key("schema")
        json.unsafe_raw(schema.as_bytes())
    json.end_object()


def _write_responses(json: JsonWriter, found: RouteDescription) raises:
    json.key("responses")
    json.begin_object()
    var last = 0
    while True:
        # In the order of their statuses; `default` comes last.
        var next = -1
        for i in range(len(found.responses)):
            var status = found.responses[i].status
            if status > last and (
                next < 0 or status < found.responses[next].status
            ):
                next = i
        if next < 0:
            break
        last = found.responses[next].status
        json.key(String(last))
        _write_response(json, found, next)
    for i in range(len(found.responses)):
        if found.responses[i].status == ANY_STATUS:
            json.key("default")
            _write_response(json, found, i)
    json.end_object()


def _write_response(
    json: JsonWriter, found: RouteDescription, index: Int
) raises:
    ref response = found.responses[index]
    json.begin_object()
    json.key("description")
    json.string(response.description)
    if response.media_type:
        json.key("content")
        json.begin_object()
        _write_content(json, response.media_type, response.schema)
        json.end_object()
    json.end_object()


def _write_components(mut document: _Document, about: OpenApi) raises:
    var json = document.output.writer()
    for scheme in about.security:
        _note_scheme(document, scheme)
    json.key("components")
    json.begin_object()
    json.key("schemas")
    json.unsafe_raw(document.schemas.definitions().as_bytes())
    if document.schemes:
        json.key("securitySchemes")
        json.begin_object()
        for scheme in document.schemes:
            json.key(scheme.name)
            json.unsafe_raw(scheme.text().as_bytes())
        json.end_object()
    json.end_object()


def _write_security(
    mut document: _Document, json: JsonWriter, schemes: List[SecurityScheme]
) raises:
    if schemes:
        json.key("security")
        _write_requirement(document, json, schemes)


def _write_requirement(
    mut document: _Document, json: JsonWriter, schemes: List[SecurityScheme]
) raises:
    # An empty list needs no scheme; one object needs all of its schemes.
    json.begin_array()
    if schemes:
        json.begin_object()
        for scheme in schemes:
            _note_scheme(document, scheme)
            json.key(scheme.name)
            json.begin_array()
            json.end_array()
        json.end_object()
    json.end_array()


def _note_scheme(mut document: _Document, scheme: SecurityScheme) raises:
    for own in document.schemes:
        if own.name == scheme.name:
            if own.text() != scheme.text():
                raise Error(
                    "openapi.two_schemes two schemes are named ", scheme.name
                )
            return
    document.schemes.append(scheme.copy())


def _write_tags(mut document: _Document) raises:
    if not document.tags:
        return
    var json = document.output.writer()
    json.key("tags")
    json.begin_array()
    for tag in document.tags:
        json.begin_object()
        json.key("name")
        json.string(tag)
        json.end_object()
    json.end_array()


def _reserve_ids(mut document: _Document, routes: List[ApiRoute]) raises:
    # Ids of the program come before those that are made.
    for route in routes:
        ref id = route.notes.id
        if not id or route.notes.is_hidden:
            continue
        if id in document.ids:
            raise Error("openapi.two_ids two operations have the id ", id)
        document.ids.append(id)


def _id_of(
    mut document: _Document, route: ApiRoute, template: PathTemplate
) -> String:
    if route.notes.id:
        return route.notes.id
    var made = route.method.lower()
    var begins_word = True
    for octet in template.text.as_bytes():
        var lower = octet | 32
        var is_of_word = (lower >= 97 and lower <= 122) or (
            octet >= 48 and octet <= 57
        )
        if is_of_word:
            if begins_word:
                made.write("_")
            made.write(chr(Int(octet)))
        begins_word = not is_of_word
    var id = made
    var number = 2
    while id in document.ids:
        id = String(made, "_", number)
        number += 1
    document.ids.append(id)
    return id


def _write_text(json: JsonWriter, key: StaticString, text: String):
    if text:
        json.key(key)
        json.string(text)
