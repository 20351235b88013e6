"""Describes types as JSON Schema (2020-12), by compile-time reflection.

The schema of a struct fits the texts that `decode` accepts and `dumps` writes. If
the struct conforms to `FromJson`, fields of type `Optional` may be absent or
`null`. If it conforms to `ToJson` only, such a field is always there, or, with
`JsonOmitsNone`, never `null`.
"""

from std.collections import Dict, List, Optional
from std.collections.string import String
from std.simd import SIMD

from .from_json import FromJson
from .names import (
    JsonOmitsNone,
    JsonRefusesUnknownFields,
    is_optional,
    name_of,
)
from .schema_names import schema_names
from .text import dumps, loads
from .to_json import ToJson
from .value import Value

comptime _DIALECT: StaticString = (
    '"$schema":"https://json-schema.org/draft/2020-12/schema"'
)
comptime _TYPE: StaticString = '{"type":"'
# Stands for the name of a definition until all definitions are known.
comptime _MARK: StaticString = '"#flare-definition-'


trait JsonSchema:
    """A type that writes its own schema. A type with its own `from_json` or
    `to_json` needs this: reflection would describe its fields.

    `Bool`, `String`, numbers, `List`, `Array`, `Dict`, `Optional` and `Value`
    conform already.
    """

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema.

        Args:
            schemas: Returns the schemas of other types:
                `schemas.of[Item]()`.

        Returns:
            A JSON object, such as `{"type":"string","format":"date"}`.

        Raises:
            Any error; the document is then not made.
        """
        ...


trait JsonDescriptions:
    """A struct whose schema has descriptions in words."""

    @staticmethod
    def json_description(field: StaticString) -> StaticString:
        """Returns the description of a field.

        Args:
            field: The field's name in the struct; empty for the whole struct.

        Returns:
            The description, for authors of clients; empty for none.
        """
        ...


trait _InnerSchema:
    @staticmethod
    def inner_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of the value without `null`."""
        ...


@fieldwise_init
struct _Definition(Copyable, Movable):
    var type_name: StaticString
    var text: String


struct SchemaSet(Movable):
    """The schemas of a document. Structs are defined once, by name, and
    referred to, so a type may contain itself.
    """

    var _prefix: StaticString
    var _definitions: List[_Definition]

    def __init__(out self, prefix: StaticString):
        """Creates an empty set.

        Args:
            prefix: The place of the definitions in the document, as a
                reference: `#/components/schemas/`.
        """
        self._prefix = prefix
        self._definitions = List[_Definition]()

    def of[T: AnyType](mut self) raises -> String:
        """Returns the schema of a type.

        Parameters:
            T: A type that conforms to `JsonSchema`, or a struct that conforms
                to `FromJson` or `ToJson`. Any other type may be anything.

        Returns:
            A JSON object. It may refer to definitions: pass the whole document
            to `finished`.

        Raises:
            Error: `json.bad_schema` if a type of the program returns no JSON
                object, or the error of its `json_schema`.
        """
        comptime if conforms_to(T, JsonSchema):
            var text = T.json_schema(self)
            _check(text, reflect[T].name())
            return text^
        elif conforms_to(T, FromJson) or conforms_to(T, ToJson):
            comptime type_name: StaticString = reflect[T].name()
            var index = self._find(type_name)
            if index < 0:
                index = len(self._definitions)
                self._definitions.append(_Definition(type_name, String()))
                # A type that contains itself finds the definition from here on.
                var text = _struct_schema[T](self)
                self._definitions[index].text = text^
            return String('{"$ref":', _MARK, index, '"}')
        else:
            return "{}"

    def definitions(self) -> String:
        """Returns the definitions of all structs so far.

        Returns:
            A JSON object, whose members are in alphabetical order. Pass the
            document that contains it to `finished`.
        """
        var names = self._names()
        var order = List[Int]()
        for i in range(len(names)):
            var place = len(order)
            while place > 0 and names[order[place - 1]] > names[i]:
                place -= 1
            order.insert(place, i)
        var text = String("{")
        for i in order:
            if text.byte_length() > 1:
                text.write(",")
            text.write('"', names[i], '":', self._definitions[i].text)
        text.write("}")
        return text^

    def finished(self, var text: String) -> String:
        """Returns a document with the names of all definitions.

        The name is that of the struct; with those of its parameters, as in
        `Page_Item`. Structs of the same name in several modules have their
        modules in front.

        Args:
            text: The document.

        Returns:
            The document, in which each reference leads to a definition.
        """
        var names = self._names()
        for i in range(len(names)):
            text = text.replace(
                String(_MARK, i, '"'), String('"', self._prefix, names[i], '"')
            )
        return text^

    def _names(self) -> List[String]:
        var types = List[StaticString]()
        for definition in self._definitions:
            types.append(definition.type_name)
        return schema_names(types)

    def _find(self, type_name: StaticString) -> Int:
        for i in range(len(self._definitions)):
            if self._definitions[i].type_name == type_name:
                return i
        return -1


def json_schema[T: AnyType]() raises -> String:
    """Returns the schema of a type as a whole document.

    Parameters:
        T: A type that conforms to `JsonSchema`, `FromJson` or `ToJson`.

    Returns:
        A JSON text; other structs are in its `$defs`.

    Raises:
        Error: `json.bad_schema` if a type of the program returns no JSON
            object, or the error of its `json_schema`.
    """
    var schemas = SchemaSet("#/$defs/")
    var own = schemas.of[T]()
    var text = String("{", _DIALECT)
    if own != "{}":
        text.write(",", own[byte = 1 : own.byte_length() - 1])
    var definitions = schemas.definitions()
    if definitions != "{}":
        text.write(',"$defs":', definitions)
    text.write("}")
    return schemas.finished(text^)


