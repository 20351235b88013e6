"""Makes mixed traffic: each function is one kind, and a process of its own.

A kind works until `over` is set, in rounds that yield what was not as it must
be, or None. `done` counts the rounds and `wrong` the problems, so that a
failure does not end the rest.
"""

import os
import pathlib
import random
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "hostile")]

from attack import Resetter
from common import Client, request
from echo import EchoClient
from offenders import (
    Deaf, DribbledContent, Silent, Slowloris, SlowReader, StalledContent,
    Violator,
)

CONTENT = b"Hello, World!"
STREAMED_OCTETS = 4 << 20
CHUNKED_OCTETS = 1 << 20
CHUNK_OCTETS_MAX = 32 << 10
ECHOED_OCTETS = 256 << 10
PAUSE_SECONDS = 0.002
# Twice the traffic has some 550 requests in flight.
AT_ONCE = 700
FILL_MS = 3000
FIELDS = 40
LINES_MAX = 20
OFFENDERS = ((Slowloris, 50), (SlowReader, 50), (StalledContent, 3),
             (DribbledContent, 3), (Silent, 5), (Deaf, 5), (Violator, 5))
RESETTERS = 5


def fill(port):
    """Gives the server its pools of connections, requests and fibers: lets each
    fiber reach as deep into its stack as any handler ever will, and each
    request have more of everything than any other; says what was wrong."""
    fields = [f"X-{number}: {number}" for number in range(FIELDS)]
    octets = request(f"/deep/{FILL_MS}", "Transfer-Encoding: chunked", *fields,
                     method="POST")
    octets += b"1\r\nx\r\n0\r\nChecksum: 1\r\nA: 2\r\nB: 3\r\n\r\n"
    clients = [Client(port) for _ in range(AT_ONCE)]
    for client in clients:
        client.send(octets)
    problems = [unlike_filled(client.answer()) for client in clients]
    for client in clients:
        client.close()
    return first(problems)


def unlike_filled(answer):
    """Says what an answer is if it is not the one of `fill`."""
    found = (answer.body, answer.field("Checksum"))
    # One octet of its stack is the one that was sent.
    return unlike(found, (b"1 12407", "1"))


def run(kind, port, over, done, wrong):
    """Repeats rounds of a kind of traffic."""
    os.nice(5)
    rounds = kind(port)
    while not over.is_set():
        try:
            problem = next(rounds)
        except (OSError, EOFError, LookupError, AssertionError,
                ValueError) as error:
            problem = repr(error)
            rounds = kind(port)
        done.value += 1
        if problem:
            wrong.value += 1
            if wrong.value <= LINES_MAX:
                print(f"    {kind.__name__}: {problem}"[:300], flush=True)
    rounds.close()


def unlike(found, expected):
    """Says what was found instead of what was expected, if that differs."""
    if found == expected:
        return None
    return f"{found!r:.100} instead of {expected!r:.100}"


def unlike_hello(client):
    """Reads an answer, and says what it is if it is not the usual one."""
    answer = client.answer()
    return unlike((answer.status, answer.body), (200, CONTENT))


def first(problems):
    """Gives the first problem, if there is one; all answers are read."""
    found = [problem for problem in problems if problem]
    return found[0] if found else None


def kept(port):
    """Asks on 16 connections that stay."""
    while True:
        clients = [Client(port) for _ in range(16)]
        # Well under max_keepalive_requests: behind the last one a server
        # closes, whatever was sent already.
        for _ in range(50_000):
            for client in clients:
                client.send(request("/"))
            yield first(unlike_hello(client) for client in clients)
            time.sleep(PAUSE_SECONDS)
        for client in clients:
            client.close()


def churn(port):
    """Comes, asks once, and goes."""
    while True:
        with Client(port) as client:
            client.send(request("/"))
            yield unlike_hello(client)
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
                found = [len(client.answer().body) for _ in sizes]
                yield unlike(found, sizes)
                time.sleep(PAUSE_SECONDS)


def streaming_up(port):
    """Sends content of a known length."""
    piece = os.urandom(STREAMED_OCTETS)
    expected = f"{STREAMED_OCTETS} {zlib.crc32(piece)} "
    with Client(port) as client:
        while True:
            length = f"Content-Length: {len(piece)}"
            client.send(request("/upload", length, method="POST") + piece)
            found = client.answer().body.decode()
            yield unlike(found[:len(expected)], expected)
            time.sleep(0.05)


def in_chunks(content):
    """Cuts content into chunks of any size, some with an extension."""
    parts = []
    at = 0
    while at < len(content):
        size = random.randint(1, random.choice((16, CHUNK_OCTETS_MAX)))
        piece = content[at : at + size]
        extension = b";a=b" if size % 7 == 0 else b""
        parts += [b"%x%s\r\n" % (len(piece), extension), piece, b"\r\n"]
        at += size
    return b"".join(parts)


