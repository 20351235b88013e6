"""Plays a WebSocket server on the simulated network, right or wrong, as a seed
decides.

It accepts, refuses or says nothing. Then it sends messages whole, in fragments
and in pieces, pings, an illegal frame, a Close, and stops at any octet: it
holds the connection, ends it or breaks it. It answers pings and the client's
Close, or does not, and may read nothing.
"""

from flare.proto.ws import WsRole, accept_value
from flare.runtime.backends.simulated_faults import Draws
from flare.runtime.backends.simulated_network import Peer
from flare.ws import WsFrame, WsOpcode

from tests.proto_ws.peer import frame

comptime _HEAD: StaticString = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Accept: "
)
comptime _REFUSAL: StaticString = (
    "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
)
comptime _KEY_FIELD: StaticString = "Sec-WebSocket-Key: "


struct Opening:
    """Names how the server answers the handshake."""

    comptime ACCEPTS = 0
    """It accepts."""
    comptime LIES = 1
    """It accepts with the value of another key."""
    comptime REFUSES = 2
    """It answers 403."""
    comptime IS_SILENT = 3
    """It answers nothing."""


struct Ending:
    """Names what the server does where its script ends."""

    comptime HOLDS = 0
    """It holds the connection, and answers what it answers."""
    comptime CLOSES = 1
    """It closes."""
    comptime ENDS = 2
    """It ends its stream, and reads on."""
    comptime BREAKS = 3
    """It breaks the connection."""
    comptime STALLS = 4
    """It does nothing any more."""


