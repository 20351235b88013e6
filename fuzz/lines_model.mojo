"""Builds and cuts text files of the system, field by field."""

from fuzz.random import Random

comptime Octets = List[UInt8]
"""Octets of a field."""

comptime NAMES: List[StaticString] = [
    "a",
    "db",
    "Web.example",
    "web.example.",
    "localhost",
    "x-1_y.test",
    "bad@name",
    "1.2.3",
    "0x7f",
    "a..b",
    "-",
]
"""Names, a few of which are none."""

comptime ADDRESSES: List[StaticString] = [
    "127.0.0.1",
    "10.0.0.2",
    "::1",
    "2001:db8::5",
    "::ffff:10.0.0.1",
    "fe80::1%eth0",
    "010.0.0.1",
    "1.2.3",
    "256.1.1.1",
]
"""Addresses, a few of which are none."""


def draw_blank(mut random: Random) -> Octets:
    """Draws what divides fields.

    Args:
        random: Draws it.

    Returns:
        White space.
    """
    return random.octets_of(" \t\r  ", random.between(1, 3))


def draw_name(mut random: Random) -> Octets:
    """Draws a name of a few, so that names meet again.

    Args:
        random: Draws it.

    Returns:
        A name, or what is none.
    """
    if random.chance(5):
        return random.octets_of("ab", random.between(60, 66))
    if random.chance(2):
        return random.octets_of("aaaaaaaaaaaaaaaaab.", random.between(250, 256))
    return Octets(random.pick(materialize[NAMES]()).as_bytes())


def draw_address(mut random: Random) -> Octets:
    """Draws an address.

    Args:
        random: Draws it.

    Returns:
        An address, or what is none.
    """
    return Octets(random.pick(materialize[ADDRESSES]()).as_bytes())


def cut_lines(octets: Span[UInt8, _]) -> List[List[Octets]]:
    """Cuts a file into lines and these into fields.

    Args:
        octets: The file.

    Returns:
        The fields of each line that is at most 4,096 octets long.
    """
    var lines = List[List[Octets]]()
    var fields = List[Octets]()
    var field = Octets()
    var length = 0
    for i in range(len(octets) + 1):
        var is_end = i == len(octets) or octets[i] == 10
        var is_blank = is_end or octets[i] == 32
        if not is_blank and octets[i] >= 9 and octets[i] <= 13:
            is_blank = True
        if not is_blank:
            field.append(octets[i])
        elif len(field) > 0:
            fields.append(field.copy())
            field.clear()
        if not is_end:
            length += 1
            continue
        if length <= 4096:
            lines.append(fields.copy())
        fields.clear()
        length = 0
    return lines^


def is_host_name(octets: Span[UInt8, _]) -> Bool:
    """Judges a name plainly.

    Args:
        octets: Any octets.

    Returns:
        True for letters, digits, hyphens and underscores in labels, the last of
        which is no number.
    """
    var labels = List[Octets]()
    labels.append(Octets())
    for octet in octets:
        if octet == 46:
            labels.append(Octets())
            continue
        var is_letter = octet | 32 >= 97 and octet | 32 <= 122
        var is_digit = octet >= 48 and octet <= 57
        if not is_letter and not is_digit and octet != 45 and octet != 95:
            return False
        labels[len(labels) - 1].append(octet)
    if len(labels) > 1 and len(labels[len(labels) - 1]) == 0:
        _ = labels.pop()
    var whole = len(labels) - 1
    for label in labels:
        whole += len(label)
        if len(label) == 0 or len(label) > 63:
            return False
    if whole > 253:
        return False
    var last = String(
        StringSlice(unsafe_from_utf8=Span(labels[len(labels) - 1]))
    ).lower()
    var digits: StaticString = "0123456789"
    if last.startswith("0x"):
        var rest = String(last[byte=2:])
        last = rest^
        digits = "0123456789abcdef"
    for octet in last.as_bytes():
        if octet not in Octets(digits.as_bytes()):
            return True
    return False
