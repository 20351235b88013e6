"""Defines the error of the WebSocket machine, and the rules a peer can break.
"""

from std.builtin.globals import global_constant

from .codes import WsCloseCode


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var phrase: StaticString
    var close_code: UInt16


# In the order of the constants of `WsRule`.
comptime _ROWS: List[_Row] = [
    _Row("a reserved bit without its extension", WsCloseCode.PROTOCOL_ERROR),
    _Row(
        "the bit of compression on a frame that starts no message",
        WsCloseCode.PROTOCOL_ERROR,
    ),
    _Row("an unknown opcode", WsCloseCode.PROTOCOL_ERROR),
    _Row("a frame of a client is not masked", WsCloseCode.PROTOCOL_ERROR),
    _Row("a frame of a server is masked", WsCloseCode.PROTOCOL_ERROR),
    _Row("a control frame in fragments", WsCloseCode.PROTOCOL_ERROR),
    _Row("a control frame over 125 octets", WsCloseCode.PROTOCOL_ERROR),
    _Row("a continuation without a message", WsCloseCode.PROTOCOL_ERROR),
    _Row("a message within a message", WsCloseCode.PROTOCOL_ERROR),
    _Row("a length not in its shortest form", WsCloseCode.PROTOCOL_ERROR),
    _Row("a length over 63 bits", WsCloseCode.PROTOCOL_ERROR),
    _Row("a close frame with one octet", WsCloseCode.PROTOCOL_ERROR),
    _Row("an invalid close code", WsCloseCode.PROTOCOL_ERROR),
    _Row("the reason of a close is not UTF-8", WsCloseCode.INVALID_DATA),
    _Row("a text is not UTF-8", WsCloseCode.INVALID_DATA),
    _Row("a message exceeds the limit", WsCloseCode.TOO_LARGE),
    _Row("too many frames without data", WsCloseCode.POLICY_VIOLATION),
    _Row("a message that cannot be inflated", WsCloseCode.INVALID_DATA),
]
comptime _COUNT = len(_ROWS)
comptime _PHRASES = _phrases()
comptime _CLOSE_CODES = _close_codes()


def _phrases() -> Array[StaticString, _COUNT]:
    var table = Array[StaticString, _COUNT](fill="")
    var rows = materialize[_ROWS]()
    for i in range(_COUNT):
        table[i] = rows[i].phrase
    return table^


def _close_codes() -> Array[UInt16, _COUNT]:
    var table = Array[UInt16, _COUNT](fill=0)
    var rows = materialize[_ROWS]()
    for i in range(_COUNT):
        table[i] = rows[i].close_code
    return table^


@fieldwise_init
struct WsRule(Equatable, TrivialRegisterPassable):
    """A rule that a peer can break, or none."""

    comptime RESERVED_BIT = Self(0)
    """RFC 6455 section 5.2: RSV1 to RSV3 are 0 without an extension."""
    comptime COMPRESSED_CONTINUATION = Self(1)
    """RFC 7692 section 6.1: RSV1 marks the first frame of a message."""
    comptime UNKNOWN_OPCODE = Self(2)
    """RFC 6455 section 5.2."""
    comptime NOT_MASKED = Self(3)
    """RFC 6455 section 5.1: a client masks each frame."""
    comptime MASKED = Self(4)
    """RFC 6455 section 5.1: a server masks no frame."""
    comptime FRAGMENTED_CONTROL = Self(5)
    """RFC 6455 section 5.5."""
    comptime LONG_CONTROL = Self(6)
    """RFC 6455 section 5.5."""
    comptime NO_MESSAGE = Self(7)
    """RFC 6455 section 5.4: a continuation follows a first frame."""
    comptime MESSAGE_IN_MESSAGE = Self(8)
    """RFC 6455 section 5.4: a message ends before the next one starts."""
    comptime LONG_FORM = Self(9)
    """RFC 6455 section 5.2: a length has its shortest form."""
    comptime LENGTH_BITS = Self(10)
    """RFC 6455 section 5.2: the first bit of a long length is 0."""
    comptime SHORT_CLOSE = Self(11)
    """RFC 6455 section 5.5.1: a code has two octets."""
    comptime CLOSE_CODE = Self(12)
    """RFC 6455 section 7.4."""
    comptime CLOSE_REASON = Self(13)
    """RFC 6455 section 5.5.1: a reason is UTF-8."""
    comptime TEXT = Self(14)
    """RFC 6455 section 8.1: a text is UTF-8."""
    comptime MESSAGE_SIZE = Self(15)
    """The limit of the endpoint on messages."""
    comptime EMPTY_FRAMES = Self(16)
    """The limit on frames without data in one message."""
    comptime DEFLATE = Self(17)
    """RFC 7692 section 7.2.2: a compressed message is deflate data."""
    comptime NONE = Self(255)
    """No rule of the protocol: the caller is at fault."""
    comptime COUNT = _COUNT
    """The number of rules; their indexes start at 0."""

    var index: UInt8
    """The place of the rule in the list."""

    def phrase(self) -> StaticString:
        """Returns the phrase of the rule.

        Returns:
            A fixed phrase for logs; empty for `NONE`.
        """
        if Int(self.index) >= _COUNT:
            return ""
        return global_constant[_PHRASES]().unsafe_get(Int(self.index))

    def close_code(self) -> UInt16:
        """Returns the close code that answers a violation of the rule.

        Returns:
            The code, one of `WsCloseCode`; 1011 for `NONE`.
        """
        if Int(self.index) >= _COUNT:
            return WsCloseCode.INTERNAL_ERROR
        return global_constant[_CLOSE_CODES]().unsafe_get(Int(self.index))


@fieldwise_init
struct WsProtocolError(ImplicitlyCopyable, Writable):
    """A violation of WebSocket, by the peer or by the caller.

    After an error of the peer, the machine reports no further frame. The
    endpoint sends a Close with `close_code()`. After a local error, no octet
    was written.
    """

    var rule: WsRule
    """The rule that the peer broke; `NONE` if the caller is at fault."""
    var reason: StaticString
    """A fixed phrase for logs, never octets from the peer."""

    @staticmethod
    def peer(rule: WsRule) -> Self:
        """Returns an error of the peer.

        Args:
            rule: The rule that it broke.

        Returns:
            The error.
        """
        return Self(rule, rule.phrase())

    @staticmethod
    def local(reason: StaticString) -> Self:
        """Returns an error of the caller.

        Args:
            reason: The phrase for logs.

        Returns:
            The error.
        """
        return Self(WsRule.NONE, reason)

    def is_of_peer(self) -> Bool:
        """Returns whether the peer is at fault.

        Returns:
            False if the caller is.
        """
        return self.rule != WsRule.NONE

    def close_code(self) -> UInt16:
        """Returns the code of the Close that answers.

        Returns:
            The code, one of `WsCloseCode`.
        """
        return self.rule.close_code()

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("websocket ")
        if self.is_of_peer():
            writer.write("peer error, code ", self.close_code())
        else:
            writer.write("local error")
        writer.write(": ", self.reason)
