"""Values in PostgreSQL's binary forms are read as the server wrote them.

Invariants: an array is read if and only if the model reads it, with the same
elements; a number that the server may write is read as its digits, and no other
octets are a number; a text is a UUID if and only if it is one of RFC 9562, and
it is written as it was read.
"""

from flare.postgres.array import ArrayReader
from flare.postgres.numeric_text import numeric_text
from flare.postgres.uuid_text import uuid_octets, uuid_text
from fuzz.harness import Histogram, run
from fuzz.pg_values_model import (
    ArrayModel,
    is_numeric,
    read_array,
    write_array,
    write_numeric,
)
from fuzz.random import Random, mutate


def fuzz_pg_values(mut random: Random, mut histogram: Histogram) raises:
    """Reads one value, intact or damaged.

    Args:
        random: Draws the value and the damage.
        histogram: Counts the outcomes.

    Raises:
        Error: If an invariant does not hold.
    """
    var kind = random.below(3)
    if kind == 0:
        _check_array(random, histogram)
    elif kind == 1:
        _check_numeric(random, histogram)
    else:
        _check_uuid(random, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_pg_values)


def _check_array(mut random: Random, mut histogram: Histogram) raises:
    var drawn = ArrayModel(random.below(5_000), List[Optional[List[UInt8]]]())
    for _ in range(random.below(6)):
        if random.chance(20):
            drawn.elements.append(None)
        else:
            drawn.elements.append(random.octets(random.below(9)))
    var octets = write_array(drawn)
    var is_damaged = random.chance(60)
    if is_damaged:
        octets = mutate(Span(octets), random)
    histogram.input(Span(octets))
    var expected = read_array(Span(octets))
    if not is_damaged and not expected:
        raise Error("the model does not read its own array")
    var found = _read_array(octets)
    if Bool(found) != Bool(expected):
        raise Error("read: ", Bool(found), ", by the model: ", Bool(expected))
    if not found:
        histogram.count("array, not read")
        return
    ref given = found.value()
    ref wanted = expected.value()
    if len(given.elements) != len(wanted.elements):
        raise Error("there are ", len(given.elements), " elements")
    for i in range(len(given.elements)):
        ref one = given.elements[i]
        ref other = wanted.elements[i]
        if Bool(one) != Bool(other):
            raise Error("element ", i, " differs in being NULL")
        if one and one.value() != other.value():
            raise Error("element ", i, " differs")
    if len(given.elements) > 0 and given.element_type != wanted.element_type:
        raise Error("the type differs")
    histogram.count_whole("array, read")


def _read_array(octets: List[UInt8]) -> Optional[ArrayModel]:
    var reader = ArrayReader(
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        )
    )
    var array = ArrayModel(0, List[Optional[List[UInt8]]]())
    for _ in range(reader.count):
        var element = reader.next()
        if reader.fault != "":
            break
        array.element_type = element.type_id
        if element.is_null:
            array.elements.append(None)
        else:
            array.elements.append(List[UInt8](element.octets))
    if reader.fault != "":
        return None
    return array^


def _check_numeric(mut random: Random, mut histogram: Histogram) raises:
    var scale = random.below(14)
    var digits = String()
    for octet in random.octets_of("0000123456789", random.between(1, 20)):
        digits += chr(Int(octet))
    while digits.byte_length() <= scale:
        digits = String("0", digits)
    var is_negative = random.chance(30)
    var octets = write_numeric(digits, scale, is_negative)
    if random.chance(40):
        octets = mutate(Span(octets), random)
        histogram.input(Span(octets))
        var found = numeric_text(Span(octets))
        if Bool(found) != is_numeric(Span(octets)):
            raise Error("read: ", Bool(found))
        histogram.count("number, damaged")
        return
    histogram.input(Span(octets))
    var found = numeric_text(Span(octets))
    var expected = _decimal(digits, scale, is_negative)
    if not found or found.value() != expected:
        raise Error("not ", expected)
    histogram.count_whole("number, read")


def _decimal(digits: String, scale: Int, is_negative: Bool) -> String:
    var point = digits.byte_length() - scale
    var start = 0
    while start + 1 < point and digits.as_bytes()[start] == 48:
        start += 1
    var text = String(digits[byte=start:point])
    if scale > 0:
        text += String(".", digits[byte=point:])
    var is_zero = True
    for octet in digits.as_bytes():
        is_zero = is_zero and octet == 48
    return String("-", text) if is_negative and not is_zero else text^


def _check_uuid(mut random: Random, mut histogram: Histogram) raises:
    var text = List[UInt8]()
    for i in range(36):
        if i == 8 or i == 13 or i == 18 or i == 23:
            text.append(45)
        else:
            text.extend(random.octets_of("0123456789abcdefABCDEF", 1))
    if random.chance(50):
        text = mutate(Span(text), random)
    histogram.input(Span(text))
    var is_right = len(text) == 36
    for i in range(len(text)):
        var octet = Int(text[i])
        var is_digit = (
            48 <= octet <= 57 or 65 <= octet <= 70 or 97 <= octet <= 102
        )
        var is_place = i == 8 or i == 13 or i == 18 or i == 23
        is_right = is_right and (octet == 45 if is_place else is_digit)
    var found = uuid_octets(Span(text))
    if Bool(found) != is_right:
        raise Error("read: ", Bool(found))
    if not found:
        histogram.count("no UUID")
        return
    var lower = String(StringSlice(unsafe_from_utf8=Span(text))).lower()
    if uuid_text(found.value()) != lower:
        raise Error("written: ", uuid_text(found.value()))
    histogram.count_whole("UUID")
