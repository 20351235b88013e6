"""Defines the events of a protocol machine, whatever the version of HTTP."""

from std.builtin.globals import global_constant


@fieldwise_init
struct HttpEvent(TrivialRegisterPassable):
    """One event on a connection.

    For every kind, the owner drops `consumed` octets from the front of the
    window. The number may be above zero for `NEED_OCTETS` too (chunk lines).
    """

    comptime NEED_OCTETS: UInt8 = 0
    """No event is available before more octets arrive."""
    comptime PAUSED: UInt8 = 1
    """No octets are read before the exchange in progress is complete; never
    again if `wants_close()`.
    """
    comptime REQUEST_HEAD: UInt8 = 2
    """`head` holds a request line and its header section."""
    comptime RESPONSE_HEAD: UInt8 = 3
    """`head` holds a final status line and its header section."""
    comptime INFORMATIONAL_HEAD: UInt8 = 4
    """`head` holds a 1xx response; the final one follows."""
    comptime DATA: UInt8 = 5
    """`start` and `length` say where octets of the body lie."""
    comptime TRAILERS: UInt8 = 6
    """`head.trailers` holds the lines of a trailer section, at least one; the
    rest of the head is as it was."""
    comptime END_OF_MESSAGE: UInt8 = 7
    """The message is whole."""
    comptime RESET: UInt8 = 8
    """The peer stopped in the middle of a message or owes a response."""
    comptime GOING_AWAY: UInt8 = 9
    """The peer stopped between two messages."""
    comptime UPGRADED: UInt8 = 10
    """The window belongs to another protocol (RFC 9110 section 7.8)."""

    var kind: UInt8
    """One of the constants."""
    var stream_id: Int
    """The exchange it belongs to, counted from 1."""
    var start: Int
    """The offset of the data in the window; of `DATA` only."""
    var length: Int
    """The length of the data; of `DATA` only."""
    var consumed: Int
    """Octets that the owner drops from the front of the window."""

    @staticmethod
    def name(kind: UInt8) -> StaticString:
        """Returns the name of a kind.

        Args:
            kind: One of the constants.

        Returns:
            The name.
        """
        comptime NAMES: Array[StaticString, 11] = [
            "NEED_OCTETS",
            "PAUSED",
            "REQUEST_HEAD",
            "RESPONSE_HEAD",
            "INFORMATIONAL_HEAD",
            "DATA",
            "TRAILERS",
            "END_OF_MESSAGE",
            "RESET",
            "GOING_AWAY",
            "UPGRADED",
        ]
        if kind <= Self.UPGRADED:
            return global_constant[NAMES]().unsafe_get(Int(kind))
        return "?"
