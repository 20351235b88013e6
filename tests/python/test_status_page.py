"""Looks at the status pages of real servers, as programs and as strangers."""

import base64
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "status.mojo"
MESSAGE_OCTETS_MAX = 2048
VIEWERS_MAX = 16
# What a viewer may cost: a thousandth of a worker.
SHARE_MAX = 0.001


def setUpModule():
    build(SOURCE)


def asked(target, *fields, host="localhost"):
    """Gives the octets of a request."""
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", *fields, "", ""]
    return "\r\n".join(lines).encode()


class Viewer:
    """Receives the events of a status page."""

    def __init__(self, subject):
        self.client = subject.connect()
        self.client.send(asked("/-/flare?format=events"))
        self.answer = self.client.head()
        self._text = b""

    def close(self):
        self.client.close()

    def message(self):
        """Waits for the next message."""
        while b"\n\n" not in self._text:
            # The content is chunked; each piece has whole lines.
            size = self.client._until(b"\r\n").strip()
            length = int(size, 16)
            if length == 0:
                raise EOFError("the events have ended")
            self._text += self.client._exactly(length)
            self.client._exactly(2)
        event, self._text = self._text.split(b"\n\n", 1)
        for line in event.split(b"\n"):
            if line.startswith(b"data: "):
                data = line.removeprefix(b"data: ")
                assert len(data) <= MESSAGE_OCTETS_MAX, len(data)
                return json.loads(data)
        return self.message()

    def samples(self, count):
        """Gives some samples, without what comes before the first."""
        found = []
        while len(found) < count:
            message = self.message()
            if "time_ms" in message:
                found.append(message)
        return found


class WithStatus(unittest.TestCase):
    def start(self, backend, *options, **more):
        subject = Subject(backend, *options, source=SOURCE, **more)
        self.addCleanup(subject.stop)
        return subject

    def view(self, subject):
        viewer = Viewer(subject)
        self.addCleanup(viewer.close)
        return viewer

    def ask(self, subject, octets, opening=b""):
        """Sends a request over a connection of its own, and gives the answer."""
        with subject.connect() as client:
            client.send(opening + octets)
            return client.answer()

    def status(self, subject, *fields, **more):
        return self.ask(subject, asked("/-/flare", *fields, **more)).status

    def report(self, subject):
        answer = self.ask(subject, asked("/-/flare?format=json"))
        self.assertEqual(answer.status, 200)
        return json.loads(answer.body)

    def load(self, subject, target, count):
        with subject.connect() as client:
            for _ in range(count):
                client.send(asked(target))
                client.answer()


