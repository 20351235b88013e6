"""Lists what hostile clients do to make a server hold octets.

The budget of a worker bounds them all; others must be served meanwhile.
"""

import asyncio

from .clients import crowd, waves
from .messages import get, post

ROOM_ATTACKS = {}


def attack(function):
    """Adds a function to the attacks."""
    ROOM_ATTACKS[function.__name__] = function
    return function


@attack
async def slow_readers(siege):
    async def act(connection, number):
        path = ("/download/100000000", "/whole/8000000")[number % 2]
        await connection.send(get(path))
        while await connection.read(64):
            await asyncio.sleep(0.1)

    # More than a client has connections to one origin by default.
    await crowd(siege, 300, act, receive_octets=2048, resets=True)


@attack
async def pipelined_and_never_read(siege):
    async def act(connection, number):
        path = ("/", "/whole/100000", "/download/50000")[number % 3]
        while True:
            await connection.send(get(path) * 500)

    await crowd(siege, 60, act, receive_octets=2048, resets=True)


@attack
async def pipelined_contents(siege):
    async def act(connection, number):
        while True:
            await connection.send(post("/echo", b"x" * 60000) * 20)
            await connection.read()

    await waves(siege, 30, act)


@attack
async def contents_announced_and_kept_back(siege):
    content = b"x" * (9 << 20)

    async def act(connection, number):
        path = ("/echo", "/json", "/upload")[number % 3]
        request = post(path, content)
        await connection.send(request[:-1])
        await asyncio.sleep(siege.seconds)

    # More than the budget of a worker holds.
    await crowd(siege, 48, act)


@attack
async def contents_that_dribble(siege):
    # Each keeps room, and the time for its content never ends.
    content = b"x" * (6 << 20)

    async def act(connection, number):
        request = post("/echo", content)
        sent = len(request) - 100_000
        await connection.send(request[:sent])
        while sent < len(request):
            await connection.send(request[sent : sent + 100])
            sent += 100
            await asyncio.sleep(0.1)

    await crowd(siege, 64, act)


@attack
async def longest_heads_and_trailers(siege):
    lines = [f"X-{i}: " + "v" * 60 for i in range(90)]
    trailers = "".join(f"T-{i}: {'w' * 60}\r\n" for i in range(90)).encode()
    head = get("/echo", "Transfer-Encoding: chunked", *lines, method="POST")

    async def act(connection, number):
        for _ in range(3):
            await connection.send(head[: len(head) // 2])
            await asyncio.sleep(0.01)
            await connection.send(
                head[len(head) // 2 :] + b"1\r\nx\r\n0\r\n" + trailers + b"\r\n"
            )
            await connection.read()

    await waves(siege, 300, act)


@attack
async def expects_and_waits(siege):
    async def act(connection, number):
        await connection.send(
            get("/echo", "Content-Length: 1000", "Expect: 100-continue",
                method="POST")
        )
        await connection.drain()

    await crowd(siege, 500, act)
