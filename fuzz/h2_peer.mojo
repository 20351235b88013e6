"""A naive client that judges the frames of a server's machine."""

from flare.core import equals
from flare.proto.h2.frame import (
    FRAME_HEADER_OCTETS,
    read_frame_header,
    read_uint32,
)
from flare.proto.h2.hpack import HpackDecoder


struct PeerStream(Copyable, Movable):
    """What a client knows of a stream."""

    var id: Int
    """The stream."""
    var granted: Int
    """By how much its window was widened."""
    var sent: Int
    """How much content the server has sent."""
    var has_head: Bool
    """Whether the server has sent a head."""
    var has_ended: Bool
    """Whether the server has ended or reset it."""
    var is_reset: Bool
    """Whether the server has reset it, but not after a whole answer."""
    var status: Int
    """The status of the answer; 0 before it."""

    def __init__(out self, id: Int):
        """Creates a stream without any frame.

        Args:
            id: The stream.
        """
        self.id = id
        self.granted = 0
        self.sent = 0
        self.has_head = False
        self.has_ended = False
        self.is_reset = False
        self.status = 0


struct H2Judge(Movable):
    """Follows what the client has sent, and judges what the server sends."""

    var decoder: HpackDecoder
    """The decoder of the server's heads."""
    var streams: List[PeerStream]
    """The streams that either has named."""
    var initial: Int
    """The window with which each stream begins."""
    var granted: Int
    """By how much the connection's window was widened."""
    var sent: Int
    """How much content the server has sent."""
    var read: Int
    """How far the client's octets are read."""
    var unanswered: Int
    """How many settings the client has yet to acknowledge."""
    var goes_away: Bool
    """Whether the server has said that it goes away."""

    def __init__(out self):
        """Creates the state before the first octet."""
        self.decoder = HpackDecoder.create()
        self.streams = []
        self.initial = 65_535
        self.granted = 65_535
        self.sent = 0
        # Behind the preface.
        self.read = 24
        self.unanswered = 0
        self.goes_away = False

    def __deinit__(deinit self):
        """Frees the decoder."""
        self.decoder.destroy()

    def follow(mut self, octets: Span[UInt8, _], end: Int):
        """Reads the client's frames that the server has consumed.

        Args:
            octets: All octets of the client.
            end: How many the server has consumed.
        """
        while self.read + FRAME_HEADER_OCTETS <= end:
            var header = read_frame_header(octets, self.read)
            var start = self.read + FRAME_HEADER_OCTETS
            if start + header.length > end:
                return
            self.read = start + header.length
            if header.kind == 8 and header.length == 4:
                var by = Int(read_uint32(octets, start) & 0x7FFFFFFF)
                if header.stream_id == 0:
                    self.granted += by
                else:
                    self.streams[self._find(header.stream_id)].granted += by
            elif header.kind == 4 and header.flags & 1 == 0:
                for at in range(start, start + header.length - 5, 6):
                    if octets[at] == 0 and octets[at + 1] == 4:
                        self.initial = Int(read_uint32(octets, at + 2))

    def judge(mut self, octets: Span[mut=False, UInt8, _]) raises:
        """Judges frames of the server.

        Args:
            octets: The frames.

        Raises:
            Error: If one is not allowed.
        """
        var at = 0
        while at < len(octets):
            if self.goes_away:
                raise Error("a frame after the end")
            if len(octets) - at < FRAME_HEADER_OCTETS:
                raise Error("part of a header")
            var header = read_frame_header(octets, at)
            var start = at + FRAME_HEADER_OCTETS
            at = start + header.length
            if at > len(octets) or header.length > 16_384:
                raise Error("a frame of ", header.length, " octets")
            if header.kind == 7:
                self.goes_away = True
            if header.kind == 4 and header.flags & 1 == 0:
                self.unanswered += 1
            if header.stream_id == 0 or header.kind == 8:
                continue
            self._judge_stream(
                Int(header.kind),
                Int(header.flags),
                header.stream_id,
                octets[start:at],
            )

    def _judge_stream(
        mut self,
        kind: Int,
        flags: Int,
        id: Int,
        payload: Span[mut=False, UInt8, _],
    ) raises:
        var i = self._find(id)
        if self.streams[i].has_ended and kind != 3:
            raise Error("a frame of type ", kind, " after the end of ", id)
        if kind == 0:
            if not self.streams[i].has_head:
                raise Error("content before the head of ", id)
            self.sent += len(payload)
            self.streams[i].sent += len(payload)
            if len(payload) > 0:
                self._check_windows(i)
        elif kind == 1:
            self.streams[i].status = self._decode(payload)
            self.streams[i].has_head = True
        elif kind != 3:
            raise Error("a frame of type ", kind)
        if kind == 3 and not self.streams[i].has_ended:
            self.streams[i].is_reset = True
        if kind == 3 or flags & 1 != 0:
            self.streams[i].has_ended = True

    def _check_windows(self, i: Int) raises:
        if self.sent > self.granted:
            raise Error("the connection's window is exceeded")
        ref stream = self.streams[i]
        if stream.sent > self.initial + stream.granted:
            raise Error("the window of ", stream.id, " is exceeded")

    def has_ended(self, id: Int) -> Bool:
        """Returns whether the server has ended or reset a stream.

        Args:
            id: The stream.

        Returns:
            True after its last frame.
        """
        for stream in self.streams:
            if stream.id == id:
                return stream.has_ended
        return False

    def stream_of(self, id: Int) -> PeerStream:
        """Returns what arrived on a stream.

        Args:
            id: The stream.

        Returns:
            A copy.
        """
        for stream in self.streams:
            if stream.id == id:
                return stream.copy()
        return PeerStream(id)

    def _decode(mut self, block: Span[mut=False, UInt8, _]) raises -> Int:
        """Decodes a head, and returns its status."""
        var status = 0
        self.decoder.begin_block()
        var at = 0
        while True:
            try:
                var field = self.decoder.next(block, at)
                if not field:
                    return status
                at = field.end
                if equals(field.name, ":status".as_bytes()):
                    status = 0
                    for digit in field.value:
                        status = 10 * status + Int(digit) - 48
            except e:
                raise Error("a head: ", e.reason)

    def _find(mut self, id: Int) -> Int:
        for i in range(len(self.streams)):
            if self.streams[i].id == id:
                return i
        self.streams.append(PeerStream(id))
        return len(self.streams) - 1
