"""Hashes octets for the tables of patterns.

The hash is no secret: one that a peer chooses well costs at most the longest
run of occupied places, which the patterns alone decide.
"""

comptime MULTIPLIER: UInt64 = 0x9E3779B97F4A7C15
"""Spreads every bit of a factor over the bits above it."""


@always_inline
def hash_octets(seed: UInt64, text: Span[UInt8, _]) -> UInt64:
    """Hashes a text together with what else tells it apart.

    Args:
        seed: The other part of the key, the length included.
        text: The octets.

    Returns:
        A hash of which only the upper bits depend on the whole key.
    """
    var p = text.unsafe_ptr()
    var n = len(text)
    var hash = seed
    var last = UInt64(0)
    if n >= 8:
        var i = 0
        while i + 8 < n:
            hash = (hash ^ _word[DType.uint64](p, i)) * MULTIPLIER
            hash ^= hash >> 32
            i += 8
        # The last word overlaps the one before it: no octet tail.
        last = _word[DType.uint64](p, n - 8)
    elif n >= 4:
        last = _word[DType.uint32](p, 0) | _word[DType.uint32](p, n - 4) << 32
    elif n > 0:
        last = (
            UInt64(p[])
            | UInt64(p[unsafe_offset=n >> 1]) << 8
            | UInt64(p[unsafe_offset=n - 1]) << 16
        )
    return (hash ^ last) * MULTIPLIER


@always_inline
def _word[type: DType](p: Pointer[UInt8, _], offset: Int) -> UInt64:
    return UInt64(
        p.unsafe_offset(offset)
        .unsafe_bitcast[Scalar[type]]()
        .unsafe_load[alignment=1]()
    )
