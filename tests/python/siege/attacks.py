"""Lists what hostile clients do: each function is one attack.

An attack ends by itself, leaves nothing open, and says nothing of the result:
the server is judged from outside (`judge.py`).
"""

import asyncio
import base64
import functools
import gzip
import json
import os

from .clients import Hostile, crowd, waves
from .messages import CHUNKED, get, post

ATTACKS = {}


def attack(function):
    """Adds a function to the attacks."""
    ATTACKS[function.__name__] = function
    return function


async def _post_all(siege, path, contents, *lines, count=4):
    async def act(connection, number):
        while True:
            for content in contents:
                await connection.send(post(path, content, *lines))
                await connection.read()

    await waves(siege, count, act)


# What costs the server a connection.


@attack
async def silent_connections(siege):
    async def act(connection, number):
        await connection.drain()

    await crowd(siege, 1500, act)


@attack
async def heads_octet_by_octet(siege):
    async def act(connection, number):
        await connection.dribble(get("/", "X-A: " + "a" * 4000), 0.01)

    await crowd(siege, 300, act)


@attack
async def contents_octet_by_octet(siege):
    async def act(connection, number):
        path = ("/upload", "/echo", "/json", "/multipart")[number % 4]
        await connection.send(post(path, b"")[:-2].replace(
            b"Content-Length: 0", b"Content-Length: 100000") + b"\r\n")
        await connection.dribble(b"[" * 100000, 0.01)

    await crowd(siege, 300, act)


@attack
async def connections_reset_at_once(siege):
    async def act(connection, number):
        pass

    await waves(siege, 400, act, resets=True)


@attack
async def requests_reset_at_once(siege):
    paths = ["/", "/delay/1000", "/download/10000000", "/whole/8000000",
             "/events", "/fail", "/wild/a"]

    async def act(connection, number):
        await connection.send(get(paths[number % len(paths)]))
        if number % 3 == 0:
            await connection.read(100)

    await waves(siege, 300, act, resets=True)


@attack
async def half_closed(siege):
    async def act(connection, number):
        await connection.send(get(("/", "/delay/500", "/events")[number % 3]))
        connection.end()
        await connection.drain()

    await waves(siege, 200, act)


@attack
async def urgent_octets(siege):
    async def act(connection, number):
        request = get("/", "X-A: " + "b" * 100)
        for i in range(0, len(request), 7):
            connection.send_urgent()
            await connection.send(request[i : i + 7])
        await asyncio.sleep(0.2)

    await waves(siege, 50, act)


@attack
async def thousands_of_delays(siege):
    async def act(connection, number):
        await connection.send(get("/delay/30000"))
        await connection.drain()

    await crowd(siege, 3000, act, resets=True)


@attack
async def thousands_of_event_streams(siege):
    async def act(connection, number):
        await connection.send(get("/events", "Accept-Encoding: zstd, gzip"))
        await asyncio.sleep(siege.seconds)

    await crowd(siege, 2000, act, receive_octets=4096)


@attack
async def upgrades_that_never_speak(siege):
    async def act(connection, number):
        await connection.send(
            get("/upgrade", "Connection: upgrade", "Upgrade: echo")
        )
        await connection.drain()

    await crowd(siege, 2000, act)


@attack
async def upgrades_that_never_read(siege):
    async def act(connection, number):
        await connection.send(
            get("/upgrade", "Connection: upgrade", "Upgrade: echo")
        )
        while True:
            await connection.send(b"x" * 65536)

    await crowd(siege, 100, act, receive_octets=4096, resets=True)


# What makes it compute.


@attack
async def chunks_of_one_octet(siege):
    body = b"1\r\nx\r\n" * 20000

    async def act(connection, number):
        await connection.send(CHUNKED % b"/echo")
        while True:
            await connection.send(body)

    await waves(siege, 6, act)


@attack
async def chunk_extensions(siege):
    body = (b"1;" + b"a=b;" * 900 + b"\r\nx\r\n") * 50

    async def act(connection, number):
        await connection.send(CHUNKED % b"/upload")
        while True:
            await connection.send(body)

    await waves(siege, 6, act)


@attack
async def unread_contents(siege):
    async def act(connection, number):
        for _ in range(20):
            await connection.send(post("/nowhere", b"x" * 250_000))
            await connection.read()

    await waves(siege, 10, act)