class Numbers(WithStatus):
    def test_a_report_equals_what_the_clients_have_done(self):
        for backend in BACKENDS:
            for options in ((), ("--workers", "4", "--supervised")):
                with self.subTest(backend=backend, options=options):
                    subject = self.start(backend, *options)
                    for target, count in (
                        ("/", 50), ("/user/7", 20), ("/fail", 3),
                        ("/nowhere", 4), ("/wait/120", 2),
                    ):
                        self.load(subject, target, count)
                    found = self.report(subject)
                    routes = {x["route"]: x for x in found["routes"]}
                    self.assertEqual(
                        {
                            name: (x["requests"], x["errors"])
                            for name, x in routes.items()
                        },
                        {
                            "GET /": (50, 0),
                            "GET /user/:id": (20, 0),
                            "GET /fail": (3, 3),
                            "GET (no route)": (4, 0),
                            "GET /wait/:ms": (2, 0),
                        },
                    )
                    p50 = routes["GET /wait/:ms"]["p50_us"]
                    self.assertGreater(p50, 110_000)
                    self.assertLess(p50, 1_000_000)
                    workers = 4 if options else 1
                    self.assertEqual(len(found["workers"]), workers)
                    processes = {x["process"] for x in found["workers"]}
                    self.assertEqual(len(processes), workers)
                    self.assertEqual(len(found["slow"]), 2)
                    for slow in found["slow"]:
                        self.assertEqual(slow["route"], "GET /wait/:ms")
                        self.assertGreaterEqual(slow["duration_us"], 119_000)
                        self.assertLess(
                            abs(slow["time_ms"] / 1000 - time.time()), 60
                        )
                    self.assertGreater(found["totals"]["memory"], 1 << 20)
                    subject.stop()

    def test_samples_add_up_to_what_the_clients_do(self):
        for backend in BACKENDS:
            for options in ((), ("--workers", "2", "--supervised")):
                with self.subTest(backend=backend, options=options):
                    subject = self.start(backend, *options)
                    viewer = self.view(subject)
                    self.assertEqual(
                        viewer.answer.field("Content-Type"),
                        "text/event-stream",
                    )
                    first = viewer.message()
                    self.assertTrue(first["is_first"])
                    self.assertTrue(first["counts"])
                    self.load(subject, "/", 300)
                    self.load(subject, "/fail", 20)
                    found = viewer.samples(3)
                    self.assertEqual(sum(x["requests"] for x in found), 320)
                    self.assertEqual(sum(x["errors"] for x in found), 20)
                    heat = sum(sum(x["heat"][1::2]) for x in found)
                    self.assertEqual(heat, 320)
                    rows = {}
                    for sample in found:
                        for row in sample["routes"]:
                            rows[row[0]] = [*row[:5], *(
                                row[5:] or rows[row[0]][5:]
                            )]
                    self.assertEqual(
                        {row[5]: row[1:3] for row in rows.values()},
                        {"GET /": [300, 0], "GET /fail": [20, 20]},
                    )
                    numbers = [x["number"] for x in found]
                    self.assertEqual(
                        numbers, list(range(numbers[0], numbers[0] + 3))
                    )
                    for sample in found:
                        self.assertAlmostEqual(
                            sample["interval_ms"], 1000, delta=400
                        )
                        self.assertEqual(
                            len(sample["workers"]), 2 if options else 1
                        )
                        for _, busy, *_ in sample["workers"]:
                            self.assertLessEqual(0, busy)
                            self.assertLessEqual(busy, 1000)
                    self.assertEqual(subject.stop(), 0)

    def test_the_busy_share_is_that_of_the_worker(self):
        subject = self.start("epoll")
        viewer = self.view(subject)
        viewer.samples(1)
        stop = threading.Event()

        def run():
            while not stop.is_set():
                self.load(subject, "/", 100)

        thread = threading.Thread(target=run)
        thread.start()
        before = subject.cpu_seconds()
        began = time.monotonic()
        found = viewer.samples(4)
        share = (subject.cpu_seconds() - before) / (time.monotonic() - began)
        stop.set()
        thread.join()
        told = sum(x["workers"][0][1] for x in found) / len(found) / 1000
        self.assertAlmostEqual(told, share, delta=0.1)
        self.assertGreater(told, 0.02)
        self.assertLess(max(x["workers"][0][1] for x in viewer.samples(3)[1:]), 50)

    def test_all_routes_arrive_in_short_messages(self):
        subject = self.start("io_uring")
        viewer = self.view(subject)
        for i in range(300):
            self.load(subject, f"/many/number-{i}", 1)
        known = {}
        deadline = time.monotonic() + 40
        while len(known) < 256 and time.monotonic() < deadline:
            for row in viewer.message().get("routes", []):
                if len(row) == 6:
                    known[row[0]] = row[5]
        self.assertEqual(len(known), 256)
        self.assertEqual(known[255], "other routes")
        # Who looks later gets them at once.
        late = self.view(subject)
        rows = []
        while len(rows) < 256:
            rows += late.message()["routes"]
        self.assertEqual({row[0]: row[5] for row in rows}, known)

    def test_a_server_that_counts_elsewhere_says_so(self):
        subject = self.start("epoll", "--uncounted")
        answer = self.ask(subject, asked("/-/flare"))
        self.assertIn("ServerConfig(metrics=", answer.body.decode())
        self.assertFalse(self.report(subject)["counts"])
        viewer = self.view(subject)
        self.assertFalse(viewer.message()["counts"])
        self.assertEqual(viewer.samples(1)[0]["requests"], 0)

    def test_a_terminal_gets_text(self):
        subject = self.start("epoll")
        self.load(subject, "/user/1", 3)
        text = subprocess.run(
            ["curl", "-sS", f"http://127.0.0.1:{subject.port}/-/flare"],
            capture_output=True, check=True, timeout=20,
        ).stdout.decode()
        self.assertRegex(text, r"\nrequests +4\n")
        self.assertRegex(text, r"\nGET /user/:id +3 +0 ")


