"""Any octets are read as the number that they spell, or are rejected with 400.

Invariant: an integer is accepted if and only if it is digits, with a minus
where the type has a sign, and compares as text within the bounds of the type;
its value then spells the same digits. No other text is a `Bool`, a `Float64`
or a `String` than the model's.
"""

from flare.core import equals
from flare.http import Rejection
from flare.http.text_value import value_of
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _BOUNDS: List[StaticString] = [
    "9223372036854775807",
    "9223372036854775808",
    "9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551620",
    "99999999999999999999",
    "0",
]
comptime _OTHERS: List[StaticString] = [
    "true",
    "false",
    "1",
    "0",
    "True",
    "-1.5e3",
    "2.5",
    "1e308",
    "1e999",
    "nan",
    ".5",
    "+7",
    "1_000",
    "0x1F",
    " 7",
]


def fuzz_text_value(mut random: Random, mut histogram: Histogram) raises:
    """Reads one text as every type.

    Args:
        random: Where the text comes from.
        histogram: Receives the outcome.

    Raises:
        Error: If a value is not the model's.
    """
    var octets = _text(random)
    histogram.input(Span(octets))
    var as_int = _check_integer[Int](
        Span(octets), True, "9223372036854775807", "9223372036854775808"
    )
    var as_unsigned = _check_integer[UInt64](
        Span(octets), False, "18446744073709551615", ""
    )
    _check_others(Span(octets))
    if as_unsigned and not as_int:
        histogram.count_whole("UInt64")
    elif as_int:
        histogram.count_whole("Int and UInt64" if as_unsigned else "Int")
    else:
        histogram.count("no integer")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_text_value)


def _text(mut random: Random) -> List[UInt8]:
    var octets = List[UInt8]()
    if random.chance(15):
        octets.extend(random.pick(materialize[_OTHERS]()).as_bytes())
    else:
        if random.chance(40):
            octets.append(UInt8(ord("-")))
        for _ in range(random.below(3)):
            octets.append(UInt8(ord("0")))
        if random.chance(50):
            octets.extend(random.pick(materialize[_BOUNDS]()).as_bytes())
        else:
            octets.extend(random.octets_of("0123456789", random.between(1, 21)))
    if random.chance(25):
        return mutate(octets, random)
    return octets^


def _check_integer[
    T: Movable & Deinitable & Writable
](
    octets: Span[UInt8, _],
    has_sign: Bool,
    greatest: StaticString,
    least: StaticString,
) raises -> Bool:
    var is_negative = has_sign and len(octets) > 0 and octets[0] == 45
    var digits = octets[1:] if is_negative else octets[0:]
    var is_number = len(digits) > 0
    for octet in digits:
        is_number = is_number and octet >= 48 and octet <= 57
    var start = 0
    while start + 1 < len(digits) and digits[start] == 48:
        start += 1
    var bound = least if is_negative else greatest
    var is_good = is_number and _is_at_most(digits[start:], bound.as_bytes())
    try:
        var text = String(value_of[T](octets, "value"))
        var spelled = String()
        if is_negative and digits[start] != 48:
            spelled += "-"
        spelled += StringSlice(unsafe_from_utf8=digits[start:])
        if not is_good or text != spelled:
            raise Error("finding: it was read as ", text)
    except e:
        if String(e).startswith("finding"):
            raise e^
        if is_good or Rejection.status_of(e).or_else(0) != 400:
            raise Error("finding: it was refused: ", e)
    return is_good


def _is_at_most(digits: Span[UInt8, _], bound: Span[UInt8, _]) -> Bool:
    if len(digits) != len(bound):
        return len(digits) < len(bound)
    for i in range(len(digits)):
        if digits[i] != bound[i]:
            return digits[i] < bound[i]
    return True


def _check_others(octets: Span[UInt8, _]) raises:
    var text = StringSlice(unsafe_from_utf8=octets)
    var is_bool = (
        text == "true" or text == "false" or text == "1" or text == "0"
    )
    if _accepts[Bool](octets) != is_bool:
        raise Error("finding: the Bool differs")
    if _accepts[Float64](octets):
        for octet in octets:
            if StaticString("0123456789+-.eE").find(chr(Int(octet))) < 0:
                raise Error("finding: a Float64 of other characters")
    if _accepts[String](octets):
        if not equals(value_of[String](octets, "value").as_bytes(), octets):
            raise Error("finding: the String differs")
    else:
        var has_high_octet = False
        for octet in octets:
            has_high_octet = has_high_octet or octet >= 128
        if not has_high_octet:
            raise Error("finding: ASCII was refused")


def _accepts[T: Movable & Deinitable](octets: Span[UInt8, _]) raises -> Bool:
    try:
        _ = value_of[T](octets, "value")
        return True
    except e:
        if Rejection.status_of(e).or_else(0) != 400:
            raise Error("finding: refused without status 400: ", e)
        return False
