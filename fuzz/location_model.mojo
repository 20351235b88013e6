"""Reads a Location octet by octet, state by state, as the WHATWG URL Standard
writes its parser down (section 4.4).

The model shares nothing with the parser under test. It knows the states that a
URL of http, https, ws or wss reaches, and refuses user information.
"""

from flare.message import Url
from flare.message.international_host import ascii_host

from fuzz.url_model import accepts_authority

comptime _HOST: StaticString = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    "!$&'()*+,;="
)


struct _State:
    comptime SCHEME = 0
    comptime SPECIAL_RELATIVE_OR_AUTHORITY = 1
    comptime RELATIVE = 2
    comptime RELATIVE_SLASH = 3
    comptime IGNORE_SLASHES = 4
    comptime AUTHORITY = 5
    comptime PATH_START = 6
    comptime PATH = 7
    comptime QUERY = 8
    comptime FRAGMENT = 9


struct FollowedUrl(Movable):
    """Holds the parts of the URL that a Location means."""

    var is_url: Bool
    """Whether there is one; else no other part counts."""
    var scheme: String
    """The scheme in small letters."""
    var host: String
    """The host, an IPv6 address without brackets."""
    var port: Int
    """The port; that of the scheme if none is written."""
    var path: String
    """The path."""
    var query: String
    """The query with its question mark; empty if there is none."""
    var fragment: String
    """The fragment with its number sign; empty if there is none."""
    # What the state machine remembers.
    var _state: Int
    var _input: List[UInt8]
    var _next: Int
    var _buffer: String
    var _authority: List[UInt8]
    var _segments: List[String]

    def __init__(out self, base: Url, location: List[UInt8]):
        """Follows a Location.

        Args:
            base: The base.
            location: Any octets.
        """
        self.is_url = True
        self.scheme = String(base.scheme())
        self.host = String(base.host())
        self.port = base.port()
        self.path = String()
        self.query = String()
        self.fragment = String()
        self._state = _State.SCHEME
        self._input = _cleaned(location)
        self._next = 0
        self._buffer = String()
        self._authority = List[UInt8]()
        self._segments = List[String]()
        while self.is_url and self._next <= len(self._input):
            # Where the input is over, the octet is -1.
            var c = -1
            if self._next < len(self._input):
                c = Int(self._input[self._next])
            self._next += 1
            if self._state <= _State.SPECIAL_RELATIVE_OR_AUTHORITY:
                self._take_scheme(base, c)
            elif self._state <= _State.RELATIVE_SLASH:
                self._take_relative(base, c)
            elif self._state <= _State.PATH_START:
                self._take_front(c)
            else:
                self._take_rear(c)
        for segment in self._segments:
            self.path.write("/", segment)

    def _again(mut self, state: Int):
        # The next state gets the same octet.
        self._next -= 1
        self._state = state

    def _take_scheme(mut self, base: Url, c: Int):
        if self._state == _State.SPECIAL_RELATIVE_OR_AUTHORITY:
            var has_two = (
                c == 47
                and self._next < len(self._input)
                and self._input[self._next] == 47
            )
            if not has_two:
                return self._again(_State.RELATIVE)
            self._next += 1
            self._state = _State.IGNORE_SLASHES
            return
        var is_letter = c > 0 and (c | 32) >= 97 and (c | 32) <= 122
        var is_other = c in (43, 45, 46) or (c >= 48 and c <= 57)
        if is_letter or (is_other and self._buffer):
            self._buffer += chr(c)
            return
        if c == 58 and self._buffer:
            self.scheme = self._buffer.lower()
            self.is_url = self.scheme in ["http", "https", "ws", "wss"]
            self._state = _State.IGNORE_SLASHES
            if self.scheme == base.scheme():
                self._state = _State.SPECIAL_RELATIVE_OR_AUTHORITY
        else:
            self._next = 0
            self._state = _State.RELATIVE
        self._buffer = ""

    def _take_relative(mut self, base: Url, c: Int):
        if self._state == _State.RELATIVE_SLASH:
            if _is_slash(c):
                self._state = _State.IGNORE_SLASHES
            else:
                self._again(_State.PATH)
        elif _is_slash(c):
            self._state = _State.RELATIVE_SLASH
        elif c == 63:
            self.path = String(base.path())
            self.query = "?"
            self._state = _State.QUERY
        elif c == 35 or c == -1:
            self.path = String(base.path())
            if base.query():
                self.query = String("?", base.query().value())
            if c == 35:
                self.fragment = "#"
                self._state = _State.FRAGMENT
        else:
            # The folder of the base stands in front of the rest, and is read
            # as if the Location had it.
            var folder = List[UInt8](base.path().as_bytes())
            while folder[len(folder) - 1] != 47:
                _ = folder.pop()
            folder.extend(Span(self._input)[self._next - 1 :])
            self._input = folder^
            self._next = 1
            self._state = _State.PATH

    def _take_front(mut self, c: Int):
        if self._state == _State.IGNORE_SLASHES:
            if not _is_slash(c):
                self._again(_State.AUTHORITY)
        elif self._state == _State.AUTHORITY:
            if not _is_slash(c) and c != 63 and c != 35 and c != -1:
                self._authority.append(UInt8(c))
                return
            self.is_url = self._take_authority(self._authority.copy())
            self._again(_State.PATH_START)
        elif _is_slash(c):
            self._state = _State.PATH
        else:
            self._again(_State.PATH)

    def _take_rear(mut self, c: Int):
        var begins_query = c == 63 and self._state == _State.PATH
        var begins_fragment = c == 35 and self._state != _State.FRAGMENT
        if self._state == _State.PATH:
            if c == -1 or _is_slash(c) or begins_query or begins_fragment:
                self._end_segment(_is_slash(c))
            else:
                _add(self._buffer, c, ' "#<>?^`{}')
        if begins_query:
            self.query = "?"
            self._state = _State.QUERY
        elif begins_fragment:
            self.fragment = "#"
            self._state = _State.FRAGMENT
        elif c != -1 and self._state == _State.QUERY:
            _add(self.query, c, " \"#<>'")
        elif c != -1 and self._state == _State.FRAGMENT:
            _add(self.fragment, c, ' "<>`')

    def _end_segment(mut self, has_slash: Bool):
        var dots = self._buffer.lower().replace("%2e", ".")
        if dots == ".." and len(self._segments) > 0:
            _ = self._segments.pop()
        if dots != "." and dots != "..":
            self._segments.append(self._buffer)
        elif not has_slash:
            self._segments.append("")
        self._buffer = ""

    def _take_authority(mut self, authority: List[UInt8]) -> Bool:
        var host = List[UInt8]()
        var port = List[UInt8]()
        var is_bracketed = len(authority) > 0 and authority[0] == 91
        if is_bracketed:
            if not accepts_authority(Span(authority)):
                return False
        var has_ended = False
        for octet in authority:
            if octet == 64:
                return False
            if octet == 58 and not (is_bracketed and 93 not in host):
                has_ended = True
            if has_ended:
                port.append(octet)
            else:
                host.append(octet)
        if not is_bracketed:
            host = _decoded(host)
            # `fuzz_international_host` judges the conversion.
            for octet in host:
                if octet >= 128:
                    try:
                        host = ascii_host(Span(host))
                    except:
                        return False
                    break
            for octet in host:
                if not _is_in(_HOST, Int(octet)):
                    return False
        else:
            _ = host.pop(0)
            _ = host.pop()
        self.host = String(from_utf8_lossy=Span(host)).lower()
        if not is_bracketed and not self._take_address():
            return False
        var judged = List[UInt8]("h".as_bytes())
        judged.extend(Span(port))
        if len(host) == 0 or not accepts_authority(Span(judged)):
            return False
        self.port = 443 if self.scheme in ["https", "wss"] else 80
        if len(port) > 1:
            self.port = 0
            for digit in Span(port)[1:]:
                self.port = self.port * 10 + Int(digit) - 48
        return True

    def _take_address(mut self) -> Bool:
        # Sections 3.5 to 3.8; False where the host ends in a number and is no
        # address.
        var labels = List[String]()
        for part in self.host.split("."):
            labels.append(String(part))
        if len(labels) > 1 and labels[len(labels) - 1] == "":
            _ = labels.pop()
        var last = labels[len(labels) - 1]
        if not _is_digits(last, 10) and not (
            last.startswith("0x")
            and _is_digits("0" + String(last[byte=2:]), 16)
        ):
            return True
        if len(labels) > 4:
            return False
        var numbers = List[Float64]()
        for label in labels:
            if label == "":
                return False
            var digits = label
            var radix = 10
            if label.startswith("0x"):
                radix = 16
                digits = "0" + String(label[byte=2:])
            elif label.startswith("0"):
                radix = 8
            if not _is_digits(digits, radix):
                return False
            var number = Float64(0)
            for digit in digits.as_bytes():
                var value = Int(digit) - 48
                if value > 9:
                    value = Int(digit) - 87
                number = min(number * Float64(radix) + Float64(value), 1e15)
            numbers.append(number)
        var address = numbers[len(numbers) - 1]
        var room = Float64(1)
        for _ in range(5 - len(numbers)):
            room *= 256
        if address >= room:
            return False
        for i in range(len(numbers) - 1):
            if numbers[i] > 255:
                return False
            var weight = Float64(1)
            for _ in range(3 - i):
                weight *= 256
            address += numbers[i] * weight
        var rest = Int(address)
        self.host = String(
            rest // 16777216,
            ".",
            rest // 65536 % 256,
            ".",
            rest // 256 % 256,
            ".",
            rest % 256,
        )
        return True


