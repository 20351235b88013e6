"""Reads the values of Content-Length (RFC 9110 section 8.6)."""

from flare.message import FieldName, HeaderMap

from .h2_error import H2Error

comptime _DIGITS_MAX = 18


def stated_length(fields: HeaderMap, length: Int) raises H2Error -> Int:
    """Returns the value of Content-Length.

    Args:
        fields: The fields of the caller. A Content-Length sets an unknown
            length, and must agree with a known one.
        length: The length of the content; -1 if it is not known.

    Returns:
        The length; -1 for no such line.

    Raises:
        H2Error: If the fields contradict it or themselves.
    """
    if not fields.has_known(FieldName.CONTENT_LENGTH):
        return length
    var stated = length
    for value in fields.values("content-length"):
        var number = parse_length(value.as_bytes())
        if number < 0:
            raise H2Error.local("Content-Length is not a number")
        if stated >= 0 and number != stated:
            raise H2Error.local("Content-Length is not that of the content")
        stated = number
    return stated


def parse_length(text: Span[UInt8, _]) -> Int:
    """Parses one value.

    Args:
        text: The value.

    Returns:
        The length; -1 if it is not a number of at most 18 digits.
    """
    if len(text) == 0 or len(text) > _DIGITS_MAX:
        return -1
    var number = 0
    for octet in text:
        if octet - 48 > 9:
            return -1
        number = number * 10 + Int(octet - 48)
    return number
