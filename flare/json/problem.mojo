"""Numbers the errors of a text, so that scanners return one octet."""

from .error import JsonError

comptime Problem = UInt8
"""An error in a text: one of the constants below; 0 is none."""

comptime NONE: Problem = 0
"""No error."""
comptime UNEXPECTED_END: Problem = 1
"""The text ends too early."""
comptime NO_VALUE: Problem = 2
"""Expected a value."""
comptime NO_KEY: Problem = 3
"""Expected a key in double quotes."""
comptime NO_COLON: Problem = 4
"""Expected a colon after the key."""
comptime NO_COMMA_IN_ARRAY: Problem = 5
"""Expected a comma or the end of the array."""
comptime NO_COMMA_IN_OBJECT: Problem = 6
"""Expected a comma or the end of the object."""
comptime TEXT_AFTER_VALUE: Problem = 7
"""Expected the end of the text."""
comptime CONTROL_OCTET: Problem = 8
"""A control character in a string is not escaped."""
comptime BAD_ESCAPE: Problem = 9
"""No such escape."""
comptime LONE_SURROGATE: Problem = 10
"""Half of a surrogate pair."""
comptime NOT_UTF8: Problem = 11
"""Not UTF-8."""
comptime NO_DIGIT: Problem = 12
"""Expected a digit."""
comptime LEADING_ZERO: Problem = 13
"""A number begins with a zero too many."""
comptime TOO_DEEP: Problem = 14
"""Nested too deep."""
comptime TOO_LARGE: Problem = 15
"""The text is too long."""
comptime DUPLICATE_KEY: Problem = 16
"""The key occurs twice."""
comptime UNKNOWN_FIELD: Problem = 17
"""No such field."""
comptime MISSING_FIELD: Problem = 18
"""The field is missing."""
comptime WRONG_TYPE: Problem = 19
"""Another type was expected."""
comptime OUT_OF_RANGE: Problem = 20
"""The number is out of range."""
comptime INVALID: Problem = 21
"""The value is not allowed."""
comptime BYTE_ORDER_MARK: Problem = 22
"""A byte order mark is no part of JSON."""

comptime _PHRASES: List[StaticString] = [
    "nothing is wrong",
    "the text ends too early",
    "expected a value",
    "expected a key in double quotes",
    "expected a colon behind the key",
    "expected a comma or the end of the array",
    "expected a comma or the end of the object",
    "expected the end of the text",
    "a control character in a string is not escaped",
    "no such escape",
    "half of a surrogate pair",
    "not UTF-8",
    "expected a digit",
    "a number begins with a zero too many",
    "nested too deep",
    "the text is too long",
    "the key occurs twice",
    "no such field",
    "the field is missing",
    "another type was expected",
    "the number is out of range",
    "the value is not allowed",
    "a byte order mark is no part of JSON",
]


@fieldwise_init
struct Fault(ImplicitlyCopyable):
    """An error and its offset, before line and path are known."""

    var problem: Problem
    """The error."""
    var offset: Int
    """The offset in the text."""
    var detail: StaticString
    """The expected type, or the name of the field; empty if the error needs
    neither.
    """


def kind_of(problem: Problem) -> Int:
    """Returns the kind of `JsonError` for an error.

    Args:
        problem: The error.

    Returns:
        The kind.
    """
    if problem == NOT_UTF8:
        return JsonError.NOT_UTF8
    if problem == TOO_DEEP:
        return JsonError.TOO_DEEP
    if problem == TOO_LARGE:
        return JsonError.TOO_LARGE
    if problem == DUPLICATE_KEY:
        return JsonError.DUPLICATE_KEY
    if problem == UNKNOWN_FIELD:
        return JsonError.UNKNOWN_FIELD
    if problem == MISSING_FIELD:
        return JsonError.MISSING_FIELD
    if problem == WRONG_TYPE:
        return JsonError.WRONG_TYPE
    if problem == OUT_OF_RANGE:
        return JsonError.OUT_OF_RANGE
    if problem == INVALID:
        return JsonError.INVALID
    return JsonError.SYNTAX


def is_of_container(problem: Problem) -> Bool:
    """Returns whether an error concerns the enclosing array or object.

    Args:
        problem: The error.

    Returns:
        False if it concerns the value at its place.
    """
    return problem in (
        NO_KEY,
        NO_COMMA_IN_ARRAY,
        NO_COMMA_IN_OBJECT,
        DUPLICATE_KEY,
        UNKNOWN_FIELD,
        MISSING_FIELD,
    )


def phrase_of(problem: Problem) -> StaticString:
    """Returns the fixed phrase for an error.

    Args:
        problem: The error.

    Returns:
        The phrase.
    """
    comptime for i in range(len(_PHRASES)):
        if Int(problem) == i:
            return comptime (_PHRASES[i])
    return "malformed"


def reason_of(fault: Fault) -> String:
    """Returns the reason of an error, unless a value has the wrong type.

    Args:
        fault: The error.

    Returns:
        The phrase, with the range of a number or the program's own reason.
    """
    if fault.problem == OUT_OF_RANGE and fault.detail:
        return String("the number does not fit ", fault.detail)
    if fault.problem == INVALID and fault.detail:
        return String(fault.detail)
    return String(phrase_of(fault.problem))


def is_malformed(problem: Problem) -> Bool:
    """Returns whether an error makes the text unreadable after it.

    Args:
        problem: The error.

    Returns:
        False if the text is JSON of another shape.
    """
    return kind_of(problem) in (
        JsonError.SYNTAX,
        JsonError.NOT_UTF8,
        JsonError.TOO_DEEP,
        JsonError.TOO_LARGE,
    )
