"""Decides which whole names stand for what a program asks for.

A name with enough dots is tried as it is first, a shorter one with the domains
of the search list behind it first (resolv.conf(5)). A dot at the end says that
a name is whole.
"""

from flare.core import lower_octet

from .host_name import HOST_NAME_OCTETS_MAX, length_without_root

comptime _DOT: UInt8 = 46


def whole_names(
    host: StringSlice, search: List[String], ndots: Int
) -> List[String]:
    """Lists the names to ask for, in this order.

    Args:
        host: A name that `check_host_name` accepts.
        search: The domains that are put behind it.
        ndots: With so many dots it is tried as it is first.

    Returns:
        At least one name, in small letters and without the dot of the root;
        those that would be too long are left out.
    """
    var octets = host.as_bytes()
    var end = length_without_root(octets)
    var itself = _lower(octets[:end])
    var names = List[String]()
    if end < len(octets):
        names.append(itself^)
        return names^
    var dots = 0
    for octet in octets:
        dots += 1 if octet == _DOT else 0
    if dots >= ndots:
        names.append(itself)
    for domain in search:
        var rear = domain.as_bytes()
        var rear_end = length_without_root(rear)
        if end + 1 + rear_end <= HOST_NAME_OCTETS_MAX:
            names.append(String(itself, ".", _lower(rear[:rear_end])))
    if dots < ndots:
        names.append(itself^)
    return names^


def _lower(octets: Span[UInt8, _]) -> String:
    var lower = List[UInt8](capacity=len(octets))
    for octet in octets:
        lower.append(lower_octet(octet))
    return String(StringSlice(unsafe_from_utf8=Span(lower)))
