"""Looks at the text of statements, for the clients of databases."""

from flare.core.octets import CR, LF, equals_lower, find_octet

# Two octets each.
comptime _COMMENT_BEGINS: UInt16 = 0x2F2A
comptime _COMMENT_ENDS: UInt16 = 0x2A2F
comptime _LINE_COMMENT: UInt16 = 0x2D2D
comptime _SEMICOLON: UInt8 = 59


def has_nul(text: StringSlice) -> Bool:
    """Returns whether a text contains NUL, which C cannot take.

    Args:
        text: The text.

    Returns:
        True if NUL is among its octets.
    """
    return find_octet(text.as_bytes(), 0) < text.byte_length()


def begins_with_word[
    words: List[StaticString], *, is_postgresql: Bool
](sql: StringSlice) -> Bool:
    """Returns whether the first word of a statement is one of some, in any case.

    Parameters:
        words: The words, in lower case.
        is_postgresql: Whether the rules are those of PostgreSQL: a comment may
            contain another one, CR ends a line, and empty statements may come
            before.

    Args:
        sql: The statement. Blanks and comments may come before the word.

    Returns:
        True if it is one of them.
    """
    var octets = sql.as_bytes()
    var start = _first_word_at[is_postgresql](octets)
    var end = start
    while end < len(octets) and _is_letter(octets.unsafe_get(end)):
        end += 1
    comptime for i in range(len(words)):
        comptime word = words[i]
        if equals_lower(octets[start:end], word.as_bytes()):
            return True
    return False


def _first_word_at[is_postgresql: Bool](octets: Span[UInt8, _]) -> Int:
    var at = 0
    var depth = 0
    while at < len(octets):
        var pair = UInt16(octets.unsafe_get(at)) << 8
        if at + 1 < len(octets):
            pair |= UInt16(octets.unsafe_get(at + 1))
        if pair == _COMMENT_BEGINS and (is_postgresql or depth == 0):
            depth += 1
            at += 2
        elif depth > 0:
            if pair == _COMMENT_ENDS:
                depth -= 1
                at += 1
            at += 1
        elif pair == _LINE_COMMENT:
            at = _line_end[ends_at_cr=is_postgresql](octets, at)
        elif _is_blank(octets.unsafe_get(at)) or (
            # It drops empty statements.
            is_postgresql
            and octets.unsafe_get(at) == _SEMICOLON
        ):
            at += 1
        else:
            break
    return at


def _line_end[ends_at_cr: Bool](octets: Span[UInt8, _], start: Int) -> Int:
    var end = find_octet(octets, LF, start)
    comptime if ends_at_cr:
        return find_octet(octets[:end], CR, start)
    return end


def _is_letter(octet: UInt8) -> Bool:
    return (octet | 32) - 97 < 26


def _is_blank(octet: UInt8) -> Bool:
    return octet == 32 or (octet >= 9 and octet <= 13)
