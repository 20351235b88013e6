"""Checks the names and values of field lines (RFC 9113 section 8.2)."""

from flare.core import SPACE, TAB, OctetSet, find_member
from flare.message import FieldName

comptime _NAME_OCTETS = _name_octets()
comptime _FORBIDDEN_OCTETS = _forbidden_octets()


def _name_octets() -> OctetSet:
    # A token without capitals (section 8.2.1).
    return OctetSet.of("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


def _forbidden_octets() -> OctetSet:
    # Those that HTTP/1.1 forbids too, so that no value can become a line of
    # its own behind a proxy.
    var set = OctetSet.of("\x7f")
    for octet in range(32):
        if UInt8(octet) != TAB:
            set.add(UInt8(octet))
    return set


@always_inline
def is_field_name(name: Span[UInt8, _]) -> Bool:
    """Returns whether octets are the name of a field, in lower case.

    Args:
        name: The octets.

    Returns:
        False for a name of a pseudo-header field too.
    """
    return len(name) > 0 and find_member[_NAME_OCTETS, False](name) == len(name)


@always_inline
def is_field_value(value: Span[UInt8, _]) -> Bool:
    """Returns whether octets are the value of a field.

    Args:
        value: The octets.

    Returns:
        False if there is a control octet, or a blank at an end.
    """
    var count = len(value)
    if count == 0:
        return True
    return (
        not _is_blank(value.unsafe_get(0))
        and not _is_blank(value.unsafe_get(count - 1))
        and find_member[_FORBIDDEN_OCTETS](value) == count
    )


@always_inline
def _is_blank(octet: UInt8) -> Bool:
    return octet == SPACE or octet == TAB


@always_inline
def is_of_connection(known: UInt8) -> Bool:
    """Returns whether a field belongs to a connection of HTTP/1.1, so that no
    message of HTTP/2 may have it (section 8.2.2).

    Args:
        known: The number of its name.

    Returns:
        True for such a field. TE is none of them, but only `trailers` is its
        value.
    """
    comptime SET = (
        FieldName.bit(FieldName.CONNECTION)
        | FieldName.bit(FieldName.KEEP_ALIVE)
        | FieldName.bit(FieldName.PROXY_CONNECTION)
        | FieldName.bit(FieldName.TRANSFER_ENCODING)
        | FieldName.bit(FieldName.UPGRADE)
    )
    return (SET >> UInt64(known & 63)) & 1 == 1
