"""Decides by the first word of a statement which thread runs it.

It is only a first guess, as SQLite knows better after it has compiled the
statement. A reader passes a statement that writes to the writer.
"""

from flare.sql.text import begins_with_word


struct StatementKind:
    """The effects of statements, as far as they decide the thread."""

    comptime QUERY: UInt8 = 0
    """It reads."""
    comptime CHANGE: UInt8 = 1
    """It changes rows, so it may share a commit with others."""
    comptime OTHER: UInt8 = 2
    """It runs alone on the writer, as CREATE, PRAGMA and VACUUM."""
    comptime BEGIN: UInt8 = 3
    """It begins a transaction."""
    comptime BEGIN_READING: UInt8 = 4
    """It begins a transaction that only reads."""
    comptime SAVEPOINT: UInt8 = 5
    """It begins or ends a savepoint inside of a transaction."""
    comptime COMMIT: UInt8 = 6
    """It commits a transaction."""
    comptime ROLLBACK: UInt8 = 7
    """It ends a transaction without its changes."""
    comptime PROBE: UInt8 = 8
    """It only opens the connection."""


def kind_of(sql: StringSlice) -> UInt8:
    """Returns the kind of a statement, by its first word.

    Args:
        sql: The statement.

    Returns:
        `QUERY`, `CHANGE` or `OTHER`.
    """
    comptime QUERIES: List[StaticString] = ["select", "with", "values"]
    comptime CHANGES: List[StaticString] = [
        "insert",
        "update",
        "delete",
        "replace",
    ]
    if begins_with_word[QUERIES, is_postgresql=False](sql):
        return StatementKind.QUERY
    if begins_with_word[CHANGES, is_postgresql=False](sql):
        return StatementKind.CHANGE
    return StatementKind.OTHER
