"""Moves much content over many streams of one connection of HTTP/2.

It is quick enough to move a gibibyte, keeps to the windows of its peer, and
checksums each stream.
"""

import select
import struct
import zlib

from loopback.h2_traffic import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW,
    PING,
    PREFACE,
    RESET,
    SETTINGS,
    STATUS_200,
    WINDOW,
    WINDOW_OCTETS,
    frame,
    frames_in,
    request_block,
)

FRAME_OCTETS = 16_384
WINDOW_DEFAULT = 65_535
RECEIVE_OCTETS = 1 << 18
SEND_OCTETS = 1 << 18


class Response:
    """Holds what has arrived on a stream."""

    def __init__(self):
        self.is_ok = False
        self.octets = 0
        self.crc = 0
        self.adler = 1
        # Its first octets, which are all of a short one.
        self.start = b""
        self.has_ended = False


class Upload:
    """Sends pieces of one block, each from another place in it."""

    def __init__(self, block, octets, number):
        self._block = memoryview(block + block[:FRAME_OCTETS])
        self._at = number * 4093 % len(block)
        self.left = octets
        self.window = WINDOW_DEFAULT
        self.crc = 0
        self.adler = 1

    def take(self, count):
        """Gives the next octets."""
        piece = self._block[self._at : self._at + count]
        self._at = (self._at + count) % (len(self._block) - FRAME_OCTETS)
        self.left -= count
        self.window -= count
        self.crc = zlib.crc32(piece, self.crc)
        self.adler = zlib.adler32(piece, self.adler)
        return piece


class Transfer:
    """Is a connection, whose socket is connected and speaks h2 if it has TLS."""

    def __init__(self, socket, window=WINDOW_OCTETS):
        self.socket = socket
        self.responses = {}
        self.uploads = {}
        self._next_id = 1
        self._window = WINDOW_DEFAULT
        self._stream_window = WINDOW_DEFAULT
        self._received = b""
        self._granted = self._taken = 0
        settings = struct.pack(">HI", INITIAL_WINDOW, window)
        grown = struct.pack(">I", WINDOW_OCTETS - WINDOW_DEFAULT)
        socket.sendall(
            PREFACE + frame(SETTINGS, 0, 0, settings)
            + frame(WINDOW, 0, 0, grown)
        )
        # What the server allows is known before anything is sent.
        while not self._granted:
            self._pump()

    def get(self, path):
        """Begins a download; gives its response."""
        return self._begin(path, END_STREAM)

    def post(self, path, block, octets):
        """Begins an upload; gives what is sent, and the response."""
        response = self._begin(path, 0)
        upload = Upload(block, octets, self._next_id)
        upload.window = self._stream_window
        self.uploads[self._next_id - 2] = upload
        return upload, response

    def _begin(self, path, flags):
        block = request_block(path, has_content=not flags)
        self.socket.sendall(
            frame(HEADERS, END_HEADERS | flags, self._next_id, block)
        )
        response = self.responses[self._next_id] = Response()
        self._next_id += 2
        return response

    def run(self, pause=lambda: None):
        """Sends and receives until all streams have ended."""
        while self.responses:
            while octets := self._next_content():
                self.socket.sendall(octets)
                while self._is_readable():
                    self._pump()
            if self.responses:
                self._pump()
                pause()

    def _is_readable(self):
        pending = getattr(self.socket, "pending", int)
        return pending() or select.select([self.socket], [], [], 0)[0]

    def _next_content(self):
        """Gives frames of all streams in turn."""
        found, octets = [], 0
        for number, upload in list(self.uploads.items()):
            count = min(
                upload.left, upload.window, self._window, FRAME_OCTETS
            )
            if count <= 0 or octets > SEND_OCTETS:
                continue
            # The next turn begins with the others.
            del self.uploads[number]
            self._window -= count
            piece = upload.take(count)
            octets += count
            found.append(
                frame(DATA, 0 if upload.left else END_STREAM, number, piece)
            )
            if upload.left:
                self.uploads[number] = upload
        return b"".join(found)

    def _pump(self):
        octets = self.socket.recv(RECEIVE_OCTETS)
        if not octets:
            raise AssertionError("the server has ended the connection")
        answer = b""
        frames, self._received = frames_in(self._received + octets)
        for kind, flags, number, payload in frames:
            answer += self._take(kind, flags, number, payload)
        if self._taken > WINDOW_OCTETS // 2:
            answer += frame(WINDOW, 0, 0, struct.pack(">I", self._taken))
            self._taken = 0
        if answer:
            self.socket.sendall(answer)

    def _take(self, kind, flags, number, payload):
        """Gives what is to be sent at once."""
        if kind == DATA:
            self._taken += len(payload)
            self._take_content(self.responses[number], payload)
        elif kind == HEADERS:
            response = self.responses[number]
            # The other block of a response is its trailers.
            response.is_ok = response.is_ok or payload[:1] == STATUS_200
        elif kind == WINDOW:
            self._widen(number, *struct.unpack(">I", payload))
        elif kind == SETTINGS and not flags & ACK:
            self._set(payload)
            return frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            return frame(PING, ACK, 0, payload)
        elif kind in (RESET, GOAWAY):
            raise AssertionError(f"frame {kind} for {number}: {payload}")
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            response = self.responses.pop(number)
            response.has_ended = True
        return b""

    def _take_content(self, response, payload):
        response.octets += len(payload)
        response.crc = zlib.crc32(payload, response.crc)
        response.adler = zlib.adler32(payload, response.adler)
        if len(response.start) < 100:
            response.start += payload

    def _widen(self, number, increment):
        if number == 0:
            self._window += increment
        elif number in self.uploads:
            self.uploads[number].window += increment

    def _set(self, payload):
        self._granted += 1
        for name, value in struct.iter_unpack(">HI", payload):
            if name == INITIAL_WINDOW:
                self._stream_window = value
