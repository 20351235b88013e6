"""Lists the rules of HTTP/1.1 that a peer can break.

A rule is identified by its phrase, which appears in the check, in the answer
to the peer and beside the rule's counter. It never contains octets of a peer.
"""

from std.builtin.globals import global_constant

comptime _PHRASES: List[StaticString] = [
    "method is too long",
    "method is not a token before one space",
    "request target exceeds the limit",
    "request target holds a forbidden octet",
    "no space between version and status",
    "status code is not a number over 99",
    "status code has more than three digits",
    "reason phrase exceeds the limit",
    "reason phrase holds a forbidden octet",
    "CR without LF in a status line",
    "too many empty lines before a request",
    "CR without LF before a request line",
    "request line does not end at its version",
    "CR without LF in a request line",
    "LF without CR in a request line",
    "version is not HTTP/digit.digit",
    "major version is not 1",
    "too many field lines",
    "CR without LF in a section",
    "field value holds a forbidden octet",
    "CR without LF in a field line",
    "LF without CR in a field line",
    "folded field line about framing",
    "field section exceeds the limit",
    "field name is empty",
    "white space before a colon",
    "folded field line",
    "white space before the first field line",
    "field line without a colon",
    "field name holds a forbidden octet",
    "more than one Host",
    "Content-Length beside Transfer-Encoding",
    "Content-Length exceeds the body limit",
    "Host is not valid",
    "Host is missing",
    "Expect is not 100-continue",
    "CONNECT to an origin server",
    "request target is not valid",
    "Transfer-Encoding in HTTP/1.0",
    "transfer coding is not chunked",
    "Transfer-Encoding is empty",
    "more than one Content-Length",
    "two different Content-Lengths",
    "chunked is repeated or not last",
    "transfer coding is not a token",
    "chunked with parameters",
    "Content-Length is empty or too long",
    "Content-Length is not a number",
    "Content-Length is out of range",
    "Connection is not a list of tokens",
    "blank in a chunk size",
    "control octet in a chunk extension",
    "chunk size has more than 16 digits",
    "chunk size is missing",
    "chunk size is not hexadecimal",
    "chunked body exceeds the limit",
    "chunk does not end at its size",
    "CR without LF between chunks",
    "chunk extension exceeds the limit",
    "chunk extensions exceed the limit",
    "101 without an offer to upgrade",
    "101 before the request was complete",
    "too many informational responses",
    "body exceeds the limit",
    "CR without LF behind the chunks",
    "octets that answer no request",
    "the head took too long",
]
comptime _COUNT = len(_PHRASES)
comptime _TABLE = _phrases()


def _phrases() -> Array[StaticString, _COUNT]:
    var table = Array[StaticString, _COUNT](fill="")
    var phrases = materialize[_PHRASES]()
    for i in range(_COUNT):
        table[i] = phrases[i]
    return table^


@fieldwise_init
struct H1Rule(Equatable, TrivialRegisterPassable):
    """A rule that a peer can break, or none."""

    comptime COUNT = _COUNT
    """The number of rules; their indexes start at 0."""
    comptime NONE = Self(255)
    """No rule: the request exceeds a limit of the program, or of time."""

    var index: UInt8
    """The place of the rule in the list."""

    @staticmethod
    def of[phrase: StaticString]() -> Self:
        """Returns the rule of a phrase, at compile time.

        Parameters:
            phrase: The phrase of the rule.

        Returns:
            The rule.
        """
        comptime INDEX = _index_of(phrase)
        comptime assert INDEX >= 0, "no such rule"
        return Self(UInt8(INDEX))

    def phrase(self) -> StaticString:
        """Returns the phrase of the rule.

        Returns:
            The phrase; empty for `NONE`.
        """
        if Int(self.index) >= _COUNT:
            return ""
        return global_constant[_TABLE]().unsafe_get(Int(self.index))


def _index_of(phrase: StaticString) -> Int:
    # One octet at a time: the compiler cannot evaluate vector loops.
    var wanted = phrase.as_bytes()
    var phrases = materialize[_PHRASES]()
    for i in range(_COUNT):
        var found = phrases[i].as_bytes()
        var is_equal = len(found) == len(wanted)
        for k in range(len(found) if is_equal else 0):
            is_equal = is_equal and found[k] == wanted[k]
        if is_equal:
            return i
    return -1
