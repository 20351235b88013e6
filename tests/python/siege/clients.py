"""Opens hostile connections, many at a time and each for a bounded time."""

import asyncio
import contextlib
import random
import socket
import struct
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"


@dataclass
class Siege:
    """Holds what an attack needs: where, for how long, and its chance."""

    port: int
    seconds: float
    seed: int
    chance: random.Random = field(init=False)

    def __post_init__(self):
        self.chance = random.Random(self.seed)


class Hostile:
    """Is one connection whose octets and ending are the attacker's choice."""

    def __init__(self, stream):
        self.socket = stream
        self.loop = asyncio.get_running_loop()

    @classmethod
    async def open(cls, port, receive_octets=None):
        """Connects; `receive_octets` bounds what the kernel takes unread."""
        stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_octets:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                              receive_octets)
        try:
            await asyncio.get_running_loop().sock_connect(
                stream, (LOOPBACK, port)
            )
        except BaseException:
            stream.close()
            raise
        return cls(stream)

    async def send(self, octets):
        """Sends octets; a server that has closed ends the attack."""
        await self.loop.sock_sendall(self.socket, octets)

    async def dribble(self, octets, pause=0.0):
        """Sends octets one by one."""
        for i in range(len(octets)):
            await self.send(octets[i : i + 1])
            await asyncio.sleep(pause)

    async def read(self, octets_max=1 << 16):
        """Reads what has come; empty at the end."""
        return await self.loop.sock_recv(self.socket, octets_max)

    async def drain(self):
        """Reads until the server closes; returns the octets."""
        parts = []
        while piece := await self.read():
            parts.append(piece)
        return b"".join(parts)

    def send_urgent(self):
        """Sends an octet of urgent data."""
        with contextlib.suppress(OSError):
            self.socket.send(b"!", socket.MSG_OOB)

    def end(self):
        """Ends the sending side."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def close(self):
        """Closes orderly."""
        self.socket.close()

    def reset(self):
        """Closes with a reset."""
        with contextlib.suppress(OSError):
            self.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        self.socket.close()


async def crowd(siege, count, act, receive_octets=None, resets=False):
    """Lets `count` connections act at the same time until the siege is over.

    What a server does to a hostile connection is its own decision: resets and
    closes are expected here. Whether it is well is judged elsewhere.
    """

    async def one(number):
        connection = None
        try:
            connection = await Hostile.open(siege.port, receive_octets)
            await act(connection, number)
        except (OSError, EOFError):
            pass
        finally:
            if connection:
                connection.reset() if resets else connection.close()

    tasks = [asyncio.ensure_future(one(i)) for i in range(count)]
    await asyncio.wait(tasks, timeout=siege.seconds)
    for task in tasks:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    for problem in found:
        if isinstance(problem, Exception):
            raise problem


async def waves(siege, count, act, **options):
    """Lets crowds attack one after the other until the siege is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + siege.seconds
    while (left := deadline - loop.time()) > 0:
        wave = Siege(siege.port, min(left, 2.0), siege.chance.getrandbits(32))
        await crowd(wave, count, act, **options)
