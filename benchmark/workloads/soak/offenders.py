"""Offends against the server's rules, and holds it to what they say.

Each offender is one connection at a time that moves in steps and never blocks
for long. What the server must not have done is put into `mistakes`. The bounds
are the defaults of `ServerConfig`, see docs/security.md.
"""

import itertools
import random
import socket
import time
import zlib

from attack import HEAD_BEGIN, UPLOAD_BEGIN
from common import request

# The server is not late because the observer's core is busy.
LATE_SECONDS_MAX = 15.0
EARLY_SECONDS_MAX = 0.5
HEAD_SECONDS = 10.0
CONTENT_SECONDS = 30.0
IDLE_SECONDS = 60.0
WRITE_SECONDS = 30.0
DOWNLOAD_OCTETS = 16 << 20
DOWNLOAD = request(f"/download-known/{DOWNLOAD_OCTETS}")
INNOCENT = request("/")
ANSWER_OCTETS_MAX = 4096

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /length HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
# What is sent, and the status that docs/supported.md promises.
VIOLATIONS = (
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (GET + b"Host: localhost\r\n\r\n", 400),
    (GET + b"X-Folded: a\r\n b\r\n\r\n", 400),
    (GET + b"X-Blank : a\r\n\r\n", 400),
    (GET + b"X-Line: a\nX-Other: b\r\n\r\n", 400),
    (GET + b"X-Nul: a\x00b\r\n\r\n", 400),
    (b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    (POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400),
    (POST + b"Content-Length: -3\r\n\r\nabc", 400),
    (POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    (POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400),
    (CHUNKED + b"xyz\r\n", 400),
    (CHUNKED + b"3\r\nabcd\r\n", 400),
    (CHUNKED + b"3;" + b"e" * 300 + b"\r\nabc\r\n0\r\n\r\n", 400),
    (CHUNKED + b"3\r\nabc\r\n0\r\nno colon\r\n\r\n", 400),
    (CHUNKED + b"3\r\nabc\r\n0\r\nX-T: " + b"t" * 8192 + b"\r\n\r\n", 431),
    (POST + b"Content-Length: 10485761\r\n\r\n", 413),
    (CHUNKED + b"a00001\r\n", 413),
    (b"GET /" + b"t" * 8192 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    (POST + b"Content-Length: 1\r\nExpect: else\r\n\r\na", 417),
    (GET + b"X-Long: " + b"v" * 8192 + b"\r\n\r\n", 431),
    (GET + b"X-Many: v\r\n" * 100 + b"\r\n", 431),
    (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
)


def problem_of_refusal(octets, status):
    """Says what is wrong with all that a connection got, if anything is."""
    head, mark, content = octets.partition(b"\r\n\r\n")
    if not mark or not head.startswith(b"HTTP/1.1 %d " % status):
        return f"{octets[:100]!r} instead of {status}"
    fields = head.lower().split(b"\r\n")[1:]
    if b"connection: close" not in fields:
        return f"{status} does not say that the connection closes"
    if b"content-length: %d" % len(content) not in fields:
        return f"{status} is cut off, or more follows: {octets[-100:]!r}"
    return None


class Peer:
    """Is a connection that takes what comes without waiting for it."""

    def __init__(self, port, receive_octets=None):
        self.socket = socket.socket()
        if receive_octets:
            self.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, receive_octets
            )
        self.socket.settimeout(5)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.begun = time.monotonic()
        self.end = None

    def take(self, octets_max=ANSWER_OCTETS_MAX):
        """Gives what has come; `end` is set where nothing more will."""
        try:
            octets = self.socket.recv(octets_max)
        except BlockingIOError:
            return b""
        except OSError:
            self.end = "reset"
            return b""
        if not octets:
            self.end = "closed"
        return octets

    def send(self, octets):
        """Sends octets; whether the peer is there still, `take` tells."""
        try:
            self.socket.send(octets)
        except OSError:
            pass

    def seconds(self):
        """Tells how long ago the connection began."""
        return time.monotonic() - self.begun

    def close(self):
        """Closes the connection."""
        self.socket.close()


class Offender:
    """Is one connection after another that must end in one way."""

    # What is sent at first, and how long the server bears what follows.
    begin = b""
    seconds = 0.0
    # The status that it answers with, or none where it only closes.
    status = None

    def __init__(self, port, mistakes):
        self.port = port
        self.mistakes = mistakes
        self.peer = None
        self.received = b""

    def step(self):
        """Goes on a little."""
        if self.peer is None:
            self.peer = Peer(self.port)
            self.received = b""
            self.peer.send(self.begin)
        self.go_on()
        self.received += self.peer.take()
        is_late = self.peer.seconds() > self.seconds + LATE_SECONDS_MAX
        if self.peer.end or is_late:
            self._judge()
            self.close()

    def go_on(self):
        """Offends once more."""

    def complain(self, text):
        """Notes what the server did wrong."""
        self.mistakes.append(f"{type(self).__name__}: {text}")

    def close(self):
        """Closes the connection."""
        if self.peer:
            self.peer.close()
            self.peer = None

    def _judge(self):
        passed = self.peer.seconds()
        if self.peer.end != "closed":
            self.complain(f"{self.peer.end or 'open still'} after"
                          f" {passed:.1f} s, got {self.received[:100]!r}")
        elif passed < self.seconds - EARLY_SECONDS_MAX:
            self.complain(f"closed after {passed:.1f} s already")
        elif self.status is None:
            if self.received:
                self.complain(f"got {self.received[:100]!r}")
        elif problem := problem_of_refusal(self.received, self.status):
            self.complain(problem)


class Slowloris(Offender):
    """Sends a head octet by octet and never ends it: 408."""

    begin = HEAD_BEGIN
    seconds = HEAD_SECONDS
    status = 408

    def go_on(self):
        self.peer.send(b"a")


class StalledContent(Offender):
    """Begins content and stops: 408."""

    begin = UPLOAD_BEGIN
    seconds = CONTENT_SECONDS
    status = 408


class DribbledContent(StalledContent):
    """Goes on far below the lowest rate: 408."""

    def go_on(self):
        self.peer.send(b"u")


class Silent(Offender):
    """Connects and asks for nothing: closed, without a word."""

    seconds = IDLE_SECONDS


class Download:
    """Takes a response of a known length apart as it comes."""

    sum_of_all = None

    def __init__(self):
        self.head = b""
        self.left = None
        self.sum = 0

    def add(self, octets):
        """Adds what has come; gives what is wrong with it, or None."""
        if self.left is None:
            self.head += octets
            head, mark, octets = self.head.partition(b"\r\n\r\n")
            if not mark:
                return None
            self.left = DOWNLOAD_OCTETS
            length = b"content-length: %d" % DOWNLOAD_OCTETS
            if not head.startswith(b"HTTP/1.1 200 ") \
                    or length not in head.lower().split(b"\r\n"):
                return f"bad head {head[:100]!r}"
        self.left -= len(octets)
        self.sum = zlib.crc32(octets, self.sum)
        if self.left < 0:
            return f"{-self.left} octets too many"
        if self.left == 0:
            # The content is the same for all who ask.
            Download.sum_of_all = Download.sum_of_all or self.sum
            if self.sum != Download.sum_of_all:
                return "content that differs from what another one got"
        return None


class SlowReader(Offender):
    """Reads slowly, but not so slowly that it may be left: all is sent."""

    # More than the kernel takes, so that the handler waits for us; how many
    # handlers write at a time, and so the memory they hold, is no chance.
    octets = 8192

    def step(self):
        if self.peer is None:
            self.peer = Peer(self.port, receive_octets=4096)
            self._ask()
        problem = self.download.add(self.peer.take(self.octets))
        if self.peer.end:
            problem = f"{self.peer.end} with {self.download.left} octets left"
        if problem:
            self.complain(problem)
            self.close()
        elif self.download.left == 0:
            # The kernel held the last of it for longer than the server waits
            # for another request.
            self.close()

    def _ask(self):
        self.download = Download()
        self.peer.send(DOWNLOAD)


class Deaf(Offender):
    """Reads nothing for longer than it may: cut off in the content."""

    seconds = WRITE_SECONDS + LATE_SECONDS_MAX

    def step(self):
        if self.peer is None:
            # So little that most of the content stays with the server.
            self.peer = Peer(self.port, receive_octets=65536)
            self.download = Download()
            self.peer.send(DOWNLOAD)
        if self.peer.seconds() < self.seconds:
            return
        problem = None
        while not problem and not self.peer.end:
            octets = self.peer.take(1 << 16)
            if not octets:
                break
            problem = self.download.add(octets)
        if self.download.left == 0:
            problem = "got everything"
        elif not self.peer.end \
                and self.peer.seconds() > self.seconds + LATE_SECONDS_MAX:
            problem = "open still"
        if problem:
            self.complain(problem)
        if problem or self.peer.end:
            self.close()


class Violator(Offender):
    """Breaks the protocol in each way in turn: refused at once, and what
    stands behind it is not answered."""

    def __init__(self, port, mistakes):
        super().__init__(port, mistakes)
        # Each violator in an order of its own.
        rows = random.sample(VIOLATIONS, len(VIOLATIONS))
        self.turns = itertools.cycle(rows)

    def step(self):
        if self.peer is None:
            self.violation, self.status = next(self.turns)
            self.begin = self.violation + INNOCENT
        super().step()

    def complain(self, text):
        super().complain(f"{self.violation[:100]!r}: {text}")