struct ScriptedServer(Movable):
    """One connection of a server."""

    var peer: Peer
    """Its end of the connection."""
    var opening: Int
    """One of `Opening`."""
    var ending: Int
    """One of `Ending`."""
    var reads: Bool
    """Whether it reads at all after the handshake."""
    var answers_pings: Bool
    """Whether it answers pings."""
    var answers_close: Bool
    """Whether it answers a Close."""
    var left: Int
    """How many more octets it sends before its script ends; -1 for all."""
    var messages: List[String]
    """Its messages, in order."""
    var close_code: Int
    """The code of its Close; 0 before its first octet is sent."""
    var is_close_sent: Bool
    """Whether all of its Close was sent."""
    var is_illegal: Bool
    """Whether part of an illegal frame was sent."""
    var has_left: Bool
    """Whether it has ended the connection, or its stream."""
    var is_at_end: Bool
    """Whether its script has ended."""
    var received: Dict[Int, Int]
    """How many messages of each fiber of the client it has read."""
    var seen_close: Bool
    """Whether it has read the client's Close."""
    var seen_request: Bool
    """Whether it has read the request."""
    var is_head_sent: Bool
    """Whether all of its response was sent."""
    var _frames: List[List[UInt8]]
    var _replies: List[List[UInt8]]
    var _current: List[UInt8]
    var _at: Int
    var _octets: List[UInt8]
    var _message: List[UInt8]

    def __init__(out self, peer: Peer, mut draws: Draws):
        """Draws the script.

        Args:
            peer: Its end of the connection.
            draws: Decides everything.
        """
        self.peer = peer
        self.opening = Opening.ACCEPTS
        if draws.strikes(120):
            self.opening = 1 + draws.below(3)
        self.ending = Ending.HOLDS
        if draws.strikes(500):
            self.ending = draws.below(5)
        self.reads = not draws.strikes(80)
        self.answers_pings = not draws.strikes(250)
        self.answers_close = not draws.strikes(250)
        self.left = -1
        if draws.strikes(350):
            self.left = draws.below(400)
            if draws.strikes(400):
                self.left += draws.below(40_000)
        self.messages = []
        self.close_code = 0
        self.is_close_sent = False
        self.is_illegal = False
        self.has_left = False
        self.is_at_end = False
        self.received = {}
        self.seen_close = False
        self.seen_request = False
        self.is_head_sent = False
        self._frames = []
        self._replies = []
        self._current = []
        self._at = 0
        self._octets = []
        self._message = []
        for _ in range(draws.below(8)):
            self._add_message(draws)
        if draws.strikes(400):
            self.close_at_last()

    def close_at_last(mut self):
        """Makes the server send a Close after its messages."""
        self._frames.append(_close(1000 if len(self.messages) % 2 else 3000))

    def act(mut self, mut draws: Draws) raises -> Bool:
        """Does a step.

        Args:
            draws: Decides how much.

        Returns:
            Whether anything has happened.

        Raises:
            Error: If the client has broken a rule.
        """
        var has_acted = self._read()
        if self.is_at_end or not self.seen_request:
            return has_acted
        if self._at == len(self._current):
            self._begin_next()
        if self._at < len(self._current) and self.left != 0:
            return not draws.strikes(500) or self._send(draws)
        var is_over = len(self._replies) == 0 or self.left == 0
        if is_over and (self.ending != Ending.HOLDS or self.left == 0):
            if draws.strikes(200):
                self._end()
            return True
        return has_acted

    def _add_message(mut self, mut draws: Draws):
        var text = String(len(self.messages), ":")
        text += String("x") * (draws.below(3) * draws.below(2000))
        if draws.strikes(40):
            text += String("y") * (70_000 + draws.below(60_000))
        var octets = text.as_bytes()
        var kind = draws.below(12)
        if kind == 0 and draws.strikes(400):
            # A reserved opcode.
            self._frames.append(frame(WsRole.CLIENT, 0x83, octets[:1]))
            return
        if kind < 3:
            self._frames.append(frame(WsRole.CLIENT, 0x89, octets[:2]))
            return
        if kind < 6:
            var cut = draws.below(len(octets))
            self._frames.append(frame(WsRole.CLIENT, 0x01, octets[:cut]))
            if draws.strikes(300):
                self._frames.append(frame(WsRole.CLIENT, 0x89, octets[:1]))
            self._frames.append(frame(WsRole.CLIENT, 0x80, octets[cut:]))
        else:
            self._frames.append(frame(WsRole.CLIENT, 0x81, octets))
        self.messages.append(text^)

    def _begin_next(mut self):
        self._at = 0
        self._current = []
        if len(self._replies) > 0:
            self._current = self._replies.pop(0)
        elif len(self._frames) > 0 and self.close_code == 0:
            self._current = self._frames.pop(0)

    def _send(mut self, mut draws: Draws) -> Bool:
        # False while the client's kernel has no room: time must pass.
        var rest = len(self._current) - self._at
        var count = min(rest, 1 + draws.below(900 if rest < 9000 else 30_000))
        count = min(count, self.peer.room())
        if self.left >= 0:
            count = min(count, self.left)
            self.left -= count
        if count == 0:
            return False
        self.peer.send(Span(self._current)[self._at : self._at + count])
        self._at += count
        if not self.is_head_sent:
            self.is_head_sent = self._at == len(self._current)
            return True
        if self._current[0] == 0x83:
            self.is_illegal = True
        if self._current[0] == 0x88:
            self.close_code = 1005
            if len(self._current) >= 4:
                self.close_code = Int(self._current[2]) << 8 | Int(
                    self._current[3]
                )
            if self._at == len(self._current):
                self.is_close_sent = True
                if self.seen_close:
                    # RFC 6455 section 7.1.1.
                    self._leave(Ending.CLOSES)
        return True

    def _end(mut self):
        self.is_at_end = True
        self._leave(self.ending)

    def _leave(mut self, ending: Int):
        if ending == Ending.CLOSES:
            self.peer.close()
        elif ending == Ending.ENDS:
            self.peer.end_sending()
        elif ending == Ending.BREAKS:
            self.peer.reset()
        self.has_left = self.has_left or ending in (
            Ending.CLOSES,
            Ending.ENDS,
            Ending.BREAKS,
        )
        self.is_at_end = self.is_at_end or self.has_left

    def _read(mut self) raises -> Bool:
        if self.seen_request and not self.reads:
            return False
        if self.is_at_end and self.ending == Ending.STALLS:
            return False
        var arrived = self.peer.received()
        if len(arrived) == 0:
            return False
        self._octets.extend(Span(arrived))
        if not self.seen_request:
            self._read_request()
        if self.seen_request:
            self._read_frames()
        return True

    def _read_request(mut self) raises:
        var text = StringSlice(unsafe_from_utf8=Span(self._octets))
        var end = text.find("\r\n\r\n")
        if end < 0:
            return
        var key = text.find(_KEY_FIELD) + _KEY_FIELD.byte_length()
        var head = String(_HEAD)
        if self.opening == Opening.LIES:
            head += "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        else:
            head += accept_value(Span(self._octets)[key : key + 24])
        head += "\r\n\r\n"
        if self.opening == Opening.REFUSES:
            head = String(_REFUSAL)
        if self.opening != Opening.ACCEPTS:
            self._frames.clear()
        if self.opening != Opening.IS_SILENT:
            self._current = List[UInt8](head.as_bytes())
        self.seen_request = True
        self._octets = List[UInt8](Span(self._octets)[end + 4 :])

    def _read_frames(mut self) raises:
        var at = 0
        while at < len(self._octets):
            if self.seen_close:
                raise Error("octets follow the client's Close")
            var octets = Span(self._octets)[at:]
            if len(octets) > 1 and octets[1] & 0x80 == 0:
                raise Error("a frame of the client is not masked")
            var decoded = WsFrame.decode_one(octets)
            if not decoded.is_whole():
                break
            at += decoded.consumed
            self._take(decoded.take_frame())
        if at > 0:
            self._octets = List[UInt8](Span(self._octets)[at:])

    def _take(mut self, frame: WsFrame) raises:
        if frame.opcode == WsOpcode.CLOSE:
            self.seen_close = True
            if len(self._message) > 0 and frame.fin:
                # A message may be cut off by the Close.
                self._message.clear()
            if self.answers_close and self.close_code == 0:
                self._replies.append(_close_like(frame))
            elif self.is_close_sent:
                self._leave(Ending.CLOSES)
            return
        if frame.opcode == WsOpcode.PING:
            if self.answers_pings and self.close_code == 0:
                self._replies.append(_frame_of(0x8A, Span(frame.payload)))
            return
        if frame.opcode == WsOpcode.PONG:
            return
        self._message.extend(Span(frame.payload))
        if not frame.fin:
            return
        var text = String(StringSlice(unsafe_from_utf8=Span(self._message)))
        self._message.clear()
        var parts = text.split(":")
        var fiber = Int(parts[0])
        var number = self.received.get(fiber).or_else(0)
        if Int(parts[1]) != number:
            raise Error("message ", parts[1], " of fiber ", fiber, " came late")
        self.received[fiber] = number + 1


def _close(code: Int) -> List[UInt8]:
    return [0x88, 2, UInt8(code >> 8), UInt8(code & 255)]


def _close_like(received: WsFrame) -> List[UInt8]:
    return _frame_of(
        0x88, Span(received.payload)[: min(2, len(received.payload))]
    )


def _frame_of(first: UInt8, payload: Span[UInt8, _]) -> List[UInt8]:
    return frame(WsRole.CLIENT, first, payload)