def chunked_up(port):
    """Sends content in chunks, with and without a trailer section."""
    content = os.urandom(CHUNKED_OCTETS)
    fields = ("Transfer-Encoding: chunked", "Trailer: Checksum")
    number = 0
    with Client(port) as client:
        while True:
            number += 1
            piece = content[random.randrange(CHUNKED_OCTETS):]
            expected = [str(len(piece)), str(zlib.crc32(piece)), "none"]
            trailer = b""
            if number % 2:
                expected[2] = f"{number}-{expected[1]}"
                trailer = f"X-Other: a\r\nChecksum: {expected[2]}\r\n".encode()
            octets = b"".join([
                request("/upload-and-trailer", *fields[: 1 + number % 2],
                        method="POST"),
                in_chunks(piece), b"0\r\n", trailer, b"\r\n",
            ])
            # Wherever a segment ends, a chunk does not.
            cut = random.randrange(len(octets))
            client.send(octets[:cut])
            time.sleep(PAUSE_SECONDS)
            client.send(octets[cut:])
            count, checksum, _, its = client.answer().body.decode().split()
            yield unlike([count, checksum, its], expected)
            time.sleep(0.05)


def streaming_down(port):
    """Receives streamed content, which must be the same each time."""
    expected = None
    path = f"/download-known/{STREAMED_OCTETS}"
    with Client(port) as client:
        while True:
            client.send(request(path))
            sum_here = zlib.crc32(client.answer().body)
            expected = expected or sum_here
            yield unlike(sum_here, expected)
            time.sleep(0.05)


def parked(port):
    """Keeps 200 handlers waiting."""
    clients = [Client(port) for _ in range(200)]
    while True:
        for client in clients:
            client.send(request("/parked/500"))
        yield first(unlike_hello(client) for client in clients)


def upgraded(port):
    """Speaks another protocol behind a 101: what is sent comes back."""
    content = os.urandom(ECHOED_OCTETS)
    with EchoClient(port) as kept:
        while True:
            # Octets right behind the request, messages of any size, and many
            # octets at once; then the end.
            size = random.randint(1, 200)
            with EchoClient(port, content[:size]) as client:
                client.expect_echo(content[:size], sent=size)
                for _ in range(5):
                    at = random.randrange(ECHOED_OCTETS)
                    client.expect_echo(content[at : at + at % 4000 + 1])
                client.expect_echo(content)
                client.expect_end_behind(b"the last")
            kept.expect_echo(content[:100])
            # One that leaves in the midst.
            EchoClient(port, content).reset()
            # Who does not offer the protocol is told which one it is.
            with Client(port) as client:
                client.send(request("/echo") + request("/"))
                answer = client.answer()
                found = (answer.status, answer.field("Upgrade"))
                yield unlike(found, (426, "echo")) or unlike_hello(client)
            time.sleep(0.1)


def early_answer(client):
    """Says what came already, if anything did."""
    client.socket.setblocking(False)
    try:
        return f"{client.socket.recv(100)!r} instead of nothing"
    except BlockingIOError:
        return None
    finally:
        client.socket.settimeout(10)


def unlike_an_end(client):
    """Waits until the server closes, and says what came before."""
    return unlike(client.rest(), b"")


def leaving(port):
    """Leaves in the midst: while a handler waits, while content comes.

    A handler that is cancelled answers nothing; one that is not stays for a
    minute, and shows among the requests in flight.
    """
    parked = request("/parked/60000")
    upload = request("/upload", "Content-Length: 100000", method="POST")
    # What is sent, and whether an answer begins meanwhile.
    moments = [
        (parked, False),
        (upload + b"u" * 50000, False),
        (request(f"/download/{1 << 30}"), True),
        (request("/content/100000"), True),
    ]
    while True:
        problems = []
        for leave in (Client.reset, Client.close):
            for octets, is_answered in moments:
                client = Client(port)
                client.send(octets)
                if is_answered:
                    problems.append(unlike(client.head().status, 200))
                else:
                    time.sleep(0.01)
                    problems.append(early_answer(client))
                leave(client)
        # Who ends its side while a handler waits is answered by an end.
        with Client(port) as client:
            client.send(parked)
            time.sleep(0.01)
            client.end()
            problems.append(unlike_an_end(client))
        yield first(problems)


def hostile(port):
    """Offends against the rules, see offenders.py and hostile/attack.py."""
    mistakes = []
    crew = [kind(port, mistakes) for kind, count in OFFENDERS
            for _ in range(count)]
    crew += [Resetter(port) for _ in range(RESETTERS)]
    while True:
        for one in crew:
            one.step()
        more = f" and {len(mistakes) - 1} more" if mistakes[1:] else ""
        yield mistakes[0] + more if mistakes else None
        mistakes.clear()
        time.sleep(0.1)


KINDS = (kept, churn, pipelining, streaming_up, chunked_up, streaming_down,
         parked, upgraded, leaving, hostile)
