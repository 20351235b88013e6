"""Converts names of hosts with letters beyond ASCII to the form that DNS and
the protocols use (RFC 5891 section 5; Punycode, RFC 3492).

Letters become lower case first. The tables of Unicode's normal forms are larger
than the rest of a client. So only letters are accepted of which the normal form
is known without them: those of the scripts in `_RANGES`, each as one code
point. A name that contains others is refused, never guessed, and has to be
written as `xn--…`.
"""

from std.builtin.globals import global_constant

from .syntax_error import SyntaxError

comptime NOT_CONVERTED: StaticString = (
    "a letter that is not converted: write the host as xn--…"
)
"""The reason of the error about a letter outside the supported scripts."""

comptime _LABEL_OCTETS_MAX = 63
comptime _HOST_OCTETS_MAX = 253
comptime _PREFIX: StaticString = "xn--"
comptime _HYPHEN: UInt8 = 45
comptime _DOT: UInt8 = 46
# The parameters of Punycode (RFC 3492 section 5).
comptime _BASE = 36
comptime _T_MIN = 1
comptime _T_MAX = 26
comptime _SKEW = 38
comptime _DAMP = 700
comptime _FIRST_BIAS = 72
comptime _FIRST = 128

# First and last letter of each range, in lower case. The gaps are letters that
# have another normal form (Unicode Technical Standard 46), and marks that
# combine with the letter before them.
comptime _RANGES: Array[Int, 76] = [
    # Latin: West and Central European, African, Vietnamese.
    0xDF,
    0xF6,
    0xF8,
    0x131,
    0x134,
    0x13E,
    0x141,
    0x148,
    0x14A,
    0x17E,
    0x180,
    0x1C3,
    0x1CD,
    0x1F0,
    0x1F4,
    0x24F,
    0x1E01,
    0x1E99,
    0x1E9F,
    0x1EFF,
    # Greek, Cyrillic, Armenian.
    0x390,
    0x390,
    0x3AC,
    0x3CE,
    0x430,
    0x481,
    0x48B,
    0x52F,
    0x561,
    0x586,
    # Hebrew, Arabic.
    0x5D0,
    0x5EA,
    0x620,
    0x63F,
    0x641,
    0x64A,
    0x660,
    0x669,
    0x679,
    0x6D3,
    # Devanagari, Thai.
    0x904,
    0x928,
    0x92A,
    0x930,
    0x932,
    0x933,
    0x935,
    0x939,
    0x93E,
    0x94D,
    0x966,
    0x96F,
    0xE01,
    0xE32,
    0xE34,
    0xE39,
    0xE40,
    0xE4E,
    0xE50,
    0xE59,
    # Japanese, Chinese, Korean.
    0x3005,
    0x3007,
    0x3041,
    0x3096,
    0x30A1,
    0x30FA,
    0x30FC,
    0x30FC,
    0x3400,
    0x4DBF,
    0x4E00,
    0x9FFF,
    0xAC00,
    0xD7A3,
    0x20000,
    0x2A6DF,
]


@no_inline
def ascii_host(host: Span[UInt8, _]) raises SyntaxError -> List[UInt8]:
    """Returns the form of a host in ASCII.

    Args:
        host: The name, in UTF-8.

    Returns:
        The name, of which each label beyond ASCII is in Punycode behind
        `xn--`.

    Raises:
        SyntaxError: If the name is not UTF-8, has a letter outside of the
            supported scripts, or is longer than DNS allows.
    """
    var name: String
    try:
        name = String(StringSlice(from_utf8=host))
    except:
        raise SyntaxError("host", 0, "not UTF-8")
    # In lower case, it is two letters, which Mojo does not return.
    if "\u0130" in name:
        raise SyntaxError("host", 0, NOT_CONVERTED)
    name = name.lower()
    var text = List[UInt8](capacity=2 * len(host))
    var label = List[Int]()
    var last_class = 0
    for point in name.codepoints():
        var letter = Int(point.to_u32())
        # The full stops of East Asian keyboards.
        if letter == 46 or letter == 0x3002 or letter == 0xFF0E:
            _append_label(label, text)
            text.append(_DOT)
            label.clear()
            continue
        var mark_class = _mark_class(letter)
        if (
            letter >= _FIRST
            and not _is_known(letter)
            or 0 < mark_class < last_class
        ):
            raise SyntaxError("host", 0, NOT_CONVERTED)
        last_class = mark_class
        label.append(letter)
        if len(label) > _LABEL_OCTETS_MAX:
            raise SyntaxError("host", 0, "a label of over 63 octets")
    _append_label(label, text)
    if len(text) > _HOST_OCTETS_MAX + 1:
        raise SyntaxError("host", 0, "over 253 octets")
    return text^


