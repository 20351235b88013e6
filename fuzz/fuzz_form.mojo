"""Forms are read as by cutting and replacing, and read back as they are written.

Invariant: any octets are a form, whose fields are those of a model that decodes
into a list of its own; what is written is of the octets that the URL Standard
allows, and is read again as the same fields. Limits are inclusive.
"""

from flare.message import FormFields, FormLimits

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


def fuzz_form(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one coded form and writes one.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var octets = List[UInt8]()
    for _ in range(random.below(6)):
        octets.extend(Span(_draw_text(random)))
        if random.chance(85):
            octets.append(61)
            octets.extend(Span(_draw_text(random)))
        if random.chance(90):
            octets.append(38)
    if random.chance(40):
        octets = mutate(octets, random)
    histogram.input(octets)
    var form = FormFields.parse(Span(octets))
    _check_fields(octets, form)
    _check_written(form)
    _check_limits(octets, len(form))
    histogram.count(
        "no field" if len(form)
        == 0 else ("one field" if len(form) == 1 else "several fields")
    )


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_form, has_whole_inputs=False)


def _draw_text(mut random: Random) -> List[UInt8]:
    var kind = random.below(4)
    if kind == 0:
        return random.octets_of("abz09*-._~+ %/?;", random.below(8))
    if kind == 1:
        return random.octets(random.below(6))
    if kind == 2:
        return random.octets_of("%2B4c1fFeE0aA9", random.below(12))
    return List[UInt8]("%C3%A9é%E2%82%ac+".as_bytes())


def _check_fields(octets: List[UInt8], form: FormFields) raises:
    var at = 0
    var start = 0
    for i in range(len(octets) + 1):
        if i < len(octets) and octets[i] != 38:
            continue
        if i > start:
            var sign = start
            while sign < i and octets[sign] != 61:
                sign += 1
            if at == len(form):
                raise Error("field ", at, " is missing")
            _check_text(form.fields[at].name, Span(octets)[start:sign])
            _check_text(
                form.fields[at].value, Span(octets)[min(sign + 1, i) : i]
            )
            at += 1
        start = i + 1
    if at != len(form):
        raise Error("there is a field too many")


def _check_text(text: String, coded: Span[UInt8, _]) raises:
    var octets = List[UInt8]()
    var i = 0
    while i < len(coded):
        var b = coded[i]
        if b == 37 and i + 2 < len(coded):
            var high = _digit(coded[i + 1])
            var low = _digit(coded[i + 2])
            if high >= 0 and low >= 0:
                octets.append(UInt8(high * 16 + low))
                i += 3
                continue
        octets.append(32 if b == 43 else b)
        i += 1
    # The library replaces what is no UTF-8; whether the decoded text is UTF-8
    # is what this looks at.
    var expected = String(from_utf8_lossy=Span(octets))
    if text != expected:
        raise Error("a text is decoded otherwise")
    _ = StringSlice(from_utf8=text.as_bytes())


def _check_written(form: FormFields) raises:
    var text = form.encoded()
    for b in text.as_bytes():
        var is_letter = (b | 32) >= 97 and (b | 32) <= 122
        var is_digit = b >= 48 and b <= 57
        if not is_letter and not is_digit:
            var is_mark = False
            for mark in "*-._+%&=".as_bytes():
                is_mark = is_mark or mark == b
            if not is_mark:
                raise Error("octet ", b, " is written")
    var again = FormFields.parse(text.as_bytes())
    # A field without name and value is written as a sign alone.
    if len(again) != len(form):
        raise Error("written ", len(form), " and read ", len(again))
    for i in range(len(form)):
        if (
            again.fields[i].name != form.fields[i].name
            or again.fields[i].value != form.fields[i].value
        ):
            raise Error("field ", i, " is read otherwise than written")
        var found = form.get(form.fields[i].name)
        if not found or len(form.values(form.fields[i].name)) == 0:
            raise Error("field ", i, " is not found")


def _check_limits(octets: List[UInt8], fields: Int) raises:
    var limits = FormLimits()
    limits.octets_max = len(octets)
    limits.fields_max = fields
    _ = FormFields.parse(Span(octets), limits)
    if fields > 0:
        limits.fields_max = fields - 1
        if _is_accepted(octets, limits):
            raise Error("a field over the limit is read")
    if len(octets) > 0:
        limits.fields_max = fields
        limits.octets_max = len(octets) - 1
        if _is_accepted(octets, limits):
            raise Error("an octet over the limit is read")


def _is_accepted(octets: List[UInt8], limits: FormLimits) -> Bool:
    try:
        _ = FormFields.parse(Span(octets), limits)
        return True
    except:
        return False


def _digit(octet: UInt8) -> Int:
    comptime DIGITS: StaticString = "0123456789abcdefABCDEF"
    for i in range(22):
        if DIGITS.as_bytes()[i] == octet:
            return i if i < 16 else i - 6
    return -1
