"""Reads the access log of real servers, and compares it with what their clients
have done."""

import contextlib
import datetime
import json
import re
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client  # noqa: E402
from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402
from loopback.ws_client import CLOSE, TEXT, WsClient  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "logged.mojo"
KEYS = (
    "time", "worker", "id", "client", "port", "tls", "version", "method",
    "target", "target_octets", "route", "status", "end", "duration_us",
    "request_octets", "response_octets", "user_agent", "request_id", "trace_id",
)
# Of the server that these tests ask.
STREAMS_MAX = 4
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
COMBINED = re.compile(
    r'(?P<client>\S+) - - \[(?P<time>[^]]+)\] "(?P<request>[^"]*)"'
    r' (?P<status>\d{3}) (?P<octets>\d+) "(?P<referer>[^"]*)"'
    r' "(?P<agent>[^"]*)"'
)
# Octets that may stand in a field value and want to break out of a line.
HOSTILE = b'" \\ \x80\xff\xc3\xa9\t\xc2\x9b{"a":1}\\n" 200 "'


def setUpModule():
    build(SOURCE)


def asked(target, method="GET", content=b"", fields=b""):
    """Gives the octets of a request."""
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\n".encode() + fields
    if content:
        head += b"Content-Length: %d\r\n" % len(content)
    return head + b"\r\n" + content


def restored(text):
    """Gives the octets that a text of Common Log Format stands for."""
    return re.sub(
        r"\\x([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text
    ).encode("latin-1")


