"""Query parameters are divided and decoded as by cutting and replacing.

Invariant: any octets are divided as by cutting at `&` and at the first `=`;
decoding never lengthens, and what was encoded decodes to itself.
"""

from flare.core import equals
from flare.message import (
    QueryParameters,
    equals_decoded,
    percent_decode,
    percent_encoded,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


def fuzz_query(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one query.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var names = List[List[UInt8]]()
    var octets = List[UInt8]()
    for _ in range(random.below(5)):
        var name = random.octets(random.below(4))
        if random.chance(60):
            name = random.octets_of("abc =&%+", random.between(1, 3))
        octets.extend(
            percent_encoded(StringSlice(unsafe_from_utf8=Span(name))).as_bytes()
        )
        octets.append(61)
        octets.extend(
            Span(random.octets_of("ab%2+=019afAFgG", random.below(9)))
        )
        octets.append(38)
        names.append(name^)
    var is_whole = random.chance(40)
    if not is_whole:
        octets = mutate(octets, random)
    histogram.input(octets)
    _check_parameters(octets)
    histogram.count(_check_decoding(octets))
    if is_whole:
        _check_names(octets, names)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_query, has_whole_inputs=False)


def _check_parameters(octets: List[UInt8]) raises:
    var view = QueryParameters(Span(octets))
    var start = 0
    for i in range(len(octets) + 1):
        if i < len(octets) and octets[i] != 38:
            continue
        if i > start:
            var equals_sign = start
            while equals_sign < i and octets[equals_sign] != 61:
                equals_sign += 1
            var parameter = view.__next__()
            if not equals(
                parameter.raw_name.as_bytes(), Span(octets)[start:equals_sign]
            ):
                raise Error("the name at octet ", start, " differs")
            if not equals(
                parameter.raw_value.as_bytes(),
                Span(octets)[min(equals_sign + 1, i) : i],
            ):
                raise Error("the value at octet ", start, " differs")
        start = i + 1
    for _ in view:
        raise Error("there is one parameter too many")


def _check_decoding(octets: List[UInt8]) raises -> StaticString:
    var expected = List[UInt8]()
    var i = 0
    while i < len(octets):
        var high = _digit(octets, i + 1)
        var low = _digit(octets, i + 2)
        if octets[i] == 37 and high >= 0 and low >= 0:
            expected.append(UInt8(16 * high + low))
            i += 3
        else:
            expected.append(32 if octets[i] == 43 else octets[i])
            i += 1
    var decoded = List[UInt8]()
    percent_decode[plus_is_blank=True](Span(octets), decoded)
    if not equals(Span(decoded), Span(expected)):
        raise Error("it is decoded otherwise")
    if not equals_decoded[plus_is_blank=True](Span(octets), Span(expected)):
        raise Error("it does not compare equal to itself decoded")
    if len(expected) > 0:
        expected[len(expected) - 1] ^= 1
        if equals_decoded[plus_is_blank=True](Span(octets), Span(expected)):
            raise Error("it compares equal to something else")
        _ = expected.pop()
        if equals_decoded[plus_is_blank=True](Span(octets), Span(expected)):
            raise Error("it compares equal to its own front")
    return "with escapes" if len(decoded) < len(octets) else "without escapes"


def _check_names(octets: List[UInt8], names: List[List[UInt8]]) raises:
    var view = QueryParameters(Span(octets))
    for name in names:
        if not view.__next__().has_name(
            StringSlice(unsafe_from_utf8=Span(name))
        ):
            raise Error("an encoded name is not found again")


def _digit(octets: List[UInt8], at: Int) -> Int:
    comptime digits: StaticString = "0123456789ABCDEFabcdef"
    if at < len(octets):
        for i in range(digits.byte_length()):
            if digits.as_bytes()[i] == octets[at]:
                return i if i < 16 else i - 6
    return -1