def _texts():
    deep = 250
    yield b"[" * deep + b"]" * deep
    yield b'{"a":' * deep + b"1" + b"}" * deep
    yield b"[" * 100_000
    yield b'{"data":' + b"[" * 240 + b"]" * 240 + b"}"
    yield b"[" + b",".join([b"[]"] * 300_000) + b"]"
    yield b"[" + b",".join([b"{}"] * 300_000) + b"]"
    yield b"[" + b",".join([b"1e308"] * 200_000) + b"]"
    yield b"[" + b",".join([b"9" * 400] * 2000) + b"]"
    yield b"[" + b"9" * 1_000_000 + b"]"
    yield b"[0." + b"0" * 500_000 + b"1]"
    yield b"[1e" + b"9" * 100_000 + b"]"
    yield b"[-" * 1000
    yield b'"' + b"\\u0041" * 100_000 + b'"'
    yield b'"' + b"\\ud83d\\ude00" * 60_000 + b'"'
    yield b'"' + b"\\" * 100_001 + b'"'
    yield b'{"' + b'":1,"'.join(b"k%d" % i for i in range(60_000)) + b'":1}'
    yield b'{"' + b'":1,"'.join([b"k"] * 60_000) + b'":1}'
    yield b'{"' + b'":1,"'.join(
        b"k" * (i % 300) + b"%d" % i for i in range(8000)) + b'":1}'
    yield b" " * 1_000_000 + b"1"
    yield b"\xef\xbb\xbf1"
    yield b'"\xff\xfe"'
    yield b'"' + "\U0010ffff".encode() * 50_000 + b'"'
    yield b""
    yield b"\0" * 1000


@functools.lru_cache
def json_texts():
    """Gives texts that strain readers and writers of JSON."""
    return tuple(_texts())


@attack
async def json_documents(siege):
    await _post_all(siege, "/json", json_texts())


@attack
async def json_parts(siege):
    texts = [b'{"data":' + text + b"}" for text in json_texts()]
    await _post_all(siege, "/part", texts)


@attack
async def json_structs(siege):
    item = {"name": "n" * 100, "price": 1.5, "tags": ["t"] * 20}
    orders = [
        {"id": 1, "items": [item] * 2000, "extra": {}, "note": None},
        {"id": 1, "items": [], "note": "x",
         "extra": {f"k{i}": [i] for i in range(20_000)}},
        {"id": 1, "items": [], "note": "x",
         "extra": {f"k{i}": {"a": [[[]]]} for i in range(5000)}},
        {"id": 10**30, "items": [], "extra": {}, "note": None},
        {"unknown": [[[[{}] * 100] * 100] * 10]},
    ]
    contents = [json.dumps(order).encode() for order in orders]
    contents.append(
        b'{"id":1,"items":[],"extra":{"a":' + b"[" * 250 + b"]" * 250
        + b'},"note":null}'
    )
    await _post_all(siege, "/typed", contents)


@attack
async def forms(siege):
    contents = [
        b"&" * 1_000_000,
        b"a=b&" * 200_000,
        b"%41" * 300_000,
        b"+" * 1_000_000,
        b"a" * 1_000_000,
        b"=" * 500_000,
        b"%" * 100_000,
    ]
    await _post_all(siege, "/form", contents,
                    "Content-Type: application/x-www-form-urlencoded")


@attack
async def multiparts(siege):
    head = b'Content-Disposition: form-data; name="a"\r\n\r\n'
    almost = b"\r\n--boundar"
    contents = [
        (b"--boundary\r\n" + head + b"\r\n") * 20_000 + b"--boundary--",
        b"--boundary\r\n" + head + almost * 100_000 + b"\r\n--boundary--",
        b"--boundary\r\n" + head + b"\r\n" * 500_000 + b"--boundary--",
        b"--boundary\r\n" + b"X: y\r\n" * 100_000,
        b"--boundary\r\n" + b"X" * 1_000_000,
        b"-" * 1_000_000,
        b"\r\n" * 400_000,
        b"--boundary " + b" " * 500_000,
        b"--boundary\r\nContent-Disposition: form-data"
        + b';a="\\"' * 100_000 + b"\r\n\r\n",
        b"",
    ]
    await _post_all(siege, "/multipart", contents,
                    "Content-Type: multipart/form-data; boundary=boundary")


@attack
async def queries_and_cookies(siege):
    requests = [
        get("/count?" + "&" * 7000),
        get("/count?" + "a=b&" * 1700),
        get("/count?" + "%41" * 2000),
        get("/count", "Cookie: " + "; " * 3500),
        get("/count", "Cookie: " + "a=b;" * 1800),
        get("/count", *["Cookie: a=b"] * 90),
        get("/count", "Cookie: " + '"' * 7000),
        get("/wild/" + "/" * 7000),
        get("/wild/" + "a/" * 3500),
        get("/wild/" + "%2f" * 2300),
        get("/wild/" + "../" * 2300),
        get("/users/" + ":" * 5000),
        get("/", "Accept-Encoding: " + "gzip;q=0.1," * 600),
        get("/", "Accept-Encoding: " + "," * 7000),
        get("/", "Connection: " + "a," * 3500),
        get("/", "Connection: " + "upgrade," * 900, "Upgrade: " + "x," * 90),
        get("/", "Forwarded: " + "for=a," * 1200),
        get("/", "Range: bytes=" + "0-0," * 1700),
        get("/", "Authorization: Basic " + "=" * 7000),
    ]

    async def act(connection, number):
        while True:
            for request in requests:
                await connection.send(request)
                await connection.read()

    await waves(siege, 8, act)


@attack
async def compressed_answers(siege):
    content = os.urandom(1000) * 500

    async def act(connection, number):
        coding = ("gzip", "br", "zstd", "deflate")[number % 4]
        while True:
            await connection.send(
                post("/json", b'"' + base64.b64encode(content) + b'"',
                     f"Accept-Encoding: {coding}")
            )
            await connection.read()

    await waves(siege, 8, act, receive_octets=8192, resets=True)


