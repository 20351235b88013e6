"""Lists what hostile clients do to a server inside of TLS.

Some speak TLS as far as it suits them, others only its records.
"""

import asyncio
import ssl

from .clients import crowd, waves
from .probe import context

SECURE_ATTACKS = {}
_CHANGE_CIPHER_SPEC = b"\x14\x03\x03\x00\x01\x01"
_WARNING = b"\x15\x03\x03\x00\x02\x01\x5a"
_REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def attack(function):
    """Adds a function to the attacks."""
    SECURE_ATTACKS[function.__name__] = function
    return function


class Session:
    """Speaks TLS on a hostile connection."""

    def __init__(self, connection):
        self.connection = connection
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.tls = context().wrap_bio(
            self.incoming, self.outgoing, server_hostname="localhost"
        )

    def hello(self):
        """Returns the first flight of a client."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    async def shake_hands(self):
        """Completes a handshake."""
        while True:
            try:
                self.tls.do_handshake()
                await self.connection.send(self.outgoing.read())
                return
            except ssl.SSLWantReadError:
                await self._turn()

    async def _turn(self):
        await self.connection.send(self.outgoing.read())
        octets = await self.connection.read()
        if not octets:
            raise EOFError
        self.incoming.write(octets)

    async def send(self, octets):
        """Encrypts and sends octets."""
        self.tls.write(octets)
        await self.connection.send(self.outgoing.read())

    async def read(self):
        """Reads what the server says next."""
        while True:
            try:
                return self.tls.read(65536)
            except ssl.SSLWantReadError:
                await self._turn()
            except ssl.SSLError as error:
                raise EOFError from error


def _handshaken(act, count, **options):
    async def one(connection, number):
        session = Session(connection)
        try:
            await session.shake_hands()
            await act(session, number)
        except ssl.SSLError as error:
            raise EOFError from error

    async def run(siege):
        await waves(siege, count, one, **options)

    return run


@attack
async def silent_clients(siege):
    async def act(connection, number):
        await connection.drain()

    await crowd(siege, 1000, act)


@attack
async def hellos_and_silence(siege):
    hello = Session(None).hello()

    async def act(connection, number):
        await connection.send(hello[: len(hello) - number % 2])
        await connection.drain()

    await waves(siege, 300, act)


@attack
async def hellos_octet_by_octet(siege):
    hello = Session(None).hello()

    async def act(connection, number):
        await connection.dribble(hello, 0.005)

    await crowd(siege, 200, act)


@attack
async def hellos_reset_at_once(siege):
    hello = Session(None).hello()

    async def act(connection, number):
        await connection.send(hello)

    await waves(siege, 300, act, resets=True)


@attack
async def garbage(siege):
    hello = Session(None).hello()

    async def act(connection, number):
        chance = siege.chance
        octets = bytearray(hello)
        for _ in range(chance.randrange(1, 9)):
            octets[chance.randrange(len(octets))] = chance.randrange(256)
        await connection.send(bytes(octets) + chance.randbytes(500))
        await asyncio.wait_for(connection.drain(), 0.5)

    async def bounded(connection, number):
        try:
            await act(connection, number)
        except asyncio.TimeoutError:
            pass

    await waves(siege, 100, bounded)


@attack
async def records_without_end(siege):
    hello = Session(None).hello()
    floods = (
        _CHANGE_CIPHER_SPEC * 1000,
        _WARNING * 1000,
        b"\x17\x03\x03\x00\x00" * 1000,
        b"\x16\x03\x03\x40\x00" + b"\x0b\xff\xff\xff" + b"x" * 16380,
        b"\x17\x03\x03\x41\x00" + b"x" * 16640,
        b"\x17\x03\x03\xff\xff" + b"x" * 65535,
        b"A" * 5000,
    )

    async def act(connection, number):
        if number % 2:
            await connection.send(hello)
        for _ in range(50):
            await connection.send(floods[number % len(floods)])

    await waves(siege, 40, act)


async def _ask_and_read_little(session, number):
    await session.send(b"GET /whole/4000000 HTTP/1.1\r\nHost: a\r\n\r\n")
    while await session.read():
        await asyncio.sleep(0.1)


async def _ask_in_records_of_one_octet(session, number):
    for _ in range(3):
        for i in range(len(_REQUEST)):
            await session.send(_REQUEST[i : i + 1])
        await session.read()


async def _ask_and_reset(session, number):
    await session.send(_REQUEST * 50)


async def _write_and_never_read(session, number):
    content = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n"
    while True:
        await session.send(content + b"x" * 60000)


async def _garbage_behind(session, number):
    await session.send(_REQUEST)
    # No key of the session made this record.
    await session.connection.send(b"\x17\x03\x03\x01\x00" + b"x" * 256)
    await session.read()


async def _nothing(session, number):
    pass


for _name, _act, _count, _options in (
    ("handshakes_alone", _nothing, 60, {}),
    ("handshakes_and_resets", _nothing, 60, {"resets": True}),
    ("slow_readers", _ask_and_read_little, 60,
     {"receive_octets": 4096, "resets": True}),
    ("records_of_one_octet", _ask_in_records_of_one_octet, 20, {}),
    ("requests_and_resets", _ask_and_reset, 40, {"resets": True}),
    ("never_reading", _write_and_never_read, 20, {"receive_octets": 4096}),
    ("garbage_behind_a_request", _garbage_behind, 40, {}),
):
    SECURE_ATTACKS[_name] = _handshaken(_act, _count, **_options)
