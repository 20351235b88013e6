"""Accept-Encoding is read as by cutting, trimming and comparing texts.

Invariant: any octets give each coding the weight that a reader of the grammar
gives it, who works on whole texts; the coding chosen is one that is offered or
identity, it is not refused, and none that is offered has a greater weight. Of
the siblings of a file, it is the first of the best, or the file itself.
"""

from flare.http.encoding import AcceptEncoding, ContentCoding
from flare.http.files import Siblings

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _UNLISTED = -1


def fuzz_accept_encoding(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one field, perhaps of two lines.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var lines = List[List[UInt8]]()
    var all = List[UInt8]()
    for _ in range(random.below(3)):
        var line = _line(random)
        if random.chance(40):
            line = mutate(Span(line), random)
        all.extend(Span(line))
        all.append(10)
        lines.append(line^)
    histogram.input(Span(all))
    var accepted = AcceptEncoding()
    var names = List[String]()
    var weights = List[Int]()
    for line in lines:
        accepted.add(Span(line))
        _read(Span(line), names, weights)
    var offered = List[ContentCoding]()
    for number in range(ContentCoding.COUNT):
        var coding = ContentCoding(number)
        var expected = _expected(coding, names, weights)
        if len(lines) == 0:
            expected = 1000
        if accepted.weight(coding) != expected:
            raise Error(
                "the weight of ",
                coding,
                " is ",
                accepted.weight(coding),
                ", not ",
                expected,
            )
        if random.chance(60):
            offered.append(coding)
    histogram.count(_check_best(accepted, offered, len(lines) > 0))
    _check_sibling(accepted, offered, names, weights, len(lines) > 0)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_accept_encoding, has_whole_inputs=False)


def _line(mut random: Random) -> List[UInt8]:
    comptime NAMES: List[StaticString] = [
        "gzip",
        "br",
        "zstd",
        "deflate",
        "identity",
        "*",
        "x-gzip",
        "GZip",
        "compress",
        "",
    ]
    comptime WEIGHTS: List[StaticString] = [
        "",
        "",
        ";q=0",
        ";q=1",
        "; q=0.5",
        " ;Q=0.001",
        ";q=0.999",
        ";q=1.000",
        ";q=1.001",
        ";q=0.1234",
        ";q=.5",
        ";q= 1",
        ";level=1",
    ]
    var names = materialize[NAMES]()
    var weights = materialize[WEIGHTS]()
    var text = String()
    for i in range(random.below(6)):
        if i > 0:
            text += ", " if random.chance(70) else ","
        text += random.pick(names)
        text += random.pick(weights)
    return List[UInt8](text.as_bytes())


def _read(
    line: Span[UInt8, _], mut names: List[String], mut weights: List[Int]
):
    var start = 0
    for i in range(len(line) + 1):
        if i < len(line) and line[i] != 44:
            continue
        var name = String()
        var parameters = String()
        var has_parameters = False
        for octet in line[start:i]:
            # What is no ASCII is no name either.
            var character = chr(Int(octet)) if octet < 128 else "?"
            if has_parameters:
                parameters += character
            elif octet == 59:
                has_parameters = True
            else:
                name += character
        start = i + 1
        name = _trimmed(name)
        var weight = 1000
        if has_parameters:
            weight = _weight(_trimmed(parameters))
        if weight >= 0 and name.byte_length() > 0:
            names.append("gzip" if name == "x-gzip" else name)
            weights.append(weight)


def _trimmed(text: String) -> String:
    var octets = text.as_bytes()
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == 32 or octets[start] == 9):
        start += 1
    while start < end and (octets[end - 1] == 32 or octets[end - 1] == 9):
        end -= 1
    return String(StringSlice(unsafe_from_utf8=octets[start:end])).lower()


def _weight(text: String) -> Int:
    # Every weight that there is, as it may be written.
    if not text.startswith("q="):
        return -1
    var octets = text.as_bytes()[2:]
    if len(octets) == 0 or len(octets) > 5:
        return -1
    var digits = String()
    for i in range(len(octets)):
        if i == 1:
            if octets[1] != 46:
                return -1
        elif octets[i] < 48 or octets[i] > 57:
            return -1
        else:
            digits += chr(Int(octets[i]))
    while digits.byte_length() < 4:
        digits += "0"
    try:
        var weight = Int(digits)
        return weight if weight <= 1000 else -1
    except:
        return -1


def _expected(
    coding: ContentCoding, names: List[String], weights: List[Int]
) -> Int:
    var own = _UNLISTED
    var others = _UNLISTED
    for i in range(len(names)):
        if names[i] == coding.name():
            own = weights[i] if own == _UNLISTED else min(own, weights[i])
        elif names[i] == "*":
            others = weights[i] if others == _UNLISTED else min(
                others, weights[i]
            )
    if own != _UNLISTED:
        return own
    if others != _UNLISTED:
        return others
    return 1 if coding == ContentCoding.IDENTITY else 0


def _check_best(
    accepted: AcceptEncoding, offered: List[ContentCoding], is_present: Bool
) raises -> StaticString:
    var best = accepted.best(offered)
    if not is_present:
        if not best or best.value() != ContentCoding.IDENTITY:
            raise Error("who says nothing gets something else than identity")
        return "no field"
    if not best:
        for coding in offered:
            if accepted.accepts(coding):
                raise Error("nothing was chosen, but ", coding, " is accepted")
        if accepted.accepts(ContentCoding.IDENTITY):
            raise Error("nothing was chosen, but identity is accepted")
        return "nothing suits"
    var chosen = best.value()
    if not accepted.accepts(chosen):
        raise Error(chosen, " was chosen, but is refused")
    if chosen != ContentCoding.IDENTITY and chosen not in offered:
        raise Error(chosen, " was chosen, but is not offered")
    for coding in offered:
        if accepted.weight(coding) > accepted.weight(chosen):
            raise Error(coding, " has a greater weight than ", chosen)
    if accepted.weight(ContentCoding.IDENTITY) > accepted.weight(chosen):
        raise Error("identity has a greater weight than ", chosen)
    if chosen == ContentCoding.IDENTITY:
        for coding in offered:
            if coding != ContentCoding.IDENTITY and accepted.weight(
                coding
            ) == accepted.weight(chosen):
                raise Error("identity was chosen, but ", coding, " is as good")
        return "identity"
    return "coded"


def _check_sibling(
    accepted: AcceptEncoding,
    present: List[ContentCoding],
    names: List[String],
    weights: List[Int],
    is_listed: Bool,
) raises:
    var siblings = Siblings.NONE
    for coding in present:
        if Siblings.suffix(coding) != "":
            siblings = siblings.with_coding(coding)
    var expected = ContentCoding.IDENTITY
    # The file itself is sent unless a sibling is liked as much.
    var best = max(_expected(expected, names, weights), 1)
    for coding in [
        ContentCoding.GZIP,
        ContentCoding.ZSTD,
        ContentCoding.BROTLI,
    ]:
        if not is_listed or coding not in present:
            continue
        if _expected(coding, names, weights) >= best:
            best = _expected(coding, names, weights)
            expected = coding
    var chosen = siblings.choose(accepted)
    if chosen != expected:
        raise Error("the sibling of ", chosen, " was chosen, not ", expected)
