"""Lets flare's client speak TLS with servers of other makers, with and without
a certificate of its own."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.peers import (  # noqa: E402
    PROGRAMS,
    Nginx,
    go_peer,
    node_peer,
)
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import build  # noqa: E402

CLIENT = PROGRAMS / "tls_peer.mojo"
SECONDS_MAX = 20
NGINX = """
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    server {{
        listen 127.0.0.1:{plain} ssl;
        location / {{ return 200 "hello nobody\\n"; }}
    }}
    server {{
        listen 127.0.0.1:{asking} ssl;
        ssl_client_certificate {certificates}/ca.pem;
        ssl_verify_client on;
        location / {{ return 200 "hello $ssl_client_s_dn\\n"; }}
    }}
"""


def setUpModule():
    build(CLIENT)


def ask(port, *options):
    """Gives what flare's client says of its connection, and the response."""
    finished = subprocess.run(
        [build(CLIENT), "client", certificates(), "localhost", str(port),
         "get", *options],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    said, _, response = finished.stdout.partition("\n")
    return said + finished.stderr, response


class Servers:
    """Asks one server whose `plain` port asks for no certificate, and whose
    `asking` port insists on one."""

    @classmethod
    def take(cls, peer):
        cls.addClassCleanup(peer.stop)
        cls.plain = peer.read_port()
        cls.asking = peer.read_port()

    def expect_answer(self, said, response, content):
        self.assertRegex(said, r"^end \d+ TLSv1\.3 TLS_\w+ \S+ CN=server$")
        self.assertRegex(response.splitlines()[0], r"^HTTP/1\.[01] 200 ")
        self.assertIn(content, response.rstrip().splitlines()[-1])

    def test_without_a_certificate(self):
        self.expect_answer(*ask(self.plain), "hello nobody")

    def test_a_certificate_that_nobody_asks_for_is_kept(self):
        self.expect_answer(*ask(self.plain, "identity"), "hello nobody")

    def test_with_a_certificate(self):
        self.expect_answer(*ask(self.asking, "identity"), 'client')

    def test_who_shows_none_is_refused(self):
        said, response = ask(self.asking)
        self.assertRegex(said, self.refusal)
        self.assertNotIn("hello", response)


class NginxServer(Servers, unittest.TestCase):
    # It agrees on a connection, and says inside of it what it lacks.
    refusal = "^end "

    @classmethod
    def setUpClass(cls):
        nginx = Nginx(
            NGINX, ("plain", "asking"), certificates=certificates()
        )
        cls.addClassCleanup(nginx.stop)
        cls.plain, cls.asking = nginx.ports.values()

    def test_who_shows_none_is_refused(self):
        super().test_who_shows_none_is_refused()
        _, response = ask(self.asking)
        self.assertRegex(response, "^HTTP/1.1 400 ")
        self.assertIn("No required SSL certificate was sent", response)


class Go(Servers, unittest.TestCase):
    refusal = "^tls.alert read alert=116"

    @classmethod
    def setUpClass(cls):
        peer = go_peer("https_server", certificates())
        cls.take(peer)
        cls.thieves = [peer.read_port() for _ in range(2)]

    def test_who_has_not_the_key_of_its_certificate_is_refused(self):
        for port in self.thieves:
            said, response = ask(port)
            self.assertRegex(said, "^tls.wrong_key handshake")
            self.assertEqual(response, "")


class Node(Servers, unittest.TestCase):
    refusal = "^tls.alert read alert=116"

    @classmethod
    def setUpClass(cls):
        cls.take(node_peer("https_server", certificates()))


if __name__ == "__main__":
    unittest.main()
