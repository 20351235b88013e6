"""Checks host names before they are looked up.

A label consists of letters, digits, hyphens and underscores (RFC 1123 section
2.1, and usual practice). Other octets are refused, because a name appears in
logs, Host fields and queries of others. A name that ends in a number is
refused too. C libraries read forms such as `127.1` and `0x7f000001` as
addresses, which a check of addresses would miss.
"""

from flare.core import OctetSet, equals_lower
from flare.proto.dns import LABEL_OCTETS_MAX

from .error import HostNameError

comptime HOST_NAME_OCTETS_MAX = 253
"""The longest name, without the root's dot (RFC 1035 section 2.3.4)."""

comptime _MEMBERS = OctetSet.of(
    "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
comptime _HEXADECIMAL = OctetSet.of("0123456789ABCDEFabcdef")
comptime _DOT: UInt8 = 46
comptime _LOCALHOST: StaticString = "localhost"


def check_host_name(octets: Span[UInt8, _]) raises HostNameError:
    """Raises an error if octets are not a host name.

    Args:
        octets: The name, with or without the root's dot.

    Raises:
        HostNameError: If the octets are not a host name.
    """
    var end = length_without_root(octets)
    if end == 0:
        raise HostNameError("the name is empty")
    if end > HOST_NAME_OCTETS_MAX:
        raise HostNameError("the name is over 253 octets")
    var start = 0
    for i in range(end + 1):
        if i < end and octets[i] != _DOT:
            if octets[i] not in _MEMBERS:
                raise HostNameError(
                    "the name has an octet that no host name has"
                )
            continue
        if i == start:
            raise HostNameError("a label of the name is empty")
        if i - start > LABEL_OCTETS_MAX:
            raise HostNameError("a label of the name is over 63 octets")
        if i == end and _is_number(octets[start:end]):
            raise HostNameError("the name ends in a number and is no address")
        start = i + 1


def length_without_root(octets: Span[UInt8, _]) -> Int:
    """Returns the length of a name without the root's dot.

    Args:
        octets: A name.

    Returns:
        The length, less one if the name ends in a dot.
    """
    var end = len(octets)
    return end - 1 if end > 0 and octets[end - 1] == _DOT else end


def is_localhost(octets: Span[UInt8, _]) -> Bool:
    """Returns whether a name always refers to this machine (RFC 6761 section
    6.3).

    Args:
        octets: A name.

    Returns:
        True for `localhost` and all names below it.
    """
    comptime COUNT = _LOCALHOST.byte_length()
    var end = length_without_root(octets)
    if end < COUNT:
        return False
    if not equals_lower(octets[end - COUNT : end], _LOCALHOST.as_bytes()):
        return False
    return end == COUNT or octets[end - COUNT - 1] == _DOT


def _is_number(label: Span[UInt8, _]) -> Bool:
    var start = 0
    var is_hexadecimal = (
        len(label) >= 2 and label[0] == 48 and label[1] | 32 == 120
    )
    if is_hexadecimal:
        start = 2
    for octet in label[start:]:
        if octet - 48 > 9 and (not is_hexadecimal or octet not in _HEXADECIMAL):
            return False
    return True
