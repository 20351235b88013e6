"""Defines the error of WebSockets and its text form.

 ws.<kind> code=<number> clean=<true or false>[ status=<number>][: detail]

Callers receive the text only, because one `try` catches one error type;
`WsError.of` reads the fields back.
"""

from flare.core import index_of_text, text_at
from flare.proto.ws import WsCloseCode

comptime _KINDS: List[StaticString] = [
    "closed",
    "protocol",
    "too_large",
    "timeout",
    "handshake",
    "busy",
    "bad_call",
    "bad_config",
]
comptime _PREFIX: StaticString = "ws."
comptime _CODE: StaticString = "code="
comptime _CLEAN: StaticString = "clean="
comptime _STATUS: StaticString = "status="


struct WsError(Copyable, Movable, Writable):
    """Describes why a WebSocket ended, or why a call failed."""

    comptime CLOSED = 0
    """The connection is closed: by a Close of either end, or without one."""
    comptime PROTOCOL = 1
    """The peer broke a rule of RFC 6455 or of this endpoint."""
    comptime TOO_LARGE = 2
    """A message of the peer exceeds `max_message_size`."""
    comptime TIMEOUT = 3
    """The peer answered no ping, or did not complete a message in time."""
    comptime HANDSHAKE = 4
    """The server has refused the handshake, or broke its rules."""
    comptime BUSY = 5
    """Another fiber receives or awaits a pong, or a worker has too many
    messages of topics to deliver.
    """
    comptime BAD_CALL = 6
    """The program breaks a rule: for example, a close reason is too long."""
    comptime BAD_CONFIG = 7
    """A field of `WsOptions` or `WsClientConfig` is out of its bounds."""

    var kind: Int
    """One of the constants, such as `WsError.CLOSED`."""
    var code: UInt16
    """The close code, one of `WsCloseCode`; 1006 without a Close."""
    var is_clean: Bool
    """Whether both ends sent a Close."""
    var status: Int
    """The status of the refusal, of `HANDSHAKE` only; otherwise 0."""
    var detail: String
    """Details for people; never octets of the peer."""

    def __init__(
        out self,
        kind: Int,
        var detail: String = String(),
        *,
        code: UInt16 = WsCloseCode.ABNORMAL,
        is_clean: Bool = False,
        status: Int = 0,
    ):
        """Creates an error.

        Args:
            kind: One of the constants of this struct.
            detail: Details; printable.
            code: The close code.
            is_clean: Whether both ends sent a Close.
            status: The status of a refusal, or 0.
        """
        self.kind = kind
        self.code = code
        self.is_clean = is_clean
        self.status = status
        self.detail = detail^

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a WebSocket raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var text = String(e)
        if not text.startswith(_PREFIX):
            return None
        var octets = text.as_bytes()
        var detail = String()
        var end = text.find(": ")
        if end >= 0:
            detail = String(StringSlice(unsafe_from_utf8=octets[end + 2 :]))
        else:
            end = len(octets)
        var parts = StringSlice(unsafe_from_utf8=octets[:end]).split(" ")
        var kind = index_of_text[_KINDS](
            parts[0].as_bytes()[_PREFIX.byte_length() :]
        )
        if not kind or len(parts) < 3:
            return None
        var code = _number_after(parts[1], _CODE)
        var status = 0
        if len(parts) == 4:
            status = _number_after(parts[3], _STATUS)
        return Self(
            kind.value(),
            detail^,
            code=UInt16(code),
            is_clean=parts[2].endswith("true"),
            status=status,
        )

    def is_closed(self) -> Bool:
        """Returns whether the connection ended by a Close, or without one.

        Returns:
            True for `ws.closed`.
        """
        return self.kind == Self.CLOSED

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, text_at[_KINDS](self.kind), " ", _CODE, self.code)
        writer.write(" ", _CLEAN, "true" if self.is_clean else "false")
        if self.status != 0:
            writer.write(" ", _STATUS, self.status)
        if self.detail.byte_length() > 0:
            writer.write(": ", self.detail)


def _number_after(part: StringSlice, name: StaticString) -> Int:
    var octets = part.as_bytes()
    var number = 0
    for i in range(name.byte_length(), len(octets)):
        if octets[i] < 48 or octets[i] > 57 or number > 99_999:
            return 0
        number = number * 10 + Int(octets[i] - 48)
    return number
