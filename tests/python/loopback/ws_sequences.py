"""Makes what a client of WebSocket may send after its handshake: sequences of
frames from a seed, valid ones and damaged ones."""

import dataclasses
import random
import struct
import zlib

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
LETTERS = "a~\0\x7fé߿ࠀ漢퟿�😀\U0010ffff"
SIZES = (0, 1, 3, 4, 125, 126, 127, 255, 256, 1_000, 65_535, 65_536)
LENGTHS = (
    0, 1, 126, 1 << 16, 1 << 20, (1 << 20) + 1, 1 << 31, 1 << 63, (1 << 64) - 1
)
# Without 1014, which is registered, but unknown to wsproto 1.3.2.
CODES = (
    0, 999, *range(1000, 1014), 1015, 1016, 1100, 2000, 2999, 3000, 3999, 4000,
    4999, 5000, 65535,
)
VALID_CODES = (1000, 1001, 1003, 1007, 1011, 1013, 3000, 4321, 4999)
NOT_UTF_8 = (
    b"\x80", b"\xc0\xaf", b"\xc1\x81", b"\xe0\x80\x80", b"\xed\xa0\x80",
    b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
    b"\xff", b"\xe6\xbc", b"\xf0\x9f\x98", b"\xe6(\xa1", b"ok \xc3",
)


@dataclasses.dataclass
class Frame:
    """Is a frame that may break any rule. The header tells `length`, if that is
    not None, in a field of `form` octets."""

    opcode: int
    payload: bytes = b""
    is_final: bool = True
    rsv: int = 0
    is_masked: bool = True
    length: int | None = None
    form: int | None = None
    key: bytes = bytes(4)

    def octets(self):
        """Writes it."""
        length = len(self.payload) if self.length is None else self.length
        form = self.form
        if form is None:
            form = 0 if length < 126 else 2 if length < 65_536 else 8
        first = self.is_final << 7 | self.rsv << 4 | self.opcode
        second = self.is_masked << 7 | {0: length & 127, 2: 126, 8: 127}[form]
        head = bytes((first, second)) + length.to_bytes(8, "big")[8 - form :]
        if not self.is_masked:
            return head + self.payload
        count = len(self.payload)
        pad = (self.key * (count // 4 + 1))[:count]
        number = int.from_bytes(self.payload, "big") ^ int.from_bytes(pad, "big")
        return head + self.key + number.to_bytes(count, "big")


def close(code, reason=b""):
    """Gives a Close."""
    return Frame(CLOSE, struct.pack(">H", code) + reason)


class Sequence:
    """Is a sequence of `octets`. `mode` is off, shared or dedicated: how messages
    are compressed."""

    def __init__(self, seed, mode):
        self.draw = draw = random.Random(f"{seed} {mode}")
        self.mode = mode
        # Long ones take several turns to inflate, and meanwhile the Close that
        # follows is answered.
        self._size_max = 1 << 20 if mode == "off" else 1 << 14
        self._compressor = None
        frames = []
        for _ in range(draw.randrange(1, 6)):
            is_message = draw.random() < 0.6
            frames += self._message() if is_message else [self._control()]
        if draw.random() < 0.7:
            reason = draw.choice(("", "enough", "漢" * 41)).encode()
            frames.append(close(draw.choice(VALID_CODES), reason))
        elif draw.random() < 0.3:
            frames.append(Frame(CLOSE))
        damages = draw.choice((0, 0, 1, 1, 1, 2))
        for _ in range(damages):
            draw.choice((_change, _change, _insert, _reorder))(draw, frames)
        for frame in frames:
            frame.key = draw.choice((bytes(4), draw.randbytes(4)))
        self.octets = b"".join(frame.octets() for frame in frames)
        if draw.random() < 0.1:
            self.octets = _corrupt(draw, self.octets)
            damages += 1
        if damages:
            # A header that is cut gets its end, so that any peer judges it.
            self.octets += bytes(14)

    def _control(self):
        payload = self.draw.randbytes(self.draw.choice((0, 1, 8, 125)))
        return Frame(self.draw.choice((PING, PONG)), payload)

    def _message(self):
        draw = self.draw
        opcode = draw.choice((TEXT, BINARY))
        size = min(draw.choice(SIZES), draw.choice((300, 300, self._size_max)))
        content = draw.randbytes(size)
        if opcode == TEXT:
            letters = draw.choices(LETTERS, k=min(size // 4, 2_000))
            content = "".join(letters).encode()
            content += b"x" * (size - len(content))
        rsv = 4 if self.mode != "off" and draw.random() < 0.7 else 0
        if rsv:
            content = self._compressed(content)
        frames = []
        for _ in range(draw.choice((0, 0, 1, 4))):
            at = draw.randrange(len(content) + 1)
            frames.append(Frame(opcode, content[:at], False, rsv))
            content, opcode, rsv = content[at:], CONTINUATION, 0
            if draw.random() < 0.3:
                frames.append(self._control())
        return frames + [Frame(opcode, content, True, rsv)]

    def _compressed(self, content):
        if self.mode == "shared" or not self._compressor:
            self._compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
        octets = self._compressor.compress(content)
        return (octets + self._compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


def _change(draw, frames):
    name = draw.choice(list(CHANGES))
    frame = draw.choice(frames)
    setattr(frame, name, CHANGES[name](draw, frame))


def _insert(draw, frames):
    frame = draw.choice((
        close(draw.choice(CODES), draw.choice((b"", b"enough"))),
        close(1000, draw.choice(NOT_UTF_8)),
        close(1000, bytes(123 + draw.randrange(2))),
        Frame(CLOSE, b"\x03"),
        Frame(draw.choice((PING, PONG)), bytes(126)),
        Frame(draw.choice((CONTINUATION, TEXT, BINARY)), b"x", False),
        Frame(CONTINUATION, b"x"),
        draw.choice(frames),
    ))
    frames.insert(draw.randrange(len(frames) + 1), frame)


def _reorder(draw, frames):
    if draw.random() < 0.5:
        draw.shuffle(frames)
    elif len(frames) > 1:
        frames.pop(draw.randrange(len(frames)))


def _corrupt(draw, octets):
    at = draw.randrange(draw.choice((1, 16, len(octets)))) % len(octets)
    noise = draw.choice((b"", draw.randbytes(draw.randrange(1, 40))))
    # It replaces what follows, or comes before it.
    return octets[:at] + noise + draw.choice((b"", octets[at:]))


def _other_payload(draw, frame):
    payload = frame.payload
    at = draw.randrange(len(payload) + 1)
    end = draw.choice((b"", draw.choice(NOT_UTF_8) + payload[at:]))
    return payload[:at] + end


CHANGES = {
    "rsv": lambda draw, frame: frame.rsv ^ draw.choice((1, 2, 4, 7)),
    "opcode": lambda draw, frame: draw.randrange(16),
    "is_masked": lambda draw, frame: False,
    "is_final": lambda draw, frame: not frame.is_final,
    "form": lambda draw, frame: draw.choice((2, 8)),
    "length": lambda draw, frame: draw.choice(LENGTHS),
    "payload": _other_payload,
}
