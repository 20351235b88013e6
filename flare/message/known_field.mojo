"""Finds the numbers of field names, given alone or inside a received head.

The length and the last eight octets of a name select one candidate, which is
then compared as a whole.
"""

from std.builtin.globals import global_constant
from std.memory import pack_bits
from std.sys.intrinsics import likely

from flare.core import equals_ignoring_case, equals_lower, lower_octet

from .field_name import FIELD_NAMES, FieldName

comptime OCTETS_BEFORE_COLON = 16
"""How many octets of the window must precede a colon."""


@always_inline
def known_field(name: Span[UInt8, _]) -> UInt8:
    """Returns the number of a field name, in any case.

    Args:
        name: The name, unchecked.

    Returns:
        The number, or `FieldName.UNKNOWN`.
    """
    comptime assert _slots_are_distinct(), "two known names share a slot"
    var n = len(name)
    if n == 0:
        return FieldName.UNKNOWN
    var last: UInt64 = 0
    if n >= 8:
        last = (
            name.unsafe_ptr()
            .unsafe_offset(n - 8)
            .unsafe_bitcast[UInt64]()
            .unsafe_load[alignment=1]()
        )
    else:
        for i in range(n):
            last = (last >> 8) | (UInt64(name.unsafe_get(i)) << 56)
    var id = global_constant[_SLOTS]().unsafe_get(_slot(last, n))
    var row = (
        global_constant[_ROWS]()
        .unsafe_ptr()
        .unsafe_offset(Int(id) * _ROW_OCTETS)
    )
    if Int(row[]) != n:
        return FieldName.UNKNOWN
    var lower = Span(unsafe_ptr=row.unsafe_offset(_ROW_OCTETS - n), length=n)
    return id if equals_lower(name, lower) else FieldName.UNKNOWN


def constant_field[name: StaticString]() -> UInt8:
    """Returns the number of a field name, at compile time.

    Parameters:
        name: The name, in any case.

    Returns:
        The number, or `FieldName.UNKNOWN`.
    """
    for id in range(1, FieldName.COUNT):
        var text = materialize[FIELD_NAMES]()[id]
        if equals_ignoring_case(text.as_bytes(), name.as_bytes()):
            return UInt8(id)
    return FieldName.UNKNOWN


@always_inline
def known_received_field(
    p: Pointer[mut=False, UInt8, _], start: Int, colon: Int
) -> UInt8:
    """Returns the number of a field name inside a head, in any case.

    Octets precede the name there, so vectors that end at its colon never leave
    the head, even if the name is at the end.

    Args:
        p: The front of the window.
        start: The start of the name; all its octets are token octets.
        colon: The end of the name; at least `OCTETS_BEFORE_COLON`.

    Returns:
        The number, or `FieldName.UNKNOWN`.
    """
    comptime assert _slots_are_distinct(), "two known names share a slot"
    var n = colon - start
    # Every request has this one.
    if n == 4 and _four_octets(p, start) | 0x20202020 == _HOST:
        return FieldName.HOST
    var last = (
        p.unsafe_offset(colon - 8)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )
    var id = global_constant[_SLOTS]().unsafe_get(_slot(last, n))
    var row = (
        global_constant[_ROWS]()
        .unsafe_ptr()
        .unsafe_offset(Int(id) * _ROW_OCTETS)
    )
    if Int(row[]) != n:
        return FieldName.UNKNOWN
    # Setting bit 5 makes a token octet equal to a letter, a digit or a hyphen
    # only if it is that octet, in either case.
    var differs = pack_bits(
        (p.unsafe_load[width=16](colon - 16) | 32).ne(
            row.unsafe_load[width=16](_ROW_OCTETS - 16)
        )
    )
    if likely(n <= 16):
        return id if differs >> UInt16(16 - n) == 0 else FieldName.UNKNOWN
    var front_differs = pack_bits(
        (p.unsafe_load[width=16](start) | 32).ne(
            row.unsafe_load[width=16](_ROW_OCTETS - n)
        )
    )
    return id if differs | front_differs == 0 else FieldName.UNKNOWN


@always_inline
def _four_octets(p: Pointer[mut=False, UInt8, _], at: Int) -> UInt32:
    return (
        p.unsafe_offset(at).unsafe_bitcast[UInt32]().unsafe_load[alignment=1]()
    )


@always_inline
def _slot(last: UInt64, n: Int) -> Int:
    # `last` ends with the last octet of the name; of a short name it begins
    # with octets that are none of its own.
    var own = last >> UInt64(64 - 8 * min(n, 8))
    var lower = own | (UInt64(0x2020202020202020) >> UInt64(64 - 8 * min(n, 8)))
    return Int(((lower + UInt64(n)) * _MULTIPLIER) >> 56)


comptime _MULTIPLIER: UInt64 = 0xAE7C8F097DDFCBC9
# Chosen so that no two known names share a slot.

comptime _HOST: UInt32 = 0x74736F68
# "host", loaded little-endian.

comptime _ROW_OCTETS = 32
comptime _ROWS = _fill_rows()
comptime _SLOTS = _fill_slots()


def _fill_rows() -> Array[UInt8, FieldName.COUNT * _ROW_OCTETS]:
    # A row begins with the length of the name and ends with the name in small
    # letters. Row 0 has length 0, which no name has.
    var rows = Array[UInt8, FieldName.COUNT * _ROW_OCTETS](fill=0)
    for id in range(1, FieldName.COUNT):
        var name = materialize[FIELD_NAMES]()[id].as_bytes()
        var end = (id + 1) * _ROW_OCTETS
        rows[id * _ROW_OCTETS] = UInt8(len(name))
        for i in range(len(name)):
            rows[end - len(name) + i] = lower_octet(name[i])
    return rows^


def _fill_slots() -> Array[UInt8, 256]:
    var slots = Array[UInt8, 256](fill=FieldName.UNKNOWN)
    for id in range(1, FieldName.COUNT):
        var name = materialize[FIELD_NAMES]()[id].as_bytes()
        var last: UInt64 = 0
        for i in range(max(len(name) - 8, 0), len(name)):
            last = (last >> 8) | (UInt64(name[i]) << 56)
        slots[_slot(last, len(name))] = UInt8(id)
    return slots^


def _slots_are_distinct() -> Bool:
    var used = 0
    for id in _fill_slots():
        used += Int(id != FieldName.UNKNOWN)
    return used == FieldName.COUNT - 1
