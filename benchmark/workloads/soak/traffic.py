"""Makes mixed traffic: each function is one kind, and a process of its own.

A kind works until `over` is set, in rounds that it counts in `done`; what is
not as it must be it counts in `wrong`, so that a failure does not end the rest.
"""

import os
import pathlib
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "hostile")]

from attack import Resetter, SlowReader, Slowloris
from common import Client, request

CONTENT = b"Hello, World!"
STREAMED_OCTETS = 4 << 20
PAUSE_SECONDS = 0.002


def run(kind, port, over, done, wrong):
    """Repeats rounds of a kind of traffic."""
    os.nice(5)
    rounds = kind(port)
    while not over.is_set():
        try:
            is_right = next(rounds)
        except (OSError, EOFError, AssertionError, ValueError) as error:
            print(f"    {kind.__name__}: {error!r}"[:300], flush=True)
            is_right = False
            rounds = kind(port)
        done.value += 1
        wrong.value += not is_right
    rounds.close()


def kept(port):
    """Asks on 16 connections that stay."""
    while True:
        clients = [Client(port) for _ in range(16)]
        # Well under max_keepalive_requests: behind the last one a server
        # closes, whatever was sent already.
        for _ in range(50_000):
            for client in clients:
                client.send(request("/"))
            yield all(client.answer().body == CONTENT for client in clients)
            time.sleep(PAUSE_SECONDS)
        for client in clients:
            client.close()


def churn(port):
    """Comes, asks once, and goes."""
    while True:
        with Client(port) as client:
            client.send(request("/"))
            yield client.answer().body == CONTENT
        time.sleep(PAUSE_SECONDS)


def pipelining(port):
    """Sends 16 requests at once, some of which wait."""
    paths = ["/", "/parked/1", "/content/5000", "/"] * 4
    sizes = [13, 13, 5000, 13] * 4
    while True:
        # Well under max_keepalive_requests: behind the last one a server
        # closes, whatever was sent already.
        with Client(port) as client:
            for _ in range(1000):
                client.send(b"".join(request(path) for path in paths))
                yield all(len(client.answer().body) == size for size in sizes)
                time.sleep(PAUSE_SECONDS)


def streaming_up(port):
    """Sends content of a known length."""
    piece = os.urandom(STREAMED_OCTETS)
    expected = f"{STREAMED_OCTETS} {zlib.crc32(piece)} "
    with Client(port) as client:
        while True:
            length = f"Content-Length: {len(piece)}"
            client.send(request("/upload", length, method="POST") + piece)
            yield client.answer().body.decode().startswith(expected)
            time.sleep(0.05)


def streaming_down(port):
    """Receives streamed content, which must be the same each time."""
    first = None
    path = f"/download-known/{STREAMED_OCTETS}"
    with Client(port) as client:
        while True:
            client.send(request(path))
            sum_here = zlib.crc32(client.answer().body)
            first = first or sum_here
            yield sum_here == first
            time.sleep(0.05)


def parked(port):
    """Keeps 200 handlers waiting."""
    clients = [Client(port) for _ in range(200)]
    while True:
        for client in clients:
            client.send(request("/parked/500"))
        yield all(client.answer().body == CONTENT for client in clients)


def leaving(port):
    """Leaves in the midst: while a handler waits, while content comes."""
    paths = ["/parked/60000", f"/download/{1 << 30}", "/content/100000"]
    while True:
        for path in paths:
            with Client(port) as client:
                client.send(request(path))
                time.sleep(0.01)
                client.reset()
        for path in paths:
            with Client(port) as client:
                client.send(request(path))
                time.sleep(0.01)
        yield True


def hostile(port):
    """Attacks, see hostile/attack.py."""
    crew = [Slowloris(port) for _ in range(50)]
    # More than the kernel takes, and not so slow that the server leaves: how
    # many handlers write at a time, and so the memory they hold, is no chance.
    crew += [SlowReader(port, "/download/16777216", 8192) for _ in range(50)]
    crew += [Resetter(port) for _ in range(5)]
    while True:
        for one in crew:
            one.step()
        yield True
        time.sleep(0.1)


KINDS = (kept, churn, pipelining, streaming_up, streaming_down, parked,
         leaving, hostile)
