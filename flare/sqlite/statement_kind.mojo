"""Decides by the first word of a statement which thread runs it.

It is only a first guess, as SQLite knows better after it has compiled the
statement. A reader passes a statement that writes to the writer.
"""

from flare.core import LF, equals_lower, find_octet

# Two octets each.
comptime _COMMENT_BEGINS: UInt16 = 0x2F2A
comptime _COMMENT_ENDS: UInt16 = 0x2A2F
comptime _LINE_COMMENT: UInt16 = 0x2D2D


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
    var octets = sql.as_bytes()
    var start = _first_word_at(octets)
    var end = start
    while end < len(octets) and _is_letter(octets.unsafe_get(end)):
        end += 1
    comptime for i in range(len(QUERIES)):
        comptime word = QUERIES[i]
        if equals_lower(octets[start:end], word.as_bytes()):
            return StatementKind.QUERY
    comptime for i in range(len(CHANGES)):
        comptime word = CHANGES[i]
        if equals_lower(octets[start:end], word.as_bytes()):
            return StatementKind.CHANGE
    return StatementKind.OTHER


def _first_word_at(octets: Span[UInt8, _]) -> Int:
    """Returns the offset after blanks and comments, which do not nest."""
    var at = 0
    var in_comment = False
    while at < len(octets):
        var pair = UInt16(octets.unsafe_get(at)) << 8
        if at + 1 < len(octets):
            pair |= UInt16(octets.unsafe_get(at + 1))
        if in_comment:
            in_comment = pair != _COMMENT_ENDS
            at += 1 if in_comment else 2
        elif pair == _COMMENT_BEGINS:
            in_comment = True
            at += 2
        elif pair == _LINE_COMMENT:
            at = find_octet(octets, LF, at)
        elif _is_blank(octets.unsafe_get(at)):
            at += 1
        else:
            break
    return min(at, len(octets))


def _is_letter(octet: UInt8) -> Bool:
    return (octet | 32) - 97 < 26


def _is_blank(octet: UInt8) -> Bool:
    return octet == 32 or (octet >= 9 and octet <= 13)
