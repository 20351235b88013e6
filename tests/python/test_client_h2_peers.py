"""Lets flare's client ask servers of HTTP/2 of other makers for all that it can
ask for, by prior knowledge and inside of TLS."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.fetched import CHUNKS, fetched  # noqa: E402
from loopback.peers import (  # noqa: E402
    PROGRAMS,
    Nginx,
    Peer,
    go_peer,
    node_peer,
    python_peer,
)
from loopback.programs import find_program, free_ports  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import ROOT, build  # noqa: E402

CLIENT = PROGRAMS / "fetcher.mojo"
# Below the time after which a silent server is asked: so none waits in vain.
SECONDS_MAX = 14
START_SECONDS_MAX = 10
FILES = f"files 200 HTTP/2.0 {50 * 5 + 50 * 50 * len(CHUNKS)}\n"
NGINX = """
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    server {{
        listen 127.0.0.1:{plain} http2;
        listen 127.0.0.1:{secure} ssl http2;
        location / {{
            proxy_pass http://127.0.0.1:{behind};
            proxy_http_version 1.1;
            proxy_request_buffering off;
        }}
    }}
"""
H2O = """hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:{behind}/
listen:
  host: 127.0.0.1
  port: {plain}
listen:
  host: 127.0.0.1
  port: {secure}
  ssl:
    certificate-file: {certificates}/server.pem
    key-file: {certificates}/server.key
"""


def setUpModule():
    build(CLIENT)


def await_port(port):
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Origin:
    """Asks one server; `framing` is how it learns of content of no known
    length, and some end a connection after a field of HTTP/1.1."""

    framing = "none"
    connections = (1,)
    plain = None

    @classmethod
    def keep(cls, peer, *ports):
        cls.addClassCleanup(peer.stop)
        for port in ports:
            await_port(port)

    def fetch(self, *arguments):
        finished = subprocess.run(
            [build(CLIENT), *arguments],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        text, _, count = (finished.stdout + finished.stderr).rpartition(" ")
        self.assertEqual(
            text,
            fetched("HTTP/2.0", self.framing)
            + f"at once {50 * len(CHUNKS)}\nconnections",
        )
        self.assertIn(int(count), self.connections)

    def test_by_prior_knowledge(self):
        if self.plain is None:
            self.skipTest("it does not speak HTTP/2 without TLS")
        self.fetch(f"http://127.0.0.1:{self.plain}", "h2c")

    def test_inside_of_tls(self):
        self.fetch(f"https://localhost:{self.secure}", certificates())


class Go(Origin, unittest.TestCase):
    # It takes Connection: close for the end.
    connections = (1, 2)

    @classmethod
    def setUpClass(cls):
        peer = go_peer("origin_server", certificates())
        cls.keep(peer)
        _ = peer.read_port(), peer.read_port()
        cls.secure = peer.read_port()

    test_by_prior_knowledge = None


class Node(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        peer = node_peer("origin_server", certificates())
        cls.keep(peer)
        _ = peer.read_port(), peer.read_port()
        cls.plain, cls.secure = peer.read_port(), peer.read_port()


class Hypercorn(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain, cls.secure = free_ports(2)
        packages = str(ROOT / ".venv" / "http2")
        cls.keep(
            Peer(
                sys.executable, "-m", "hypercorn", "origin_app:app",
                "--insecure-bind", f"127.0.0.1:{cls.plain}",
                "--bind", f"127.0.0.1:{cls.secure}",
                "--certfile", certificates() / "server.pem",
                "--keyfile", certificates() / "server.key",
                env={**os.environ, "PYTHONPATH": packages},
                cwd=PROGRAMS,
                stderr=subprocess.DEVNULL,
            ),
            cls.plain, cls.secure,
        )


class Behind(Origin):
    """Asks a proxy, which passes on what it cannot do itself."""

    framing = "chunked"
    connections = (1, 2)

    @classmethod
    def start_origin(cls):
        peer = python_peer("origin_server", certificates())
        cls.keep(peer)
        return peer.read_port()


class NginxServer(Behind, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        nginx = Nginx(
            NGINX, ("plain", "secure"),
            certificates=certificates(), behind=cls.start_origin(),
        )
        cls.keep(nginx)
        cls.plain, cls.secure = nginx.ports.values()


class Nghttpx(Behind, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain, cls.secure = free_ports(2)
        cls.keep(
            Peer(
                find_program("nghttpx"), "--conf=/dev/null",
                f"--frontend=127.0.0.1,{cls.plain};no-tls",
                f"--frontend=127.0.0.1,{cls.secure}",
                f"--backend=127.0.0.1,{cls.start_origin()}",
                certificates() / "server.key",
                certificates() / "server.pem",
                stderr=subprocess.DEVNULL,
            ),
            cls.plain, cls.secure,
        )


class H2o(Behind, unittest.TestCase):
    # It collects a content before it passes it on.
    framing = "300000"

    @classmethod
    def setUpClass(cls):
        cls.plain, cls.secure = free_ports(2)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        configuration = Path(folder.name, "h2o.conf")
        configuration.write_text(
            H2O.format(
                plain=cls.plain, secure=cls.secure,
                certificates=certificates(), behind=cls.start_origin(),
            )
        )
        cls.keep(
            Peer(
                find_program("h2o"), "-c", configuration,
                stderr=subprocess.DEVNULL,
            ),
            cls.plain, cls.secure,
        )


class Nghttpd(unittest.TestCase):
    """Asks nghttpd, which knows no more than files, in three ways."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        Path(cls.folder.name, "text").write_text("hello")
        Path(cls.folder.name, "large").write_bytes(CHUNKS * 50)
        cls.plain, cls.secure = free_ports(2)
        for arguments in (
            ["--no-tls", "--trailer=x-sum: 9", f"{cls.plain}"],
            [
                "--max-concurrent-streams=1", f"{cls.secure}",
                certificates() / "server.key", certificates() / "server.pem",
            ],
        ):
            peer = Peer(
                find_program("nghttpd"), "-d", cls.folder.name, *arguments,
                stderr=subprocess.DEVNULL,
            )
            cls.addClassCleanup(peer.stop)
        for port in (cls.plain, cls.secure):
            await_port(port)

    def ask(self, *arguments):
        finished = subprocess.run(
            [build(CLIENT), *arguments, "files"],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        return finished.stdout + finished.stderr

    def test_files_and_trailers(self):
        self.assertEqual(
            self.ask(f"http://127.0.0.1:{self.plain}", "h2c"),
            f"{FILES}trailer 9\nconnections 1\n",
        )

    def test_one_stream_at_a_time(self):
        # Requests that wait long open further connections.
        self.assertRegex(
            self.ask(f"https://localhost:{self.secure}", certificates()),
            f"^{FILES}trailer none\nconnections [0-9]+\n$",
        )


if __name__ == "__main__":
    unittest.main()
