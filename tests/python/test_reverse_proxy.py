"""Sends contents through the reverse proxy of the examples, between curl and
servers of other makers, and compares checksums."""

import socket
import subprocess
import sys
import threading
import types
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client  # noqa: E402
from loopback.origin import (  # noqa: E402
    Proxy,
    digest_of,
    download,
    nginx_before,
    serve_contents,
    upload,
)
from loopback.peers import node_peer  # noqa: E402
from loopback.programs import find_program  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import ROOT, build  # noqa: E402

PROGRAM = ROOT / "examples" / "30_reverse_proxy.mojo"
GATEWAY = ROOT / "tests" / "programs" / "gateway.mojo"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
OCTETS = 64 << 20
# An idle server of these holds about as much; contents would be 64 more.
PEAK_MEBIBYTES_MAX = 40


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

    def test_an_odd_response_goes_on_as_every_reader_takes_it(self):
        length, coding = b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n"
        chunks = b"\r\n3  \r\nabc\n0\r\n\r\n"
        rows = [
            (b"HTTP/1.1 200 OK\r\nX-A: 1\r\n  2\r\n" + length + b"\r\nabc", False),
            (b"HTTP/1.1 200 OK\nX-A: 1 2\nContent-Length: 3\n\nabc", False),
            (b"HTTP/1.1 200 OK\r\nX-A: 1 2\r\n" + 2 * length + b"\r\nabc", False),
            (b"HTTP/1.1 200 OK\r\nX-A: 1 2\r\nContent-Length: 3, 3\r\n\r\nabc", False),
            (b"HTTP/1.1 200 OK\r\nX-A: 1 2\r\n" + length + coding + chunks, True),
            (b"HTTP/1.1 200 OK\nX-A:\n 1\n 2\n" + coding + b"Content-Length: 9\n" + chunks, True),
        ]
        for response, is_chunked in rows:
            with self.subTest(response=response):
                _, answer = self.passed_on(
                    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    response,
                    closes=False,
                )
                head, _, content = answer.partition(b"\r\n\r\n")
                lines = head.split(b"\r\n")
                self.assertNotIn(b"\n", b"".join(lines))
                self.assertEqual(lines[0], b"HTTP/1.1 200 OK")
                self.assertIn(b"X-A: 1 2", lines)
                names = [line.split(b":")[0].lower() for line in lines[1:]]
                framing = [n for n in names if n in (b"content-length", b"transfer-encoding")]
                if is_chunked:
                    self.assertEqual(framing, [b"transfer-encoding"])
                    self.assertEqual(content, b"3\r\nabc\r\n0\r\n\r\n")
                else:
                    self.assertEqual(framing, [b"content-length"])
                    self.assertIn(b"Content-Length: 3", lines)
                    self.assertEqual(content, b"abc")

    def test_a_response_that_contradicts_itself_is_a_bad_gateway(self):
        for section in (
            b"Content-Length: 3\r\nContent-Length: 4\r\n",
            b"Content-Length: 3, 4\r\n",
            b"Content-Length: 3\r\n 4\r\n",
            b"X: a\0b\r\nContent-Length: 3\r\n",
            b"X: a\rb\r\nContent-Length: 3\r\n",
        ):
            with self.subTest(section=section):
                _, answer = self.passed_on(
                    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\n" + section + b"\r\nabc",
                    closes=False,
                )
                self.assertTrue(answer.startswith(b"HTTP/1.1 502 "), answer)

    def passed_on(self, request, response, closes=True):
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
                answer = asked.makefile("rb").read()
                if not closes:
                    # The proxy gives this connection up, although it could go on.
                    self.assertEqual(upstream.recv(1), b"")
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


class Scripted:
    """Is a server that answers each connection with the next octets given."""

    def __init__(self):
        self.answers = []
        self.heads = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            with stream:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = stream.recv(1 << 16)
                    if not piece:
                        break
                    head += piece
                self.heads.append(head)
                answer, resets = self.answers.pop(0)
                stream.sendall(answer)
                if resets:
                    stream.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0" * 2
                    )

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


def fields_of(head):
    """Divides a head into its lower-case field lines."""
    return head.partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")[1:]


