"""Builds URLs from the grammar and judges octets the slow and plain way.

The judge shares nothing with the parser under test: it cuts texts at the first
delimiter and checks the pieces one octet at a time.
"""

from flare.message import Url

from fuzz.random import Random

comptime _SCHEMES: List[StaticString] = [
    "http",
    "https",
    "ws",
    "wss",
    "HTTP",
    "hTTps",
]
comptime _NAME: StaticString = "abzAZ019-._~!$&'()*+,;="
comptime _PORTS: List[StaticString] = [
    "",
    ":",
    ":80",
    ":443",
    ":8080",
    ":0",
    ":65535",
    ":65536",
    ":00080",
    ":99999",
]
comptime _SEGMENTS: List[StaticString] = [
    "/",
    ".",
    "..",
    "/.",
    "/..",
    "/../",
    "a/",
    "...",
]


struct BuiltUrl(Movable):
    """Holds a URL next to the parts it was built of."""

    var scheme: List[UInt8]
    """The scheme."""
    var host: List[UInt8]
    """The host, in brackets if it is an IPv6 address."""
    var port: List[UInt8]
    """The port with its colon, or nothing."""
    var path: List[UInt8]
    """The path."""
    var query: List[UInt8]
    """The query with its question mark, or nothing."""
    var fragment: List[UInt8]
    """The fragment with its number sign, or nothing."""

    def __init__(out self, mut random: Random):
        """Builds a URL.

        Args:
            random: Decides all of it.
        """
        self.scheme = _of(random.pick(materialize[_SCHEMES]()))
        self.host = _host(random)
        self.port = []
        if random.chance(40):
            self.port = _of(random.pick(materialize[_PORTS]()))
        self.path = []
        self.query = []
        self.fragment = []
        if random.chance(80):
            self.path.append(47)
            _add_escaped(self.path, "/ab.:@[]{}|^`Z9%", random)
        if random.chance(50):
            self.query.append(63)
            _add_escaped(self.query, '/?ab=&+"<>\\[]%', random)
        if random.chance(20):
            self.fragment.append(35)
            _add_escaped(self.fragment, "/?ab%", random)

    def authority(self) -> List[UInt8]:
        """Joins host and port.

        Returns:
            The authority.
        """
        var joined = self.host.copy()
        joined.extend(Span(self.port))
        return joined^

    def target(self) -> List[UInt8]:
        """Joins path and query.

        Returns:
            What stands between authority and fragment.
        """
        var joined = self.path.copy()
        joined.extend(Span(self.query))
        return joined^

    def octets(self) -> List[UInt8]:
        """Joins all parts.

        Returns:
            The URL.
        """
        var joined = self.scheme.copy()
        joined.extend("://".as_bytes())
        joined.extend(Span(self.authority()))
        joined.extend(Span(self.target()))
        joined.extend(Span(self.fragment))
        return joined^

    def reference(self, mut random: Random) -> List[UInt8]:
        """Leaves parts of the URL out and adds dot segments.

        Args:
            random: Decides.

        Returns:
            A reference.
        """
        var whole = self.octets()
        if random.chance(20):
            whole = List[UInt8](Span(whole)[len(self.scheme) + 1 :])
        elif random.chance(80):
            whole = List[UInt8]()
            for _ in range(random.below(6)):
                whole.extend(random.pick(materialize[_SEGMENTS]()).as_bytes())
            whole.extend(Span(self.target()))
            whole.extend(Span(self.fragment))
        return whole^


def absolute_form(base: Url, reference: List[UInt8]) -> List[UInt8]:
    """Writes a reference as a URL that may keep its dot segments.

    Args:
        base: The base.
        reference: Any octets.

    Returns:
        A URL of the same origin, if it is one at all.
    """
    var colon = 0
    while colon < len(reference) and _is_scheme_octet(reference[colon]):
        colon += 1
    if colon > 0 and colon < len(reference) and reference[colon] == 58:
        if reference[0] >= 65:
            return reference.copy()
    var joined = List[UInt8](base.scheme().as_bytes())
    joined.append(58)
    var is_absolute = len(reference) > 0 and reference[0] == 47
    if len(reference) < 2 or not is_absolute or reference[1] != 47:
        joined.extend("//".as_bytes())
        joined.extend(base.authority().as_bytes())
        if not is_absolute:
            joined.append(47)
    joined.extend(Span(reference))
    return joined^


def accepts_url(octets: Span[UInt8, _]) -> Bool:
    """Judges whether octets are an absolute URL.

    Args:
        octets: Any octets.

    Returns:
        True if the parser must accept them.
    """
    var colon = _find(octets, 58)
    var scheme = String()
    for b in octets[:colon]:
        scheme += chr(Int(b))
    if scheme.lower() not in ["http", "https", "ws", "wss"]:
        return False
    var rest = octets[colon:]
    if len(rest) < 3 or rest[1] != 47 or rest[2] != 47:
        return False
    rest = rest[3:]
    var fragment_at = _find(rest, 35)
    if not _accepts_text(rest[fragment_at:], "#"):
        return False
    rest = rest[:fragment_at]
    var query_at = _find(rest, 63)
    if not _accepts_text(rest[query_at:], "?"):
        return False
    rest = rest[:query_at]
    var path_at = _find(rest, 47)
    return accepts_authority(rest[:path_at]) and accepts_path(rest[path_at:])


def accepts_path(octets: Span[UInt8, _]) -> Bool:
    """Judges a path.

    Args:
        octets: Any octets.

    Returns:
        True if they are a path, be it empty.
    """
    for b in octets:
        if b == 34 or b == 35 or b == 60 or b == 62 or b == 63 or b == 92:
            return False
    return _is_visible_and_escaped(octets)