def described(schema: String, description: StringSlice) raises -> String:
    """Adds a description to a schema.

    Args:
        schema: The schema, a JSON object.
        description: The description; empty for none.

    Returns:
        The schema with the member `description`.

    Raises:
        Never.
    """
    if not description:
        return schema
    var text = String(schema[byte = : schema.byte_length() - 1])
    if schema != "{}":
        text.write(",")
    text.write('"description":', dumps(String(description)), "}")
    return text^


def _struct_schema[T: AnyType](mut schemas: SchemaSet) raises -> String:
    comptime names = reflect[T].field_names()
    # A struct that is never read has the schema of its written values.
    comptime is_read = conforms_to(T, FromJson)
    comptime omits_none = conforms_to(T, JsonOmitsNone)
    var properties = String()
    var required = String()
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime name = name_of[T, names[i]]()
        var schema: String
        comptime if (
            not is_read and omits_none and conforms_to(F, _InnerSchema)
        ):
            schema = F.inner_schema(schemas)
        else:
            schema = schemas.of[F]()
        comptime if conforms_to(T, JsonDescriptions):
            comptime field: StaticString = names[i]
            schema = described(schema, T.json_description(field))
        _add(properties, String(dumps(String(name)), ":", schema))
        comptime if not is_optional[F]() or not (is_read or omits_none):
            _add(required, dumps(String(name)))
    var text = String('{"type":"object","properties":{', properties, "}")
    if required:
        text.write(',"required":[', required, "]")
    comptime if conforms_to(T, JsonRefusesUnknownFields):
        text.write(',"additionalProperties":false')
    text.write("}")
    comptime if conforms_to(T, JsonDescriptions):
        text = described(text, T.json_description(""))
    return text^


@no_inline
def _add(mut list: String, item: String):
    if list:
        list.write(",")
    list.write(item)


@no_inline
def _check(text: String, type_name: StaticString) raises:
    if not _is_object(text):
        raise Error(
            "json.bad_schema the json_schema of ",
            type_name,
            " returns no JSON object",
        )


def _is_object(text: String) -> Bool:
    try:
        return loads(text).is_object()
    except:
        return False


@no_inline
def _nullable(schema: String) -> String:
    if schema == "{}":
        return schema
    # Most generators of clients know a list of types best, but an `enum` would
    # still refuse the null.
    if (
        schema.startswith(_TYPE)
        and schema.find('"enum"') < 0
        and schema.find('"const"') < 0
    ):
        comptime start = _TYPE.byte_length()
        var end = schema.find('"', start)
        return String(
            '{"type":["',
            schema[byte=start:end],
            '","null"]',
            schema[byte = end + 1 :],
        )
    return String('{"anyOf":[', schema, ',{"type":"null"}]}')


def _number_schema[dtype: DType]() -> StaticString:
    comptime if dtype == DType.float64:
        return '{"type":"number","format":"double"}'
    elif dtype == DType.float32:
        return '{"type":"number","format":"float"}'
    elif dtype.is_floating_point():
        return '{"type":"number"}'
    elif dtype == DType.int or dtype == DType.int64:
        return '{"type":"integer","format":"int64"}'
    elif dtype == DType.uint or dtype == DType.uint64:
        return '{"type":"integer","format":"uint64","minimum":0}'
    elif dtype == DType.int32:
        return (
            '{"type":"integer","format":"int32","minimum":-2147483648,'
            '"maximum":2147483647}'
        )
    elif dtype == DType.uint32:
        return '{"type":"integer","minimum":0,"maximum":4294967295}'
    elif dtype == DType.int16:
        return '{"type":"integer","minimum":-32768,"maximum":32767}'
    elif dtype == DType.uint16:
        return '{"type":"integer","minimum":0,"maximum":65535}'
    elif dtype == DType.int8:
        return '{"type":"integer","minimum":-128,"maximum":127}'
    elif dtype == DType.uint8:
        return '{"type":"integer","minimum":0,"maximum":255}'
    else:
        return '{"type":"integer"}'


__extension SIMD(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of a number.

        Args:
            schemas: Not used.

        Returns:
            The schema, with the range of short integers.

        Raises:
            Never.
        """
        comptime assert Self.length == 1, "a vector is no JSON number"
        return String(_number_schema[Self.dtype]())


__extension Bool(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of a boolean.

        Args:
            schemas: Not used.

        Returns:
            The schema.

        Raises:
            Never.
        """
        return '{"type":"boolean"}'


__extension String(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of a string.

        Args:
            schemas: Not used.

        Returns:
            The schema.

        Raises:
            Never.
        """
        return '{"type":"string"}'


__extension Value(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of any value.

        Args:
            schemas: Not used.

        Returns:
            The empty schema.

        Raises:
            Never.
        """
        return "{}"


__extension List(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of an array.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema.

        Raises:
            The errors of the schema of the elements.
        """
        return String('{"type":"array","items":', schemas.of[Self.T](), "}")


__extension Array(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of an array.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema.

        Raises:
            The errors of the schema of the elements.
        """
        return String('{"type":"array","items":', schemas.of[Self.T](), "}")


__extension Dict(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of an object whose keys are not known.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema.

        Raises:
            The errors of the schema of the values.
        """
        return String(
            '{"type":"object","additionalProperties":',
            schemas.of[Self.V](),
            "}",
        )


__extension Optional(JsonSchema):
    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of a value or `null`.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema.

        Raises:
            The errors of the schema of the value.
        """
        return _nullable(schemas.of[Self.T]())


__extension Optional(_InnerSchema):
    @staticmethod
    def inner_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of the value.

        Args:
            schemas: The schemas of the document.

        Returns:
            The schema, which does not allow `null`.

        Raises:
            The errors of the schema of the value.
        """
        return schemas.of[Self.T]()
