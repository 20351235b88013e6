"""Decodes rows into structs, by compile-time reflection on their fields."""

from std.memory import MaybeUninit
from std.reflection import reflect

from .result import RowSource


def decode_rows[
    S: RowSource, //, T: Deinitable & Movable
](source: S) raises -> List[T]:
    """Decodes all rows of a result.

    Parameters:
        S: The type of the result.
        T: A type of one column, or a struct with a field for each column, by
            name.

    Args:
        source: The result. It owns its rows, because a handle to them would not
            keep them while they are decoded.

    Returns:
        The rows.

    Raises:
        Error: Of the source, if a row cannot be decoded.
    """
    var count = source.row_count()
    var rows = List[T](capacity=count)
    comptime if S.decodes[T]():
        _check_single(source)
        for row in range(count):
            rows.append(source.value[T](row, 0, "of the only column"))
    else:
        var columns = _find_columns[T](source)
        for row in range(count):
            rows.append(_decode_row[T](source, row, columns))
    return rows^


def only_row[T: Deinitable & Movable](source: Some[RowSource]) raises -> T:
    """Decodes a result of exactly one row.

    Parameters:
        T: As for `decode_rows`.

    Args:
        source: The result.

    Returns:
        The row.

    Raises:
        Error: Of the source, if there are none or several, or one cannot be
            decoded.
    """
    var found = optional_row[T](source)
    if not found:
        raise source.no_rows()
    return found.take()


def optional_row[
    T: Deinitable & Movable
](source: Some[RowSource]) raises -> Optional[T]:
    """Decodes a result of at most one row.

    Parameters:
        T: As for `decode_rows`.

    Args:
        source: The result.

    Returns:
        The row, if there is one.

    Raises:
        Error: Of the source, if there are several, or it cannot be decoded.
    """
    if source.row_count() > 1:
        raise source.too_many_rows()
    var rows = decode_rows[T](source)
    if len(rows) == 0:
        return None
    return rows.pop()


def _check_single(source: Some[RowSource]) raises:
    if source.column_count() != 1:
        raise source.decode_error(
            String(
                "the result has ",
                source.column_count(),
                " columns: a type that is no struct takes one",
            )
        )


def _find_columns[
    S: RowSource, //, T: Deinitable & Movable
](source: S) raises -> Array[Int, reflect[T].field_count()]:
    comptime COUNT = reflect[T].field_count()
    comptime names = reflect[T].field_names()
    var places = Array[Int, COUNT](fill=-1)
    var is_right = source.column_count() == COUNT
    for column in range(source.column_count()):
        var name = source.column_name(column)
        var is_known = False
        comptime for i in range(COUNT):
            if name == comptime (names[i]):
                is_known = places[i] < 0
                places[i] = column
        is_right = is_right and is_known
    if is_right:
        return places^
    var text = String("the columns are")
    for column in range(source.column_count()):
        text += String(" ", source.column_name(column))
    text += String(", and the fields of ", reflect[T].name(), " are")
    comptime for i in range(COUNT):
        text += String(" ", comptime (names[i]))
    raise S.decode_error(text)


@always_inline
def _decode_row[
    S: RowSource, //, T: Deinitable & Movable
](
    source: S, row: Int, columns: Array[Int, reflect[T].field_count()]
) raises -> T:
    var slot = MaybeUninit[T]()
    var done = 0
    try:
        _decode_fields[T](source, row, columns, slot, done)
    except e:
        _drop_fields[T](slot, done)
        slot^.unsafe_forget()
        raise e^
    return slot^.unsafe_assume_init()


@always_inline
def _decode_fields[
    S: RowSource, //, T: Deinitable & Movable
](
    source: S,
    row: Int,
    columns: Array[Int, reflect[T].field_count()],
    mut slot: MaybeUninit[T],
    mut done: Int,
) raises:
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime name = reflect[T].field_names()[i]
        comptime assert S.decodes[F](), String(
            reflect[T].name(),
            ".",
            name,
            (
                " is not decoded from a column: its type does not conform to"
                " FromColumn"
            ),
        )
        comptime assert conforms_to(F, Deinitable & Movable)
        ref whole = slot.unsafe_ptr()[]
        Pointer(to=reflect[T].field_ref[i](whole)).unsafe_write(
            source.value[F](row, columns[i], name)
        )
        done = i + 1


def _drop_fields[T: Deinitable & Movable](mut slot: MaybeUninit[T], done: Int):
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime assert conforms_to(F, Deinitable)
        if i < done:
            ref whole = slot.unsafe_ptr()[]
            Pointer(to=reflect[T].field_ref[i](whole)).unsafe_deinit_pointee()
