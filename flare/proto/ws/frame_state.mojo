"""Defines the legal sequences of frames, and the state between two calls.

Theory of operation. Each direction of a connection is a sequence of frames. A
message is one frame with FIN, or a first frame without it and continuations,
the last of which has FIN. Control frames may stand between the frames of a
message. So the receiving side is `OPEN` between two messages and `IN_MESSAGE`
within one.

Each endpoint sends one Close. After the endpoint has sent its Close
(`CLOSE_SENT`), it waits for that of the peer, and drops all other frames. It
does not judge their order, because none of them has an effect. Their form still
counts, because the end of a frame must be found. After the peer's Close
(`CLOSE_RECEIVED`) or a violation (`FAILED`), all octets are dropped unread.

Only the table knows these rules. A pair that is missing is a violation by the
peer.
"""

from std.builtin.globals import global_constant

from .message_check import WsMessageCheck


struct WsRole:
    """The two ends of a connection."""

    comptime SERVER: UInt8 = 0
    """Receives masked frames, and masks none."""
    comptime CLIENT: UInt8 = 1
    """Masks all frames, and receives none that is masked."""


struct WsStage:
    """The states of one direction of a connection."""

    comptime OPEN: UInt8 = 0
    """Between two messages."""
    comptime IN_MESSAGE: UInt8 = 1
    """After a frame of a message that is not its last one."""
    comptime CLOSE_SENT: UInt8 = 2
    """The endpoint has sent its Close; the peer has not."""
    comptime CLOSE_RECEIVED: UInt8 = 3
    """The peer has sent its Close."""
    comptime FAILED: UInt8 = 4
    """The peer broke a rule."""
    comptime COUNT = 5
    """The number of states."""
    comptime ILLEGAL: UInt8 = 255
    """The result of `next_stage` for an illegal pair."""


struct FrameKind:
    """The frames that the table tells apart."""

    comptime WHOLE: UInt8 = 0
    """The only frame of a message."""
    comptime FIRST: UInt8 = 1
    """The first frame of a message that has more."""
    comptime MIDDLE: UInt8 = 2
    """A continuation that is not the last frame."""
    comptime LAST: UInt8 = 3
    """A continuation that ends its message."""
    comptime PING: UInt8 = 4
    """A ping."""
    comptime PONG: UInt8 = 5
    """A pong."""
    comptime CLOSE: UInt8 = 6
    """A Close."""
    comptime COUNT = 7
    """The number of kinds."""

    @staticmethod
    @always_inline
    def of(opcode: UInt8, is_final: Bool) -> UInt8:
        """Returns the kind of a frame.

        Args:
            opcode: A known opcode.
            is_final: Whether the frame has FIN.

        Returns:
            The kind.
        """
        if opcode == 0:
            return Self.LAST if is_final else Self.MIDDLE
        if opcode < 8:
            return Self.WHOLE if is_final else Self.FIRST
        # 8 is Close, 9 ping, 10 pong.
        return Self.CLOSE if opcode == 8 else opcode - 5


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var stage: UInt8
    var kind: UInt8
    var next: UInt8


comptime _ROWS: List[_Row] = [
    _Row(WsStage.OPEN, FrameKind.WHOLE, WsStage.OPEN),
    _Row(WsStage.OPEN, FrameKind.FIRST, WsStage.IN_MESSAGE),
    _Row(WsStage.OPEN, FrameKind.PING, WsStage.OPEN),
    _Row(WsStage.OPEN, FrameKind.PONG, WsStage.OPEN),
    _Row(WsStage.OPEN, FrameKind.CLOSE, WsStage.CLOSE_RECEIVED),
    _Row(WsStage.IN_MESSAGE, FrameKind.MIDDLE, WsStage.IN_MESSAGE),
    _Row(WsStage.IN_MESSAGE, FrameKind.LAST, WsStage.OPEN),
    _Row(WsStage.IN_MESSAGE, FrameKind.PING, WsStage.IN_MESSAGE),
    _Row(WsStage.IN_MESSAGE, FrameKind.PONG, WsStage.IN_MESSAGE),
    _Row(WsStage.IN_MESSAGE, FrameKind.CLOSE, WsStage.CLOSE_RECEIVED),
    _Row(WsStage.CLOSE_SENT, FrameKind.CLOSE, WsStage.CLOSE_RECEIVED),
]
comptime _PAIRS = WsStage.COUNT * FrameKind.COUNT
comptime _TABLE = _table()


def _table() -> Array[UInt8, _PAIRS]:
    var table = Array[UInt8, _PAIRS](fill=WsStage.ILLEGAL)
    # Frames without an effect.
    for stage in range(Int(WsStage.CLOSE_SENT), WsStage.COUNT):
        for kind in range(FrameKind.COUNT):
            table[stage * FrameKind.COUNT + kind] = UInt8(stage)
    for row in materialize[_ROWS]():
        table[Int(row.stage) * FrameKind.COUNT + Int(row.kind)] = row.next
    return table^


@always_inline
def next_stage(stage: UInt8, kind: UInt8) -> UInt8:
    """Returns the state of a direction after a frame.

    Args:
        stage: The current state, one of `WsStage`.
        kind: The frame, one of `FrameKind`.

    Returns:
        The new state; `ILLEGAL` if the peer may not send the frame now.
    """
    debug_assert(
        stage < UInt8(WsStage.COUNT) and kind < UInt8(FrameKind.COUNT),
        "no such pair",
    )
    return global_constant[_TABLE]().unsafe_get(
        Int(stage) * FrameKind.COUNT + Int(kind)
    )


@fieldwise_init
struct FrameProgress(TrivialRegisterPassable):
    """The data frame whose payload arrives."""

    var left: UInt64
    """The octets of its payload that have not arrived."""
    var key: UInt32
    """The key that applies to the next octet, its lowest octet first."""
    var is_open: Bool
    """Whether the end of the frame has not been reported."""
    var is_final: Bool
    """Whether the frame has FIN."""


struct WsState(Movable):
    """The state of a connection between two calls: plain data, no octets."""

    var role: UInt8
    """The end of the connection, one of `WsRole`."""
    var receiving: UInt8
    """The direction from the peer, one of `WsStage`."""
    var sending: UInt8
    """The direction to the peer: `OPEN`, `IN_MESSAGE` or `CLOSE_SENT`."""
    var can_compress: Bool
    """Whether both ends agreed on permessage-deflate."""
    var opcode: UInt8
    """The opcode of the message in progress."""
    var is_compressed: Bool
    """Whether the message in progress is compressed."""
    var is_unreported: Bool
    """Whether no data of the message in progress has been reported."""
    var empty_frames: UInt16
    """The frames without data in the message in progress."""
    var frame: FrameProgress
    """The frame in progress."""
    var check: WsMessageCheck
    """The size and the text of the message in progress. For a compressed one,
    the size before inflation."""

    def __init__(
        out self,
        role: UInt8,
        *,
        message_octets_max: Int,
        can_compress: Bool = False,
    ):
        """Creates the state after the handshake.

        Args:
            role: The end of the connection, one of `WsRole`.
            message_octets_max: The most octets of a received message, after
                inflation; not negative.
            can_compress: Whether both ends agreed on permessage-deflate.
        """
        self.role = role
        self.receiving = WsStage.OPEN
        self.sending = WsStage.OPEN
        self.can_compress = can_compress
        self.opcode = 0
        self.is_compressed = False
        self.is_unreported = False
        self.empty_frames = 0
        self.frame = FrameProgress(0, 0, False, False)
        self.check = WsMessageCheck(message_octets_max)
