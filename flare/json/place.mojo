"""Finds line, column and path of an error's offset.

Readers keep only their position. The text before an error is well-formed, so
it is walked again from the start to find the error's place.
"""

from flare.core import write_escaped

from .error import JsonError
from .problem import (
    DUPLICATE_KEY,
    Fault,
    MISSING_FIELD,
    NONE,
    Problem,
    TEXT_AFTER_VALUE,
    UNEXPECTED_END,
    UNKNOWN_FIELD,
    WRONG_TYPE,
    is_of_container,
    kind_of,
    phrase_of,
)
from .scan import BACKSLASH, QUOTE

comptime _PATH_OCTETS_MAX = 256
comptime _KEY_OCTETS_MAX = 64
comptime CUT: StaticString = "..."
"""Replaces the rest of a path that is too long."""


@fieldwise_init
struct Step(ImplicitlyCopyable):
    """One array or object on the way to a place."""

    var is_array: Bool
    """Whether it is an array."""
    var index: Int
    """The index of the element, in an array."""
    var key_start: Int
    """The offset of the member's key, after its quote; -1 without a key."""
    var key_end: Int
    """The offset of the key's closing quote."""


def fault_at(problem: Problem, offset: Int, octets: Int) -> Fault:
    """Returns the error at the place where a scanner stopped.

    Args:
        problem: The scanner's error, or `NONE` if it stopped at a zero.
        offset: The place.
        octets: The length of the text.

    Returns:
        The error; past the last octet, that the text ends too early.
    """
    if offset >= octets:
        return Fault(UNEXPECTED_END, octets, "")
    return Fault(TEXT_AFTER_VALUE if problem == NONE else problem, offset, "")


def error_at(octets: Span[UInt8, _], fault: Fault) -> Error:
    """Returns the text of an error, with its place.

    Args:
        octets: The text.
        fault: The error.

    Returns:
        The error to raise.
    """
    return Error(json_error_at(octets, fault, String(phrase_of(fault.problem))))


def json_error_at(
    octets: Span[UInt8, _], fault: Fault, var reason: String
) -> JsonError:
    """Returns an error with its place.

    Args:
        octets: The text.
        fault: The error.
        reason: The reason, if neither the type nor a field is wrong.

    Returns:
        The error.
    """
    var offset = min(fault.offset, len(octets))
    if fault.problem == WRONG_TYPE:
        reason = String(
            "expected ", fault.detail, ", got ", type_at(octets, offset)
        )
    var steps = List[Step]()
    _ = walk_to(octets, 0, offset, steps)
    if is_of_container(fault.problem) and steps:
        _ = steps.pop()
    var path = _path_of(octets, steps)
    if fault.problem == MISSING_FIELD:
        append_key(path, fault.detail.as_bytes())
    elif fault.problem == UNKNOWN_FIELD or fault.problem == DUPLICATE_KEY:
        var end = string_end(octets, offset)
        append_key(path, octets[min(offset + 1, end) : max(end - 1, offset)])
    var line = 1
    var column = 1
    for i in range(offset):
        var octet = octets[i]
        if octet == 10:
            line += 1
            column = 1
        elif octet & 0xC0 != 0x80:
            column += 1
    return JsonError(kind_of(fault.problem), path^, reason^, line, column)


def append_key(mut path: String, key: Span[UInt8, _]):
    """Appends a key to a path, without blanks and safe for logs.

    Args:
        path: The path.
        key: The octets of the key.
    """
    var shown = key[: min(len(key), _KEY_OCTETS_MAX)]
    var is_plain = len(shown) > 0
    for octet in shown:
        var letter = octet | 32
        var is_letter = letter >= 97 and letter <= 122
        if not (is_letter or octet - 48 <= 9 or octet == 95 or octet == 45):
            is_plain = False
    if is_plain:
        if path:
            path.write(".")
        path.write(StringSlice(unsafe_from_utf8=shown))
    else:
        path.write('["')
        for i in range(len(shown)):
            if shown[i] == 32:
                path.write("\\x20")
            elif shown[i] == QUOTE:
                path.write("\\x22")
            else:
                write_escaped(shown[i : i + 1], path)
        path.write('"]')
    if len(shown) < len(key):
        path.write(CUT)


def walk_to(
    octets: Span[UInt8, _], start: Int, offset: Int, mut steps: List[Step]
) -> Int:
    """Walks through a text up to a place.

    Args:
        octets: The text.
        start: The offset of the first step: 0, or an earlier result.
        offset: The place; the text before it is well-formed.
        steps: The open arrays and objects at `start`, and then at the place.

    Returns:
        The offset from which another call continues.
    """
    var i = start
    while i < offset:
        var octet = octets[i]
        if octet == UInt8(ord("[")):
            steps.append(Step(True, 0, -1, -1))
        elif octet == UInt8(ord("{")):
            steps.append(Step(False, 0, -1, -1))
        elif octet == UInt8(ord("]")) or octet == UInt8(ord("}")):
            if steps:
                _ = steps.pop()
        elif octet == UInt8(ord(",")):
            if steps:
                steps[len(steps) - 1].index += 1
                steps[len(steps) - 1].key_start = -1
        elif octet == QUOTE:
            var end = string_end(octets, i)
            if end > offset:
                break
            if steps and steps[len(steps) - 1].key_start < 0:
                steps[len(steps) - 1].key_start = i + 1
                steps[len(steps) - 1].key_end = end - 1
            i = end
            continue
        i += 1
    return i


def string_end(octets: Span[UInt8, _], start: Int) -> Int:
    """Finds the end of a string.

    Args:
        octets: The text.
        start: The offset of its opening quote.

    Returns:
        The offset after the closing quote; one past the text if there is none.
    """
    var i = start + 1
    while i < len(octets):
        if octets[i] == QUOTE:
            return i + 1
        i += 2 if octets[i] == BACKSLASH else 1
    return len(octets) + 1


def type_at(octets: Span[UInt8, _], offset: Int) -> StaticString:
    """Describes the type of a value for an error.

    Args:
        octets: The text.
        offset: The first octet of the value.

    Returns:
        A phrase such as `a string`.
    """
    if offset == len(octets):
        return "nothing"
    var octet = octets[offset]
    if octet == QUOTE:
        return "a string"
    if octet == UInt8(ord("{")):
        return "an object"
    if octet == UInt8(ord("[")):
        return "an array"
    if octet == UInt8(ord("t")) or octet == UInt8(ord("f")):
        return "a boolean"
    if octet == UInt8(ord("n")):
        return "null"
    if octet - 48 <= 9 or octet == UInt8(ord("-")):
        return "a number"
    return "something else"


def _path_of(octets: Span[UInt8, _], steps: List[Step]) -> String:
    var path = String()
    for step in steps:
        if path.byte_length() > _PATH_OCTETS_MAX:
            path.write(CUT)
            break
        if step.is_array:
            path.write("[", step.index, "]")
        elif step.key_start >= 0:
            append_key(path, octets[step.key_start : step.key_end])
    return path^
