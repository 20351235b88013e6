"""Lists the rules of HTTP/1.1 that a peer can break.

A rule is identified by its phrase, which appears in the check, in the answer
to the peer and beside the rule's counter. It never contains octets of a peer.
The list also says with which status a server answers (RFC 9110 section 15).
"""

from std.builtin.globals import global_constant


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var phrase: StaticString
    var status: Int


comptime _ROWS: List[_Row] = [
    _Row("method is too long", 501),
    _Row("method is not a token before one space", 400),
    _Row("request target exceeds the limit", 414),
    _Row("request target holds a forbidden octet", 400),
    _Row("no space between version and status", 400),
    _Row("status code is not a number over 99", 400),
    _Row("status code has more than three digits", 400),
    _Row("reason phrase exceeds the limit", 400),
    _Row("reason phrase holds a forbidden octet", 400),
    _Row("CR without LF in a status line", 400),
    _Row("too many empty lines before a request", 400),
    _Row("CR without LF before a request line", 400),
    _Row("request line does not end at its version", 400),
    _Row("CR without LF in a request line", 400),
    _Row("LF without CR in a request line", 400),
    _Row("version is not HTTP/digit.digit", 400),
    _Row("major version is not 1", 505),
    _Row("too many field lines", 431),
    _Row("CR without LF in a section", 400),
    _Row("field value holds a forbidden octet", 400),
    _Row("CR without LF in a field line", 400),
    _Row("LF without CR in a field line", 400),
    _Row("folded field line about framing", 400),
    _Row("field section exceeds the limit", 431),
    _Row("field name is empty", 400),
    _Row("white space before a colon", 400),
    _Row("folded field line", 400),
    _Row("white space before the first field line", 400),
    _Row("field line without a colon", 400),
    _Row("field name holds a forbidden octet", 400),
    _Row("more than one Host", 400),
    _Row("Content-Length beside Transfer-Encoding", 400),
    _Row("Content-Length exceeds the body limit", 413),
    _Row("Host is not valid", 400),
    _Row("Host is missing", 400),
    _Row("Expect is not 100-continue", 417),
    _Row("CONNECT to an origin server", 400),
    _Row("request target is not valid", 400),
    _Row("Transfer-Encoding in HTTP/1.0", 400),
    _Row("transfer coding is not chunked", 501),
    _Row("Transfer-Encoding is empty", 400),
    _Row("more than one Content-Length", 400),
    _Row("two different Content-Lengths", 400),
    _Row("chunked is repeated or not last", 400),
    _Row("transfer coding is not a token", 400),
    _Row("chunked with parameters", 400),
    _Row("Content-Length is empty or too long", 400),
    _Row("Content-Length is not a number", 400),
    _Row("Content-Length is out of range", 400),
    _Row("Connection is not a list of tokens", 400),
    _Row("blank in a chunk size", 400),
    _Row("control octet in a chunk extension", 400),
    _Row("chunk size has more than 16 digits", 400),
    _Row("chunk size is missing", 400),
    _Row("chunk size is not hexadecimal", 400),
    _Row("chunked body exceeds the limit", 413),
    _Row("chunk does not end at its size", 400),
    _Row("CR without LF between chunks", 400),
    _Row("chunk extension exceeds the limit", 400),
    _Row("chunk extensions exceed the limit", 400),
    _Row("101 without an offer to upgrade", 400),
    _Row("101 before the request was complete", 400),
    _Row("too many informational responses", 400),
    _Row("body exceeds the limit", 413),
    _Row("CR without LF behind the chunks", 400),
    _Row("octets that answer no request", 400),
    _Row("the head took too long", 408),
]
comptime _COUNT = len(_ROWS)
comptime _PHRASES = _phrases()
comptime _STATUSES = _statuses()


def _phrases() -> Array[StaticString, _COUNT]:
    var table = Array[StaticString, _COUNT](fill="")
    var rows = materialize[_ROWS]()
    for i in range(_COUNT):
        table[i] = rows[i].phrase
    return table^


def _statuses() -> Array[Int, _COUNT]:
    var table = Array[Int, _COUNT](fill=0)
    var rows = materialize[_ROWS]()
    for i in range(_COUNT):
        table[i] = rows[i].status
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
        return global_constant[_PHRASES]().unsafe_get(Int(self.index))

    @always_inline
    def status(self) -> Int:
        """Returns the status that answers a violation of the rule.

        Returns:
            The status; 0 for `NONE`.
        """
        if Int(self.index) >= _COUNT:
            return 0
        return global_constant[_STATUSES]().unsafe_get(Int(self.index))


def _index_of(phrase: StaticString) -> Int:
    # One octet at a time: the compiler cannot evaluate vector loops.
    var wanted = phrase.as_bytes()
    var rows = materialize[_ROWS]()
    for i in range(_COUNT):
        var found = rows[i].phrase.as_bytes()
        var is_equal = len(found) == len(wanted)
        for k in range(len(found) if is_equal else 0):
            is_equal = is_equal and found[k] == wanted[k]
        if is_equal:
            return i
    return -1
