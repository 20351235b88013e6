"""Contains the static table (RFC 7541 appendix A)."""

from std.builtin.globals import global_constant

from flare.core import equals
from flare.message.known_field import constant_field

from ..field_check import LineKind

comptime STATIC_COUNT = 61
"""The number of its entries, which have the indexes from 1."""

comptime STATIC_NAMES: Array[StaticString, STATIC_COUNT + 1] = [
    "",
    ":authority",
    ":method",
    ":method",
    ":path",
    ":path",
    ":scheme",
    ":scheme",
    ":status",
    ":status",
    ":status",
    ":status",
    ":status",
    ":status",
    ":status",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "accept",
    "access-control-allow-origin",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "link",
    "location",
    "max-forwards",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "refresh",
    "retry-after",
    "server",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
]
"""The names, each at its index."""

comptime _VALUES_COUNT = 17
comptime STATIC_VALUES: Array[StaticString, _VALUES_COUNT] = [
    "",
    "",
    "GET",
    "POST",
    "/",
    "/index.html",
    "http",
    "https",
    "200",
    "204",
    "206",
    "304",
    "400",
    "404",
    "500",
    "",
    "gzip, deflate",
]
"""The values, each at its index; those of further entries are empty."""

comptime _KNOWN = _known()
comptime _KINDS = _kinds()


def _kinds() -> Array[UInt8, STATIC_COUNT + 1]:
    comptime VALID = LineKind.VALID_NAME | LineKind.VALID_VALUE
    var table = Array[UInt8, STATIC_COUNT + 1](fill=VALID)
    comptime for i in range(STATIC_COUNT + 1):
        comptime name = STATIC_NAMES[i]
        comptime if name == ":authority":
            table[i] = LineKind.VALID_VALUE | LineKind.AUTHORITY
        elif name == ":method":
            table[i] = LineKind.VALID_VALUE | LineKind.METHOD
        elif name == ":path":
            table[i] = LineKind.VALID_VALUE | LineKind.PATH
        elif name == ":scheme":
            table[i] = LineKind.VALID_VALUE | LineKind.SCHEME
        elif name == ":status" or name == "":
            # None of a request.
            table[i] = LineKind.VALID_VALUE
    return table^


def _known() -> Array[UInt8, STATIC_COUNT + 1]:
    var table = Array[UInt8, STATIC_COUNT + 1](fill=0)
    comptime for i in range(STATIC_COUNT + 1):
        comptime name = STATIC_NAMES[i]
        table[i] = constant_field[name]()
    return table^


def static_name(index: Int) -> StaticString:
    """Returns the name of an entry.

    Args:
        index: The index, 1 to `STATIC_COUNT`.

    Returns:
        The name, in lower case.
    """
    return global_constant[STATIC_NAMES]().unsafe_get(index)


def static_value(index: Int) -> StaticString:
    """Returns the value of an entry.

    Args:
        index: The index, 1 to `STATIC_COUNT`.

    Returns:
        The value; mostly empty.
    """
    if index >= _VALUES_COUNT:
        return ""
    return global_constant[STATIC_VALUES]().unsafe_get(index)


def static_known(index: Int) -> UInt8:
    """Returns the number of the name of an entry.

    Args:
        index: The index, 1 to `STATIC_COUNT`.

    Returns:
        One of the constants of `FieldName`.
    """
    return global_constant[_KNOWN]().unsafe_get(index)


def static_kind(index: Int) -> UInt8:
    """Returns the facts about an entry.

    Args:
        index: The index, 1 to `STATIC_COUNT`.

    Returns:
        Bits of `LineKind`.
    """
    return global_constant[_KINDS]().unsafe_get(index)


def static_index(name: Span[UInt8, _]) -> Int:
    """Returns the first entry of a name.

    Args:
        name: The name, in lower case.

    Returns:
        The index; 0 if there is none.
    """
    for i in range(1, STATIC_COUNT + 1):
        if equals(name, static_name(i).as_bytes()):
            return i
    return 0
