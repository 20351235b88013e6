"""Keeps streams of HTTP/2 in flight, and says what became of each.

The frames are made and read here, without a library: a client that is quick
enough to load a server, and that knows of every stream whether it was answered,
was never accepted, or was lost.
"""

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections import deque

from loopback.h2_client import h2_context
from loopback.secure_socket import NAME

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS_200 = b"\x88"
REFUSED_STREAM = 7
LAST_ID = WINDOW_OCTETS = (1 << 31) - 1
INITIAL_WINDOW = 4
RECEIVE_OCTETS = 1 << 18
SOCKET_SECONDS_MAX = 20
# Between the pieces of a request's content.
PIECE_SECONDS = 0.002
HEAD = struct.Struct(">HBBBI")


def frame(kind, flags, stream, payload=b""):
    """Gives a frame."""
    length = len(payload)
    return HEAD.pack(length >> 8, length & 255, kind, flags, stream) + payload


def request_block(path, has_content=False):
    """Gives the field block of a GET or a POST, which enters no table."""
    path = path.encode()
    # :method, :scheme http, :authority a, :path.
    method = b"\x83" if has_content else b"\x82"
    return method + b"\x86\x01\x01a\x04" + bytes([len(path)]) + path


def frames_in(octets):
    """Gives the whole frames in octets, and the octets after them."""
    found, at = [], 0
    while len(octets) - at >= HEAD.size:
        high, low, kind, flags, number = HEAD.unpack_from(octets, at)
        end = at + HEAD.size + (high << 8) + low
        if end > len(octets):
            break
        found.append((kind, flags, number, octets[at + HEAD.size : end]))
        at = end
    return found, octets[at:]


class Request:
    """Is what is asked for again and again."""

    def __init__(self, path, body=None, content=()):
        self.block = request_block(path, has_content=bool(content))
        # What must come back; anything where it is None.
        self.body = body
        self.content = tuple(content)


class Stream:
    """Holds what has arrived for one request."""

    def __init__(self, request):
        self.request = request
        self.body = b""
        self.is_ok = False
        self.unsent = deque(request.content)


class Connection:
    """Is one connection with as many streams as are wanted."""

    def __init__(self, traffic):
        self.traffic = traffic
        self.open = {}
        self.next_id = 1
        # The highest stream that the server accepted, once it has said so.
        self.last_id = LAST_ID
        self.goaways = []
        # The first response of the connection, which may say whose it is.
        self.first_body = None
        self.received = b""
        self.socket = self._connect()

    def _connect(self):
        place = self.traffic.place
        is_unix = isinstance(place, str)
        family = socket.AF_UNIX if is_unix else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.settimeout(SOCKET_SECONDS_MAX)
        try:
            opened.connect(place if is_unix else ("127.0.0.1", place))
            if not is_unix:
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.traffic.secure:
                opened = h2_context().wrap_socket(opened, server_hostname=NAME)
            settings = struct.pack(">HI", INITIAL_WINDOW, WINDOW_OCTETS)
            opened.sendall(
                PREFACE
                + frame(SETTINGS, 0, 0, settings)
                + frame(WINDOW, 0, 0, struct.pack(">I", WINDOW_OCTETS - 65535))
            )
        except BaseException:
            opened.close()
            raise
        return opened

    def run(self):
        """Asks until the connection ends, or until nothing more is wanted."""
        with contextlib.closing(self.socket):
            while self.open or self._may_begin():
                octets = self._begin_streams()
                if octets:
                    self.socket.sendall(octets)
                if self._has_unsent() and not self._is_readable():
                    continue
                octets = self.socket.recv(RECEIVE_OCTETS)
                if not octets:
                    return
                self._take(octets)
            if self.goaways:
                self._await_end()

    def _has_unsent(self):
        return any(stream.unsent for stream in self.open.values())

    def _is_readable(self):
        if self.traffic.secure and self.socket.pending():
            return True
        return select.select([self.socket], [], [], PIECE_SECONDS)[0]

    def _may_begin(self):
        if self.traffic.ending or self.last_id != LAST_ID:
            return False
        if self.next_id > 2 * self.traffic.streams_max:
            return False
        return self.traffic.is_deaf or not self.goaways

    def _begin_streams(self):
        octets = b"".join(self._contents())
        while self._may_begin() and len(self.open) < self.traffic.in_flight:
            request = self.traffic.next_request()
            flags = END_HEADERS | (0 if request.content else END_STREAM)
            octets += frame(HEADERS, flags, self.next_id, request.block)
            self.open[self.next_id] = Stream(request)
            self.next_id += 2
        return octets

    def _contents(self):
        for number, stream in self.open.items():
            if stream.unsent:
                piece = stream.unsent.popleft()
                flags = 0 if stream.unsent else END_STREAM
                yield frame(DATA, flags, number, piece)

    def _take(self, octets):
        frames, self.received = frames_in(self.received + octets)
        answer = b"".join(self._take_frame(*each) for each in frames)
        if answer:
            self.socket.sendall(answer)

    def _take_frame(self, kind, flags, number, payload):
        """Gives what is to be sent at once."""
        if kind == SETTINGS and not flags & ACK:
            return frame(SETTINGS, ACK, 0)
        if kind == PING and not flags & ACK and not self.traffic.is_mute:
            return frame(PING, ACK, 0, payload)
        if kind == GOAWAY:
            self._go_away(*struct.unpack_from(">II", payload))
        elif kind == RESET:
            self._reset(number, *struct.unpack(">I", payload))
        elif kind in (HEADERS, DATA):
            # Whatever is told of a stream that is not open is a fault.
            stream = self.open[number]
            if kind == HEADERS:
                stream.is_ok = payload[:1] == STATUS_200
            else:
                stream.body += payload
            if flags & END_STREAM:
                self._end(number, stream)
        return b""

    def _go_away(self, last_id, code):
        self.goaways.append((last_id, code))
        if code or last_id > self.last_id:
            raise AssertionError(f"GOAWAY {self.goaways}")
        self.last_id = last_id
        for number in [x for x in self.open if x > last_id]:
            del self.open[number]
            self.traffic.count("not_accepted")

    def _reset(self, number, code):
        if number not in self.open:
            raise AssertionError(f"reset {number} with {code}")
        if code != REFUSED_STREAM:
            raise AssertionError(f"stream {number} was reset with {code}")
        del self.open[number]
        self.traffic.count("refused")

    def _end(self, number, stream):
        wanted = stream.request.body
        if not stream.is_ok or wanted not in (None, stream.body):
            raise AssertionError(
                f"{stream.request.block}: {stream.body[:100]}"
            )
        if self.first_body is None:
            self.first_body = stream.body
        del self.open[number]
        self.traffic.answer(self, stream)

    def _await_end(self):
        while octets := self.socket.recv(RECEIVE_OCTETS):
            self._take(octets)
        if self.received:
            raise AssertionError(f"part of a frame: {self.received[:50]}")


