"""Is a server behind a reverse proxy that answers as no server should."""

import asyncio
import contextlib

from .clients import LOOPBACK

OK = b"HTTP/1.1 200 OK\r\n"


def answers():
    """Gives what the origin says, by the path it is asked for."""
    return {
        "/endless_head": _repeated(OK, b"X-A: " + b"a" * 1000 + b"\r\n"),
        "/endless_line": _repeated(OK + b"X-A: ", b"a" * 10_000),
        "/endless_interim": _repeated(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        "/endless_hints": _repeated(
            b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        ),
        "/endless_content": _repeated(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n"
            + b"x" * 1024 + b"\r\n"
        ),
        "/endless_trailers": _repeated(
            OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            b"X-T: " + b"t" * 1000 + b"\r\n",
        ),
        "/endless_extension": _repeated(
            OK + b"Transfer-Encoding: chunked\r\n\r\n1;", b"e=f;" * 1000
        ),
        "/endless_zeros": _repeated(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 1000
        ),
        "/until_close": _repeated(OK + b"\r\n", b"x" * 60_000),
        "/cut_in_head": _once(OK + b"Content-Le"),
        "/cut_behind_head": _once(OK + b"Content-Length: 1000\r\n\r\n"),
        "/cut_in_content": _once(OK + b"Content-Length: 1000\r\n\r\nabc"),
        "/cut_in_chunk": _once(
            OK + b"Transfer-Encoding: chunked\r\n\r\n100\r\nabc"
        ),
        "/nothing": _once(b""),
        "/garbage": _once(b"\0\xff" * 5000),
        "/old": _once(b"HTTP/0.9 200 OK\r\n\r\nabc"),
        "/much_behind": _once(
            OK + b"Content-Length: 3\r\n\r\nabc" + b"x" * 100_000
        ),
        "/two_answers": _once((OK + b"Content-Length: 3\r\n\r\nabc") * 2),
        "/upgrades": _once(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
            b"Upgrade: x\r\n\r\n" + b"y" * 5000
        ),
        "/many_tokens": _once(
            OK + b"Connection: " + b"a," * 9000 + b"\r\nContent-Length: 0"
            b"\r\n\r\n"
        ),
        "/many_fields": _once(
            OK + b"".join(b"X-%d: y\r\n" % i for i in range(190))
            + b"Connection: " + b",".join(b"X-%d" % i for i in range(190))
            + b"\r\nContent-Length: 0\r\n\r\n"
        ),
        "/status_99": _once(b"HTTP/1.1 099 Low\r\n\r\n"),
        "/status_999": _once(
            b"HTTP/1.1 999 High\r\nContent-Length: 0\r\n\r\n"
        ),
        "/no_content_with_some": _once(
            b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello"
        ),
        "/bad_length": _once(OK + b"Content-Length: 5, 6\r\n\r\nhello"),
        "/redirect": _once(
            b"HTTP/1.1 302 Found\r\nLocation: /redirect\r\n"
            b"Content-Length: 0\r\n\r\n"
        ),
        "/silence": _repeated(b"", b""),
        "/drip": _repeated(OK + b"Content-Length: 100000\r\n\r\n", b"x"),
    }


def _once(octets):
    async def say(writer):
        writer.write(octets)
        await writer.drain()

    return say


def _repeated(first, again):
    async def say(writer):
        writer.write(first)
        while True:
            if len(again) < 2:
                await asyncio.sleep(0.05)
            writer.write(again)
            await writer.drain()

    return say


_HELLO = _once(OK + b"Content-Length: 5\r\n\r\nhello")


class HostileOrigin:
    """Listens until `stop`; answers by path, then closes."""

    def __init__(self):
        self.answers = answers()

    async def start(self):
        """Begins to listen; `port` says where."""
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        with contextlib.suppress(
            OSError, EOFError, ValueError, asyncio.CancelledError
        ):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode().split("?")[0]
            await self.answers.get(path, _HELLO)(writer)
        with contextlib.suppress(OSError):
            writer.close()

    async def stop(self):
        """Ends all of it."""
        self._server.close()
