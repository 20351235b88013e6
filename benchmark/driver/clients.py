"""Holds connections that a load generator does not: slow ones, idle ones."""

from __future__ import annotations

import resource
import socket
import threading
import time

from .answers import Connection

_SLOW_HEAD = (
    b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\nUser-Agent: slow\r\n\r\n"
)


def allow_many_descriptors() -> int:
    """Raises the limit of open files as far as it goes; gives it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class SlowClients:
    """Sends request heads octet by octet on many connections, and reads the
    answers; a `with` block ends it."""

    def __init__(self, port: int, count: int, pause_seconds: float):
        self._sockets = [
            socket.create_connection(("127.0.0.1", port), 10)
            for _ in range(count)
        ]
        self._pause_seconds = pause_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self.broken = 0

    def __enter__(self) -> SlowClients:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._is_over.set()
        self._thread.join()
        for each in self._sockets:
            each.close()

    def _send(self) -> None:
        at = 0
        for each in self._sockets:
            each.setblocking(False)
        while not self._is_over.wait(self._pause_seconds):
            octet = _SLOW_HEAD[at : at + 1]
            at = (at + 1) % len(_SLOW_HEAD)
            for each in list(self._sockets):
                if not self._step(each, octet):
                    self._sockets.remove(each)
                    each.close()
                    self.broken += 1

    def _step(self, each: socket.socket, octet: bytes) -> bool:
        try:
            each.send(octet)
            return each.recv(4096) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


class IdleConnections:
    """Holds keep-alive connections that have each had one answer."""

    def __init__(self, port: int):
        self._port = port
        self._held: list[Connection] = []

    def __enter__(self) -> IdleConnections:
        return self

    def __exit__(self, *_) -> None:
        for each in self._held:
            each.__exit__()

    def grow(self, count: int, path: str, settle_seconds: float) -> None:
        """Opens connections until there are `count`, then lets them rest."""
        while len(self._held) < count:
            each = Connection(self._port)
            self._held.append(each)
            each.send("GET", path)
            each.answer()
        time.sleep(settle_seconds)
