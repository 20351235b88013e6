"""Lets flare's client ask servers of other makers for all that it can ask for,
plainly and inside of TLS."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.fetched import CODED, fetched  # noqa: E402
from loopback.peers import (  # noqa: E402
    PROGRAMS,
    Nginx,
    go_peer,
    node_peer,
    python_peer,
)
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import build  # noqa: E402

CLIENT = PROGRAMS / "fetcher.mojo"
SECONDS_MAX = 20
# What a server says of the last request on a connection is its own business:
# it costs the client the second of the two.
EXPECTED = fetched("HTTP/1.1", "chunked") + "connections 2\n"
NGINX = """
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{secure} ssl;
        absolute_redirect off;
        root {folder};
        gzip on;
        location /text {{ return 200 "hello"; }}
        location /nothing {{ return 204; }}
        location /missing {{ return 404; }}
        location /moved {{ return 302 /text; }}
        location /last {{ keepalive_timeout 0; return 200 "bye"; }}
        location /coded {{ default_type text/html; }}
        location / {{
            proxy_pass http://127.0.0.1:{behind};
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_buffering off;
            gzip off;
        }}
    }}
"""


def setUpModule():
    build(CLIENT)


class Origin:
    """Asks one server, which prints its ports where it is not told them."""

    @classmethod
    def take(cls, peer):
        cls.addClassCleanup(peer.stop)
        cls.plain = peer.read_port()
        cls.secure = peer.read_port()

    def fetch(self, *arguments):
        finished = subprocess.run(
            [build(CLIENT), *arguments],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        self.assertEqual(finished.stdout + finished.stderr, EXPECTED)

    def test_plainly(self):
        self.fetch(f"http://127.0.0.1:{self.plain}")

    def test_inside_of_tls(self):
        self.fetch(f"https://localhost:{self.secure}", certificates())


class Python(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.take(python_peer("origin_server", certificates()))


class Node(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.take(node_peer("origin_server", certificates()))


class Go(Origin, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.take(go_peer("origin_server", certificates()))


class NginxServer(Origin, unittest.TestCase):
    """Asks nginx, which passes on what it cannot do itself."""

    @classmethod
    def setUpClass(cls):
        cls.take(python_peer("origin_server", certificates()))
        nginx = Nginx(
            NGINX, ("plain", "secure"),
            lambda folder: (folder / "coded").write_bytes(CODED),
            certificates=certificates(), behind=cls.plain,
        )
        cls.addClassCleanup(nginx.stop)
        cls.plain, cls.secure = nginx.ports.values()


if __name__ == "__main__":
    unittest.main()
