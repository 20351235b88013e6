"""Decodes rows into structs, by compile-time reflection on their fields."""

from std.memory import MaybeUninit
from std.reflection import reflect

from .column import Column, FromColumn
from .error import SqliteError
from .values import ResultRows


def decode_rows[T: Deinitable & Movable](result: ResultRows) raises -> List[T]:
    """Decodes all rows of a result.

    Parameters:
        T: A type of one column, or a struct with a field for each column, by
            name.

    Args:
        result: The result.

    Returns:
        The rows.

    Raises:
        SqliteError: `sqlite.decode`.
    """
    var count = result.count()
    var rows = List[T](capacity=count)
    comptime if conforms_to(T, FromColumn):
        _check_single(result)
        for row in range(count):
            rows.append(
                T.from_column(Column(result, row, 0, "of the only column"))
            )
    else:
        var columns = _find_columns[T](result)
        for row in range(count):
            rows.append(_decode_row[T](result, row, columns))
    return rows^


def _check_single(result: ResultRows) raises:
    if result.columns() != 1:
        raise _shape_error(
            String(
                "the result has ",
                result.columns(),
                " columns: a type that is no struct takes one",
            )
        )


def _find_columns[
    T: Deinitable & Movable
](result: ResultRows) raises -> Array[Int, reflect[T].field_count()]:
    comptime COUNT = reflect[T].field_count()
    comptime names = reflect[T].field_names()
    var places = Array[Int, COUNT](fill=-1)
    var is_right = result.columns() == COUNT
    for column in range(result.columns()):
        var name = result.column_name(column)
        var is_known = False
        comptime for i in range(COUNT):
            if name == comptime (names[i]):
                is_known = places[i] < 0
                places[i] = column
        is_right = is_right and is_known
    if is_right:
        return places^
    var text = String("the columns are")
    for column in range(result.columns()):
        text += String(" ", result.column_name(column))
    text += String(", and the fields of ", reflect[T].name(), " are")
    comptime for i in range(COUNT):
        text += String(" ", comptime (names[i]))
    raise _shape_error(text)


@always_inline
def _decode_row[
    T: Deinitable & Movable
](
    result: ResultRows, row: Int, columns: Array[Int, reflect[T].field_count()]
) raises -> T:
    comptime COUNT = reflect[T].field_count()
    var slot = MaybeUninit[T]()
    var done = 0
    try:
        _decode_fields[T](result, row, columns, slot, done)
    except e:
        _drop_fields[T](slot, done)
        slot^.unsafe_forget()
        raise e^
    return slot^.unsafe_assume_init()


@always_inline
def _decode_fields[
    T: Deinitable & Movable
](
    result: ResultRows,
    row: Int,
    columns: Array[Int, reflect[T].field_count()],
    mut slot: MaybeUninit[T],
    mut done: Int,
) raises:
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime name = reflect[T].field_names()[i]
        comptime assert conforms_to(F, FromColumn), String(
            reflect[T].name(),
            ".",
            name,
            (
                " is not decoded from a column: its type does not conform to"
                " FromColumn"
            ),
        )
        ref whole = slot.unsafe_ptr()[]
        Pointer(to=reflect[T].field_ref[i](whole)).unsafe_write(
            F.from_column(Column(result, row, columns[i], name))
        )
        done = i + 1


def _drop_fields[T: Deinitable & Movable](mut slot: MaybeUninit[T], done: Int):
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime assert conforms_to(F, FromColumn)
        if i < done:
            ref whole = slot.unsafe_ptr()[]
            Pointer(to=reflect[T].field_ref[i](whole)).unsafe_deinit_pointee()


def _shape_error(text: StringSlice) -> Error:
    return Error(String(SqliteError(SqliteError.DECODE, text, sent=True)))
