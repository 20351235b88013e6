"""Holds the conversation of tests/interop/README.md with the package wsproto."""

import socket
import ssl
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / ".venv" / "sockets"))

from wsproto import ConnectionType, WSConnection  # noqa: E402
from wsproto.events import (  # noqa: E402
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    Pong,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate  # noqa: E402

SIZES = (0, 5, 125, 126, 65_535, 65_536, 1 << 20)
PARTS = ("é", "", "漢字", "😀")
SECONDS_MAX = 60


def text_of(size):
    return "".join(chr(97 + i * 7 % 26) for i in range(size))


def expect(found, wanted, what):
    if found != wanted:
        raise ValueError(f"{what}: {str(found)[:80]}")


class Socket:
    """Is one connection; pings are answered while it is read."""

    def __init__(self, transport, role):
        self.transport = transport
        self.machine = WSConnection(role)
        self.pongs = []
        self._events = iter(())
        self._parts = []

    def send(self, event):
        self.transport.sendall(self.machine.send(event))

    def send_parts(self):
        for i, part in enumerate(PARTS):
            self.send(
                TextMessage(part, message_finished=i == len(PARTS) - 1)
            )

    def event(self):
        """Gives the next event; None once the transport has ended."""
        while True:
            for event in self._events:
                return event
            octets = self.transport.recv(1 << 18)
            if not octets:
                return None
            self.machine.receive_data(octets)
            self._events = self.machine.events()

    def read(self, until=Message):
        """Gives the next message whole, or the Close, or a Pong."""
        while True:
            event = self.event()
            if event is None:
                raise EOFError("the peer has gone")
            if isinstance(event, Ping):
                self.send(event.response())
            elif isinstance(event, Pong):
                if until is Pong:
                    return bytes(event.payload)
            elif isinstance(event, CloseConnection):
                return event
            elif isinstance(event, Message):
                self._parts.append(event.data)
                if event.message_finished:
                    parts, self._parts = self._parts, []
                    return type(event.data)().join(parts)


def extensions_of(compression):
    return [PerMessageDeflate()] if compression == "deflate" else []


def opened(url, compression, authority):
    scheme, rest = url.split("://")
    host, port = rest.rstrip("/").split(":")
    transport = socket.create_connection((host, int(port)), SECONDS_MAX)
    if scheme == "wss":
        context = ssl.create_default_context(cafile=authority)
        transport = context.wrap_socket(transport, server_hostname=host)
    peer = Socket(transport, ConnectionType.CLIENT)
    peer.send(
        Request(
            host=f"{host}:{port}", target="/",
            subprotocols=["v1.test", "v2.test"],
            extensions=extensions_of(compression),
        )
    )
    event = peer.event()
    if not isinstance(event, AcceptConnection):
        raise ValueError(f"refused: {event}")
    expect(event.subprotocol, "v2.test", "protocol")
    expect(bool(event.extensions), compression == "deflate", "compression")
    return peer


def converse(url, compression, authority=None):
    peer = opened(url, compression, authority)
    for size in SIZES:
        text = text_of(size)
        peer.send(TextMessage(text))
        expect(peer.read(), text, "text")
        peer.send(BytesMessage(text.encode()))
        expect(peer.read(), text.encode(), "octets")
    peer.send_parts()
    expect(peer.read(), "".join(PARTS), "text")
    peer.send(TextMessage("fragments"))
    expect(peer.read(), "".join(PARTS), "text")
    peer.send(Ping(b"are you there"))
    expect(peer.read(until=Pong), b"are you there", "pong")
    peer.send(TextMessage("ping"))
    expect(peer.read(), "pong", "text")
    peer.send(CloseConnection(4321, "enough"))
    expect(peer.read().code, 4321, "code")
    peer.transport.close()
    peer = opened(url, compression, authority)
    peer.send(TextMessage("close"))
    closed = peer.read()
    expect((closed.code, closed.reason), (4567, "done"), "Close")
    peer.send(closed.response())
    peer.transport.close()
    print("ok")


def answer(transport, compression):
    peer = Socket(transport, ConnectionType.SERVER)
    request = peer.event()
    chosen = "v2.test" if "v2.test" in request.subprotocols else None
    peer.send(
        AcceptConnection(
            subprotocol=chosen, extensions=extensions_of(compression)
        )
    )
    has_closed = False
    while True:
        message = peer.read()
        if isinstance(message, CloseConnection):
            print("closed", int(message.code), message.reason or "", flush=True)
            if not has_closed:
                peer.send(message.response())
            return transport.close()
        if message == "fragments":
            peer.send_parts()
        elif message == "ping":
            peer.send(Ping(b"are you there"))
            expect(peer.read(until=Pong), b"are you there", "pong")
            peer.send(TextMessage("pong"))
        elif message == "close":
            peer.send(CloseConnection(4567, "done"))
            has_closed = True
        elif isinstance(message, str):
            peer.send(TextMessage(message))
        else:
            peer.send(BytesMessage(bytes(message)))


def serve(compression, folder=None):
    context = None
    if folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server.key")
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        transport, _ = listener.accept()
        if context:
            transport = context.wrap_socket(transport, server_side=True)
        threading.Thread(target=answer, args=(transport, compression)).start()


if __name__ == "__main__":
    if sys.argv[1] == "server":
        serve(*sys.argv[2:])
    else:
        converse(*sys.argv[2:])
