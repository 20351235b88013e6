"""Is a name server on the loopback address that answers as a test wants it."""

import socket
import struct
import threading

A, CNAME, SOA, AAAA, OPT = 1, 5, 6, 28, 41
QR_RD_RA = 0x8180
TRUNCATED = 0x0200
POINTER_TO_QUESTION = b"\xc0\x0c"


def encode_name(name):
    """Gives a name in its form on the wire."""
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(x)]) + x for x in labels) + b"\0"


def record(owner, kind, ttl, data):
    """Gives one record; the owner is octets."""
    return owner + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def address(kind, text, ttl=300, owner=POINTER_TO_QUESTION):
    """Gives one address record of the name that was asked for."""
    family = socket.AF_INET if kind == A else socket.AF_INET6
    return record(owner, kind, ttl, socket.inet_pton(family, text))


def zone(ttl=60):
    """Gives the record that says how long a "no" holds."""
    numbers = struct.pack("!IIIII", 1, 2, 3, 4, ttl)
    return record(encode_name("test"), SOA, 3600, b"\0\0" + numbers)


class Query:
    """Holds what a client has asked."""

    def __init__(self, octets, sender, stream=None):
        self.octets = octets
        self.sender = sender
        self.stream = stream
        self.over_tcp = stream is not None
        self.id, self.flags, _, _, _, extra = struct.unpack(
            "!HHHHHH", octets[:12]
        )
        at, labels = 12, []
        while octets[at]:
            labels.append(octets[at + 1 : at + 1 + octets[at]].decode())
            at += 1 + octets[at]
        self.name = ".".join(labels)
        self.kind = struct.unpack("!H", octets[at + 1 : at + 3])[0]
        self.question = octets[12 : at + 5]
        self.with_edns = extra == 1

    def answer(self, answers=(), authorities=(), code=0, **changed):
        """Gives a whole answer; `changed` replaces id, question or flags."""
        flags = changed.get("flags", QR_RD_RA) | code
        counts = struct.pack(
            "!HHHHHH",
            changed.get("id", self.id),
            flags,
            1,
            changed.get("count", len(answers)),
            len(authorities),
            0,
        )
        question = changed.get("question", self.question)
        return counts + question + b"".join([*answers, *authorities])


class NameServer:
    """Answers over UDP and TCP on one port until the test ends.

    `reply` gets each query and gives the messages to send, none for silence.
    """

    def __init__(self, reply):
        self.reply = reply
        self.queries = []
        self._lock = threading.Lock()
        self._open()
        self._threads = [
            threading.Thread(target=self._serve_datagrams, daemon=True),
            threading.Thread(target=self._serve_streams, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _open(self):
        for _ in range(50):
            self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._datagrams.bind(("127.0.0.1", 0))
            self.port = self._datagrams.getsockname()[1]
            self._listener = socket.socket()
            try:
                self._listener.bind(("127.0.0.1", self.port))
                self._listener.listen()
                return
            except OSError:
                self._datagrams.close()
                self._listener.close()
        raise RuntimeError("no port is free for both UDP and TCP")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closing = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._datagrams.close()
        self._listener.close()

    _closing = False

    @property
    def text(self):
        """The server's address as a setting of the program under test."""
        return f"server=127.0.0.1:{self.port}"

    def count(self, name, kind=None):
        """Counts the queries for a name, and of one type if one is given."""
        with self._lock:
            return sum(
                query.name == name and kind in (None, query.kind)
                for query in self.queries
            )

    def _messages(self, octets, sender, stream=None):
        query = Query(octets, sender, stream)
        with self._lock:
            self.queries.append(query)
        return self.reply(query)

    def _serve_datagrams(self):
        while True:
            octets, sender = self._datagrams.recvfrom(4096)
            if self._closing:
                return
            for message in self._messages(octets, sender):
                self._datagrams.sendto(message, sender)

    def _serve_streams(self):
        while True:
            try:
                stream, sender = self._listener.accept()
            except OSError:
                return
            with stream:
                stream.settimeout(10)
                length = struct.unpack("!H", self._exactly(stream, 2))[0]
                octets = self._exactly(stream, length)
                for message in self._messages(octets, sender, stream):
                    stream.sendall(struct.pack("!H", len(message)) + message)

    @staticmethod
    def _exactly(stream, count):
        octets = b""
        while len(octets) < count:
            piece = stream.recv(count - len(octets))
            if not piece:
                raise ConnectionError("the client has ended early")
            octets += piece
        return octets