@always_inline
def _is_known(letter: Int) -> Bool:
    ref ranges = global_constant[_RANGES]()
    for i in range(0, len(ranges), 2):
        if ranges.unsafe_get(i) <= letter <= ranges.unsafe_get(i + 1):
            return True
    return False


def _mark_class(letter: Int) -> Int:
    # Of several marks on a letter, the normal form has the lower class first.
    if letter == 0x94D:
        return 9
    if letter == 0xE38 or letter == 0xE39:
        return 103
    return 107 if 0xE48 <= letter <= 0xE4B else 0


def _append_label(label: List[Int], mut text: List[UInt8]) raises SyntaxError:
    var start = len(text)
    var count = len(label)
    var basic = 0
    for letter in label:
        basic += Int(letter < _FIRST)
    var is_ascii = basic == count
    if not is_ascii:
        # They would be labels of other conventions, or no names.
        if (
            label.unsafe_get(0) == Int(_HYPHEN)
            or label.unsafe_get(count - 1) == Int(_HYPHEN)
            or count > 3
            and label.unsafe_get(2) == Int(_HYPHEN)
            and label.unsafe_get(3) == Int(_HYPHEN)
        ):
            raise SyntaxError("host", 0, "a hyphen in the wrong place")
        text.extend(_PREFIX.as_bytes())
    for letter in label:
        if letter < _FIRST:
            text.append(UInt8(letter))
    if not is_ascii:
        _append_punycode(label, basic, text)
    if len(text) - start > _LABEL_OCTETS_MAX:
        raise SyntaxError("host", 0, "a label of over 63 octets")


@always_inline
def _append_punycode(label: List[Int], basic: Int, mut text: List[UInt8]):
    # The encoding procedure of RFC 3492 section 6.3.
    if basic > 0:
        text.append(_HYPHEN)
    var bias = _FIRST_BIAS
    var delta = 0
    var done = basic
    var next = _FIRST
    while done < len(label):
        var least = Int.MAX
        for letter in label:
            if letter >= next:
                least = min(least, letter)
        delta += (least - next) * (done + 1)
        next = least
        for letter in label:
            if letter < next:
                delta += 1
            elif letter == next:
                _append_number(delta, bias, text)
                bias = _adapted(delta, done + 1, done == basic)
                delta = 0
                done += 1
        delta += 1
        next += 1


@always_inline
def _append_number(number: Int, bias: Int, mut text: List[UInt8]):
    var rest = number
    var k = _BASE
    while True:
        var threshold = min(max(k - bias, _T_MIN), _T_MAX)
        if rest < threshold:
            break
        var digit = threshold + (rest - threshold) % (_BASE - threshold)
        text.append(_digit(digit))
        rest = (rest - threshold) // (_BASE - threshold)
        k += _BASE
    text.append(_digit(rest))


@always_inline
def _digit(value: Int) -> UInt8:
    # 0 to 25 are letters, 26 to 35 the digits from 0.
    return UInt8(97 + value if value < 26 else 22 + value)


def _adapted(delta: Int, count: Int, is_first: Bool) -> Int:
    # Section 6.1.
    var rest = delta // (_DAMP if is_first else 2)
    rest += rest // count
    var k = 0
    while rest > (_BASE - _T_MIN) * _T_MAX // 2:
        rest //= _BASE - _T_MIN
        k += _BASE
    return k + (_BASE - _T_MIN + 1) * rest // (rest + _SKEW)
