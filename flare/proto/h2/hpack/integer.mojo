"""Reads and writes the integers of HPACK (RFC 7541 section 5.1)."""

from flare.core import Buffer, PointerTo

from .hpack_error import HpackError

# Four octets after the prefix count to 2^28, and nothing here is as long.
comptime _CONTINUATIONS_MAX = 4


@fieldwise_init
struct HpackInteger(TrivialRegisterPassable):
    """An integer, and the place after it."""

    var value: Int
    """The value."""
    var end: Int
    """The offset of the octet after it."""


@always_inline
def read_integer(
    block: Span[UInt8, _], at: Int, prefix_bits: Int
) raises HpackError -> HpackInteger:
    """Reads an integer.

    Args:
        block: The octets, of which there is one at `at`.
        at: The offset of the octet with the prefix.
        prefix_bits: How many of its bits belong to the integer, 4 to 7.

    Returns:
        The integer.

    Raises:
        HpackError: If it is incomplete or exceeds 2^28.
    """
    var most = (1 << prefix_bits) - 1
    var value = Int(block.unsafe_get(at)) & most
    if value < most:
        return HpackInteger(value, at + 1)
    return _read_rest(block, at + 1, most)


@no_inline
def _read_rest(
    block: Span[UInt8, _], at: Int, var value: Int
) raises HpackError -> HpackInteger:
    for i in range(_CONTINUATIONS_MAX):
        if at + i >= len(block):
            raise HpackError("an integer is incomplete")
        var octet = Int(block.unsafe_get(at + i))
        value += (octet & 127) << (7 * i)
        if octet < 128:
            return HpackInteger(value, at + i + 1)
    raise HpackError("an integer is too long")


@always_inline
def append_integer(
    pattern: UInt8, prefix_bits: Int, value: Int, into: PointerTo[Buffer]
):
    """Writes an integer.

    Args:
        pattern: The bits above the prefix.
        prefix_bits: How many bits of the first octet belong to the integer.
        value: The value, not negative.
        into: The destination.
    """
    var most = (1 << prefix_bits) - 1
    if value < most:
        into[].append_octet(pattern | UInt8(value))
    else:
        into[].append_octet(pattern | UInt8(most))
        _append_rest(value - most, into)


@no_inline
def _append_rest(var rest: Int, into: PointerTo[Buffer]):
    while rest >= 128:
        into[].append_octet(UInt8(rest & 127 | 128))
        rest >>= 7
    into[].append_octet(UInt8(rest))
