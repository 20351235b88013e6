"""Parses HTTP/1.1 messages the slow and obvious way, for comparison.

Everything is found by searching whole lines in whole input. The result is what
a transcript of the machine must say about each complete message.
"""

from flare.core import lower_octet, write_escaped
from flare.message import Method, RequestTarget, valid_host

comptime END = 0
"""Nothing is left behind the last complete message."""
comptime UNDECIDED = 1
"""What is left is no complete message; it may be wrong already."""
comptime REJECTED = 2
"""What is left can never become a message."""

comptime _BODY_MAX = 10 << 20
comptime _TOKEN: StaticString = (
    "!#$%&'*+-.^_`|~0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


@fieldwise_init
struct Rejected(ImplicitlyCopyable, Writable):
    """Says that the rest of the input is wrong or, if not so, incomplete."""

    var is_final: Bool
    """True if it is wrong."""


struct Reference:
    """Parses one input and keeps the transcript of its complete messages."""

    var octets: List[UInt8]
    """The input."""
    var at: Int
    """How far it was read."""
    var lines: List[String]
    """The transcript of the complete messages."""
    var verdict: Int
    """What is behind them."""
    var names: List[String]
    """The field names of the current section, in small letters."""
    var values: List[String]
    """Its values."""
    var minor: Int
    """The minor version of the current head."""
    var is_response: Bool
    """What only a client may read is read."""
    var is_odd: Bool
    """Something of that kind was read in the last message."""
    var was_odd: Bool
    """Something of that kind was read before it."""

    def __init__(out self, octets: Span[UInt8, _]):
        """Takes an input without reading it.

        Args:
            octets: The input.
        """
        self.octets = List[UInt8](octets)
        self.at = 0
        self.lines = []
        self.verdict = END
        self.names = []
        self.values = []
        self.minor = 1
        self.is_response = False
        self.is_odd = False
        self.was_odd = False

    def read_requests(mut self):
        """Reads requests until the input or the connection ends."""
        while self.at < len(self.octets):
            var kept = len(self.lines)
            try:
                if not self._read_request():
                    return
            except e:
                self.lines.shrink(kept)
                self.verdict = REJECTED if e.is_final else UNDECIDED
                return

    def read_response(mut self, method: String):
        """Reads the response to one request, up to the end of the input.

        Args:
            method: The method of the request.
        """
        var kept = 0
        self.is_response = True
        try:
            for _ in range(17):
                kept = len(self.lines)
                if self._read_response(method):
                    if self.at < len(self.octets):
                        self.verdict = REJECTED
                    return
            raise Rejected(True)
        except e:
            self.lines.shrink(kept)
            self.verdict = REJECTED if e.is_final else UNDECIDED

    def _read_request(mut self) raises Rejected -> Bool:
        var skipped = 0
        while self._has(self.at, "\r\n"):
            self.at += 2
            skipped += 1
            _require(skipped <= 4)
        if self.at == len(self.octets):
            raise Rejected(False)
        var head = self._head_lines()
        var words = _words(head[0], 32)
        _require(len(words) == 3)
        _require(_is_token(words[0]) and len(words[0]) <= 32)
        self._read_version(words[2])
        var target = _escaped(words[1])
        for b in target:
            _require(b > 32 and b < 127)
        self._read_fields(head)
        var method = Method.from_octets(Span(words[0]))
        var text = String("= REQUEST_HEAD ") + _text(words[0])
        text += " " + _text(target) + String(" 1.", self.minor)
        self._check_target(target, words[1], method)
        var length = self._content_length()
        var is_chunked = self._is_chunked()
        _require(length < 0 or not is_chunked)
        _require(length <= _BODY_MAX)
        var persists = self._persists()
        text += self._framing(length, is_chunked, False)
        text += "" if persists else " close"
        if self.minor > 0 and (is_chunked or length > 0):
            var expectations = self._all("expect")
            _require(len(expectations) < 2)
            if len(expectations) == 1:
                _require(expectations[0] == "100-continue")
                text += " expects-continue"
        if self._offers_upgrade():
            text += " upgrade"
        self.lines.append(text)
        self._add_fields()
        self._read_body(length, is_chunked)
        self.lines.append("= END_OF_MESSAGE")
        return persists

    def _read_response(mut self, method: String) raises Rejected -> Bool:
        if self.at == len(self.octets):
            raise Rejected(False)
        var head = self._head_lines()
        var line = head[0].copy()
        _require(len(line) >= 12 and line[8] == 32)
        self._read_version(List[UInt8](Span(line)[:8]))
        var status = 0
        for i in range(9, 12):
            _require(line[i] >= 48 and line[i] <= 57)
            status = status * 10 + Int(line[i] - 48)
        _require(status >= 100)
        _require(len(line) == 12 or line[12] == 32)
        _require(_is_content(List[UInt8](Span(line)[12:])))
        self._read_fields(head)
        var length = self._content_length()
        var is_chunked = self._is_chunked()
        if length >= 0 and is_chunked:
            length = -1
            self.is_odd = True
        if self.is_odd:
            self._clean_lengths(length)
        var persists = self._persists() and not self.is_odd
        var is_bodiless = status < 200 or status == 204 or status == 304
        if (status < 200 or status == 204) and (length > 0 or is_chunked):
            persists = False
        is_bodiless = is_bodiless or method == "HEAD"
        var is_tunnel = method == "CONNECT" and status >= 200 and status < 300
        var is_open = False
        if is_bodiless or is_tunnel:
            length = 0
            is_chunked = False
        else:
            _require(length <= _BODY_MAX)
            is_open = length < 0 and not is_chunked
            persists = persists and not is_open
        var text = String("= RESPONSE_HEAD ")
        if status < 200:
            # No run of the harness offers an upgrade.
            _require(status != 101)
            text = String("= INFORMATIONAL_HEAD ")
        text += String(status, " 1.", self.minor)
        text += self._framing(length, is_chunked, is_open)
        text += "" if persists else " close"
        text += " upgrade" if self._offers_upgrade() else ""
        self.lines.append(text)
        self._add_fields()
        if status < 200:
            return False
        if is_tunnel:
            self.lines.append("= UPGRADED")
            self.at = len(self.octets)
            return True
        if is_open:
            length = len(self.octets) - self.at
        self._read_body(length, is_chunked)
        self.lines.append("= END_OF_MESSAGE")
        return True

    def _head_lines(mut self) raises Rejected -> List[List[UInt8]]:
        self.was_odd = self.was_odd or self.is_odd
        self.is_odd = False
        var lines = List[List[UInt8]]()
        while True:
            var line = self._line()
            if len(line) == 0 and len(lines) > 0:
                return lines^
            lines.append(line^)

    def _line(mut self) raises Rejected -> List[UInt8]:
        # To the next CR LF; in a response, to the next LF.
        var end: Int
        var next: Int
        if not self.is_response:
            end = self._find(self.at, "\r\n")
            next = end + 2
        else:
            end = self._find(self.at, "\n")
            next = end + 1
            if end > self.at and self.octets[end - 1] == 13:
                end -= 1
            else:
                self.is_odd = True
        var line = List[UInt8](Span(self.octets)[self.at : end])
        self.at = next
        return line^

    def _read_version(mut self, word: List[UInt8]) raises Rejected:
        _require(len(word) == 8 and _text(word).startswith("HTTP/1."))
        _require(word[7] >= 48 and word[7] <= 57)
        self.minor = Int(word[7] - 48)

    def _read_fields[
        is_trailer: Bool = False
    ](mut self, lines: List[List[UInt8]]) raises Rejected:
        self.names.clear()
        self.values.clear()
        for i in range(1, len(lines)):
            var colon = 0
            while colon < len(lines[i]) and lines[i][colon] != 58:
                colon += 1
            if self.is_response and (lines[i][0] == 32 or lines[i][0] == 9):
                self._read_fold(lines[i], is_trailer)
                continue
            _require(colon < len(lines[i]))
            var name = List[UInt8](Span(lines[i])[:colon])
            _require(_is_token(name))
            var value = List[UInt8](Span(lines[i])[colon + 1 :])
            _require(_is_content(value))
            self.names.append(_text(name))
            self.values.append(_text(_trimmed(value)))

    def _read_fold(
        mut self, line: List[UInt8], is_trailer: Bool
    ) raises Rejected:
        comptime FRAMING: List[String] = [
            "host",
            "connection",
            "content-length",
            "transfer-encoding",
            "expect",
        ]
        _require(len(self.names) > 0 and _is_content(line))
        var last = len(self.names) - 1
        for name in materialize[FRAMING]():
            _require(is_trailer or self.names[last].lower() != name)
        var more = _text(_trimmed(line))
        if self.values[last] != "" and more != "":
            self.values[last] += " "
        self.values[last] += more
        self.is_odd = True

    def _clean_lengths(mut self, length: Int):
        # One line that says the length, or none.
        var names = List[String]()
        var values = List[String]()
        var is_due = length >= 0
        for i in range(len(self.names)):
            if self.names[i].lower() != "content-length":
                names.append(self.names[i])
                values.append(self.values[i])
            elif is_due:
                names.append(self.names[i])
                values.append(String(length))
                is_due = False
        self.names = names^
        self.values = values^

    def _add_fields(mut self):
        for i in range(len(self.names)):
            self.lines.append(
                "= FIELD " + self.names[i] + ": " + self.values[i]
            )

    def _all(self, name: String) -> List[String]:
        var values = List[String]()
        for i in range(len(self.names)):
            if self.names[i].lower() == name:
                values.append(self.values[i].lower())
        return values^

    def _members(self, name: String) raises Rejected -> List[String]:
        var members = List[String]()
        for value in self._all(name):
            # The text is escaped: a tab is four octets.
            var blanked = value.replace("\\x09", " ")
            for part in blanked.split(","):
                var member = String(part.strip(" "))
                if member != "":
                    members.append(member)
        return members^

    def _content_length(mut self) raises Rejected -> Int:
        var values = self._all("content-length")
        if len(values) == 0:
            return -1
        if self.is_response:
            # A line may list several.
            var numbers = List[String]()
            for value in values:
                for part in value.replace("\\x09", " ").split(","):
                    numbers.append(String(part.strip(" ")))
            values = numbers^
            self.is_odd = self.is_odd or len(values) > 1
        else:
            _require(len(values) == 1)
        var length = -1
        for value in values:
            var number = _number(value)
            _require(length < 0 or length == number)
            length = number
        return length

    def _is_chunked(self) raises Rejected -> Bool:
        if len(self._all("transfer-encoding")) == 0:
            return False
        var members = self._members("transfer-encoding")
        _require(len(members) == 1 and members[0] == "chunked")
        _require(self.minor > 0)
        return True

    def _persists(self) raises Rejected -> Bool:
        var closes = False
        var stays = False
        for member in self._members("connection"):
            _require(_is_token(List[UInt8](member.as_bytes())))
            closes = closes or member == "close"
            stays = stays or member == "keep-alive"
        return not closes and (stays or self.minor > 0)

    def _offers_upgrade(self) raises Rejected -> Bool:
        var has_option = False
        for member in self._members("connection"):
            has_option = has_option or member == "upgrade"
        return has_option and self.minor > 0 and len(self._all("upgrade")) > 0

    def _check_target(
        mut self, target: List[UInt8], received: List[UInt8], method: Method
    ) raises Rejected:
        # Host and target have harnesses of their own.
        var hosts = self._all("host")
        _require(len(hosts) < 2)
        _require(len(hosts) == 1 or self.minor == 0)
        if len(hosts) == 1:
            _require(valid_host(hosts[0].as_bytes()))
        _require(method != Method.CONNECT)
        var parsed: RequestTarget
        try:
            parsed = RequestTarget.parse(Span(target), method)
        except:
            raise Rejected(True)
        if parsed.form != RequestTarget.ABSOLUTE_FORM:
            return
        var text = _text(target)
        var start = text.find("://") + 3
        var end = start
        while end < len(received) and (
            received[end] != 47 and received[end] != 63
        ):
            _require(received[end] < 128)
            end += 1
        for i in range(len(self.names)):
            if self.names[i].lower() == "host":
                self.values[i] = String(text[byte=start:end])

    def _framing(self, length: Int, is_chunked: Bool, is_open: Bool) -> String:
        if is_open:
            return " until-close"
        if is_chunked:
            return " chunked"
        return String(" length=", length) if length > 0 else " none"

    def _read_body(mut self, length: Int, is_chunked: Bool) raises Rejected:
        var body = List[UInt8]()
        if length > 0:
            self._take(body, length)
        if is_chunked:
            while self._read_chunk(body):
                pass
        if len(body) > 0:
            self.lines.append("= DATA " + _text(body))
        if not is_chunked:
            return
        var lines: List[List[UInt8]] = [[]]
        while True:
            var line = self._line()
            if len(line) == 0:
                break
            lines.append(line^)
        self._read_fields[True](lines)
        if len(self.names) > 0:
            self.lines.append("= TRAILERS")
            self._add_fields()

    def _read_chunk(mut self, mut body: List[UInt8]) raises Rejected -> Bool:
        var line = self._line()
        var digits = 0
        var size = 0
        while digits < len(line):
            var value = StaticString("0123456789abcdef").find(
                chr(Int(lower_octet(line[digits]) & 127))
            )
            if value < 0 or line[digits] > 127:
                break
            size = min(size * 16 + value, 1 << 50)
            digits += 1
        _require(digits > 0 and digits <= 16)
        _require(size <= _BODY_MAX - len(body))
        var rest = digits
        while rest < len(line) and (line[rest] == 32 or line[rest] == 9):
            rest += 1
        _require(rest == len(line) or line[rest] == 59)
        if rest == len(line) and digits < rest:
            _require(self.is_response)
            self.is_odd = True
        _require(len(line) - digits <= 256)
        _require(_is_content(List[UInt8](Span(line)[rest:])))
        if size == 0:
            return False
        self._take(body, size)
        if self.is_response and self._has(self.at, "\n"):
            self.is_odd = True
            self.at += 1
            return True
        if self.at + 2 > len(self.octets):
            raise Rejected(False)
        _require(self._has(self.at, "\r\n"))
        self.at += 2
        return True

    def _take(mut self, mut body: List[UInt8], count: Int) raises Rejected:
        if self.at + count > len(self.octets):
            raise Rejected(False)
        body.extend(Span(self.octets)[self.at : self.at + count])
        self.at += count

    def _has(self, at: Int, text: StaticString) -> Bool:
        var wanted = text.as_bytes()
        if at + len(wanted) > len(self.octets):
            return False
        for i in range(len(wanted)):
            if self.octets[at + i] != wanted[i]:
                return False
        return True

    def _find(self, start: Int, text: StaticString) raises Rejected -> Int:
        for at in range(start, len(self.octets)):
            if self._has(at, text):
                return at
        raise Rejected(False)


def _require(condition: Bool) raises Rejected:
    if not condition:
        raise Rejected(True)


def _number(text: String) raises Rejected -> Int:
    _require(text.byte_length() > 0 and text.byte_length() < 20)
    # More than fits is more than any body may have: it only has to differ.
    var number: UInt64 = 0
    for b in text.as_bytes():
        _require(b >= 48 and b <= 57)
        number = number * 10 + UInt64(b - 48)
    _require(number <= UInt64(Int.MAX))
    return Int(number)


def _is_token(octets: List[UInt8]) -> Bool:
    for b in octets:
        var is_member = False
        for member in _TOKEN.as_bytes():
            is_member = is_member or member == b
        if not is_member:
            return False
    return len(octets) > 0


def _is_content(octets: List[UInt8]) -> Bool:
    for b in octets:
        if (b < 32 and b != 9) or b == 127:
            return False
    return True


def _trimmed(octets: List[UInt8]) -> List[UInt8]:
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == 32 or octets[start] == 9):
        start += 1
    while end > start and (octets[end - 1] == 32 or octets[end - 1] == 9):
        end -= 1
    return List[UInt8](Span(octets)[start:end])


def _words(octets: List[UInt8], separator: UInt8) -> List[List[UInt8]]:
    var words: List[List[UInt8]] = [[]]
    for b in octets:
        if b == separator:
            words.append([])
        else:
            words[len(words) - 1].append(b)
    return words^


def _escaped(octets: List[UInt8]) -> List[UInt8]:
    # Octets over 127 as their escapes.
    var text = List[UInt8]()
    for b in octets:
        if b < 128:
            text.append(b)
        else:
            text.append(37)
            text.extend(hex(b, prefix="").upper().as_bytes())
    return text^


def _text(octets: List[UInt8]) -> String:
    var text = String()
    write_escaped(Span(octets), text)
    return text^
