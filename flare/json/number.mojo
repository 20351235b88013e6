"""Converts decimal texts to floating-point numbers and back, exactly.

A text is rounded to the nearest number of its type. A number is written as the
shortest text that reads back as the same number.
"""

from flare.core.text_buffer import TextBuffer

comptime _EXACT_DIGITS = 15
comptime _EXACT_POWER = 22
comptime _EXPONENT_MAX = 1 << 40
comptime _FRACTION_DIGITS_MAX = 6
comptime _SIXTEEN_DIGITS = 1_000_000_000_000_000
comptime _EXACT_MAX = Float64(1_000_000_000_000_000)


def float_of(text: Span[UInt8, _]) -> Optional[Float64]:
    """Returns the number of a decimal text.

    Args:
        text: A checked number (RFC 8259 section 6).

    Returns:
        The nearest number; `None` if that is infinite.
    """
    var exact = _exact_float(text)
    if exact:
        return exact
    try:
        var number = Float64(StringSlice(unsafe_from_utf8=text))
        if number - number == 0:
            return number
    except:
        return _float_out_of_reach(text)
    return None


@always_inline
def _exact_float(text: Span[UInt8, _]) -> Optional[Float64]:
    # Both factors are exact and one operation rounds once, so that the result
    # is the nearest number.
    var n = len(text)
    var i = 0
    var is_negative = text.unsafe_get(0) == UInt8(ord("-"))
    if is_negative:
        i = 1
    var mantissa = 0
    var digits = 0
    var power = 0
    var is_fraction = False
    while i < n:
        var octet = text.unsafe_get(i)
        if octet - 48 <= 9:
            mantissa = mantissa * 10 + Int(octet - 48)
            digits += 1
            if is_fraction:
                power -= 1
        elif octet == UInt8(ord(".")):
            is_fraction = True
        else:
            break
        i += 1
        if digits > _EXACT_DIGITS:
            return None
    if i < n:
        var exponent = exponent_of(text[i + 1 :])
        if abs(exponent) > 2 * _EXACT_POWER:
            return None
        power += exponent
    if abs(power) > _EXACT_POWER:
        return None
    var number = Float64(mantissa)
    if power < 0:
        number /= _power_of_ten(-power)
    else:
        number *= _power_of_ten(power)
    return -number if is_negative else number


def exponent_of(text: Span[UInt8, _]) -> Int:
    """Returns the value of an exponent's digits.

    Args:
        text: An optional sign and digits.

    Returns:
        The exponent, capped so that no number of digits outweighs it.
    """
    var value = 0
    for octet in text:
        if octet - 48 <= 9:
            value = min(value * 10 + Int(octet - 48), _EXPONENT_MAX)
    return -value if text[0] == UInt8(ord("-")) else value


@always_inline
def _power_of_ten(power: Int) -> Float64:
    var result = Float64(1)
    var factor = Float64(10)
    var rest = power
    # Each product is at most 10^22, which a Float64 holds exactly.
    while rest > 0:
        if rest & 1 == 1:
            result *= factor
        rest >>= 1
        if rest > 0:
            factor *= factor
    return result


def _float_out_of_reach(text: Span[UInt8, _]) -> Optional[Float64]:
    # The library gives up on exponents that it cannot count.
    var leading = 0
    var exponent = 0
    var seen = False
    var is_fraction = False
    for i in range(len(text)):
        var octet = text[i]
        if octet == UInt8(ord(".")):
            is_fraction = True
        elif octet | 32 == UInt8(ord("e")):
            exponent = exponent_of(text[i + 1 :])
            break
        elif octet - 48 <= 9:
            seen = seen or octet != 48
            if seen and not is_fraction:
                leading += 1
            elif not seen and is_fraction:
                leading -= 1
    if not seen or leading + exponent < 0:
        return -Float64(0) if text[0] == UInt8(ord("-")) else Float64(0)
    return None


def append_float(mut buffer: TextBuffer, number: Float64):
    """Appends a finite number.

    Args:
        buffer: The destination.
        number: The number.
    """
    if _append_short(buffer, number):
        return
    var text = String(number)
    # The library cuts a text short where it lies halfway to a neighbour that
    # it then reads back as.
    var again = float_of(text.as_bytes())
    if not again or again.value() != number:
        text = _with_one_more_digit(number, text)
    buffer.append(text.as_bytes())


@no_inline
def _with_one_more_digit(number: Float64, text: String) -> String:
    var mantissa = 0
    var exponent = 0
    var is_fraction = False
    var octets = text.as_bytes()
    for i in range(len(octets)):
        var octet = octets[i]
        if octet == UInt8(ord(".")):
            is_fraction = True
        elif octet | 32 == UInt8(ord("e")):
            exponent += exponent_of(octets[i + 1 :])
            break
        elif octet - 48 <= 9:
            mantissa = mantissa * 10 + Int(octet - 48)
            if is_fraction:
                exponent -= 1
    while mantissa < _SIXTEEN_DIGITS:
        mantissa *= 10
        exponent -= 1
    var sign = "-" if number < 0 else ""
    for distance in range(1, 10):
        for digit in [distance, -distance]:
            var longer = String(sign, mantissa * 10 + digit, "e", exponent - 1)
            var again = float_of(longer.as_bytes())
            if again and again.value() == number:
                return longer^
    return text


@always_inline
def _append_short(mut buffer: TextBuffer, number: Float64) -> Bool:
    # Two texts of at most fifteen digits are never the same Float64: the first
    # that reads back as the number is the shortest one.
    var size = abs(number)
    if not size < 1e9 or (size < 1e-3 and size != 0):
        return False
    var scale = Float64(1)
    var divisor = 1
    for digits in range(1, _FRACTION_DIGITS_MAX + 1):
        scale *= 10
        divisor *= 10
        var scaled = size * scale + 0.5
        if scaled >= _EXACT_MAX:
            return False
        var whole = Int(scaled)
        if Float64(whole) / scale == size:
            if number < 0 or (number == 0 and 1 / number < 0):
                buffer.append_octet(UInt8(ord("-")))
            buffer.append_decimal(whole // divisor)
            buffer.append_octet(UInt8(ord(".")))
            var rest = whole % divisor
            var target = buffer.reserve(digits)
            for place in range(digits - 1, -1, -1):
                target[unsafe_offset=place] = UInt8(48 + rest % 10)
                rest //= 10
            buffer.advance(digits)
            return True
    return False