class AccessLogs(unittest.TestCase):
    def start(self, backend, *options, **more):
        subject = Subject(backend, *options, source=SOURCE, **more)
        self.addCleanup(subject.stop)
        return subject

    def lines(self, subject):
        """Ends the server, and gives all that it has written."""
        subject.process.terminate()
        text = subject.process.stdout.read()
        self.assertEqual(subject.process.wait(15), 0)
        return self.split(text)

    def split(self, text):
        for octet in set(text):
            self.assertTrue(octet == 10 or 32 <= octet < 127, octet)
        self.assertTrue(not text or text.endswith(b"\n"))
        return text.decode("ascii").splitlines()

    def objects(self, lines):
        found = [json.loads(line) for line in lines]
        for each in found:
            self.assertEqual(tuple(each), KEYS)
            then = datetime.datetime.fromisoformat(each["time"])
            age = datetime.datetime.now(datetime.timezone.utc) - then
            self.assertLess(abs(age.total_seconds()), 60)
            self.assertLess(each["duration_us"], 30_000_000)
        return found

    def each_backend(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                yield backend

    def check(self, record, **wanted):
        found = {name: record[name] for name in wanted}
        self.assertEqual(found, wanted)

    def test_a_disk_that_is_full_is_told_about_once(self):
        subject = self.start(BACKENDS[0], "--file", "/dev/full")
        for _ in range(3):
            with subject.connect() as client:
                for _ in range(5):
                    client.send(asked("/"))
                    client.answer()
            time.sleep(0.1)
        subject.process.terminate()
        self.assertEqual(subject.process.wait(15), 0)
        said = [x for x in subject.log() if b"access log" in x]
        self.assertEqual(len(said), 1, said)
        self.assertIn(b"lines are lost", said[0])

    def converse(self, subject):
        fields = (
            b"User-Agent: test/1\r\nTraceparent: " + PARENT.encode()
            + b"\r\nX-Request-Id: mine\r\n"
        )
        with subject.connect() as client:
            client.send(asked("/?a=b", fields=fields))
            self.assertEqual(client.answer().body, b"hello")
            client.send(asked("/echo", "POST", b"x" * 5000))
            named = client.answer().field("X-Request-Id")
            # Two at a time, one of them without content in its answer.
            client.send(asked("/", "HEAD") + asked("/nowhere"))
            client.answer(to_head=True)
            client.answer()
            client.send(asked("/streamed/3"))
            client.head()
            client.content()
            client.send(asked("/echo", "POST", b"x" * 9000))
            self.assertEqual(client.answer().status, 413)
            port = client.socket.getsockname()[1]
        return port, named

    def test_each_answer_of_a_connection_has_its_line(self):
        for backend in self.each_backend():
            for secure in (False, True):
                options = {"transport": "tls"} if secure else {}
                subject = self.start(backend, **options)
                port, named = self.converse(subject)
                found = self.objects(self.lines(subject))
                self.assertEqual(len(found), 6)
                for i, record in enumerate(found):
                    self.check(
                        record, worker=0, id=i + 1, client="127.0.0.1",
                        port=port, tls=secure, version="1.1",
                        end="refused" if i == 5 else "complete",
                    )
                self.check(
                    found[0], method="GET", target="/?a=b", route="/",
                    status=200, user_agent="test/1", request_id="mine",
                    trace_id=TRACE, request_octets=0, response_octets=5,
                )
                self.check(
                    found[1], method="POST", route="/echo", status=200,
                    request_octets=5000, response_octets=5000,
                    request_id=named, user_agent=None, trace_id=None,
                )
                self.check(found[2], method="HEAD", response_octets=0)
                self.check(found[3], route=None, status=404)
                self.check(
                    found[4], route="/streamed/:count", response_octets=15
                )
                self.assertGreater(found[4]["duration_us"], 14_000)
                self.check(found[5], status=413)

    def test_each_stream_of_http_2_has_its_line(self):
        for backend in self.each_backend():
            for transport in ("tcp", "tls"):
                subject = self.start(backend, transport=transport)
                with H2Client(subject) as client:
                    fields = [("user-agent", "test/2"), ("traceparent", PARENT)]
                    self.assertEqual(
                        client.ask("GET", "/", fields).status, 200
                    )
                    stream = client.begin("POST", "/echo", ends=False)
                    client.send(stream, b"x" * 4000)
                    client.answer(stream)
                    slow = client.begin("GET", "/wait/5000")
                    client.ask("GET", "/")
                    client.reset(slow)
                    long = client.begin("GET", "/streamed/1000")
                    client.ask("GET", "/")
                    client.reset(long)
                    client.ask("GET", "/")
                found = self.objects(self.lines(subject))
                found.sort(key=lambda record: record["id"])
                self.assertEqual([r["id"] for r in found], list(range(1, 8)))
                for record in found:
                    self.check(
                        record, version="2.0", client="127.0.0.1",
                        tls=transport == "tls",
                    )
                self.check(
                    found[0], user_agent="test/2", trace_id=TRACE, status=200
                )
                self.check(
                    found[1], request_octets=4000, response_octets=4000
                )
                self.check(
                    found[2], target="/wait/5000", status=499,
                    end="client_left", response_octets=0,
                )
                self.check(
                    found[4], target="/streamed/1000", status=200,
                    end="client_left",
                )

    def test_a_client_that_leaves_has_one_line(self):
        for backend in self.each_backend():
            subject = self.start(backend)
            for target, status in (
                ("/wait/5000", 499), ("/streamed/1000", 200)
            ):
                for leaves in ("close", "reset"):
                    with subject.connect() as client:
                        client.send(asked(target))
                        if status == 200:
                            client.head()
                        else:
                            time.sleep(0.1)
                        getattr(client, leaves)()
            with subject.connect() as client:
                client.send(asked("/broken"))
                client.head()
                with self.assertRaises((EOFError, ConnectionError)):
                    client.content()
            with subject.connect() as client:
                client.send(asked("/fail"))
                self.assertEqual(client.answer().status, 500)
                client.send(b"GET\r\n\r\n")
                self.assertEqual(client.answer().status, 400)
            found = self.objects(self.lines(subject))
            found = sorted(
                (r["id"], r["target"], r["status"], r["end"]) for r in found
            )
            self.assertEqual(
                found,
                [
                    (0, None, 400, "refused"),
                    (1, "/wait/5000", 499, "client_left"),
                    (2, "/wait/5000", 499, "client_left"),
                    (3, "/streamed/1000", 200, "client_left"),
                    (4, "/streamed/1000", 200, "client_left"),
                    (5, "/broken", 200, "broken_off"),
                    (6, "/fail", 500, "complete"),
                ],
            )

    def test_a_websocket_tells_whether_its_client_left(self):
        for backend in self.each_backend():
            subject = self.start(backend)
            for leaves in ("close", "reset", "close_in_order"):
                client = WsClient(subject.port, "/talk")
                client.send_frame(TEXT, b"a")
                client.expect(TEXT, b"a")
                if leaves == "close_in_order":
                    client.send_frame(CLOSE, b"\x03\xe8")
                    client.expect(CLOSE, b"\x03\xe8")
                    client.close()
                else:
                    getattr(client, leaves)()
            found = self.objects(self.lines(subject))
            found = sorted((r["id"], r["status"], r["end"]) for r in found)
            self.assertEqual(
                found,
                [
                    (1, 101, "client_left"),
                    (2, 101, "client_left"),
                    (3, 101, "complete"),
                ],
            )

    def test_one_stream_too_many_is_refused(self):
        for backend in self.each_backend():
            subject = self.start(backend)
            with contextlib.ExitStack() as stack:
                for _ in range(STREAMS_MAX):
                    client = stack.enter_context(subject.connect())
                    client.send(asked("/streamed/1000"))
                    client.head()
                client = stack.enter_context(subject.connect())
                client.send(asked("/streamed/1000"))
                self.assertEqual(client.answer().status, 503)
            (refused,) = [
                record
                for record in self.objects(self.lines(subject))
                if record["status"] == 503
            ]
            self.check(refused, end="refused", route="/streamed/:count")

    def test_no_octets_of_a_client_forge_anything(self):
        fields = (
            b"User-Agent: " + HOSTILE + b"\r\nReferer: " + HOSTILE
            + b"\r\nX-Request-Id: " + HOSTILE + b"\r\n"
        )
        target = "/%22%0d%0a%5cx22'"
        for form in ("json", "combined"):
            subject = self.start(BACKENDS[0], "--format", form)
            with subject.connect() as client:
                client.send(asked(target, fields=fields))
                status = client.answer().status
                client.send(asked("/" + "x" * 4000))
                client.answer()
            lines = self.lines(subject)
            self.assertEqual(len(lines), 2)
            if form == "json":
                found = self.objects(lines)
                self.assertEqual(
                    found[0]["user_agent"],
                    HOSTILE.decode("utf-8", "replace"),
                )
                self.check(found[1], target="/" + "x" * 2047)
                self.check(found[1], target_octets=4001)
                continue
            found = [COMBINED.fullmatch(line) for line in lines]
            self.assertIsNotNone(found[0], lines[0])
            self.assertEqual(restored(found[0]["agent"]), HOSTILE)
            self.assertEqual(restored(found[0]["referer"]), HOSTILE)
            self.assertEqual(int(found[0]["status"]), status)
            self.assertEqual(
                found[1]["request"], "GET /" + "x" * 2047 + " HTTP/1.1"
            )
            self.assertEqual(found[1]["referer"], "-")
            then = datetime.datetime.strptime(
                found[1]["time"], "%d/%b/%Y:%H:%M:%S %z"
            )
            self.assertLess(abs(then.timestamp() - time.time()), 60)

    def test_the_client_is_the_one_that_a_trusted_proxy_names(self):
        for backend in self.each_backend():
            subject = self.start(backend, "--proxied", "--format", "common")
            for address, family in (
                ("192.0.2.9", "TCP4"), ("2001:db8::9", "TCP6")
            ):
                with subject.connect() as client:
                    line = f"PROXY {family} {address} {address} 5 443\r\n"
                    client.send(line.encode() + asked("/"))
                    client.answer()
            lines = self.lines(subject)
            self.assertEqual(
                [line.split()[0] for line in lines],
                ["192.0.2.9", "2001:db8::9"],
            )

    def test_lines_of_several_processes_stay_whole_in_a_file(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"before\n")
            file.flush()
            subject = self.start(
                BACKENDS[0], "--file", file.name, "--supervised",
                "--workers", "2",
            )
            self.ask_many(subject)
            subject.stop()
            lines = self.split(Path(file.name).read_bytes())
            self.assertEqual(lines[0], "before")
            self.assertEqual(len(self.objects(lines[1:])), 8 * 500)

    def test_lines_of_several_processes_stay_whole_in_a_pipe(self):
        subject = self.start(
            BACKENDS[0], "--supervised", "--workers", "2"
        )
        found = []
        reader = threading.Thread(
            target=lambda: found.append(subject.process.stdout.read())
        )
        reader.start()
        self.ask_many(subject)
        subject.process.terminate()
        reader.join(20)
        lines = self.split(found[0])
        self.assertEqual(len(self.objects(lines)), 8 * 500)

    def ask_many(self, subject):
        def ask():
            with subject.connect() as client:
                for _ in range(50):
                    client.send(10 * asked("/"))
                    for _ in range(10):
                        client.answer()

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    def test_a_file_that_cannot_be_opened_is_an_error_of_serve(self):
        subject = self.start(BACKENDS[0], "--file", "/nowhere/at/all")
        self.assertEqual(subject.process.wait(10), 1)
        subject.process.stdout.read()

    def test_a_function_gets_each_record(self):
        subject = self.start(BACKENDS[1], "--format", "function")
        with subject.connect() as client:
            client.send(
                asked(
                    "/echo", "POST", b"abc",
                    b"User-Agent: it\r\nReferer: there\r\n",
                )
            )
            client.answer()
        self.assertEqual(
            self.lines(subject),
            ["POST /echo /echo 200 complete it there 3 True True"],
        )

    def test_a_reader_that_stops_holds_no_request_up(self):
        subject = self.start(BACKENDS[0])
        began = time.monotonic()
        with subject.connect() as client:
            # Five times as much as ring, pipe and buffer take together.
            for _ in range(120):
                client.send(100 * asked("/"))
                for _ in range(100):
                    client.answer()
        self.assertLess(time.monotonic() - began, 60)
        lines = self.objects(self.lines(subject))
        self.assertGreater(len(lines), 500)
        self.assertLess(len(lines), 12_000)
        ids = [record["id"] for record in lines]
        self.assertEqual(ids, sorted(set(ids)))


if __name__ == "__main__":
    unittest.main()
