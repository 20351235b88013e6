"""Asks the demo server as its users do: over both ports and both protocols."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.demo import SOURCE, Demo  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

HELLO = b"Hello from flare!\n"
PEER_DID_NOT_VERIFY = 60


def setUpModule():
    build(SOURCE)


def curl(*options):
    """Gives the exit code, and what curl printed."""
    finished = subprocess.run(
        ["curl", "-sS", "--max-time", "10", *options],
        stdin=subprocess.DEVNULL, capture_output=True,
    )
    return finished.returncode, finished.stdout


def ask(url, *options):
    """Gives the version of the response, and its content."""
    code, output = curl("-w", "%{http_version}", *options, url)
    assert code == 0, code
    return output[len(HELLO) :].decode(), output[: len(HELLO)]


def certificate_at(port):
    """Gives what openssl says of the certificate that a server shows."""
    shown = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=10,
    )
    # Nothing but the certificate ends like this.
    pem = shown.stdout[: shown.stdout.index(b"-----END CERTIFICATE-----") + 26]
    read = subprocess.run(
        ["openssl", "x509", "-noout", "-text", "-fingerprint"],
        input=pem, capture_output=True, timeout=10, check=True,
    )
    return read.stdout.decode()


class Ports(unittest.TestCase):
    def start(self, backend, *options):
        """Gives the plain port and that of TLS."""
        server = Demo(
            backend, "--tls-port", "0", *options, stdout=subprocess.PIPE
        )
        self.addCleanup(server.process.stdout.close)
        self.addCleanup(server.kill)
        return server

    def check_ports(self, server, *options):
        # The last one that it names is that of TLS.
        secure = f"https://localhost:{server.port}/"
        self.assertEqual(ask(secure, "--http2", *options), ("2", HELLO))
        self.assertEqual(ask(secure, "--http1.1", *options), ("1.1", HELLO))
        plain = f"http://localhost:{server.plain_port}/"
        self.assertEqual(
            ask(plain, "--http2-prior-knowledge"), ("2", HELLO)
        )
        self.assertEqual(ask(plain), ("1.1", HELLO))

    def test_a_certificate_is_made_if_none_is_named(self):
        seen = set()
        for backend in BACKENDS:
            server = self.start(backend)
            self.assertIn("self-signed", server.process.stdout.readline())
            self.check_ports(server, "-k")
            code, _ = curl(f"https://localhost:{server.port}/")
            self.assertEqual(code, PEER_DID_NOT_VERIFY)
            text = certificate_at(server.port)
            self.assertRegex(
                text,
                r"X509v3 Subject Alternative Name: \n\s+DNS:localhost, IP"
                r" Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1\n",
            )
            self.assertIn("NIST CURVE: P-256", text)
            self.assertIn("CA:FALSE", text)
            seen.add(re.search(r"Serial Number:\s+(\S.*)\n", text)[1])
            seen.add(re.search(r"Fingerprint=(.*)\n", text)[1])
            self.assertEqual(server.stop(), 0)
        self.assertEqual(len(seen), 2 * len(BACKENDS))

    def test_files_are_used_if_they_are_named(self):
        folder = certificates()
        server = self.start(
            "epoll", "--certificate", folder / "server.pem", "--key",
            folder / "server.key",
        )
        self.check_ports(server, "--cacert", folder / "ca.pem")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.process.stdout.read(), "")


if __name__ == "__main__":
    unittest.main()
