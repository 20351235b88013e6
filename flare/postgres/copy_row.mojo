"""Encodes rows in the binary form of COPY."""

from std.reflection import reflect

from flare.sys.pg_parameters import PgParameters

from .big_endian import append_big_endian, read_big_endian
from .parameter import ToParameter, bad_parameter
from .type_ids import TypeId, is_text_id
from .uuid_text import UUID_OCTETS, uuid_octets

comptime _SIGNATURE: StaticString = "PGCOPY\n"


def append_copy_head(mut octets: List[UInt8]):
    """Appends the octets before the first row.

    Args:
        octets: The destination.
    """
    octets.extend(_SIGNATURE.as_bytes())
    octets.append(0xFF)
    octets.extend("\r\n\0".as_bytes())
    # No flags, and no extension of the header.
    append_big_endian(octets, 0, 8)


def append_copy_end(mut octets: List[UInt8]):
    """Appends the octets after the last row.

    Args:
        octets: The destination.
    """
    append_big_endian(octets, -1, 2)


def append_copy_row[
    T: AnyType
](
    mut octets: List[UInt8],
    row: T,
    types: List[Int],
    mut scratch: PgParameters,
) raises:
    """Appends a row. After an error, a part of it may be there.

    Parameters:
        T: A struct whose fields are parameters.

    Args:
        octets: The destination.
        row: The row.
        types: The types of the columns, in the order of the fields.
        scratch: Space for one value.

    Raises:
        PostgresError: `postgres.bad_parameter` for a value that does not fit its
            column.
    """
    append_big_endian(octets, reflect[T].field_count(), 2)
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime name = reflect[T].field_names()[i]
        comptime assert conforms_to(F, ToParameter), String(
            reflect[T].name(),
            ".",
            name,
            " is no parameter: its type does not conform to ToParameter",
        )
        scratch.starts.clear()
        scratch.lengths.clear()
        scratch.formats.clear()
        scratch.types.clear()
        scratch.octets.clear()
        reflect[T].field_ref[i](row).add_to(scratch)
        if not _append_field(octets, scratch, types[i]):
            raise bad_parameter(
                String(
                    "the field ",
                    name,
                    " does not fit its column of type ",
                    types[i],
                    ": COPY converts nothing but integers and texts",
                )
            )


def _append_field(
    mut octets: List[UInt8], value: PgParameters, column: Int
) -> Bool:
    if value.starts[0] == PgParameters.NULL:
        append_big_endian(octets, -1, 4)
        return True
    var start = value.starts[0]
    var content = Span(value.octets)[start : start + Int(value.lengths[0])]
    var type_id = Int(value.types[0])
    if value.formats[0] == PgParameters.TEXT:
        return _append_text(octets, content, column)
    var is_time = type_id == TypeId.TIMESTAMPTZ and column == TypeId.TIMESTAMP
    if type_id == column or is_time:
        append_big_endian(octets, len(content), 4)
        octets.extend(content)
        return True
    var width = _integer_octets(column)
    if width == 0 or _integer_octets(type_id) == 0:
        return False
    var number = read_big_endian(content)
    var bits = 8 * width - 1
    if width < 8 and not -(1 << bits) <= number < 1 << bits:
        return False
    append_big_endian(octets, width, 4)
    append_big_endian(octets, number, width)
    return True


def _append_text(
    mut octets: List[UInt8], text: Span[UInt8, _], column: Int
) -> Bool:
    if column == TypeId.UUID:
        var found = uuid_octets(text)
        if not found:
            return False
        append_big_endian(octets, UUID_OCTETS, 4)
        for i in range(UUID_OCTETS):
            octets.append(found.value()[i])
        return True
    if not is_text_id(column):
        return False
    var is_jsonb = column == TypeId.JSONB
    append_big_endian(octets, len(text) + Int(is_jsonb), 4)
    if is_jsonb:
        # The version of the form.
        octets.append(1)
    octets.extend(text)
    return True


def _integer_octets(type_id: Int) -> Int:
    if type_id == TypeId.INT2:
        return 2
    if type_id == TypeId.INT4:
        return 4
    if type_id == TypeId.INT8:
        return 8
    return 0
