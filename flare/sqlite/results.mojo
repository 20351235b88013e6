"""Turns results into rows and counts."""

from .error import SqliteError
from .row import decode_rows
from .statement import SqliteAnswer


@fieldwise_init
struct Executed(ImplicitlyCopyable):
    """The outcome of a command."""

    var rows: Int
    """How many rows it has changed or returned; 0 for other commands."""


def all_rows[T: Deinitable & Movable](answer: SqliteAnswer) raises -> List[T]:
    """Decodes all rows of a result.

    Parameters:
        T: As for `Database.query`.

    Args:
        answer: The result. It must outlive the decoding, and a handle to its
            parts would not keep it.

    Returns:
        The rows.

    Raises:
        SqliteError: If one cannot be decoded.
    """
    return decode_rows[T](answer.rows())


def only_row[T: Deinitable & Movable](answer: SqliteAnswer) raises -> T:
    """Decodes a result of exactly one row.

    Parameters:
        T: As for `Database.query`.

    Args:
        answer: The result.

    Returns:
        The row.

    Raises:
        SqliteError: If there are none or several, or one cannot be decoded.
    """
    var found = optional_row[T](answer)
    if not found:
        raise Error(String(SqliteError(SqliteError.NO_ROWS, sent=True)))
    return found.take()


def optional_row[
    T: Deinitable & Movable
](answer: SqliteAnswer) raises -> Optional[T]:
    """Decodes a result of at most one row.

    Parameters:
        T: As for `Database.query`.

    Args:
        answer: The result.

    Returns:
        The row, if there is one.

    Raises:
        SqliteError: If there are several, or it cannot be decoded.
    """
    if answer.rows().count() > 1:
        raise Error(String(SqliteError(SqliteError.TOO_MANY_ROWS, sent=True)))
    var rows = decode_rows[T](answer.rows())
    if len(rows) == 0:
        return None
    return rows.pop()


def executed(answer: SqliteAnswer) -> Executed:
    """Returns the outcome of a command.

    Args:
        answer: The result.

    Returns:
        The number of rows.
    """
    return Executed(answer.block[].affected)
