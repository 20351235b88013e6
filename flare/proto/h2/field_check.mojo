"""Checks the names and values of field lines (RFC 9113 section 8.2)."""

from flare.core import SPACE, TAB, OctetSet, equals, find_member
from flare.message import FieldName, valid_host

comptime _COLON: UInt8 = 58
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


struct LineKind:
    """Facts about a field line that do not change. A table keeps them with each
    entry, so that they are found once."""

    comptime VALID_NAME: UInt8 = 1
    """The name is one of a field, in lower case."""
    comptime VALID_VALUE: UInt8 = 2
    """The value has no forbidden octet."""
    comptime VALID_HOST: UInt8 = 4
    """The value is a host with an optional port. Only the authority of a request
    is asked for it."""
    comptime PROTOCOL: UInt8 = 8
    """It is `:protocol` (RFC 8441 section 4)."""
    comptime METHOD: UInt8 = 16
    """It is `:method`."""
    comptime SCHEME: UInt8 = 32
    """It is `:scheme`."""
    comptime AUTHORITY: UInt8 = 64
    """It is `:authority`."""
    comptime PATH: UInt8 = 128
    """It is `:path`."""
    comptime PSEUDO: UInt8 = 248
    """The bits of pseudo-header fields."""


def name_kind(name: Span[UInt8, _]) -> UInt8:
    """Returns the facts about the name of a field line.

    Args:
        name: The name; any octets.

    Returns:
        Bits of `LineKind`.
    """
    if len(name) > 0 and name.unsafe_get(0) == _COLON:
        return _pseudo_of(name[1:])
    return LineKind.VALID_NAME if is_field_name(name) else 0


def line_kind(name_kind: UInt8, value: Span[UInt8, _]) -> UInt8:
    """Returns the facts about a field line.

    Args:
        name_kind: Those about its name, or about any line of this name.
        value: The value; any octets.

    Returns:
        Bits of `LineKind`.
    """
    var kind = name_kind & (LineKind.VALID_NAME | LineKind.PSEUDO)
    if is_field_value(value):
        kind |= LineKind.VALID_VALUE
    if kind & LineKind.AUTHORITY != 0 and valid_host(value):
        kind |= LineKind.VALID_HOST
    return kind


def _pseudo_of(name: Span[UInt8, _]) -> UInt8:
    # The first letter and the length leave one name.
    var text: StaticString
    var bit: UInt8
    if len(name) == 4:
        text, bit = StaticString("path"), LineKind.PATH
    elif len(name) == 6 and name.unsafe_get(0) == 109:
        text, bit = StaticString("method"), LineKind.METHOD
    elif len(name) == 6:
        text, bit = StaticString("scheme"), LineKind.SCHEME
    elif len(name) == 9:
        text, bit = StaticString("authority"), LineKind.AUTHORITY
    else:
        text, bit = StaticString("protocol"), LineKind.PROTOCOL
    return bit if equals(name, text.as_bytes()) else 0
