"""Writes field lines in the form of HTTP/1.1 (RFC 9112 section 5)."""

from flare.core import CR, LF, SPACE, Buffer, copy_octets
from flare.message import FieldLine

comptime _COLON: UInt8 = 58


@always_inline
def append_wire_line(
    name: Span[UInt8, _], value: Span[UInt8, _], mut into: Buffer
):
    """Writes one line.

    Args:
        name: The name.
        value: The value.
        into: The destination.
    """
    var count = len(name) + len(value) + 4
    var p = into.reserve(count)
    copy_octets(p, name.unsafe_ptr(), len(name))
    p[unsafe_offset=len(name)] = _COLON
    p[unsafe_offset=len(name) + 1] = SPACE
    copy_octets(p.unsafe_offset(len(name) + 2), value.unsafe_ptr(), len(value))
    p[unsafe_offset=count - 2] = CR
    p[unsafe_offset=count - 1] = LF
    into.advance(count)


@always_inline
def append_field_line(
    name: Span[UInt8, _],
    value: Span[UInt8, _],
    mut lines: List[FieldLine],
    mut octets: Buffer,
):
    """Adds one line to a section.

    Args:
        name: The name.
        value: The value.
        lines: The table of the section.
        octets: The octets to which it refers.
    """
    var start = len(octets)
    append_wire_line(name, value, octets)
    lines.append(
        FieldLine(
            UInt32(start),
            UInt32(len(name)),
            UInt32(start + len(name) + 2),
            UInt32(len(value)),
        )
    )
