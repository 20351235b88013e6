"""Computes the key of a client and the value with which a server accepts it.

The value proves that the server speaks WebSocket. It is no secret, and protects
neither end from the other (RFC 6455 section 1.3).
"""

from std.base64 import b64encode

from flare.core import OctetSet, find_member
from flare.core.message_digest import sha1

comptime KEY_OCTETS = 24
"""The length of a key: sixteen octets in base64."""
comptime _GUID: StaticString = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
comptime _GUID_OCTETS = 36
comptime _PADDING: UInt8 = 61
comptime _BASE64 = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)


def client_key(random: Span[UInt8, _]) -> String:
    """Returns the value of Sec-WebSocket-Key.

    Args:
        random: Sixteen unpredictable octets.

    Returns:
        The key.
    """
    debug_assert(len(random) == 16, "a key of ", len(random), " octets")
    return b64encode(random)


def is_key(octets: Span[UInt8, _]) -> Bool:
    """Returns whether octets are sixteen octets in base64.

    Args:
        octets: The value of Sec-WebSocket-Key.

    Returns:
        False if a server must answer 400.
    """
    return (
        len(octets) == KEY_OCTETS
        and find_member[_BASE64, False](octets) == KEY_OCTETS - 2
        and octets[KEY_OCTETS - 2] == _PADDING
        and octets[KEY_OCTETS - 1] == _PADDING
    )


def accept_value(key: Span[UInt8, _]) -> String:
    """Returns the value of Sec-WebSocket-Accept (RFC 6455 section 4.2.2).

    Args:
        key: The key: 24 octets.

    Returns:
        The value: 28 octets of base64.
    """
    debug_assert(len(key) == KEY_OCTETS, "a key of ", len(key), " octets")
    var joined = Array[UInt8, KEY_OCTETS + _GUID_OCTETS](fill=0)
    for i in range(min(len(key), KEY_OCTETS)):
        joined[i] = key[i]
    for i in range(_GUID_OCTETS):
        joined[KEY_OCTETS + i] = _GUID.as_bytes()[i]
    var digest = sha1(Span(joined))
    return b64encode(Span(digest))