class Traffic:
    """Lets threads send requests until they are told to end.

    `deaf` clients begin streams until the server names the last one; the others
    stop at the first GOAWAY. `mute` ones answer no PING either."""

    def __init__(
        self, place, requests, threads=4, in_flight=32, secure=False,
        manner="polite", streams_max=LAST_ID, returns=True,
    ):
        self.place, self.secure = place, secure
        self.requests, self.in_flight = requests, in_flight
        self.is_deaf = manner in ("deaf", "mute")
        self.is_mute = manner == "mute"
        # How many a connection has before it is followed by another one.
        self.streams_max = streams_max
        # Whether a client connects again after its connection has ended.
        self.returns = returns
        self.ending = False
        self.counts = {"answered": 0, "not_accepted": 0, "refused": 0}
        self.bodies = set()
        # The streams that were lost, with the first response of their
        # connection, and the reason.
        self.lost = []
        # What the server must not do, whatever happens to it.
        self.faults = []
        # The GOAWAYs of each connection that has ended.
        self.ends = []
        self._at = 0
        self.lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, daemon=True)
            for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def next_request(self):
        """Gives the requests in turn."""
        self._at += 1
        return self.requests[self._at % len(self.requests)]

    def count(self, name):
        """Counts what has become of a stream."""
        with self.lock:
            self.counts[name] += 1

    def answer(self, connection, stream):
        """Notes an answer."""
        with self.lock:
            self.counts["answered"] += 1
            if stream.request.body is None:
                self.bodies.add(stream.body)

    def _run(self):
        while not self.ending:
            try:
                connection = Connection(self)
            except (ConnectionRefusedError, FileNotFoundError):
                # The server takes no connection any more.
                return
            except (OSError, ssl.SSLError) as problem:
                with self.lock:
                    self.faults.append(f"connecting: {problem!r}")
                return
            reason = "closed"
            try:
                connection.run()
            except (OSError, ssl.SSLError) as problem:
                reason = repr(problem)
            except (AssertionError, KeyError) as problem:
                with self.lock:
                    self.faults.append(repr(problem))
            with self.lock:
                self.ends.append(connection.goaways)
                for number in connection.open:
                    self.lost.append((connection.first_body, number, reason))
            if not self.returns:
                return

    def await_answers(self, count):
        """Waits until so many requests more were answered."""
        wanted = self.counts["answered"] + count
        self.await_so(lambda: self.counts["answered"] >= wanted)

    def await_body(self, body):
        """Waits for an answer with this content."""
        self.await_so(lambda: body in self.bodies)

    def await_so(self, is_so):
        """Waits until something is so, while requests go on."""
        deadline = time.monotonic() + SOCKET_SECONDS_MAX
        while not is_so():
            if self.faults or time.monotonic() > deadline:
                raise AssertionError(
                    f"{self.counts} {self.faults[:3]} {self.lost[:3]}"
                )
            time.sleep(0.001)

    def end(self):
        """Waits until all that was begun has ended."""
        self.ending = True
        for thread in self._threads:
            thread.join(2 * SOCKET_SECONDS_MAX)
            if thread.is_alive():
                self.faults.append("a client waits still")
