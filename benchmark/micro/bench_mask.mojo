"""Measures masking the payload of WebSocket frames, beside one octet at a time.
"""

from std.benchmark import black_box

from measure import measure

from flare.core import OctetPointer, allocate_octets, xor_octets

comptime LENGTHS: List[Int] = [16, 125, 1024, 16384, 1 << 20]
"""How long a payload is."""
comptime KEY: UInt32 = 0x04030201
"""The key."""


@no_inline
def mask_one_by_one(octets: OctetPointer, count: Int, key: UInt32):
    """Masks a payload octet by octet.

    Args:
        octets: The payload.
        count: Its length.
        key: The key.
    """
    var rest = key
    for i in range(count):
        octets[unsafe_offset=i] ^= UInt8(rest & 0xFF)
        rest = rest >> 8 | rest << 24


def main() raises:
    """Prints the figures.

    Raises:
        Error: Never.
    """
    for length in materialize[LENGTHS]():
        # An odd address, as behind a header of six or eight octets.
        var octets = allocate_octets(length + 64).unsafe_offset(6)

        def vectors(i: Int) raises {imm} -> Int:
            xor_octets(black_box(octets), length, black_box(KEY), 0)
            return Int(octets[])

        def scalars(i: Int) raises {imm} -> Int:
            mask_one_by_one(black_box(octets), length, black_box(KEY))
            return Int(octets[])

        measure(
            String("mask/vectors, ", length, " octets"), vectors, octets=length
        )
        if length <= 16384:
            measure(
                String("mask/scalars, ", length, " octets"),
                scalars,
                octets=length,
            )
