"""Combines octets with a repeated key of four octets, many at a time.

WebSocket masks the payload of each frame that a client sends (RFC 6455 section
5.3). Masking and unmasking are the same operation.
"""

from std.memory import bitcast

from .pointer import OctetPointer

comptime _ROUND = 256
comptime _LANES = 64
# From here on, stores that lie in one line of the cache each save more than
# getting there costs.
comptime _ALIGNED_MIN = 512


@always_inline
def turned_key(key: UInt32, phase: Int) -> UInt32:
    """Returns the key for octets in the middle of a payload.

    Args:
        key: The key as loaded from memory: its first octet is the lowest.
        phase: The number of octets of the payload before them.

    Returns:
        The key that begins with the octet that applies to the first of them.
    """
    var turn = UInt32(phase & 3) * 8
    return key >> turn | key << ((32 - turn) & 31)


@always_inline
def xor_octets(
    octets: Pointer[mut=True, UInt8, _], count: Int, key: UInt32, phase: Int
):
    """Combines octets with a key, in place.

    Args:
        octets: The octets, at any address.
        count: The number of octets; not negative.
        key: The key as loaded from memory: its first octet is the lowest.
        phase: The number of octets of the payload before these.

    Safety:
        `octets` has `count` octets.
    """
    _xor(
        octets,
        octets.unsafe_mut_cast[False]().unsafe_origin_cast[
            ImmUntrackedOrigin
        ](),
        count,
        turned_key(key, phase),
    )


@always_inline
def copy_xored(
    dest: OctetPointer,
    src: Pointer[UInt8, _],
    count: Int,
    key: UInt32,
    phase: Int,
):
    """Copies octets, combined with a key, to memory that does not overlap
    theirs.

    Args:
        dest: Room for them.
        src: The octets.
        count: The number of octets; not negative.
        key: The key as loaded from memory: its first octet is the lowest.
        phase: The number of octets of the payload before these.

    Safety:
        Both have `count` octets.
    """
    _xor(dest, src, count, turned_key(key, phase))


@always_inline
def copy_short_xored(
    dest: OctetPointer, src: Pointer[UInt8, _], count: Int, key: UInt32
) -> Bool:
    """Copies a few octets, combined with a key, to memory that does not overlap
    theirs, and looks at them meanwhile.

    Args:
        dest: Room for them.
        src: The octets.
        count: The number of octets; not negative.
        key: The key as loaded from memory: its first octet is the lowest.

    Returns:
        Whether all octets of the copy are ASCII.

    Safety:
        Both have `count` octets.
    """
    comptime for w in [16, 8, 4]:
        if count >= w:
            var all = SIMD[DType.uint8, w](0)
            var i = 0
            while i + w < count:
                var octets = src.unsafe_load[width=w](i) ^ _repeated[w](key)
                dest.unsafe_store(i, octets)
                all |= octets
                i += w
            # The last vector overlaps the one before it: no scalar tail.
            i = count - w
            var octets = src.unsafe_load[width=w](i) ^ _repeated[w](
                turned_key(key, i)
            )
            dest.unsafe_store(i, octets)
            return ((all | octets) & 0x80).reduce_or() == 0
    var all = UInt8(0)
    for i in range(count):
        var octet = src[unsafe_offset=i] ^ UInt8(key >> UInt32(8 * i) & 0xFF)
        dest[unsafe_offset=i] = octet
        all |= octet
    return all < 0x80


@always_inline
def _repeated[lanes: Int](key: UInt32) -> SIMD[DType.uint8, lanes]:
    return bitcast[DType.uint8, lanes](SIMD[DType.uint32, lanes // 4](key))


@no_inline
def _xor(
    dest: Pointer[mut=True, UInt8, _],
    src: Pointer[UInt8, _],
    count: Int,
    key: UInt32,
):
    if count < _ALIGNED_MIN:
        return _xor_from(dest, src, 0, count, key)
    var before = -Int(dest) & (_LANES - 1)
    _xor_from(dest, src, 0, before, key)
    _xor_from(dest, src, before, count, turned_key(key, before))


@always_inline
def _xor_from(
    dest: Pointer[mut=True, UInt8, _],
    src: Pointer[UInt8, _],
    start: Int,
    count: Int,
    key: UInt32,
):
    var mask = _repeated[_LANES](key)
    var i = start
    # Every vector before the last three octets is a multiple of the key, so
    # that one mask serves all. No vector overlaps another: an octet that is
    # combined twice would not change.
    while i + _ROUND <= count:
        comptime for k in range(_ROUND // _LANES):
            comptime at = k * _LANES
            dest.unsafe_store(
                i + at, src.unsafe_load[width=_LANES](i + at) ^ mask
            )
        i += _ROUND
    while i + _LANES <= count:
        dest.unsafe_store(i, src.unsafe_load[width=_LANES](i) ^ mask)
        i += _LANES
    comptime for w in [32, 16, 8, 4]:
        if i + w <= count:
            dest.unsafe_store(
                i,
                src.unsafe_load[width=w](i) ^ mask.slice[w, offset=0](),
            )
            i += w
    var rest = key
    while i < count:
        dest[unsafe_offset=i] = src[unsafe_offset=i] ^ UInt8(rest & 0xFF)
        rest >>= 8
        i += 1