def accepts_query(octets: Span[UInt8, _]) -> Bool:
    """Judges a query without its question mark.

    Args:
        octets: Any octets.

    Returns:
        True if they are a query.
    """
    return _find(octets, 35) == len(octets) and _is_visible_and_escaped(octets)


def accepts_authority(octets: Span[UInt8, _]) -> Bool:
    """Judges host and port.

    Args:
        octets: Any octets.

    Returns:
        True if a Host field may have them as its value.
    """
    if len(octets) == 0:
        return False
    var host_octets = _find(octets, 58)
    if octets[0] == 91:
        var close = _find(octets, 93)
        if close == len(octets) or not _accepts_ipv6(octets[1:close]):
            return False
        host_octets = close + 1
    elif not _accepts_name(octets[:host_octets]):
        return False
    var port = octets[host_octets:]
    if len(port) == 0:
        return True
    if port[0] != 58:
        return False
    var number = 0
    for b in port[1:]:
        if b < 48 or b > 57:
            return False
        number = min(number * 10 + Int(b) - 48, 1000000)
    return number < 65536


def _is_scheme_octet(b: UInt8) -> Bool:
    var is_letter = (b | 32) >= 97 and (b | 32) <= 122
    var is_digit = b >= 48 and b <= 57
    return is_letter or is_digit or b == 43 or b == 45 or b == 46


def _accepts_name(octets: Span[UInt8, _]) -> Bool:
    for b in octets:
        if (
            not _is_scheme_octet(b)
            and _find("_~!$&'()*,;=%".as_bytes(), b) == 13
        ):
            return False
    return len(octets) > 0 and _is_visible_and_escaped(octets)


def _accepts_ipv6(octets: Span[UInt8, _]) -> Bool:
    # The text is cut at every colon; an empty piece is a part of a gap.
    var pieces = List[Span[UInt8, octets.origin]]()
    var rest = octets
    while True:
        var end = _find(rest, 58)
        pieces.append(rest[:end])
        if end == len(rest):
            break
        rest = rest[end + 1 :]
    var groups = 0
    var gaps = 0
    for i in range(len(pieces)):
        var is_last = i == len(pieces) - 1
        if len(pieces[i]) == 0:
            if i > 0 and not is_last:
                gaps += 1
            elif len(pieces) < 3 or len(pieces[1 if i == 0 else i - 1]) != 0:
                return False
        elif is_last and _find(pieces[i], 46) != len(pieces[i]):
            if not _accepts_ipv4(pieces[i]):
                return False
            groups += 2
        elif len(pieces[i]) > 4 or not _is_hexadecimal(pieces[i]):
            return False
        else:
            groups += 1
    return groups == 8 if gaps == 0 else gaps == 1 and groups < 8


def _accepts_ipv4(octets: Span[UInt8, _]) -> Bool:
    for b in octets:
        if b != 46 and (b < 48 or b > 57):
            return False
    var text = StringSlice(unsafe_from_utf8=octets)
    var numbers = text.split(".")
    for number in numbers:
        if number.byte_length() < 1 or number.byte_length() > 3:
            return False
        try:
            if Int(number) > 255 or String(Int(number)) != number:
                return False
        except:
            return False
    return len(numbers) == 4


def _accepts_text(octets: Span[UInt8, _], mark: StaticString) -> Bool:
    # What begins with its mark, or is not there at all.
    if len(octets) == 0:
        return True
    return octets[0] == mark.as_bytes()[0] and accepts_query(octets[1:])


def _is_visible_and_escaped(octets: Span[UInt8, _]) -> Bool:
    for i in range(len(octets)):
        if octets[i] < 33 or octets[i] > 126:
            return False
        if octets[i] == 37:
            if i + 2 >= len(octets) or not _is_hexadecimal(
                octets[i + 1 : i + 3]
            ):
                return False
    return True


def _is_hexadecimal(octets: Span[UInt8, _]) -> Bool:
    comptime digits: StaticString = "0123456789abcdefABCDEF"
    for b in octets:
        if _find(digits.as_bytes(), b) == digits.byte_length():
            return False
    return True


def _find(octets: Span[UInt8, _], wanted: UInt8) -> Int:
    for i in range(len(octets)):
        if octets[i] == wanted:
            return i
    return len(octets)


def _of(text: StaticString) -> List[UInt8]:
    return List[UInt8](text.as_bytes())


def _add_escaped(
    mut octets: List[UInt8], members: StaticString, mut random: Random
):
    for b in random.octets_of(members, random.below(24)):
        octets.append(b)
        if b == 37:
            octets.extend(Span(random.octets_of("0129afAF", 2)))


def _host(mut random: Random) -> List[UInt8]:
    if random.chance(60):
        var name = random.octets_of(_NAME, random.between(1, 20))
        if random.chance(10):
            name.extend("%4a".as_bytes())
        return name^
    var host: List[UInt8] = [91]
    var count = random.between(1, 8)
    var gap = random.below(count + 1) if count < 8 else -1
    for i in range(count):
        if i == gap:
            host.extend("::".as_bytes())
        elif i > 0:
            host.append(58)
        host.extend(
            Span(
                random.octets_of("0123456789abcdefABCDEF", 1 + random.below(4))
            )
        )
    if gap == count:
        host.extend("::".as_bytes())
    elif count < 7 and random.chance(30):
        host.extend(":1.2.3.255".as_bytes())
    host.append(93)
    return host^