class Access(WithStatus):
    def test_this_machine_is_admitted_and_no_proxy(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend)
                self.assertEqual(self.status(subject), 200)
                for field in (
                    "Forwarded: for=192.0.2.9", "X-Forwarded-For: 192.0.2.9",
                    "X-Forwarded-For: 127.0.0.1", "Via: 1.1 a",
                ):
                    self.assertEqual(self.status(subject, field), 403, field)
                self.assertEqual(self.status(subject, host="evil.example"), 403)
                self.assertEqual(
                    self.status(subject, host=f"127.0.0.1:{subject.port}"), 200
                )
                subject.stop()

    def test_over_http2_the_same_rules_hold(self):
        # The clients of HTTP/2 name the host `a`.
        subject = self.start("epoll", "--host", "a", speaks_h2=True)
        self.assertEqual(self.status(subject), 200)
        self.assertEqual(self.status(subject, "X-Forwarded-For: ::1"), 403)
        subject = self.start("epoll", "--host", "b", speaks_h2=True)
        self.assertEqual(self.status(subject), 403)

    def test_a_header_of_a_proxy_decides(self):
        for backend in BACKENDS:
            subject = self.start(backend, "--proxies")
            for line, status in (
                (b"PROXY TCP4 127.0.0.1 127.0.0.1 5 80\r\n", 200),
                (b"PROXY TCP4 192.0.2.9 127.0.0.1 5 80\r\n", 403),
                (b"PROXY TCP6 2001:db8::9 ::1 5 80\r\n", 403),
                (b"PROXY UNKNOWN\r\n", 403),
            ):
                with self.subTest(backend=backend, line=line):
                    answer = self.ask(subject, asked("/-/flare"), line)
                    self.assertEqual(answer.status, status)
            subject.stop()

    def test_a_unix_socket_is_admitted(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, transport="unix")
                self.assertEqual(self.status(subject), 200)
                self.assertEqual(self.status(subject, "Via: 1.1 a"), 403)
                subject.stop()

    def test_networks_and_names_are_configured(self):
        subject = self.start("epoll", "--allow", "192.0.2.0/24")
        self.assertEqual(self.status(subject), 403)
        subject = self.start(
            "epoll", "--allow", "127.0.0.0/8", "--host", "status.example"
        )
        self.assertEqual(self.status(subject, host="status.example:80"), 200)
        self.assertEqual(self.status(subject, host="other.example"), 403)

    def test_credentials_admit_through_proxies(self):
        subject = self.start("epoll", "--password", "geheim€")
        pair = base64.b64encode("operator:geheim€".encode()).decode()
        right = f"Authorization: Basic {pair}"
        self.assertEqual(self.status(subject), 401)
        self.assertEqual(self.status(subject, right), 200)
        self.assertEqual(
            self.status(subject, right, "X-Forwarded-For: 192.0.2.9",
                        host="a.example"),
            200,
        )
        self.assertEqual(self.status(subject, right[:-2]), 401)


class Viewers(WithStatus):
    def test_seventeen_are_too_many(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend)
                viewers = [self.view(subject) for _ in range(VIEWERS_MAX)]
                for viewer in viewers:
                    self.assertEqual(viewer.answer.status, 200)
                events = asked("/-/flare?format=events")
                answer = self.ask(subject, events)
                self.assertEqual(answer.status, 503)
                self.assertEqual(answer.field("Retry-After"), "10")
                # The page itself, and a report, are no viewers.
                self.assertEqual(self.status(subject), 200)
                self.assertEqual(
                    len({v.samples(1)[0]["time_ms"] for v in viewers}), 1
                )
                viewers[0].close()
                deadline = time.monotonic() + 5
                status = 503
                while status != 200 and time.monotonic() < deadline:
                    time.sleep(0.02)
                    with subject.connect() as client:
                        client.send(events)
                        status = client.head().status
                self.assertEqual(status, 200)
                subject.stop()

    def test_a_stop_ends_the_events(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend)
                viewer = self.view(subject)
                viewer.samples(1)
                began = time.monotonic()
                self.assertEqual(subject.stop(), 0)
                self.assertLess(time.monotonic() - began, 5)
                with self.assertRaises(EOFError):
                    while True:
                        viewer.message()

    def test_a_viewer_costs_a_thousandth_of_a_worker(self):
        subject = self.start("io_uring")
        # Some series, as a program has them.
        for i in range(50):
            self.load(subject, f"/many/number-{i}", 20)
        alone = self.cpu_share(subject, 2)
        viewers = [self.view(subject) for _ in range(VIEWERS_MAX)]
        for viewer in viewers:
            viewer.samples(1)
        seen = self.cpu_share(subject, 6)
        share = (seen - alone) / VIEWERS_MAX
        print(f"a viewer costs {share:.4%} of a worker", file=sys.stderr)
        self.assertLess(share, SHARE_MAX)
        self.assertLess(alone, 0.005)

    def cpu_share(self, subject, seconds):
        """Gives the share of a CPU that the server takes."""
        task = f"/proc/{subject.process.pid}/task"

        def now():
            total = 0
            for thread in os.listdir(task):
                with contextlib.suppress(FileNotFoundError):
                    text = Path(task, thread, "schedstat").read_text()
                    total += int(text.split()[0])
            return total / 1e9

        before, began = now(), time.monotonic()
        time.sleep(seconds)
        return (now() - before) / (time.monotonic() - began)


class Document(unittest.TestCase):
    def test_it_is_what_its_sources_say(self):
        subprocess.run(
            [sys.executable, ROOT / "tools" / "status_page.py", "--check"],
            check=True,
        )


if __name__ == "__main__":
    unittest.main()
