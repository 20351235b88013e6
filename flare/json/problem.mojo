"""Numbers what can be wrong with a text, so that scanners return one octet."""

from .error import JsonError

comptime Problem = UInt8
"""What is wrong: one of the constants below; 0 is nothing."""

comptime NONE: Problem = 0
comptime UNEXPECTED_END: Problem = 1
comptime NO_VALUE: Problem = 2
comptime NO_KEY: Problem = 3
comptime NO_COLON: Problem = 4
comptime NO_COMMA_IN_ARRAY: Problem = 5
comptime NO_COMMA_IN_OBJECT: Problem = 6
comptime TEXT_AFTER_VALUE: Problem = 7
comptime CONTROL_OCTET: Problem = 8
comptime BAD_ESCAPE: Problem = 9
comptime LONE_SURROGATE: Problem = 10
comptime NOT_UTF8: Problem = 11
comptime NO_DIGIT: Problem = 12
comptime LEADING_ZERO: Problem = 13
comptime TOO_DEEP: Problem = 14
comptime TOO_LARGE: Problem = 15
comptime DUPLICATE_KEY: Problem = 16
comptime UNKNOWN_FIELD: Problem = 17
comptime MISSING_FIELD: Problem = 18
comptime WRONG_TYPE: Problem = 19
comptime OUT_OF_RANGE: Problem = 20
comptime INVALID: Problem = 21
comptime BYTE_ORDER_MARK: Problem = 22
comptime NO_QUOTE: Problem = 23

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
    "the text ends within a string",
]


@fieldwise_init
struct Fault(ImplicitlyCopyable):
    """Says what is wrong where, before anybody knows line and path."""

    var problem: Problem
    """What is wrong."""
    var offset: Int
    """The octet of the text at which it is."""
    var detail: StaticString
    """What was expected, or the name of the field; empty where the problem
    says all."""


def kind_of(problem: Problem) -> Int:
    """Sorts problems into the kinds of `JsonError`.

    Args:
        problem: What is wrong.

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
    """Tells whether a problem concerns the array or object around it.

    Args:
        problem: What is wrong.

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
    """Puts a problem into words.

    Args:
        problem: What is wrong.

    Returns:
        A fixed phrase.
    """
    comptime for i in range(len(_PHRASES)):
        if Int(problem) == i:
            return comptime (_PHRASES[i])
    return "malformed"
