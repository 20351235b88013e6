"""Lets flare speak WebSocket with the Python package `websockets`, in both roles,
plainly and inside of TLS, through nginx, with each kind of compression."""

import asyncio
import queue
import ssl
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.demo import SOURCE, Demo  # noqa: E402
from loopback.peers import PROGRAMS, Nginx, Peer  # noqa: E402
from loopback.secure_socket import (  # noqa: E402
    certificates,
    client_context,
)
from loopback.subject import BACKENDS, ROOT, build  # noqa: E402

# Where `make setup-peers` puts the packages of tools/sockets.txt.
sys.path.append(str(ROOT / ".venv" / "sockets"))

from websockets.asyncio.client import connect  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.sync.server import serve  # noqa: E402

PEER = PROGRAMS / "ws_peer.mojo"
SECONDS_MAX = 60
SIZES = (0, 1, 125, 126, 255, 256, 65_535, 65_536, 1 << 20)
ROUTES = ("/ws", "/ws/deflate", "/ws/deflate/shared")
KINDS = ("off", "shared", "dedicated")
SIZE_MAX = 16 << 20
NGINX = """
    map $http_upgrade $wanted {{ default upgrade; "" close; }}
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{secure} ssl;
        location / {{
            proxy_pass http://127.0.0.1:{behind};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $wanted;
        }}
    }}
"""


def setUpModule():
    build(SOURCE)
    build(PEER)


def text_of(size):
    return "".join(chr(97 + i * 7 % 26) for i in range(size))


class Servers(unittest.TestCase):
    """The package is the client."""

    def check_echo(self, url, **options):
        asyncio.run(
            asyncio.wait_for(self.converse(url, **options), SECONDS_MAX)
        )

    async def converse(self, url, **options):
        # Its other client shares one TLS socket between two threads, which
        # OpenSSL does not allow.
        async with connect(url, max_size=SIZE_MAX, **options) as socket:
            for size in SIZES:
                text = text_of(size)
                await socket.send(text)
                self.assertEqual(await socket.recv(), text)
                await socket.send(text.encode())
                self.assertEqual(await socket.recv(), text.encode())
            await socket.send(["é" * 1_000, "", "漢" * 100_000, "😀"])
            self.assertEqual(
                await socket.recv(), "é" * 1_000 + "漢" * 100_000 + "😀"
            )
            await (await socket.ping())
            await socket.close(4321, "enough")
            with self.assertRaises(ConnectionClosed) as closed:
                await socket.recv()
        self.assertEqual(closed.exception.rcvd.code, 4321)

    def check_routes(self, base, **options):
        for route in ROUTES:
            for compression in (None, "deflate"):
                with self.subTest(route=route, compression=compression):
                    self.check_echo(
                        base + route, compression=compression, **options
                    )

    def test_messages_are_echoed(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                server = Demo(backend)
                self.addCleanup(server.kill)
                self.check_routes(f"ws://{server.host}")
                self.assertEqual(server.stop(), 0)

    def test_messages_are_echoed_inside_of_tls(self):
        folder = certificates()
        for backend in BACKENDS:
            for kind in KINDS:
                with self.subTest(backend=backend, kind=kind):
                    server = Peer(
                        build(PEER), "serve", backend, kind, folder,
                        stderr=subprocess.DEVNULL,
                    )
                    self.addCleanup(server.stop)
                    self.check_echo(
                        f"wss://localhost:{server.read_port()}/",
                        ssl=client_context(),
                    )

    def test_nginx_stands_in_between(self):
        server = Demo("io_uring")
        self.addCleanup(server.kill)
        proxy = Nginx(
            NGINX, ["plain", "secure"], behind=server.port,
            certificates=certificates(),
        )
        self.addCleanup(proxy.stop)
        self.check_routes(f"ws://127.0.0.1:{proxy.ports['plain']}")
        self.check_routes(
            f"wss://localhost:{proxy.ports['secure']}", ssl=client_context()
        )


class Clients(unittest.TestCase):
    """The package is the server."""

    def start(self, context=None, **options):
        """Gives the port of a server that echoes."""
        self.closed = queue.SimpleQueue()

        def echo(socket):
            try:
                while True:
                    socket.send(socket.recv())
            except ConnectionClosed as closed:
                self.closed.put((closed.rcvd.code, closed.rcvd.reason))

        server = serve(
            echo, "localhost", 0, ssl=context, max_size=SIZE_MAX, **options
        )
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return server.socket.getsockname()[1]

    def check_client(self, backend, kind, url, *folder):
        finished = subprocess.run(
            [build(PEER), "echo", backend, kind, url, *folder],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        self.assertEqual(
            finished.stdout, "echoed, closed with 4321\n", finished.stderr
        )

    def test_messages_are_echoed(self):
        for compression in (None, "deflate"):
            port = self.start(compression=compression)
            for backend in BACKENDS:
                for kind in KINDS:
                    with self.subTest(
                        backend=backend, kind=kind, compression=compression
                    ):
                        self.check_client(
                            backend, kind, f"ws://localhost:{port}/"
                        )
                        # Each connection has a thread of its own.
                        closed = {self.closed.get(True, SECONDS_MAX)}
                        closed.add(self.closed.get(True, SECONDS_MAX))
                        self.assertEqual(closed, {(1000, ""), (4321, "enough")})

    def test_messages_are_echoed_inside_of_tls(self):
        folder = certificates()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        port = self.start(context, compression="deflate")
        for backend in BACKENDS:
            for kind in KINDS:
                with self.subTest(backend=backend, kind=kind):
                    self.check_client(
                        backend, kind, f"wss://localhost:{port}/", folder
                    )


if __name__ == "__main__":
    unittest.main()
