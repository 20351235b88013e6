"""Frames that one end writes are reported by the other, and all others judged.

Invariant: in any pieces, a machine reports the messages, pings, pongs and the
Close that another machine wrote. Any octets yield the events and the error that
a naive reader of the whole stream finds, the data that arrived are reported at
once, and no octet is looked at more than a few times. The short way of messages
changes nothing of that. `WsFramePlace` finds the borders of all frames, in any
pieces.
"""

from flare.proto.ws import (
    WsFrameHead,
    WsFramePlace,
    WsOpcode,
    WsRole,
)

from fuzz.h1_split import cuts_of
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate
from fuzz.ws_model import WsReference
from tests.proto_ws.peer import Peer

comptime _LENGTHS: List[Int] = [0, 1, 2, 3, 4, 5, 7, 31, 64, 125, 126, 127, 300]
comptime _TEXTS: List[StaticString] = [
    "plain text, longer than one vector of octets",
    "é",
    "€",
    "😀",
    "\x7f",
    "߿ࠀ",
    "퟿",
    "￿",
    "𐀀",
    "􏿿",
]


def fuzz_ws_machine(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one stream of frames whole and in pieces.

    Args:
        random: Draws the frames and the pieces.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var stream = Stream(random)
    for _ in range(random.below(6)):
        stream.draw(random)
    if random.chance(50):
        stream.close(random)
    var octets = stream.octets.copy()
    var is_intact = not stream.is_odd
    if random.chance(30):
        octets = mutate(Span(octets), random)
        is_intact = False
    histogram.input(Span(octets))
    var reference = WsReference(
        is_server=stream.role == WsRole.SERVER,
        can_compress=stream.can_compress,
        octets_max=stream.octets_max,
    )
    reference.read(Span(octets))
    if is_intact and reference.text != stream.expected:
        raise Error(
            "written as\n", stream.expected, "judged as\n", reference.text
        )
    for takes_short in [False, True]:
        _compare(stream, octets, [], reference, takes_short)
        var cuts = cuts_of(octets, random)
        _follow(octets, cuts)
        _compare(stream, octets, cuts, reference, takes_short)
    if random.chance(10):
        var every = List[Int]()
        for i in range(1, len(octets)):
            every.append(i)
        _compare(stream, octets, every, reference, random.chance(50))
    if reference.has_failed:
        histogram.count("refused")
    elif reference.is_closed:
        histogram.count_whole("closed")
    else:
        histogram.count_whole("open")


def _follow(octets: List[UInt8], cuts: List[Int]) raises:
    """Compares the borders that `WsFramePlace` finds with those of all octets.
    """
    var found = List[Int]()
    var place = WsFramePlace()
    var at = 0
    for i in range(len(cuts) + 1):
        var end = cuts[i] if i < len(cuts) else len(octets)
        while at < end:
            at += place.advance(Span(octets)[at:end])
            if place.is_between_frames():
                found.append(at)
    var ends = _ends_of(octets)
    if found != ends:
        raise Error("borders at ", String(found), " and not ", String(ends))


def _ends_of(octets: List[UInt8]) -> List[Int]:
    var ends = List[Int]()
    var at = 0
    while at + 2 <= len(octets):
        var second = Int(octets[at + 1])
        var extended = 0
        if second & 127 >= 126:
            extended = 2 if second & 127 == 126 else 8
        var start = at + 2 + extended + (4 if second >= 128 else 0)
        if start > len(octets):
            break
        var length = UInt64(second & 127)
        if extended > 0:
            length = 0
            for i in range(extended):
                length = length << 8 | UInt64(octets[at + 2 + i])
        if length > UInt64(len(octets) - start):
            break
        at = start + Int(length)
        ends.append(at)
    return ends^


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_ws_machine)