@attack
async def compressed_contents(siege):
    bomb = gzip.compress(b"0" * (64 << 20))

    async def act(connection, number):
        path = ("/json", "/form", "/echo", "/upload")[number % 4]
        while True:
            await connection.send(post(path, bomb, "Content-Encoding: gzip"))
            await connection.read()

    await waves(siege, 8, act)


# What breaks the protocol.


def broken_requests():
    """Gives requests that are none, or doubtful ones."""
    both = "Transfer-Encoding: chunked"
    return [
        b"\r\n" * 5000,
        b"\0" * 1000,
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\n\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 50_000,
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A" * 200_000,
        get("/echo", "Content-Length: 5", both, method="POST"),
        get("/echo", "Content-Length: -1", method="POST"),
        get("/echo", "Content-Length: " + "9" * 40, method="POST"),
        get("/echo", "Content-Length: 18446744073709551615", method="POST"),
        get("/echo", "Content-Length: 5", "Content-Length: 6", method="POST"),
        get("/echo", "Transfer-Encoding: gzip, chunked", method="POST"),
        get("/echo", both, method="POST") + b"fffffffffffffffff\r\n",
        get("/echo", both, method="POST") + b"-1\r\n",
        get("/echo", both, method="POST") + b"0" * 10_000 + b"1\r\n",
        get("/echo", both, method="POST") + b"1\r\nxy\r\n",
        get("*", method="OPTIONS"),
        get("a:443", method="CONNECT"),
        get("/", method="TRACE"),
        get("/", method="X" * 5000),
        get("http://b/", "X: y"),
        get("http://" + "[" * 1000 + "/"),
        get("/%", "X: y"),
        get("/\x7f"),
        b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
        get("/", "Expect: " + "100-continue," * 500),
        get("/upgrade", "Connection: upgrade", "Upgrade: echo",
            "Content-Length: 3", method="GET") + b"abc",
    ]


@attack
async def broken_requests_whole(siege):
    requests = broken_requests()

    async def act(connection, number):
        await connection.send(requests[number % len(requests)])
        connection.end()
        await connection.drain()

    await waves(siege, 2 * len(requests), act)


@attack
async def broken_requests_left_open(siege):
    requests = broken_requests()

    async def act(connection, number):
        await connection.send(get("/") + requests[number % len(requests)])
        await connection.drain()

    await waves(siege, 2 * len(requests), act, resets=True)


@attack
async def mutated_conversations(siege):
    """Requests of all kinds with octets changed, split and cut anywhere."""
    seeds = [
        get("/"), get("/download/100000"), get("/whole/100000"),
        get("/events"), get("/delay/10"), get("/fail"),
        get("/upgrade", "Connection: upgrade", "Upgrade: echo") + b"hello",
        post("/echo", b"hello"), post("/json", b'{"a":[1,2,{"b":null}]}'),
        post("/part", b'{"data":[1,2,3]}'),
        post("/form", b"a=b&c=d",
             "Content-Type: application/x-www-form-urlencoded"),
        post("/multipart",
             b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'
             b"--b--\r\n", "Content-Type: multipart/form-data; boundary=b"),
        CHUNKED % b"/echo" + b"5\r\nhello\r\n0\r\nT: u\r\n\r\n",
        CHUNKED % b"/upload" + b"5;x=y\r\nhello\r\n0\r\n\r\n",
    ]
    chance = siege.chance

    def mutate(octets):
        octets = bytearray(octets)
        for _ in range(chance.choice((0, 0, 1, 1, 2, 8))):
            at = chance.randrange(len(octets) + 1)
            way = chance.randrange(4)
            if way == 0 and at < len(octets):
                octets[at] = chance.randrange(256)
            elif way == 1:
                octets[at:at] = bytes([chance.choice(b"\r\n\0 :,;%/0\xff")])
            elif way == 2:
                del octets[at : at + chance.randrange(1, 9)]
            else:
                octets[at:at] = octets[at : at + chance.randrange(1, 50)]
        return bytes(octets)

    async def act(connection, number):
        octets = b"".join(
            mutate(chance.choice(seeds)) for _ in range(chance.randrange(1, 8))
        )
        cut = chance.randrange(len(octets) + 1)
        if chance.random() < 0.5:
            await connection.send(octets[:cut])
            await asyncio.sleep(chance.random() * 0.01)
        await connection.send(octets[cut:])
        ending = chance.randrange(4)
        if ending == 0:
            connection.reset()
            return
        if ending == 1:
            connection.end()
        deadline = 0.02 if ending == 2 else 0.3
        try:
            await asyncio.wait_for(connection.drain(), deadline)
        except asyncio.TimeoutError:
            pass

    await waves(siege, 60, act)


@attack
async def connections_in_a_storm(siege):
    """One connection per request, as fast as they can be made."""

    async def act(connection, number):
        for _ in range(40):
            other = await Hostile.open(siege.port)
            try:
                await other.send(get("/", "Connection: close"))
                await other.drain()
            finally:
                other.close()

    await waves(siege, 50, act)
