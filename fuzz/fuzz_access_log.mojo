"""No octets of a client break out of their place in a line of the access log.

Invariant: a line is printable ASCII, whatever a client has sent. A reader of
Combined Log Format finds each text in its place, and restores its octets. A
reader of JSON finds all keys, and each text with U+FFFD for each octet that is
not part of UTF-8. No text adds or hides a field.
"""

from flare.core.text_buffer import TextBuffer
from flare.http.server.records.access_facts import AccessEnd, AccessFacts
from flare.http.server.records.access_format import AccessFormat, append_line
from flare.http.server.records.access_record import AccessRecord
from flare.json import Value, loads
from flare.message import Method

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _KEYS = 19
comptime _SHAPES: List[StaticString] = [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
    "https://b.example/a?b=c",
    '" 200 5 "-" "x"',
    '","status":200,"x":"',
    "\\x22\\\\",
    "\r\n10.0.0.1 - - [",
    "é€🔥",
    "\x1b[2J\x7f",
]


def fuzz_access_log(mut random: Random, mut histogram: Histogram) raises:
    """Writes one record in two formats, and reads both.

    Args:
        random: Draws the texts.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var target = random.octets_of("/abc?=%&\"\\'<>{}[]~", random.below(40) + 1)
    var agent = _text(random)
    var referer = _text(random)
    var id = _text(random)
    var facts = AccessFacts()
    facts.outcome.status = Int32(random.between(100, 599))
    facts.outcome.end = AccessEnd(UInt8(random.below(4)))
    facts.method = Method.GET.id
    facts.texts.target = UInt16(len(target))
    facts.texts.user_agent = UInt16(len(agent))
    facts.texts.referer = UInt16(len(referer))
    facts.texts.request_id = UInt16(len(id))
    var texts = target.copy()
    texts.extend(Span(agent))
    texts.extend(Span(referer))
    texts.extend(Span(id))
    histogram.input(texts)
    var record = AccessRecord()
    record.load(facts, texts, random.below(1 << 60))

    var combined = _line(record, AccessFormat.COMBINED)
    var parts = _quoted_parts(combined.as_bytes())
    if len(parts) != 3:
        raise Error("parts: ", len(parts), " in ", combined)
    var request = List[UInt8]()
    request.extend("GET ".as_bytes())
    request.extend(Span(target))
    request.extend(" HTTP/1.1".as_bytes())
    _same(parts[0], request, "request")
    _same(parts[1], _or_dash(referer), "referer")
    _same(parts[2], _or_dash(agent), "agent")

    var json = _line(record, AccessFormat.JSON)
    var value = loads(json)
    if len(value.members()) != _KEYS:
        raise Error("keys: ", len(value.members()), " in ", json)
    _check_json(value, "target", target)
    _check_json(value, "user_agent", agent)
    _check_json(value, "request_id", id)
    if value["status"].int_value() != Int(facts.outcome.status):
        raise Error("status in ", json)
    histogram.count_whole("read")


def _check_json(value: Value, key: StaticString, sent: List[UInt8]) raises:
    var shown = value[key]
    if len(sent) == 0:
        if not shown.is_null():
            raise Error("not null: ", key)
    elif shown.string_value() != _replaced(sent):
        raise Error("not what was sent: ", key)


def _text(mut random: Random) -> List[UInt8]:
    if random.chance(10):
        return []
    if random.chance(30):
        return random.octets(random.below(80))
    var text = List[UInt8]()
    for _ in range(random.below(4) + 1):
        text.extend(random.pick(materialize[_SHAPES]()).as_bytes())
    if random.chance(60):
        return mutate(text, random)
    return text^


def _line(record: AccessRecord, format: AccessFormat) raises -> String:
    var line = TextBuffer()
    append_line(line, record, format)
    for octet in line.span():
        if octet < 32 or octet > 126:
            raise Error("octet ", octet)
    return line.take()


def _quoted_parts(line: Span[UInt8, _]) raises -> List[List[UInt8]]:
    """Returns what stands between quotes, restored."""
    var parts = List[List[UInt8]]()
    var is_inside = False
    var i = 0
    while i < len(line):
        if line[i] == UInt8(ord('"')):
            is_inside = not is_inside
            if is_inside:
                parts.append([])
        elif is_inside and line[i] == UInt8(ord("\\")):
            if line[i + 1] != UInt8(ord("x")):
                raise Error("no escape")
            parts[len(parts) - 1].append(
                UInt8(16 * _digit(line[i + 2]) + _digit(line[i + 3]))
            )
            i += 3
        elif is_inside:
            parts[len(parts) - 1].append(line[i])
        i += 1
    if is_inside:
        raise Error("an open quote")
    return parts^


def _digit(octet: UInt8) raises -> Int:
    if octet >= 48 and octet <= 57:
        return Int(octet) - 48
    if octet >= 65 and octet <= 70:
        return Int(octet) - 55
    raise Error("no digit")


def _or_dash(text: List[UInt8]) -> List[UInt8]:
    if len(text) == 0:
        return [UInt8(ord("-"))]
    return text.copy()


def _same(found: List[UInt8], wanted: List[UInt8], name: StaticString) raises:
    if found != wanted:
        raise Error("not what was sent: ", name)


def _replaced(octets: List[UInt8]) -> String:
    """Decodes by trial: a sequence is UTF-8 if its character has this form."""
    var text = String()
    var i = 0
    while i < len(octets):
        var count = 1
        var point = 0xFFFD
        if octets[i] < 128:
            point = Int(octets[i])
        else:
            for length in range(2, 5):
                var tried = _tried(octets, i, length)
                if tried >= 0:
                    point = tried
                    count = length
        text += chr(point)
        i += count
    return text^


def _tried(octets: List[UInt8], at: Int, length: Int) -> Int:
    if at + length > len(octets):
        return -1
    var point = Int(octets[at]) & (0x7F >> length)
    for i in range(1, length):
        point = point << 6 | Int(octets[at + i]) & 0x3F
    if point > 0x10FFFF or (point >= 0xD800 and point <= 0xDFFF):
        return -1
    var form = chr(point)
    if form.byte_length() != length:
        return -1
    for i in range(length):
        if form.as_bytes()[i] != octets[at + i]:
            return -1
    return point


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_access_log)
