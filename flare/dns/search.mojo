"""Expands a host name by the search domains.

A name with enough dots is first tried as it is. A shorter name is first tried
with each search domain appended (resolv.conf(5)). A final dot marks a name as
whole.
"""

from flare.core import lower_octet

from .host_name import HOST_NAME_OCTETS_MAX, length_without_root

comptime _DOT: UInt8 = 46


def whole_names(
    host: StringSlice, search: List[String], ndots: Int
) -> List[String]:
    """Returns the whole names to look up, in order.

    Args:
        host: A name that `check_host_name` accepts.
        search: The domains that are appended.
        ndots: The number of dots from which a name is first tried unchanged.

    Returns:
        At least one name, in lower case and without the root's dot; names that
        would be too long are omitted.
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
