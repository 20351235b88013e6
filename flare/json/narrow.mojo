"""Rounds decimal texts to floating-point types narrower than `Float64`.

A text is rounded to `Float64` first, then to the narrow type. That is wrong
only if the `Float64` lies halfway between two narrow numbers. In that case the
text itself decides, as it may lie on either side.
"""

from std.bit import count_trailing_zeros
from std.memory import bitcast

from .number import exponent_of

comptime _FRACTION_BITS = 52
comptime _FRACTION = (UInt64(1) << 52) - 1
comptime _EXPONENT_BIAS = 1075
comptime _LIMB: UInt64 = 1_000_000_000
comptime _LIMB_DIGITS = 9


def narrowed[
    dtype: DType
](text: Span[UInt8, _], number: Float64) -> Scalar[dtype]:
    """Returns a number rounded to the nearest of a narrow type, ties to even.

    Parameters:
        dtype: Float32, Float16 or BFloat16.

    Args:
        text: A checked number (RFC 8259 section 6).
        number: The nearest `Float64`, finite.

    Returns:
        The number; infinite if it is too large. A BFloat16 below 2^-126 is 0
        on processors with AVX512_BF16: the compiler stores it by an
        instruction that has no such numbers.
    """
    var bits = bitcast[DType.uint64](abs(number))
    var biased = Int(bits >> _FRACTION_BITS)
    var whole = bits & _FRACTION
    if biased > 0:
        whole |= _FRACTION + 1
    # The number is `whole` times 2^exponent.
    var exponent = max(biased, 1) - _EXPONENT_BIAS
    var dropped = max(
        _FRACTION_BITS + 1 - _significant_bits[dtype](),
        _exponent_min[dtype]() - exponent,
    )
    var kept = UInt64(0)
    if dropped <= _FRACTION_BITS + 1:
        var half = UInt64(1) << UInt64(dropped - 1)
        var rest = whole & (2 * half - 1)
        kept = whole >> UInt64(dropped)
        var order = -1 if rest < half else 1
        if rest == half:
            order = _compare(text, whole, exponent)
        if order > 0 or (order == 0 and kept & 1 == 1):
            kept += 1
    if kept == 0:
        return -Scalar[dtype](0) if text[0] == UInt8(ord("-")) else 0
    # Exact in a Float64, so that the type of the result rounds nothing.
    var scale = bitcast[DType.float64](
        UInt64(exponent + dropped + _EXPONENT_BIAS - _FRACTION_BITS)
        << _FRACTION_BITS
    )
    var result = Scalar[dtype](Float64(kept) * scale)
    return -result if number < 0 else result


def _significant_bits[dtype: DType]() -> Int:
    comptime if dtype == DType.float32:
        return 24
    elif dtype == DType.float16:
        return 11
    else:
        comptime assert dtype == DType.bfloat16, "no such type in JSON"
        return 8


def _exponent_min[dtype: DType]() -> Int:
    # The smallest number is two to this.
    comptime if dtype == DType.float32:
        return -149
    elif dtype == DType.float16:
        return -24
    else:
        return -133


@no_inline
def _compare(text: Span[UInt8, _], whole: UInt64, exponent: Int) -> Int:
    # Above 0 if the size of the text is more than `whole` times 2^exponent.
    var zeros = Int(count_trailing_zeros(whole))
    var power = exponent + zeros
    var digits = _digits(whole >> UInt64(zeros), power)
    # Both are a fraction below one, whose first digit is not zero, times ten
    # to their magnitude.
    var magnitude = len(digits) + min(power, 0)
    var seen = 0
    var order = 0
    var text_magnitude = 0
    var is_fraction = False
    for i in range(len(text)):
        var octet = text[i]
        if octet == UInt8(ord(".")):
            is_fraction = True
        elif octet | 32 == UInt8(ord("e")):
            text_magnitude += exponent_of(text[i + 1 :])
            break
        elif octet - 48 <= 9:
            var is_leading = seen == 0 and octet == 48
            if is_leading and is_fraction:
                text_magnitude -= 1
            if is_leading:
                continue
            if not is_fraction:
                text_magnitude += 1
            if order == 0:
                var other = digits[seen] if seen < len(digits) else UInt8(48)
                order = Int(octet) - Int(other)
            seen += 1
    if text_magnitude != magnitude:
        return text_magnitude - magnitude
    if order == 0:
        for i in range(min(seen, len(digits)), len(digits)):
            if digits[i] != 48:
                return -1
    return order


def _digits(whole: UInt64, power: Int) -> List[UInt8]:
    # Of `whole` times 2^power; if the power is negative, times 5^-power, which
    # has the same digits.
    var limbs: List[UInt64] = [whole % _LIMB, whole // _LIMB]
    var rest = abs(power)
    while rest > 0:
        var step = min(rest, 29 if power > 0 else 12)
        var factor = UInt64(1) << UInt64(step) if power > 0 else UInt64(
            5
        ) ** UInt64(step)
        var carry = UInt64(0)
        for i in range(len(limbs)):
            var product = limbs[i] * factor + carry
            limbs[i] = product % _LIMB
            carry = product // _LIMB
        if carry > 0:
            limbs.append(carry)
        rest -= step
    var digits = List[UInt8](capacity=_LIMB_DIGITS * len(limbs))
    for i in range(len(limbs) - 1, -1, -1):
        var divisor = _LIMB // 10
        for _ in range(_LIMB_DIGITS):
            var digit = UInt8(limbs[i] // divisor % 10)
            if digit > 0 or len(digits) > 0:
                digits.append(48 + digit)
            divisor //= 10
    return digits^