class Gateway(unittest.TestCase):
    """Talks to a gateway as an attacker would, on one of the backends."""

    backend = "io_uring"

    @classmethod
    def setUpClass(cls):
        cls.origin = Scripted()
        cls.addClassCleanup(cls.origin.stop)
        cls.gateway = Proxy(build(GATEWAY), cls.origin.url, cls.backend)
        cls.addClassCleanup(cls.gateway.stop)

    def setUp(self):
        self.origin.answers.clear()
        self.origin.heads.clear()

    def ask(self, *lines, target="/", method="GET", answer=OK, resets=False):
        """Sends a request; gives the answer, and whether it broke off."""
        self.origin.answers.append((answer, resets))
        head = [f"{method} {target} HTTP/1.1", "Host: front", *lines]
        if not any(line.lower() == "connection: close" for line in lines):
            head.append("Connection: close")
        said = self.gateway.tell(("\r\n".join(head) + "\r\n\r\n").encode())
        if len(self.origin.answers) > 0:
            self.origin.answers.pop()
        return said

    def arrived(self, *lines, **options):
        """Sends a request; gives the field lines that arrive behind."""
        said, _ = self.ask(*lines, **options)
        self.assertEqual(said[:12], b"HTTP/1.1 200", said)
        return fields_of(self.origin.heads.pop())

    def refused(self, status, *lines, **options):
        """Sends a request that nothing behind the gateway sees."""
        said, _ = self.ask(*lines, **options)
        self.assertEqual(said[:12].decode(), f"HTTP/1.1 {status}")
        self.assertEqual(self.origin.heads, [])
        return said

    def test_names_that_differ_in_other_octets_than_letters_stay(self):
        names = [
            "X.Forwarded.For", "X_Forwarded_For", "x~FORWARDED!for", "X-Forwarded",
            "X-Forwarded.Host", "X_Forwarded_Proto", "X-Forwarded-Client-Cert",
            "X-Real-IP", "X.Real.IP", "Proxy", "True-Client-IP", "True_Client_IP",
            "CF-Connecting-IP", "CF-Connecting-IPv6", "Fastly-Client-IP",
            "X-Cluster-Client-IP", "Client-Cert", "X-SSL-Client-Verify",
            "X-Original-URL", "X-Rewrite-URL", "X_Rewrite_URL",
            "X-HTTP-Method-Override", "X-Method-Override",
            "Transfer_Encoding", "Content_Length", "Proxy_Authorization",
            "Keep.Alive", "HTTP2-Settings", "X-Tenant", "x_tenant",
            "X-Auth-User", "X.Auth.Group", "X-Gateway-Key", "x_gateway_key",
        ]
        found = self.arrived(*(f"{name}: evil" for name in names))
        self.assertEqual([x for x in found if "evil" in x], [])
        self.assertIn("x-gateway-key: ours", found)
        self.assertIn("x-forwarded-for: 127.0.0.1", found)
        self.assertIn("x-forwarded-host: front", found)

    def test_other_fields_go_on(self):
        lines = [
            "x-forward: 1", "x-realm-ip: 2", "proxying: 3", "x-original: 4",
            "x_custom: 5", "x-client-ip: 6", "x-tenants: 7", "x-auth: 8",
            "cookie: a=b", "authorization: basic x", "client: 9",
        ]
        found = self.arrived(*lines)
        self.assertEqual([x for x in lines if x not in found], [])

    def test_a_trace_is_not_shown_to_who_asked(self):
        self.refused(501, "Cookie: a=b", "Authorization: Basic x", method="TRACE")
        self.refused(501, "Max-Forwards: 5", method="TRACE")

    def test_no_escaped_control_octet_goes_on_in_a_path(self):
        for escape in ("%00", "%0d%0a", "%0D", "%0A", "%09", "%1F", "%7f", "%7F"):
            self.refused(400, target=f"/a{escape}b")
            self.refused(400, target=f"http://front/a{escape}")
        for target in ("/a%20b", "/%7e", "/%2500", "/a?b=%0d%0a%00"):
            self.arrived(target=target)

    def test_a_request_that_comes_back_is_a_loop(self):
        via = [x for x in self.arrived() if x.startswith("via: ")]
        self.assertEqual(len(via), 1)
        name = via[0].removeprefix("via: 1.1 ")
        self.refused(508, f"Via: 1.1 {name}")
        self.refused(508, "Via: 1.1 a, HTTP/1.1 b", f"Via: 1.0 c,1.1 {name} (x)")
        found = self.arrived("Via: 1.1 flare", "Via: 1.1 flare-0123456789abcdef")
        self.assertEqual(len([x for x in found if x.startswith("via: ")]), 3)
        # A client does not learn what the proxy is known by.
        self.assertNotIn(name.encode(), self.ask()[0])
        other = Proxy(build(GATEWAY), self.origin.url, self.backend)
        self.addCleanup(other.stop)
        self.origin.answers.append((OK, False))
        other.tell(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertNotIn(name.encode(), self.origin.heads.pop())

    def test_a_gateway_before_itself_ends_the_loop(self):
        with socket.create_server(("127.0.0.1", 0)) as between:
            first = Proxy(
                build(GATEWAY),
                "http://127.0.0.1:%d" % between.getsockname()[1],
                self.backend,
            )
            self.addCleanup(first.stop)

            def pass_on():
                stream, _ = between.accept()
                with stream, socket.create_connection(
                    ("127.0.0.1", first.port), 20
                ) as back:
                    back.sendall(stream.recv(1 << 16))
                    stream.sendall(back.recv(1 << 16))

            thread = threading.Thread(target=pass_on, daemon=True)
            thread.start()
            said, _ = first.tell(
                b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Via, close\r\n\r\n"
            )
            thread.join(20)
        self.assertEqual(said[:12], b"HTTP/1.1 508")

    def test_host_is_the_first_field_also_before_content(self):
        found = self.arrived("Accept: x")
        self.assertTrue(found[0].startswith("host: 127.0.0.1:"), found)
        for framing, content in (
            ("Content-Length: 2", "ab"),
            ("Transfer-Encoding: chunked", "2\r\nab\r\n0\r\n\r\n"),
        ):
            self.origin.answers.append((OK, False))
            self.gateway.tell(
                (
                    f"POST / HTTP/1.1\r\nAccept: x\r\n{framing}\r\nHost: front"
                    f"\r\nConnection: close\r\n\r\n{content}"
                ).encode()
            )
            found = fields_of(self.origin.heads.pop())
            self.assertTrue(found[0].startswith("host: 127.0.0.1:"), found)
            self.assertIn(framing.lower(), found)

    def test_connection_lists_no_more_options_than_documented(self):
        few = [f"Connection: {','.join(f'x{i}' for i in range(30))}"]
        lines = [f"x{i}: 1" for i in range(40)]
        found = self.arrived(*few, *lines)
        self.assertEqual([x for x in found if x.endswith(": 1")], lines[30:])
        self.refused(400, *few, "Connection: a, b", *lines)
        self.refused(400, *(f"Connection: x{i}" for i in range(33)))
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n%s\r\n"
        lines = b"".join(b"Connection: x%d\r\n" % i for i in range(33))
        said, _ = self.ask(answer=answer % lines)
        self.assertEqual(said[:12], b"HTTP/1.1 502")

    def test_options_of_connection_cost_what_other_fields_cost(self):
        # 8 KiB of head each, 98 lines: what a server accepts by default.
        def cost(first, *statuses):
            lines = [first, *(f"f{i:02}: 1" for i in range(95))]
            self.assertIn(self.ask(*lines)[0][9:12], statuses)
            best = None
            for _ in range(5):
                began = self.gateway.cpu_seconds()
                for _ in range(20):
                    self.ask(*lines)
                spent = self.gateway.cpu_seconds() - began
                best = min(spent, best or spent)
            return best

        short = "f00: " + "a" * 6700
        usual = cost(short, b"200")
        options = "Connection: " + ",".join(["y02"] * 1675)
        self.assertLess(cost(options, b"400", b"200"), 3 * usual)
        options = "Connection: " + ",".join(["y" * 200] * 31)
        self.assertLess(cost(options, b"200"), 3 * usual)

    def test_a_server_that_fails_behind_its_head_is_no_500(self):
        head = b"HTTP/1.1 200 OK\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        rows = [
            (head + b"Content-Length: 5\r\n\r\n", b"502"),
            (chunked + b"zz\r\n", b"502"),
            (chunked + b"5", None),
            (chunked, None),
            (head + b"Content-Length: 5\r\n\r\nabc", None),
            (chunked + b"3\r\nabc\r\n", None),
            (chunked + b"3\r\nabc\r\nzz\r\n", None),
        ]
        for answer, status in rows:
            for resets in (False, True):
                with self.subTest(answer=answer, resets=resets):
                    said, broke_off = self.ask(answer=answer, resets=resets)
                    if said.startswith(b"HTTP/1.1 502"):
                        continue
                    self.assertIsNone(status, said)
                    self.assertTrue(broke_off, said)
                    self.assertIn(said[9:12], (b"200", b""))

    def test_whatever_a_server_says_is_no_500(self):
        rows = [
            b"204 No\r\nContent-Length: 0\r\n\r\n",
            b"304 No\r\nContent-Length: 5\r\n\r\n",
            b"205 No\r\nContent-Length: 0\r\n\r\n",
            b"101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            b"200 OK\r\nUpgrade: x\r\nConnection: upgrade\r\n"
            b"Content-Length: 0\r\n\r\n",
            b"426 No\r\nUpgrade: x\r\nConnection: upgrade\r\n"
            b"Content-Length: 0\r\n\r\n",
            b"200 OK\r\nTrailer: x\r\nTE: x\r\nContent-Length: 0\r\n\r\n",
            b"200 OK\r\n" + b"A: b\r\n" * 199 + b"\r\n",
            b"100 Go\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ]
        for answer in rows:
            for method in ("GET", "HEAD", "POST"):
                with self.subTest(answer=answer, method=method):
                    said, _ = self.ask(method=method, answer=b"HTTP/1.1 " + answer)
                    self.assertNotIn(said[9:12], (b"500", b""))


class GatewayOnEpoll(Gateway):
    backend = "epoll"


class Http2(unittest.TestCase):
    """Asks over HTTP/2, and a server behind that speaks no other protocol."""

    @classmethod
    def setUpClass(cls):
        origin = node_peer("origin_server", certificates())
        cls.addClassCleanup(origin.stop)
        _ = origin.read_port(), origin.read_port()
        cls.gateway = Proxy(
            build(GATEWAY), f"http://127.0.0.1:{origin.read_port()}",
            "io_uring", "h2c",
        )
        cls.addClassCleanup(cls.gateway.stop)

    def client(self):
        client = H2Client(
            types.SimpleNamespace(place=self.gateway.port, secure=False)
        )
        self.addCleanup(client.close)
        return client

    def test_content_of_no_known_length_goes_on(self):
        for fields in ([], [("content-length", "300000")]):
            with self.subTest(fields=fields):
                client = self.client()
                stream = client.begin("POST", "/echo", fields, ends=False)
                octets = b"0123456789" * 30_000
                client.send(stream, octets)
                answer = client.answer(stream)
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.body, octets)
                framing = fields[0][1] if fields else "none"
                self.assertEqual(answer.field("x-framing"), framing)

    def test_trailers_go_to_those_that_accept_them(self):
        for fields, trailers, said in (
            ([("te", "trailers")], [("x-sum", "9")], b"trailers"),
            ([], [], b"none"),
        ):
            with self.subTest(fields=fields):
                client = self.client()
                answer = client.answer(client.begin("GET", "/trailers", fields))
                self.assertEqual(answer.body, said)
                self.assertEqual(answer.trailers, trailers)

    def test_many_requests_share_a_connection(self):
        client = self.client()
        streams = [client.begin("GET", "/chunked") for _ in range(50)]
        for stream in streams:
            self.assertEqual(len(client.answer(stream).body), 64_000)

    def test_http_1_goes_on_as_http_2(self):
        said = ask(self.gateway.url + "/text", "--http1.1", "-i")
        self.assertIn("via: 2.0 flare", said.lower().split("\n"))


class Nobody(unittest.TestCase):
    def test_a_server_that_is_not_there_is_a_bad_gateway(self):
        # It has the port, so that no other program may listen there.
        nobody = socket.socket()
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        proxy = Proxy(build(PROGRAM), f"http://127.0.0.1:{port}")
        self.addCleanup(proxy.stop)
        said = ask(f"{proxy.url}/", "-o", "/dev/null", "-w", "%{http_code}")
        self.assertEqual(said, "502")


if __name__ == "__main__":
    unittest.main()
