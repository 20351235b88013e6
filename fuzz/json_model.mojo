"""Builds JSON texts and judges them octet by octet, as plainly as can be."""

from fuzz.random import Random

comptime DEPTH_MAX = 256
"""How deep the judge lets arrays and objects lie within each other."""
comptime _LETTERS: StaticString = "abcdefghij /:,[]{}01"


def build_text(mut random: Random, depth: Int = 0) -> List[UInt8]:
    """Draws a well-formed text.

    Args:
        random: Decides what it holds.
        depth: How deep the value lies.

    Returns:
        The text.
    """
    var text = List[UInt8]()
    _white(text, random)
    var kind = random.below(9 if depth < 5 else 6)
    if kind == 0:
        var words: List[StaticString] = ["null", "true", "false"]
        _add(text, random.pick(words))
    elif kind <= 2:
        text.extend(Span(build_number(random)))
    elif kind <= 5:
        _string(text, random)
    elif kind == 6:
        text.append(91)
        for i in range(random.below(6)):
            if i > 0:
                text.append(44)
            text.extend(Span(build_text(random, depth + 1)))
        _white(text, random)
        text.append(93)
    else:
        _object(text, random, depth)
    _white(text, random)
    return text^


def build_number(mut random: Random) -> List[UInt8]:
    """Draws a number.

    Args:
        random: Decides what it is.

    Returns:
        Its text.
    """
    var text = List[UInt8]()
    if random.chance(30):
        text.append(45)
    if random.chance(20):
        text.append(48)
    else:
        text.append(UInt8(49 + random.below(9)))
        var more = random.below(22) if random.chance(30) else random.below(5)
        text.extend(Span(random.octets_of("0123456789", more)))
    if random.chance(40):
        text.append(46)
        text.extend(Span(random.octets_of("0123456789", 1 + random.below(9))))
    if random.chance(30):
        text.extend(Span(random.octets_of("eE", 1)))
        text.extend(Span(random.octets_of("+-", random.below(2))))
        text.extend(Span(random.octets_of("0123456789", 1 + random.below(3))))
    return text^


def accepts_text(octets: Span[UInt8, _]) -> Bool:
    """Judges a text by RFC 8259.

    Args:
        octets: Any octets.

    Returns:
        True if they are one value, in UTF-8, without halves of surrogate
        pairs.
    """
    if not _is_utf8(octets):
        return False
    var at = 0
    # For each open level the octet that closes it.
    var closing = List[Int]()
    while True:
        _skip(octets, at)
        var octet = _peek(octets, at)
        if octet == 91 or octet == 123:
            if len(closing) == DEPTH_MAX:
                return False
            at += 1
            _skip(octets, at)
            # A bracket and its pair are two octets apart.
            if _peek(octets, at) != octet + 2:
                closing.append(octet + 2)
                if octet == 123 and not _key(octets, at):
                    return False
                continue
            at += 1
        elif not _scalar(octets, at):
            return False
        while True:
            _skip(octets, at)
            if len(closing) == 0:
                return at == len(octets)
            octet = _peek(octets, at)
            at += 1
            if octet != closing[len(closing) - 1]:
                break
            _ = closing.pop()
        if octet != 44:
            return False
        if closing[len(closing) - 1] == 125 and not _key(octets, at):
            return False