def _is_slash(octet: Int) -> Bool:
    return octet == 47 or octet == 92


def _cleaned(location: List[UInt8]) -> List[UInt8]:
    var cleaned = location.copy()
    while len(cleaned) > 0 and cleaned[0] <= 32:
        _ = cleaned.pop(0)
    while len(cleaned) > 0 and cleaned[len(cleaned) - 1] <= 32:
        _ = cleaned.pop()
    var i = 0
    while i < len(cleaned):
        if Int(cleaned[i]) in (9, 10, 13):
            _ = cleaned.pop(i)
        else:
            i += 1
    return cleaned^


def _decoded(octets: List[UInt8]) -> List[UInt8]:
    var decoded = List[UInt8]()
    var i = 0
    while i < len(octets):
        if octets[i] == 37 and i + 2 < len(octets):
            var high = _digit(octets[i + 1])
            var low = _digit(octets[i + 2])
            if high >= 0 and low >= 0:
                decoded.append(UInt8(high * 16 + low))
                i += 3
                continue
        decoded.append(octets[i])
        i += 1
    return decoded^


def _digit(octet: UInt8) -> Int:
    var digits: StaticString = "0123456789abcdef"
    var lower = octet | 32 if octet >= 65 and octet <= 70 else octet
    for i in range(16):
        if digits.as_bytes()[i] == lower:
            return i
    return -1


def _is_digits(text: String, radix: Int) -> Bool:
    for octet in text.as_bytes():
        var digit = _digit(octet)
        if digit < 0 or digit >= radix:
            return False
    return text.byte_length() > 0


def _add(mut text: String, octet: Int, escaped: StaticString):
    # A percent-encode set: what is no visible ASCII, and some that is.
    comptime digits: StaticString = "0123456789ABCDEF"
    if octet > 32 and octet < 127 and not _is_in(escaped, octet):
        text += chr(octet)
        return
    text += "%"
    text += digits[byte=octet // 16]
    text += digits[byte=octet % 16]


def _is_in(members: StaticString, octet: Int) -> Bool:
    for member in members.as_bytes():
        if Int(member) == octet:
            return True
    return False
