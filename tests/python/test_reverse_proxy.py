"""Sends contents through the reverse proxy of the examples, between curl and
servers of other makers, and compares checksums."""

import socket
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.origin import (  # noqa: E402
    Proxy,
    digest_of,
    download,
    nginx_before,
    serve_contents,
    upload,
)
from loopback.programs import find_program  # noqa: E402
from loopback.subject import ROOT, build  # noqa: E402

PROGRAM = ROOT / "examples" / "30_reverse_proxy.mojo"
OCTETS = 64 << 20
# An idle server of these holds about as much; contents would be 64 more.
PEAK_MEBIBYTES_MAX = 40


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def push(stream):
    """Sends until there is no room, also none that comes soon."""
    piece = b"x" * (1 << 16)
    timeout = stream.gettimeout()
    stream.settimeout(0.2)
    try:
        while True:
            stream.send(piece)
    except TimeoutError:
        stream.settimeout(timeout)


def ask(url, *options):
    """Gives what curl says of one request."""
    return subprocess.run(
        [find_program("curl"), "-sS", "--max-time", "20", *options, url],
        capture_output=True,
        text=True,
    ).stdout


class CleanForm(unittest.TestCase):
    """What is read leniently goes on only in the form that all read alike."""

    def test_a_clean_target_and_the_authority_of_the_request_go_on(self):
        rows = [
            (b"/caf\xc3\xa9?q=100%", "/caf%C3%A9?q=100%25", "a.example"),
            (b"http://b.example/x?%&y", "/x?%25&y", "b.example"),
            (b"http://b.example:8?\xe9", "/?%E9", "b.example:8"),
            (b"/%41?%41", "/%41?%41", "a.example"),
        ]
        for target, expected, authority in rows:
            with self.subTest(target=target):
                head, _ = self.passed_on(
                    b"GET " + target + b" HTTP/1.1\r\nHost: a.example\r\n"
                    b"Connection: close\r\n\r\n",
                    b"HTTP/1.1 204 No Content\r\n\r\n",
                )
                self.assertEqual(
                    head.split(b"\r\n")[0].decode(), f"GET {expected} HTTP/1.1"
                )
                self.assertIn(f"X-Forwarded-Host: {authority}\r\n", head.decode())
                self.assertIn(f';host="{authority}"', head.decode())

    def passed_on(self, request, response):
        """Gives the head that a server behind gets, and what comes back of
        the octets that it answers."""
        behind = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(behind.close)
        port = behind.getsockname()[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{port}")
        self.addCleanup(proxy.stop)
        address = ("127.0.0.1", int(proxy.url.rsplit(":", 1)[1]))
        with socket.create_connection(address, 5) as asked:
            asked.sendall(request)
            asked.settimeout(5)
            behind.settimeout(5)
            upstream, _ = behind.accept()
            with upstream:
                upstream.settimeout(5)
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = upstream.recv(65536)
                    if not piece:
                        break
                    head += piece
                upstream.sendall(response)
                # The proxy has to give this connection up, or to leave it idle.
                answer = asked.makefile("rb").read()
        return head, answer


class ReverseProxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = digest_of(OCTETS)
        cls.contents = serve_contents()
        cls.addClassCleanup(cls.contents.server_close)
        cls.addClassCleanup(cls.contents.shutdown)
        cls.nginx = nginx_before(cls.contents, OCTETS)
        cls.addClassCleanup(cls.nginx.stop)
        port = cls.nginx.ports["port"]
        cls.proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{port}")
        cls.addClassCleanup(cls.proxy.stop)

    def tearDown(self):
        self.assertLess(self.proxy.peak_mebibytes(), PEAK_MEBIBYTES_MAX)

    def test_a_file_of_nginx_comes_whole(self):
        found = download(f"{self.proxy.url}/file")
        self.assertEqual(found, (self.expected, OCTETS))

    def test_a_chunked_response_comes_whole(self):
        found = download(f"{self.proxy.url}/chunked/{OCTETS}")
        self.assertEqual(found, (self.expected, OCTETS))

    def test_a_chunked_upload_arrives_whole(self):
        self.assertEqual(upload(f"{self.proxy.url}/", OCTETS), self.expected)

    def test_an_upload_of_known_length_arrives_whole(self):
        file = Path(self.nginx.folder.name) / "file"
        said = ask(f"{self.proxy.url}/up", "-X", "POST", "-T", str(file))
        self.assertEqual(said, self.expected)

    def test_both_directions_at_once(self):
        with ThreadPoolExecutor(2) as together:
            down = together.submit(download, f"{self.proxy.url}/file")
            up = together.submit(upload, f"{self.proxy.url}/", OCTETS)
            self.assertEqual(down.result(), (self.expected, OCTETS))
            self.assertEqual(up.result(), self.expected)

    def test_fields_of_one_connection_stay_there(self):
        # Between them nginx would forget what Connection names.
        behind = self.contents.server_address[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{behind}")
        self.addCleanup(proxy.stop)
        said = ask(
            f"{proxy.url}/head", "-i", "-H", "Connection: X-Mine", "-H",
            "X-Mine: 1", "-H", "X-Kept: 2", "-H", "TE: trailers", "-H",
            "X-Forwarded-For: 10.9.8.7", "-H", "Forwarded: for=10.9.8.7",
            "-H", "X-Real-IP: 10.9.8.7", "-H", "X_Forwarded_For: 10.9.8.7",
        ).lower()
        head, _, received = said.partition("\n\n")
        self.assertIn("x-kept: 2", head)
        self.assertIn("via: 1.1 flare", head)
        self.assertNotIn("x-hop", head)
        self.assertIn("x-kept: 2", received)
        self.assertIn("via: 1.1 flare", received)
        self.assertIn('forwarded: for="127.0.0.1:', received)
        self.assertIn("x-forwarded-for: 127.0.0.1\n", received)
        self.assertNotIn("10.9.8.7", received)
        for name in ("x-mine", "\nte:"):
            self.assertNotIn(name, received)
        plain = ask(f"{proxy.url}/head", "-H", "User-Agent:", "-H", "Accept:")
        self.assertIn("host:", plain.lower())
        for name in ("user-agent:", "accept:"):
            self.assertNotIn(name, plain.lower())

    def test_no_target_leads_elsewhere(self):
        contents = self.contents.server_address[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{contents}/below")
        self.addCleanup(proxy.stop)
        elsewhere = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(elsewhere.close)
        host = "127.0.0.1:%d" % elsewhere.getsockname()[1]
        rows = [
            (f"GET http://{host}/head HTTP/1.1", 404),
            (f"GET //{host}/head HTTP/1.1", 404),
            ("GET /../head HTTP/1.1", 400),
            ("GET /a/%2E%2e/../head HTTP/1.1", 400),
            ("GET /./head HTTP/1.1", 400),
            ("GET /..%2fhead HTTP/1.1", 400),
            ("GET /a%2F..%2f..%5Chead HTTP/1.1", 400),
            ("GET /..;a=1/head HTTP/1.1", 400),
            ("OPTIONS * HTTP/1.1", 501),
            (f"OPTIONS http://{host} HTTP/1.1", 501),
        ]
        for line, status in rows:
            with self.subTest(line=line):
                address = ("127.0.0.1", int(proxy.url.rsplit(":", 1)[1]))
                with socket.create_connection(address, 5) as asked:
                    head = f"{line}\r\nHost: {host}\r\nConnection: close\r\n"
                    asked.sendall(f"{head}\r\n".encode())
                    answer = asked.makefile("rb").read()
                self.assertEqual(answer[:12].decode(), f"HTTP/1.1 {status}")
        elsewhere.settimeout(0)
        with self.assertRaises(BlockingIOError):
            elsewhere.accept()

    def test_who_is_on_the_way_can_be_found(self):
        behind = self.contents.server_address[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{behind}")
        self.addCleanup(proxy.stop)
        for left, status in (("0", 501), ("1", 200), ("", 200), ("9" * 30, 200)):
            for method in ("OPTIONS", "GET"):
                with self.subTest(left=left, method=method):
                    status = 200 if method == "GET" else status
                    said = ask(
                        f"{proxy.url}/head", "-i", "-X", method, "-H",
                        f"Max-Forwards: {left}" if left else "Max-Forwards;",
                    ).lower()
                    self.assertIn(f"http/1.1 {status} ", said)
                    if method == "GET":
                        self.assertIn(f"max-forwards: {left}".strip(), said)
                    elif left == "":
                        self.assertNotIn("max-forwards: -", said)
                    elif left == "1":
                        self.assertIn("max-forwards: 0\n", said)
                    elif status == 200:
                        self.assertIn("max-forwards: 1000000\n", said)

    def test_via_names_the_version_that_was_received(self):
        behind = self.contents.server_address[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{behind}")
        self.addCleanup(proxy.stop)
        for path, option, request, response in (
            ("/head", "--http1.1", "1.1", "1.1"),
            ("/head", "--http1.0", "1.0", "1.1"),
            ("/old", "--http1.1", "1.1", "1.0"),
        ):
            with self.subTest(path=path, option=option):
                said = ask(f"{proxy.url}{path}", "-i", option).lower()
                head, _, received = said.partition("\n\n")
                self.assertIn(f"via: {response} flare", head)
                self.assertIn(f"via: {request} flare", received)

    def test_a_status_that_is_none_is_a_bad_gateway(self):
        behind = self.contents.server_address[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{behind}")
        self.addCleanup(proxy.stop)
        said = ask(f"{proxy.url}/odd", "-w", "%{http_code}")
        self.assertEqual(said, "502")

    def test_who_leaves_ends_both_connections(self):
        # The first octets come, then curl goes away.
        found = download(
            f"{self.proxy.url}/chunked/{1 << 34}", "--max-filesize", "1000000",
            "--max-time", "1",
        )
        self.assertEqual(found[0], "")
        self.assertIn("x-kept", ask(f"{self.proxy.url}/head", "-i").lower())


class Deserter(unittest.TestCase):
    """Is a server that answers an upload early, and leaves."""

    def setUp(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        port = self.listener.getsockname()[1]
        self.proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{port}")
        self.addCleanup(self.proxy.stop)

    def begin_upload(self):
        """Fills the way to the server; gives both ends of it."""
        address = ("127.0.0.1", int(self.proxy.url.rsplit(":", 1)[1]))
        asking = socket.create_connection(address, 20)
        self.addCleanup(asking.close)
        asking.sendall(
            b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
            % (1 << 34)
        )
        behind, _ = self.listener.accept()
        self.addCleanup(behind.close)
        behind.settimeout(20)
        self.assertIn(b"POST /up", behind.recv(1 << 16))
        push(asking)
        return asking, behind

    def test_a_response_that_breaks_off_beside_its_upload_has_no_end(self):
        asking, behind = self.begin_upload()
        behind.sendall(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"10000000\r\n"
        )
        # The response waits for room, and so does the upload.
        push(behind)
        behind.close()
        # The proxy has learned of it once it has answered somebody else.
        for _ in range(3):
            said = ask(f"{self.proxy.url}/..", "--path-as-is", "-w", "%{http_code}")
            self.assertEqual(said[-3:], "400")
        said = bytearray()
        try:
            while piece := asking.recv(1 << 20):
                said += piece
        except ConnectionResetError:
            pass
        self.assertTrue(said.startswith(b"HTTP/1.1 200 "))
        self.assertFalse(said.endswith(b"\r\n0\r\n\r\n"), len(said))

    def test_who_is_refused_early_learns_why(self):
        asking, behind = self.begin_upload()
        behind.sendall(
            b"HTTP/1.1 413 No\r\nContent-Length: 2\r\n"
            b"Connection: close\r\n\r\nno"
        )
        behind.close()
        said = asking.recv(1 << 16)
        self.assertTrue(said.startswith(b"HTTP/1.1 413 "), said)


class Nobody(unittest.TestCase):
    def test_a_server_that_is_not_there_is_a_bad_gateway(self):
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{free_port()}")
        self.addCleanup(proxy.stop)
        said = ask(f"{proxy.url}/", "-o", "/dev/null", "-w", "%{http_code}")
        self.assertEqual(said, "502")


if __name__ == "__main__":
    unittest.main()
