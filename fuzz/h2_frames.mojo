"""Draws the octets that a client or a server of HTTP/2 sends."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.frame import (
    FRAME_HEADER_OCTETS,
    H2Flag,
    H2FrameType,
    append_frame_header,
    read_frame_header,
)
from flare.proto.h2.hpack import (
    append_indexed,
    append_literal,
    append_named_literal,
)
from flare.proto.h2.preface import PREFACE

from .random import Random

comptime _LENGTHS: List[Int] = [0, 0, 1, 2, 5, 40, 300, 5000, 16384]


struct ClientFrames(Movable):
    """A stream of frames, mostly legal ones."""

    var octets: List[UInt8]
    """The octets so far."""
    var next_id: Int
    """The next stream."""
    var _ids: List[Int]

    def __init__(out self, mut random: Random) raises:
        """Begins with the preface and settings.

        Args:
            random: Draws the settings.
        """
        self.octets = List[UInt8](PREFACE.as_bytes())
        self.next_id = 1
        self._ids = []
        self.settings(random)

    def draw(mut self, mut random: Random) raises:
        """Adds one frame, or a head in several.

        Args:
            random: Draws it.
        """
        var kind = 0 if self.next_id == 1 else random.below(20)
        if kind < 6:
            self._head(random)
        elif kind < 11:
            self._data(random)
        elif kind < 13:
            self._window(random)
        elif kind == 13:
            self.settings(random)
        elif kind == 14:
            self._frame(6, random.below(2), 0, random.octets(8))
        elif kind == 15:
            self._frame(3, 0, self._id(random), _number(random.below(14)))
        elif kind == 16:
            # The machine reports it, which is when its owner sends content.
            self._frame(7, 0, 0, List[UInt8](length=8, fill=0))
        elif kind == 17:
            self._frame(
                16,
                0,
                0,
                _joined(
                    _number(self._id(random)),
                    [117, 61, 48 + random.octet() % 8],
                ),
            )
        elif kind == 18:
            self._frame(2, 0, self._id(random), [0, 0, 0, 0, 1])
        else:
            self._frame(
                random.between(20, 255),
                random.below(256),
                random.below(4),
                random.octets(random.below(30)),
            )

    def settings(mut self, mut random: Random) raises:
        """Adds settings.

        Args:
            random: Draws them.
        """
        var payload = List[UInt8]()
        if random.chance(50):
            payload.extend([UInt8(0), 4])
            payload.extend(_number(random.below(3) * random.below(60_000)))
        if random.chance(30):
            payload.extend([UInt8(0), 1])
            payload.extend(_number(random.below(200) * random.below(40)))
        if random.chance(20):
            payload.extend([UInt8(0), 5])
            payload.extend(_number(random.between(16_384, 20_000)))
        self._frame(4, 0, 0, payload)

    def _head(mut self, mut random: Random) raises:
        var id = self._id(random)
        if len(self._ids) == 0 or random.chance(85):
            id = self.next_id
            self._ids.append(id)
            # A client may leave numbers out.
            self.next_id += 2
            if random.chance(20):
                self.next_id += 2 * random.below(1000)
        var block = heap_create(Buffer())
        if random.chance(10):
            append_literal(2, "CONNECT".as_bytes(), block)
            append_named_literal(
                ":protocol".as_bytes(), "websocket".as_bytes(), block
            )
        else:
            append_indexed(random.between(2, 3), block)
        append_indexed(random.between(6, 7), block)
        append_literal(1, "a.test".as_bytes(), block)
        if random.chance(50):
            append_literal(4, "/path".as_bytes(), block)
        elif random.chance(95):
            append_indexed(4, block)
        if random.chance(30):
            append_literal(28, String(random.below(300)).as_bytes(), block)
        var octets = List[UInt8](block[].span())
        heap_destroy(block)
        var ends = 1 if random.chance(50) else 0
        if random.chance(80):
            self._frame(1, 4 | ends, id, octets)
            return
        var cut = random.below(len(octets) + 1)
        self._frame(1, ends, id, List[UInt8](octets[:cut]))
        self._frame(9, 4, id, List[UInt8](octets[cut:]))

    def _data(mut self, mut random: Random) raises:
        var count = random.pick(materialize[_LENGTHS]())
        var payload = List[UInt8](length=count, fill=random.octet())
        var flags = 1 if random.chance(30) else 0
        if random.chance(20) and count < 5000:
            var padding = random.below(40)
            flags |= 8
            payload.insert(0, UInt8(padding))
            payload.extend(List[UInt8](length=padding, fill=0))
        self._frame(0, flags, self._id(random), payload)

    def _window(mut self, mut random: Random) raises:
        var id = self._id(random) if random.chance(60) else 0
        self._frame(8, 0, id, _number(random.between(1, 30_000)))

    def _id(self, mut random: Random) -> Int:
        if len(self._ids) == 0:
            return 1
        # One of the latest.
        var latest = min(len(self._ids), 6)
        return self._ids[len(self._ids) - 1 - random.below(latest)]

    def _frame(
        mut self, kind: Int, flags: Int, id: Int, payload: List[UInt8]
    ) raises:
        self.octets.extend(_frame_of(kind, flags, id, payload))


struct ServerFrames(Movable):
    """A stream of frames for a client with streams 1 to `last_id`, mostly legal
    ones."""

    var octets: List[UInt8]
    """The octets so far."""
    var _last_id: Int

    def __init__(out self, last_id: Int, mut random: Random) raises:
        """Begins with settings.

        Args:
            last_id: The last stream of the client.
            random: Draws the settings.
        """
        self.octets = []
        self._last_id = last_id
        self._frame(4, 0, 0, [])

    def draw(mut self, mut random: Random) raises:
        """Adds one frame, or a head in several.

        Args:
            random: Draws it.
        """
        var kind = random.below(16)
        if kind < 6:
            self._head(random)
        elif kind < 10:
            var count = random.pick(materialize[_LENGTHS]())
            self._frame(
                0,
                1 if random.chance(30) else 0,
                self._id(random),
                List[UInt8](length=count, fill=random.octet()),
            )
        elif kind == 10:
            var id = self._id(random) if random.chance(60) else 0
            self._frame(8, 0, id, _number(random.between(1, 30_000)))
        elif kind == 11:
            self._frame(3, 0, self._id(random), _number(random.below(14)))
        elif kind == 12:
            self._frame(6, random.below(2), 0, random.octets(8))
        elif kind == 13:
            self._frame(7, 0, 0, _joined(_number(random.below(20)), _number(0)))
        elif kind == 14:
            self._frame(4, random.below(2) * random.below(2), 0, [])
        else:
            self._frame(
                random.between(17, 255),
                random.below(256),
                random.below(4),
                random.octets(random.below(30)),
            )

    def _head(mut self, mut random: Random) raises:
        comptime STATUSES: List[StaticString] = [
            "100",
            "103",
            "200",
            "200",
            "204",
            "304",
            "404",
            "999",
        ]
        var block = heap_create(Buffer())
        var status = random.pick(materialize[STATUSES]())
        if random.chance(90):
            append_literal(8, status.as_bytes(), block)
        if random.chance(30):
            append_literal(28, String(random.below(300)).as_bytes(), block)
        for _ in range(random.below(4)):
            append_literal(random.between(15, 60), "a value".as_bytes(), block)
        var octets = List[UInt8](block[].span())
        heap_destroy(block)
        var ends = 1 if random.chance(30) else 0
        var id = self._id(random)
        if random.chance(80):
            return self._frame(1, 4 | ends, id, octets)
        var cut = random.below(len(octets) + 1)
        self._frame(1, ends, id, List[UInt8](octets[:cut]))
        self._frame(9, 4, id, List[UInt8](octets[cut:]))

    def _id(mut self, mut random: Random) -> Int:
        if random.chance(2):
            return random.below(2 * self._last_id)
        return 2 * random.below((self._last_id + 1) // 2) + 1

    def _frame(
        mut self, kind: Int, flags: Int, id: Int, payload: List[UInt8]
    ) raises:
        self.octets.extend(_frame_of(kind, flags, id, payload))


def describe_frames(octets: Span[mut=False, UInt8, _], mut text: String):
    """Writes all frames but those of windows, which depend on the pieces: credit
    is returned when a part of a window is due.

    Args:
        octets: The frames.
        text: The destination.
    """
    var at = 0
    while at < len(octets):
        var header = read_frame_header(octets, at)
        var end = at + FRAME_HEADER_OCTETS + header.length
        var is_probe = header.kind == H2FrameType.PING and not header.has(
            H2Flag.ACK
        )
        if header.kind != H2FrameType.WINDOW_UPDATE and not is_probe:
            for i in range(at, end):
                text.write(" ", octets[i])
        at = end


def _frame_of(
    kind: Int, flags: Int, id: Int, payload: List[UInt8]
) -> List[UInt8]:
    var header = heap_create(Buffer())
    append_frame_header(len(payload), UInt8(kind), UInt8(flags), id, header)
    var octets = List[UInt8](header[].span())
    octets.extend(Span(payload))
    heap_destroy(header)
    return octets^


def _number(value: Int) -> List[UInt8]:
    return [
        UInt8(value >> 24 & 255),
        UInt8(value >> 16 & 255),
        UInt8(value >> 8 & 255),
        UInt8(value & 255),
    ]


def _joined(first: List[UInt8], second: List[UInt8]) -> List[UInt8]:
    var all = first.copy()
    all.extend(Span(second))
    return all^
