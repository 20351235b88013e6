"""Names of hosts are converted to Punycode and back, whatever their script.

Invariant: each label that was converted, decoded by the other procedure of RFC
3492, is the label in lower case; labels in ASCII stay as they are; any octets
yield a name in visible ASCII or a `SyntaxError`.
"""

from flare.message.international_host import ascii_host

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _LETTERS: List[Int] = [
    0x61,
    0x7A,
    0x41,
    0x30,
    0x2D,
    0xE4,
    0xDF,
    0x142,
    0x17E,
    0x3B1,
    0x3C3,
    0x3C9,
    0x416,
    0x436,
    0x44F,
    0x561,
    0x5D0,
    0x627,
    0x6CC,
    0x915,
    0x93F,
    0xE01,
    0xE48,
    0x1EA1,
    0x3042,
    0x30AB,
    0x30FC,
    0x4E00,
    0x9FFF,
    0xAC00,
    0xD7A3,
    0x20000,
    0x2A6DF,
]


def fuzz_international_host(
    mut random: Random, mut histogram: Histogram
) raises:
    """Converts one name, damaged or not.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var name = String()
    for i in range(random.between(1, 4)):
        if i > 0:
            name += random.pick([".", ".", ".", "\u3002"])
        var first = random.pick(materialize[_LETTERS]())
        var count = random.between(1, 12)
        if random.chance(10):
            count = random.between(20, 60)
        for _ in range(count):
            # Letters of one script lie near to each other.
            var letter = first + random.below(3)
            if random.chance(30):
                letter = random.pick(materialize[_LETTERS]())
            name += chr(letter)
    var octets = List[UInt8](name.as_bytes())
    if random.chance(30):
        octets = mutate(octets, random)
    histogram.input(octets)
    var converted: List[UInt8]
    try:
        converted = ascii_host(Span(octets))
    except:
        histogram.count("refused")
        return
    histogram.count_whole("converted")
    _check(octets, converted)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_international_host)


def _check(octets: List[UInt8], converted: List[UInt8]) raises:
    for octet in converted:
        if octet > 127:
            raise Error("an octet beyond ASCII")
    var wanted = String(StringSlice(from_utf8=Span(octets))).lower()
    wanted = wanted.replace("\u3002", ".").replace("\uff0e", ".")
    var labels = wanted.split(".")
    var found = String(StringSlice(from_utf8=Span(converted))).split(".")
    if len(labels) != len(found):
        raise Error("other labels: ", String(from_utf8_lossy=Span(converted)))
    for i in range(len(labels)):
        var label = String(labels[i])
        var is_ascii = True
        for octet in label.as_bytes():
            is_ascii = is_ascii and octet < 128
        var again = String(found[i])
        if not is_ascii:
            if not again.startswith("xn--") or again.byte_length() > 63:
                raise Error("no label of Punycode: ", again)
            again = _decoded(String(again[byte=4:]))
        if again != label:
            raise Error("decoded, it is another label: ", found[i])


def _decoded(text: String) raises -> String:
    # Section 6.2 of RFC 3492.
    var octets = text.as_bytes()
    var points = List[Int]()
    var start = 0
    for i in range(len(octets)):
        if octets[i] == 45:
            start = i + 1
    for i in range(max(start - 1, 0)):
        points.append(Int(octets[i]))
    var n = 128
    var at = 0
    var bias = 72
    while start < len(octets):
        var before = at
        var weight = 1
        var k = 36
        while True:
            if start == len(octets):
                raise Error("a number without an end")
            var octet = Int(octets[start])
            start += 1
            var digit = octet - 97
            if 48 <= octet <= 57:
                digit = octet - 22
            elif digit < 0 or digit > 25:
                raise Error("no digit")
            at += digit * weight
            var t = 1 if k <= bias else (26 if k >= bias + 26 else k - bias)
            if digit < t:
                break
            weight *= 36 - t
            k += 36
        var delta = at - before
        delta = delta // 700 if before == 0 and n == 128 else delta // 2
        delta += delta // (len(points) + 1)
        k = 0
        while delta > 455:
            delta //= 35
            k += 36
        bias = k + 36 * delta // (delta + 38)
        n += at // (len(points) + 1)
        at = at % (len(points) + 1)
        points.insert(at, n)
        at += 1
    var label = String()
    for point in points:
        label += chr(point)
    return label^
