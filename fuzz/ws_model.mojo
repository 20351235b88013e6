"""Judges a stream of WebSocket frames in a naive way: whole, and frame by frame.

It knows the rules of `flare.proto.ws` and shares none of its code. The
transcript has the form of `tests.proto_ws.peer`.
"""

from flare.core import write_escaped

from tests.proto_ws.text_model import BAD, WHOLE, judge_text

comptime _EMPTY_FRAMES_MAX = 1024


struct WsReference(Movable):
    """Holds the transcript of one stream."""

    var text: String
    """One line per message, control frame and error; then the rest."""
    var has_failed: Bool
    """Whether a rule was broken."""
    var is_closed: Bool
    """Whether a Close was read."""
    var _is_server: Bool
    var _can_compress: Bool
    var _octets_max: Int
    var _opcode: UInt8
    var _is_in_message: Bool
    var _is_compressed: Bool
    var _message: List[UInt8]
    var _empty_frames: Int

    def __init__(
        out self, *, is_server: Bool, can_compress: Bool, octets_max: Int
    ):
        """Begins a transcript.

        Args:
            is_server: Whether the stream is that of a client.
            can_compress: Whether RSV1 has a meaning.
            octets_max: The limit on messages.
        """
        self.text = String()
        self.has_failed = False
        self.is_closed = False
        self._is_server = is_server
        self._can_compress = can_compress
        self._octets_max = octets_max
        self._opcode = 0
        self._is_in_message = False
        self._is_compressed = False
        self._message = []
        self._empty_frames = 0

    def read(mut self, octets: Span[UInt8, _]):
        """Reads a whole stream.

        Args:
            octets: All that arrives.
        """
        var at = 0
        while not self.has_failed and not self.is_closed:
            var after = self._read_frame(octets, at)
            if after < 0:
                break
            at = after
        if len(self._message) > 0 and not self.has_failed:
            _write_line("~ ", Span(self._message), self.text)

    def _fail(mut self, code: Int, phrase: StaticString) -> Int:
        self.has_failed = True
        self.text += String("! ", code, " ", phrase, "\n")
        return -1

    def _read_frame(mut self, octets: Span[UInt8, _], at: Int) -> Int:
        # Where the next frame begins; below 0 if that is not known.
        if at + 2 > len(octets):
            return -1
        var first = octets[at]
        var second = octets[at + 1]
        var opcode = first % 16
        var is_control = opcode >= 8
        var bits = first // 16 % 8
        if bits != 0 and not (bits == 4 and self._can_compress):
            return self._fail(1002, "a reserved bit without its extension")
        if opcode > 10 or (opcode > 2 and opcode < 8):
            return self._fail(1002, "an unknown opcode")
        if bits != 0 and (is_control or opcode == 0):
            return self._fail(
                1002,
                "the bit of compression on a frame that starts no message",
            )
        if is_control and first < 128:
            return self._fail(1002, "a control frame in fragments")
        if is_control and second % 128 > 125:
            return self._fail(1002, "a control frame over 125 octets")
        if self._is_server and second < 128:
            return self._fail(1002, "a frame of a client is not masked")
        if not self._is_server and second >= 128:
            return self._fail(1002, "a frame of a server is masked")
        var start = at + 2
        var length = Int(second % 128)
        var more = 0
        if length == 126:
            more = 2
        elif length == 127:
            more = 8
        if start + more > len(octets):
            return -1
        if more > 0:
            if more == 8 and octets[start] >= 128:
                return self._fail(1002, "a length over 63 bits")
            length = 0
            for i in range(more):
                length = length * 256 + Int(octets[start + i])
            if length < 126 or (more == 8 and length < 65536):
                return self._fail(1002, "a length not in its shortest form")
        start += more
        var payload = List[UInt8]()
        var key = start
        if self._is_server:
            start += 4
        if start > len(octets):
            return -1
        for i in range(min(length, len(octets) - start)):
            var octet = octets[start + i]
            if self._is_server:
                octet ^= octets[key + i % 4]
            payload.append(octet)
        if is_control:
            if len(payload) < length:
                return -1
            self._read_control(opcode, payload)
        else:
            self._read_data(first, length, payload)
        if self.has_failed or len(payload) < length:
            return -1
        return start + length

    def _read_control(mut self, opcode: UInt8, payload: List[UInt8]):
        if opcode == 9:
            _write_line("= PING ", Span(payload), self.text)
        elif opcode == 10:
            _write_line("= PONG ", Span(payload), self.text)
        elif len(payload) == 0:
            self.is_closed = True
            self.text += "= CLOSE 1005 \n"
        elif len(payload) == 1:
            _ = self._fail(1002, "a close frame with one octet")
        else:
            var code = Int(payload[0]) * 256 + Int(payload[1])
            var is_registered = code >= 1000 and code <= 1014
            if code == 1004 or code == 1005 or code == 1006:
                is_registered = False
            if not is_registered and (code < 3000 or code >= 5000):
                _ = self._fail(1002, "an invalid close code")
            elif judge_text(Span(payload)[2:]) != WHOLE:
                _ = self._fail(1007, "the reason of a close is not UTF-8")
            else:
                self.is_closed = True
                self.text += String("= CLOSE ", code, " ")
                _write_line("", Span(payload)[2:], self.text)

    def _read_data(mut self, first: UInt8, length: Int, payload: List[UInt8]):
        var opcode = first % 16
        if opcode == 0 and not self._is_in_message:
            _ = self._fail(1002, "a continuation without a message")
            return
        if opcode != 0 and self._is_in_message:
            _ = self._fail(1002, "a message within a message")
            return
        if opcode != 0:
            self._opcode = opcode
            self._is_in_message = True
            self._is_compressed = first // 64 % 2 == 1
            self._empty_frames = 0
        var most = self._octets_max
        if self._is_compressed:
            most = most + most // 8 + 256
        # A difference, because the length may be any.
        if length > most - len(self._message):
            _ = self._fail(1009, "a message exceeds the limit")
            return
        if length == 0:
            self._empty_frames += 1
            if self._empty_frames > _EMPTY_FRAMES_MAX:
                _ = self._fail(1008, "too many frames without data")
                return
        self._message.extend(Span(payload))
        var ends = first >= 128 and len(payload) == length
        if self._opcode == 1 and not self._is_compressed:
            var verdict = judge_text(Span(self._message))
            if verdict == BAD or (ends and verdict != WHOLE):
                _ = self._fail(1007, "a text is not UTF-8")
                return
        if ends:
            self.text += "= TEXT " if self._opcode == 1 else "= BINARY "
            if self._is_compressed:
                self.text += "(compressed) "
            _write_line("", Span(self._message), self.text)
            self._message.clear()
            self._is_in_message = False
        elif len(payload) == length:
            self.text += "+\n"


def _write_line(what: StaticString, octets: Span[UInt8, _], mut text: String):
    text += what
    write_escaped(octets, text)
    text += "\n"
