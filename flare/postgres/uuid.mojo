"""Defines identifiers of 128 bits (RFC 9562)."""

from flare.json import (
    FromJson,
    JsonReader,
    JsonSchema,
    JsonWriter,
    SchemaSet,
    ToJson,
)
from flare.sys.random import fill_random

from .column import Column, FromColumn
from .parameter import PgParameters, ToParameter, add_binary, bad_parameter
from .type_ids import TypeId
from .uuid_text import (
    UUID_OCTETS,
    UuidOctets,
    uuid_octets,
    uuid_of,
    uuid_text,
)


@fieldwise_init
struct Uuid(
    Equatable,
    FromColumn,
    FromJson,
    Hashable,
    ImplicitlyCopyable,
    JsonSchema,
    ToJson,
    ToParameter,
    Writable,
):
    """An identifier: `uuid`. Its text is that of RFC 9562, in lower case."""

    var octets: UuidOctets
    """The octets, the first one of the text first."""

    @staticmethod
    def random() -> Self:
        """Returns a new identifier of version 4, drawn by the kernel.

        Returns:
            The identifier.
        """
        var drawn = List[UInt8](length=UUID_OCTETS, fill=0)
        _ = fill_random(Span(drawn))
        var octets = uuid_of(Span(drawn))
        octets[6] = octets[6] & 0x0F | 0x40
        octets[8] = octets[8] & 0x3F | 0x80
        return Self(octets)

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses the text form: 32 hexadecimal digits in five groups.

        Args:
            text: As `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`, in either case.

        Returns:
            The identifier.

        Raises:
            PostgresError: `postgres.bad_parameter` for any other text.
        """
        var octets = uuid_octets(text.as_bytes())
        if not octets:
            raise bad_parameter("the text is no UUID")
        return Self(octets.value())

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Reads a `uuid`.

        Args:
            column: The value.

        Returns:
            The identifier.

        Raises:
            PostgresError: If the column has another type.
        """
        var found = column.not_null()
        if column.type_id() != TypeId.UUID or len(found) != UUID_OCTETS:
            raise column.mismatch("Uuid")
        return Self(uuid_of(found))

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Reads the text form.

        Args:
            json: The reader, in front of the value.

        Returns:
            The identifier.

        Raises:
            JsonError: If the value is no text.

            PostgresError: If the text is no UUID.
        """
        return Self.parse(json.string())

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        """Returns the schema of the text form.

        Args:
            schemas: Not used.

        Returns:
            The schema.

        Raises:
            Never.
        """
        return '{"type":"string","format":"uuid"}'

    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `uuid`.

        Returns:
            The object id.
        """
        return TypeId.UUID

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the identifier.

        Args:
            parameters: The parameters of a statement.

        Raises:
            Never.
        """
        var octets = List[UInt8](capacity=UUID_OCTETS)
        for i in range(UUID_OCTETS):
            octets.append(self.octets[i])
        add_binary(parameters, TypeId.UUID, Span(octets))

    def to_json(self, json: JsonWriter) raises:
        """Writes the text form.

        Args:
            json: The destination.

        Raises:
            Never.
        """
        json.string(uuid_text(self.octets))

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text form.

        Args:
            writer: The destination.
        """
        writer.write(uuid_text(self.octets))
