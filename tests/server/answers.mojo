"""Reads the answers of a server naively, to compare them with what must come.

Nothing here uses the machine under test.
"""


@fieldwise_init
struct Answer(Copyable, Movable):
    """Holds one response as a client got it."""

    var status: Int
    """The status code."""
    var closes: Bool
    """It says `Connection: close`."""
    var content: String
    """The content."""
    var is_whole: Bool
    """All of it arrived."""
    var head: String
    """The head, up to the empty line."""
    var trailers: String
    """The trailer section of chunked content."""


struct AnswerReader(Copyable, Movable):
    """Cuts what arrives into responses; interim ones are only counted."""

    var octets: List[UInt8]
    """All that has arrived."""
    var at: Int
    """Where the first response begins that is not whole."""
    var answers: List[Answer]
    """The responses that are whole."""
    var interim_count: Int
    """How many interim responses (1xx) there were."""

    def __init__(out self):
        """Begins before the first octet."""
        self.octets = []
        self.at = 0
        self.answers = []
        self.interim_count = 0

    def add(mut self, octets: Span[UInt8, _]):
        """Takes what has arrived.

        Args:
            octets: The next octets of the connection.
        """
        self.octets.extend(octets)

    def read_one(mut self, is_head: Bool) -> Bool:
        """Reads the next final response, if it is whole.

        Args:
            is_head: It answers a HEAD request.

        Returns:
            False if it is not there or not whole.
        """
        while True:
            var answer = self._parse(is_head)
            if not answer.is_whole:
                return False
            if answer.status >= 200 or answer.status == 101:
                self.answers.append(answer^)
                return True
            self.interim_count += 1

    def rest(self, is_head: Bool) -> Answer:
        """Reads what has arrived of a response that is not whole.

        Args:
            is_head: It answers a HEAD request.

        Returns:
            As much as there is; its status is 0 if its head is not whole.
        """
        var at = self.at
        return _parse_at(Span(self.octets), at, is_head)

    def has_rest(self) -> Bool:
        """Tells whether octets are left that are no whole response.

        Returns:
            True if so.
        """
        return self.at < len(self.octets)

    def _parse(mut self, is_head: Bool) -> Answer:
        return _parse_at(Span(self.octets), self.at, is_head)


def read_answers(octets: Span[UInt8, _], is_head: List[Bool]) -> List[Answer]:
    """Cuts what arrived into responses; interim ones are left out.

    Args:
        octets: All that arrived on a connection.
        is_head: For each request whether its method is HEAD; further
            responses are read as answers to GET.

    Returns:
        The responses; the last one may not be whole.
    """
    var reader = AnswerReader()
    reader.add(octets)
    while reader.read_one(_at(is_head, len(reader.answers))):
        pass
    if reader.has_rest():
        reader.answers.append(reader.rest(_at(is_head, len(reader.answers))))
    return reader.answers.copy()


def _at(is_head: List[Bool], index: Int) -> Bool:
    return index < len(is_head) and is_head[index]


def _parse_at(octets: Span[UInt8, _], mut at: Int, is_head: Bool) -> Answer:
    # Moves `at` behind the response if it is whole.
    var begin = at
    var end = _find(octets, begin, "\r\n\r\n")
    var answer = Answer(0, False, String(), False, String(), String())
    if end < 0 or _find(octets[: min(begin + 9, end)], begin, "HTTP/1.1 ") < 0:
        answer.content = _text(octets[begin:])
        return answer^
    answer.head = _text(octets[begin : end + 2])
    answer.status = _number(answer.head, "HTTP/1.1 ")
    answer.closes = answer.head.find("\r\nConnection: close\r\n") >= 0
    var next = end + 4
    if is_head or answer.status < 200 or answer.status in (204, 304):
        answer.is_whole = True
    elif answer.head.find("\r\nTransfer-Encoding: chunked\r\n") >= 0:
        _parse_chunks(octets, next, answer)
    else:
        var length = max(_number(answer.head, "\r\nContent-Length: "), 0)
        answer.is_whole = len(octets) - next >= length
        length = min(length, len(octets) - next)
        answer.content = _text(octets[next : next + length])
        next += length
    if answer.is_whole:
        at = next
    return answer^


def _parse_chunks(octets: Span[UInt8, _], mut next: Int, mut answer: Answer):
    while True:
        var end = _find(octets, next, "\r\n")
        if end < 0:
            return
        var count = 0
        for octet in octets[next:end]:
            count = count * 16 + _digit(octet)
        next = end + 2
        if count == 0:
            break
        answer.content += _text(octets[next : min(next + count, len(octets))])
        if len(octets) - next < count + 2:
            return
        next += count + 2
    var last = next
    while True:
        var end = _find(octets, next, "\r\n")
        if end < 0:
            return
        next = end + 2
        if next == last + 2:
            break
        answer.trailers += _text(octets[last:next])
        last = next
    answer.is_whole = True


def _find(octets: Span[UInt8, _], begin: Int, what: StaticString) -> Int:
    var wanted = what.as_bytes()
    for i in range(begin, len(octets) - len(wanted) + 1):
        if octets[i] == wanted[0]:
            var j = 1
            while j < len(wanted) and octets[i + j] == wanted[j]:
                j += 1
            if j == len(wanted):
                return i
    return -1


def _text(octets: Span[UInt8, _]) -> String:
    return String(StringSlice(unsafe_from_utf8=octets))


def _number(head: String, before: StaticString) -> Int:
    # The digits behind a text, or -1 if the text is not there.
    var at = head.find(before)
    if at < 0:
        return -1
    var number = 0
    for octet in head.as_bytes()[at + before.byte_length() :]:
        if octet < 48 or octet > 57:
            break
        number = number * 10 + Int(octet - 48)
    return number


def _digit(octet: UInt8) -> Int:
    if octet >= 97:
        return Int(octet) - 87
    if octet >= 65:
        return Int(octet) - 55
    return Int(octet) - 48
