"""Reads, judges and makes the text that divides parts (RFC 2046 section 5.1.1).
"""

from flare.core import (
    OctetSet,
    SPACE,
    equals_lower,
    find_member,
    write_hexadecimal,
)
from flare.message.parameters import FieldParameters

from .error import MultipartError

comptime BOUNDARY_OCTETS_MAX = 70
"""The longest boundary."""
comptime _BOUNDARY_OCTETS = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    "'()+_,-./:=? "
)


def is_boundary(octets: Span[UInt8, _]) -> Bool:
    """Returns whether octets may divide parts.

    Args:
        octets: Any octets.

    Returns:
        True for 1 to 70 octets of those that RFC 2046 lists, not a blank last.
    """
    var count = len(octets)
    return (
        0 < count <= BOUNDARY_OCTETS_MAX
        and octets[count - 1] != SPACE
        and find_member[_BOUNDARY_OCTETS, False](octets) == count
    )


def boundary_in[
    origin: ImmOrigin
](content_type: Span[UInt8, origin]) raises MultipartError -> Optional[
    List[UInt8]
]:
    """Finds the boundary in the value of a Content-Type field.

    Parameters:
        origin: The origin of the octets.

    Args:
        content_type: The value.

    Returns:
        The boundary, or none if the type is not `multipart/form-data`.

    Raises:
        MultipartError: If a `multipart/form-data` type does not have exactly
            one boundary.
    """
    var parameters = FieldParameters(content_type)
    if not equals_lower(parameters.first(), "multipart/form-data".as_bytes()):
        return None
    var boundary = List[UInt8]()
    try:
        var found = parameters.find("boundary")
        if found:
            boundary = found.value().value()
    except:
        # Two boundaries, or a part that cannot be read: no boundary counts.
        boundary.clear()
    if not is_boundary(Span(boundary)):
        raise MultipartError.malformed("no boundary, or a malformed one")
    return boundary^


def boundary_of(random: Span[UInt8, _]) -> String:
    """Returns a boundary that no content contains by chance.

    Args:
        random: At least 16 unpredictable octets; at most 30 are used.

    Returns:
        The boundary.
    """
    var text = String("form-")
    write_hexadecimal(random[: min(len(random), 30)], text)
    return text^
