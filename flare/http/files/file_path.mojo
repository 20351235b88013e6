"""Reads the path of a file from the path of a request.

The path is split at each `/` as it was received, and each segment is decoded
afterwards. So no escape becomes a separator.
"""

from flare.core import Buffer, equals

from ..routing.path import decode_escape

comptime PATH_OCTETS_MAX = 4095
"""The longest path that the kernel takes (`PATH_MAX`, without its NUL)."""
comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _DOT: UInt8 = 46
comptime _PERCENT: UInt8 = 37
comptime _WELL_KNOWN: StaticString = ".well-known"


@fieldwise_init
struct PathKind(Equatable, TrivialRegisterPassable):
    """The kinds of files that a request asks for."""

    comptime NOTHING = Self(0)
    """No file can have this name, or none of this name is served."""
    comptime FILE = Self(1)
    """A file, or a folder without the `/` at its end."""
    comptime FOLDER = Self(2)
    """A folder: the path is empty or ends with `/`."""

    var _value: UInt8


def read_file_path(
    received: Span[UInt8, _], *, dot_names: Bool, mut into: Buffer
) -> PathKind:
    """Decodes the path of a file.

    Names with `/`, `\\` or a NUL, and the segments `.` and `..`, name nothing.
    Neither do empty segments before the last one: two URLs would be the same
    file, and relative links would not work in one of them.

    Args:
        received: The path below the folder as received, without `/` in front.
        dot_names: Whether names that begin with a dot are served.
        into: Set to the relative path with a NUL at its end; for a folder
            without the last `/`, and `.` for the folder itself.

    Returns:
        The kind of file. For NOTHING, `into` has no meaning.
    """
    into.clear()
    if len(received) > 3 * PATH_OCTETS_MAX:
        return PathKind.NOTHING
    var start = 0
    while start < len(received):
        var end = start
        while end < len(received) and received.unsafe_get(end) != _SLASH:
            end += 1
        var segment = received[start:end]
        if len(into) > 0:
            into.append_octet(_SLASH)
        var at = len(into)
        if not _decode(segment, into):
            return PathKind.NOTHING
        if not _may_be_served(into.span()[at:], dot_names, at == 0):
            return PathKind.NOTHING
        start = end + 1
    if len(into) > PATH_OCTETS_MAX:
        return PathKind.NOTHING
    var is_folder = len(received) == 0 or (
        received[len(received) - 1] == _SLASH
    )
    if len(into) == 0:
        into.append_octet(_DOT)
    into.append_octet(0)
    return PathKind.FOLDER if is_folder else PathKind.FILE


def _decode(segment: Span[UInt8, _], mut into: Buffer) -> Bool:
    var i = 0
    while i < len(segment):
        var octet = segment[i]
        if octet == _PERCENT:
            var decoded = decode_escape(segment, i)
            if decoded < 0:
                return False
            octet = UInt8(decoded)
            i += 2
        if octet == 0 or octet == _SLASH or octet == _BACKSLASH:
            return False
        into.append_octet(octet)
        i += 1
    return True


def _may_be_served(
    name: Span[UInt8, _], dot_names: Bool, is_first: Bool
) -> Bool:
    if len(name) == 0:
        return False
    if name[0] != _DOT:
        return True
    if len(name) == 1 or (len(name) == 2 and name[1] == _DOT):
        return False
    return dot_names or (is_first and equals(name, _WELL_KNOWN.as_bytes()))