struct Stream(Movable):
    """Holds the frames of one end, and what the other one has to report."""

    var role: UInt8
    """The end that receives them."""
    var writer: Peer
    """The end that writes them."""
    var octets: List[UInt8]
    """The frames."""
    var expected: String
    """The transcript of the other end."""
    var is_odd: Bool
    """Whether a frame was added that no machine writes."""
    var can_compress: Bool
    """Whether RSV1 has a meaning."""
    var octets_max: Int
    """The limit of the other end on messages."""

    def __init__(out self, mut random: Random):
        """Begins a stream.

        Args:
            random: Draws which end it is.
        """
        self.role = UInt8(random.below(2))
        self.can_compress = random.chance(50)
        self.octets_max = 2000 if random.chance(90) else random.below(300)
        self.writer = Peer(
            WsRole.CLIENT if self.role == WsRole.SERVER else WsRole.SERVER,
            can_compress=self.can_compress,
        )
        self.octets = []
        self.expected = String()
        self.is_odd = self.octets_max < 2000

    def draw(mut self, mut random: Random) raises:
        """Adds a message, a control frame or something that is neither.

        Args:
            random: Draws it.

        Raises:
            Error: If the machine refuses to write a legal frame.
        """
        var kind = random.below(21)
        if kind < 13:
            self._write_message(random)
        elif kind < 17:
            self._write_control(random)
        elif kind == 17:
            self._add_empty_frames(random)
        elif kind == 18:
            self._add_long_fragment(random)
        else:
            self._add_odd_frame(random)

    def close(mut self, mut random: Random) raises:
        """Ends the stream with a Close.

        Args:
            random: Draws code and reason.

        Raises:
            Error: If the machine refuses to write a legal Close.
        """
        var code = UInt16(
            random.pick[Int]([1000, 1001, 1014, 3000, 4999, 1005])
        )
        var reason = String()
        if code != 1005:
            reason = String(random.pick[StaticString](materialize[_TEXTS]()))
        _ = self.writer.write_close(code, reason, mask=self._mask(random))
        self._take()
        self.expected += String("= CLOSE ", code, " ")
        self._expect(reason.as_bytes())

    def _mask(self, mut random: Random) -> Optional[UInt32]:
        if self.role == WsRole.CLIENT:
            return None
        return UInt32(random.next() & 0xFFFF_FFFF)

    def _take(mut self):
        self.octets.extend(Span(self.writer.take_output()))

    def _expect(mut self, octets: Span[UInt8, _]):
        for octet in octets:
            if octet < 32 or octet >= 127 or octet == 92:
                self.expected += "\\x"
                for digit in [octet // 16, octet % 16]:
                    self.expected += String("0123456789abcdef")[byte=Int(digit)]
            else:
                self.expected += chr(Int(octet))
        self.expected += "\n"

    def _draw_content(
        self, mut random: Random, *, is_text: Bool
    ) -> List[UInt8]:
        var content = List[UInt8]()
        if not is_text:
            return random.octets(random.pick[Int](materialize[_LENGTHS]()))
        for _ in range(random.below(6)):
            content.extend(
                random.pick[StaticString](materialize[_TEXTS]()).as_bytes()
            )
        return content^

    def _write_message(mut self, mut random: Random) raises:
        var is_text = random.chance(60)
        var content = self._draw_content(random, is_text=is_text)
        var opcode = WsOpcode.TEXT if is_text else WsOpcode.BINARY
        var is_compressed = self.can_compress and random.chance(30)
        var frames = 1 if random.chance(50) else 1 + random.below(4)
        var start = 0
        for i in range(frames):
            var is_last = i == frames - 1
            var end = len(content)
            if not is_last:
                end = random.between(start, len(content))
            self._write_frame(
                random,
                WsFrameHead(
                    opcode if i == 0 else WsOpcode.CONTINUATION,
                    end - start,
                    mask=self._mask(random),
                    fin=is_last,
                    rsv1=is_compressed and i == 0,
                ),
                Span(content)[start:end],
            )
            start = end
            if not is_last:
                self.expected += "+\n"
                if random.chance(30):
                    self._write_control(random)
        self.expected += "= TEXT " if is_text else "= BINARY "
        if is_compressed:
            self.expected += "(compressed) "
        self._expect(Span(content))

    def _write_frame(
        mut self,
        mut random: Random,
        head: WsFrameHead,
        payload: Span[UInt8, _],
    ) raises:
        self.writer.write_frame_head(head)
        var cut = random.between(0, len(payload))
        self.writer.write_payload(payload[:cut], mask=head.mask)
        self.writer.write_payload(payload[cut:], mask=head.mask, offset=cut)
        self._take()

    def _write_control(mut self, mut random: Random) raises:
        var payload = random.octets(random.pick[Int]([0, 1, 2, 4, 9, 124, 125]))
        if random.chance(50):
            self.writer.write_ping(Span(payload), mask=self._mask(random))
            self.expected += "= PING "
        else:
            self.writer.write_pong(Span(payload), mask=self._mask(random))
            self.expected += "= PONG "
        self._expect(Span(payload))
        self._take()

    def _add_empty_frames(mut self, mut random: Random) raises:
        # About as many as one message may have.
        self.is_odd = True
        var count = random.between(1020, 1030) if random.chance(20) else 3
        var first: List[UInt8] = [0x01]
        for _ in range(count):
            self.octets.extend(Span(first))
            if self.role == WsRole.SERVER:
                self.octets.extend([0x80, 1, 2, 3, 4])
            else:
                self.octets.append(0)
            first[0] = 0
        if random.chance(50):
            first[0] = 0x80
            self.octets.extend(Span(first))
            if self.role == WsRole.SERVER:
                self.octets.extend([0x81, 0, 0, 0, 0, 97])
            else:
                self.octets.extend([1, 97])

    def _add_long_fragment(mut self, mut random: Random):
        # The sum of both lengths is beyond a signed word.
        self.is_odd = True
        var masked = UInt8(0x80 if self.role == WsRole.SERVER else 0)
        self.octets.extend([0x02, masked | 2])
        if masked != 0:
            self.octets.extend([0, 0, 0, 0])
        self.octets.extend([1, 2])
        self.octets.extend([0x80, masked | 127, 0x7F])
        self.octets.extend(List[UInt8](length=7, fill=0xFF))
        if masked != 0:
            self.octets.extend([0, 0, 0, 0])
        self.octets.extend(random.octets(random.below(4)))

    def _add_odd_frame(mut self, mut random: Random):
        # A header of any kind, and text that may be none.
        self.is_odd = True
        var payload = List[UInt8](
            "text".as_bytes() if random.chance(50) else "é".as_bytes()
        )
        if random.chance(50):
            payload.extend(Span(_bad_text(random)))
        var first = UInt8(
            random.pick[Int](
                [0x81, 0x01, 0x00, 0x80, 0x82, 0x02, 0x88, 0x89, 0xC1, 0x41]
            )
        )
        if random.chance(20):
            first = random.octet()
        if first == 0x88 and random.chance(80):
            var code = random.between(995, 1020)
            if random.chance(30):
                code = random.pick[Int]([0, 2999, 3000, 4999, 5000, 65535])
            payload.insert(0, UInt8(code & 0xFF))
            payload.insert(0, UInt8(code >> 8))
        self.octets.append(first)
        var masked = UInt8(0x80 if self.role == WsRole.SERVER else 0)
        if random.chance(5):
            masked ^= 0x80
        var form = random.below(10)
        if form == 0:
            self.octets.extend([masked | 126, 0, UInt8(len(payload))])
        elif form == 1:
            self.octets.append(masked | 127)
            self.octets.extend(
                random.pick[List[UInt8]](
                    [
                        [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                        [0x80, 0, 0, 0, 0, 0, 0, 0],
                        [0, 0, 0, 0, 0, 0, 0, 9],
                        [0, 0, 0, 0, 0, 1, 0, 0],
                        [0, 0, 0, 1, 0, 0, 0, 4],
                    ]
                )
            )
        else:
            self.octets.append(masked | UInt8(len(payload)))
        if masked != 0:
            self.octets.extend([0, 0, 0, 0])
        self.octets.extend(Span(payload))


def _compare(
    stream: Stream,
    octets: List[UInt8],
    cuts: List[Int],
    reference: WsReference,
    takes_short: Bool,
) raises:
    var peer = Peer(
        stream.role,
        message_octets_max=stream.octets_max,
        can_compress=stream.can_compress,
        takes_short=takes_short,
    )
    peer.receive_cut(Span(octets), cuts)
    if peer.text() != reference.text:
        raise Error("reported\n", peer.text(), "and not\n", reference.text)
    # Each event takes a frame or a piece; each piece takes one wait.
    if peer.events > len(octets) + 2 * len(cuts) + 4:
        raise Error(peer.events, " events for ", len(octets), " octets")
    if len(peer.window) > 14 + 125:
        raise Error(len(peer.window), " octets are held back")


def _bad_text(mut random: Random) -> List[UInt8]:
    return random.pick[List[UInt8]](
        [
            [0xFF],
            [0xC0, 0x80],
            [0xED, 0xA0, 0x80],
            [0xE0, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF],
            [0xE2, 0x82],
            [0x80],
            [0xC3, 0x28],
        ]
    )