def build_deep_text(mut random: Random) -> List[UInt8]:
    """Draws a text of many levels, most of them of one kind.

    Args:
        random: Decides how many.

    Returns:
        The text.
    """
    var openings: List[StaticString] = ["[", '{"a":', '{"e":[', '[1,{"b":']
    var closings: List[StaticString] = ["]", "}", "]}", "}]"]
    var kind = random.below(len(openings))
    # Both sides of the judge's bound.
    var levels = random.between(1, 2 * DEPTH_MAX // 3)
    if kind < 2:
        levels = random.between(1, DEPTH_MAX + 8)
    var text = List[UInt8]()
    for _ in range(levels):
        _add(text, openings[kind])
    if kind != 2 or random.chance(20):
        text.extend(Span(build_text(random, 4)))
    for _ in range(levels):
        _add(text, closings[kind])
    return text^


def _add(mut text: List[UInt8], word: StaticString):
    text.extend(word.as_bytes())


def _white(mut text: List[UInt8], mut random: Random):
    if random.chance(20):
        var count = random.below(80) if random.chance(5) else random.below(4)
        text.extend(Span(random.octets_of(" \t\r\n", count)))


def _object(mut text: List[UInt8], mut random: Random, depth: Int):
    text.append(123)
    var members = random.below(6)
    if depth > 0 and random.chance(5):
        members = random.below(40)
    for i in range(members):
        if i > 0:
            text.append(44)
        _white(text, random)
        if random.chance(60):
            # Few keys, so that some occur twice.
            text.append(34)
            text.extend(Span(random.octets_of("abcdefgh", random.below(3))))
            text.append(34)
        else:
            _string(text, random)
        _white(text, random)
        text.append(58)
        if members > 6:
            text.extend(Span(build_number(random)))
        else:
            text.extend(Span(build_text(random, depth + 1)))
    text.append(125)


def _string(mut text: List[UInt8], mut random: Random):
    var escapes: List[StaticString] = [
        '\\"',
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "\\u0000",
        "\\u001f",
        "\\u00e9",
        "\\uD7fF",
        "\\ue000",
        "\\ud83d\\uDE00",
    ]
    var others: List[StaticString] = ["é", "€", "😀", "\x7f", "\u0800"]
    text.append(34)
    for _ in range(random.below(6)):
        var kind = random.below(10)
        if kind == 0:
            _add(text, random.pick(others))
        elif kind <= 2:
            _add(text, random.pick(escapes))
        else:
            var long = random.chance(20)
            var count = random.below(90) if long else random.below(8)
            text.extend(Span(random.octets_of(_LETTERS, count)))
    text.append(34)


def _is_utf8(octets: Span[UInt8, _]) -> Bool:
    try:
        _ = StringSlice(from_utf8=octets)
        return True
    except:
        return False


def _peek(octets: Span[UInt8, _], at: Int) -> Int:
    return Int(octets[at]) if at < len(octets) else -1


def _skip(octets: Span[UInt8, _], mut at: Int):
    while _peek(octets, at) in (32, 9, 10, 13):
        at += 1


def _scalar(octets: Span[UInt8, _], mut at: Int) -> Bool:
    var octet = _peek(octets, at)
    if octet == 34:
        return _judge_string(octets, at)
    if octet == 45 or (octet >= 48 and octet <= 57):
        return _judge_number(octets, at)
    return (
        _word(octets, at, "null")
        or _word(octets, at, "true")
        or _word(octets, at, "false")
    )


def _key(octets: Span[UInt8, _], mut at: Int) -> Bool:
    _skip(octets, at)
    if _peek(octets, at) != 34 or not _judge_string(octets, at):
        return False
    _skip(octets, at)
    at += 1
    return _peek(octets, at - 1) == 58


def _word(octets: Span[UInt8, _], mut at: Int, word: StaticString) -> Bool:
    for i in range(word.byte_length()):
        if _peek(octets, at + i) != Int(word.as_bytes()[i]):
            return False
    at += word.byte_length()
    return True


def _digits(octets: Span[UInt8, _], mut at: Int) -> Int:
    var count = 0
    while _peek(octets, at) >= 48 and _peek(octets, at) <= 57:
        at += 1
        count += 1
    return count


def _judge_number(octets: Span[UInt8, _], mut at: Int) -> Bool:
    if _peek(octets, at) == 45:
        at += 1
    var first = _peek(octets, at)
    var count = _digits(octets, at)
    if count == 0 or (first == 48 and count > 1):
        return False
    if _peek(octets, at) == 46:
        at += 1
        if _digits(octets, at) == 0:
            return False
    if _peek(octets, at) == 101 or _peek(octets, at) == 69:
        at += 1
        if _peek(octets, at) == 43 or _peek(octets, at) == 45:
            at += 1
        if _digits(octets, at) == 0:
            return False
    return True


def _judge_string(octets: Span[UInt8, _], mut at: Int) -> Bool:
    at += 1
    var wants_low = False
    while True:
        var octet = _peek(octets, at)
        if octet < 32:
            return False
        var unit = 0
        if octet == 92 and _peek(octets, at + 1) == 117:
            unit = _unit(octets, at + 2)
            if unit < 0:
                return False
            at += 6
        elif octet == 92:
            var letter = _peek(octets, at + 1)
            if letter not in (34, 92, 47, 98, 102, 110, 114, 116):
                return False
            at += 2
        else:
            at += 1
        var is_low = unit >= 0xDC00 and unit <= 0xDFFF
        if is_low != wants_low:
            return False
        wants_low = unit >= 0xD800 and unit <= 0xDBFF
        if octet == 34:
            return True


def _unit(octets: Span[UInt8, _], start: Int) -> Int:
    var unit = 0
    for i in range(4):
        var octet = _peek(octets, start + i)
        if octet >= 48 and octet <= 57:
            unit = unit * 16 + octet - 48
        elif octet >= 97 and octet <= 102:
            unit = unit * 16 + octet - 87
        elif octet >= 65 and octet <= 70:
            unit = unit * 16 + octet - 55
        else:
            return -1
    return unit
