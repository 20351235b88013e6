"""Finds the ends of the parts of a head, sixteen octets at a time.

A scan stops at the first octet that its part may not contain: the expected
delimiter, or a violation. Loads never pass the end of the window.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits

from flare.core import TAB, TOKEN_OCTETS

comptime _Octets16 = SIMD[DType.uint8, 16]
comptime _Lanes16 = SIMD[DType.bool, 16]

comptime Window = Span[mut=False, UInt8, _]
"""The received octets; their owner keeps them in place during a call."""

comptime CR_LF: UInt16 = 0x0A0D
"""CR LF as `two_octets` loads it."""
comptime HTTP_1_1: UInt64 = 0x312E312F50545448
"""The version of nearly every message as `eight_octets` loads it."""

comptime Stops = def(_Octets16) thin -> _Lanes16
"""A function that marks the octets of a vector which end a scan."""


@always_inline
def window_of[
    origin: Origin
](octets: Span[UInt8, origin]) -> Window[ImmOrigin(origin)]:
    """Returns a view of octets that do not change during the call.

    Parameters:
        origin: The origin of the octets.

    Args:
        octets: Any octets.

    Returns:
        The same octets.
    """
    return octets


@always_inline
def two_octets(p: Pointer[mut=False, UInt8, _], at: Int) -> UInt16:
    """Loads two octets, the first as the lower one.

    Args:
        p: The front of the window.
        at: Their offset.

    Returns:
        The octets.
    """
    return (
        p.unsafe_offset(at).unsafe_bitcast[UInt16]().unsafe_load[alignment=1]()
    )


@always_inline
def four_octets(p: Pointer[mut=False, UInt8, _], at: Int) -> UInt32:
    """Loads four octets, the first as the lowest one.

    Args:
        p: The front of the window.
        at: Their offset.

    Returns:
        The octets.
    """
    return (
        p.unsafe_offset(at).unsafe_bitcast[UInt32]().unsafe_load[alignment=1]()
    )


@always_inline
def eight_octets(p: Pointer[mut=False, UInt8, _], at: Int) -> UInt64:
    """Loads eight octets, the first as the lowest one.

    Args:
        p: The front of the window.
        at: Their offset.

    Returns:
        The octets.
    """
    return (
        p.unsafe_offset(at).unsafe_bitcast[UInt64]().unsafe_load[alignment=1]()
    )


@always_inline
def not_token(x: _Octets16) -> _Lanes16:
    """Marks the octets that end a method or a field name (RFC 9110 section
    5.6.2).

    Args:
        x: Any octets.

    Returns:
        True for each octet that is not a token octet.
    """
    var members = materialize[TOKEN_OCTETS]()
    return ~members.matches(x)


@always_inline
def not_visible(x: _Octets16) -> _Lanes16:
    """Marks the octets that end visible ASCII: blanks, control octets, octets
    above 0x7E.

    Args:
        x: Any octets.

    Returns:
        True for each octet that is not visible ASCII.
    """
    return (x - 0x21).gt(0x7E - 0x21)


@always_inline
def not_target(x: _Octets16) -> _Lanes16:
    """Marks the octets that end a request target as clients send it: blanks
    and control octets.

    Args:
        x: Any octets.

    Returns:
        True for each octet that is neither visible ASCII nor above 0x7F.
    """
    return x.le(0x20) | x.eq(0x7F)


@always_inline
def not_field_content(x: _Octets16) -> _Lanes16:
    """Marks the octets that end a field value or a reason phrase (RFC 9110
    section 5.5).

    Args:
        x: Any octets.

    Returns:
        True for each control octet other than TAB.
    """
    return (x.lt(0x20) & x.ne(TAB)) | x.eq(0x7F)


@always_inline
def scan[stops: Stops](window: Window, start: Int, end: Int) -> Int:
    """Returns the first octet that ends a part.

    Parameters:
        stops: Marks the octets that end it.

    Args:
        window: The received octets.
        start: The first index to look at; at most `end`.
        end: One past the last index to look at; at most the length.

    Returns:
        The index; `end` if no octet before it ends the part.
    """
    var p = window.unsafe_ptr()
    var n = len(window)
    var i = start
    while i + 16 <= n:
        if i >= end:
            return end
        var hits = pack_bits(stops(p.unsafe_load[width=16](i)))
        if hits != 0:
            return min(i + Int(count_trailing_zeros(hits)), end)
        i += 16
    if i >= end:
        return end
    var hits: UInt16
    if n >= 16:
        # The last sixteen octets of the window; those before `i`, which were
        # seen or lie before `start`, are shifted out.
        hits = pack_bits(stops(p.unsafe_load[width=16](n - 16))) >> UInt16(
            i - (n - 16)
        )
    else:
        var x = _Octets16(0)
        for k in range(n - i):
            x[k] = p[unsafe_offset=i + k]
        hits = pack_bits(stops(x))
    return min(i + Int(count_trailing_zeros(hits)), end)
