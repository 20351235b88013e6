"""A traceparent is read as a reader that goes octet by octet reads it.

Invariant: both accept the same octets, find the same ids and the same flag, and
what is written again begins with them.
"""

from flare.message import TraceContext

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _DASH = UInt8(ord("-"))


@fieldwise_init
struct _Read(Movable):
    # The digits of the trace id, and of the id of the span.
    var trace_id: String
    var span_id: String
    var is_sampled: Bool


def fuzz_trace_context(mut random: Random, mut histogram: Histogram) raises:
    """Reads one field, damaged or not.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var octets = _field(random)
    if random.chance(50):
        octets = mutate(octets, random)
    histogram.input(octets)
    var wanted = _read(octets)
    var found = TraceContext.parse(Span(octets))
    if Bool(wanted) != Bool(found):
        raise Error("accepted: ", Bool(found))
    if not found:
        histogram.count("refused")
        return
    histogram.count_whole("accepted")
    ref trace = found.value()
    if (
        trace.trace_id_text() != wanted.value().trace_id
        or trace.span_id_text() != wanted.value().span_id
        or trace.is_sampled != wanted.value().is_sampled
    ):
        raise Error("read ", trace.traceparent())
    var again = TraceContext.parse(trace.traceparent().as_bytes())
    if not again or again.value() != trace:
        raise Error("written as ", trace.traceparent())


def _field(mut random: Random) -> List[UInt8]:
    var octets = List[UInt8]()
    var is_later = random.chance(20)
    if is_later:
        octets.extend(_digits(random, 2))
    else:
        octets.extend("00".as_bytes())
    octets.append(_DASH)
    octets.extend(_digits(random, 32))
    octets.append(_DASH)
    octets.extend(_digits(random, 16))
    octets.append(_DASH)
    octets.extend(_digits(random, 2))
    if random.chance(50 if is_later else 5):
        octets.append(_DASH if random.chance(80) else random.octet())
        octets.extend(random.octets(random.below(20)))
    return octets^


def _digits(mut random: Random, count: Int) -> List[UInt8]:
    if random.chance(5):
        return List[UInt8](length=count, fill=UInt8(ord("0")))
    if random.chance(5):
        return List[UInt8](length=count, fill=UInt8(ord("f")))
    return random.octets_of("0123456789abcdef", count)


def _read(octets: List[UInt8]) -> Optional[_Read]:
    # W3C Trace Context, sections 3.2 and 4.3.
    var parts = List[List[UInt8]]()
    parts.append([])
    for octet in octets:
        if octet == _DASH and len(parts) < 5:
            parts.append([])
        else:
            parts[len(parts) - 1].append(octet)
    if len(parts) < 4:
        return None
    for i in range(4):
        if len(parts[i]) != [2, 32, 16, 2][i]:
            return None
        for octet in parts[i]:
            if _value(octet) < 0:
                return None
    var version = 16 * _value(parts[0][0]) + _value(parts[0][1])
    if version == 255 or (version == 0 and len(parts) == 5):
        return None
    if _are_zeros(parts[1]) or _are_zeros(parts[2]):
        return None
    return _Read(
        String(from_utf8_lossy=Span(parts[1])),
        String(from_utf8_lossy=Span(parts[2])),
        _value(parts[3][1]) % 2 == 1,
    )


def _are_zeros(digits: List[UInt8]) -> Bool:
    for digit in digits:
        if _value(digit) != 0:
            return False
    return True


def _value(digit: UInt8) -> Int:
    var digits = StaticString("0123456789abcdef").as_bytes()
    for i in range(16):
        if digits[i] == digit:
            return i
    return -1


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the arguments are wrong.
    """
    run(fuzz_trace_context)
