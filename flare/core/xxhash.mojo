"""Computes XXH64, a fast hash that is the same on every machine.

It tells contents apart that were not made to collide. It protects no secret.
The algorithm is that of the xxHash specification, version 0.1.1.
"""

comptime _PRIME_1: UInt64 = 0x9E3779B185EBCA87
comptime _PRIME_2: UInt64 = 0xC2B2AE3D27D4EB4F
comptime _PRIME_3: UInt64 = 0x165667B19E3779F9
comptime _PRIME_4: UInt64 = 0x85EBCA77C2B2AE63
comptime _PRIME_5: UInt64 = 0x27D4EB2F165667C5
comptime _STRIPE_OCTETS = 32


def xxh64(octets: Span[UInt8, _], seed: UInt64 = 0) -> UInt64:
    """Returns the hash of octets.

    Args:
        octets: The octets.
        seed: Another seed gives another hash.

    Returns:
        The hash.
    """
    var n = len(octets)
    var at = 0
    var hash: UInt64
    if n >= _STRIPE_OCTETS:
        var a = seed + _PRIME_1 + _PRIME_2
        var b = seed + _PRIME_2
        var c = seed
        var d = seed - _PRIME_1
        while at + _STRIPE_OCTETS <= n:
            a = _round(a, _load[DType.uint64](octets, at))
            b = _round(b, _load[DType.uint64](octets, at + 8))
            c = _round(c, _load[DType.uint64](octets, at + 16))
            d = _round(d, _load[DType.uint64](octets, at + 24))
            at += _STRIPE_OCTETS
        hash = _turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18)
        hash = _merged(hash, a)
        hash = _merged(hash, b)
        hash = _merged(hash, c)
        hash = _merged(hash, d)
    else:
        hash = seed + _PRIME_5
    hash += UInt64(n)
    while at + 8 <= n:
        hash ^= _round(0, _load[DType.uint64](octets, at))
        hash = _turned(hash, 27) * _PRIME_1 + _PRIME_4
        at += 8
    if at + 4 <= n:
        hash ^= UInt64(_load[DType.uint32](octets, at)) * _PRIME_1
        hash = _turned(hash, 23) * _PRIME_2 + _PRIME_3
        at += 4
    while at < n:
        hash ^= UInt64(octets.unsafe_get(at)) * _PRIME_5
        hash = _turned(hash, 11) * _PRIME_1
        at += 1
    hash ^= hash >> 33
    hash *= _PRIME_2
    hash ^= hash >> 29
    hash *= _PRIME_3
    return hash ^ (hash >> 32)


@always_inline
def _load[type: DType](octets: Span[UInt8, _], at: Int) -> Scalar[type]:
    return (
        octets.unsafe_ptr()
        .unsafe_offset(at)
        .unsafe_bitcast[Scalar[type]]()
        .unsafe_load[alignment=1]()
    )


@always_inline
def _round(accumulator: UInt64, lane: UInt64) -> UInt64:
    return _turned(accumulator + lane * _PRIME_2, 31) * _PRIME_1


@always_inline
def _merged(hash: UInt64, accumulator: UInt64) -> UInt64:
    return (hash ^ _round(0, accumulator)) * _PRIME_1 + _PRIME_4


@always_inline
def _turned(word: UInt64, count: UInt64) -> UInt64:
    return word << count | word >> (64 - count)
