"""Compares the metrics of real servers with what their clients have done."""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.exposition import Exposition  # noqa: E402
from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402
from postgres import cluster as clusters  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "metered.mojo"
PAGE = ("GET", "/-/metrics", 200)
OPEN = (
    "application/openmetrics-text;version=1.0.0;q=0.5,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
DURATION = "http_server_request_duration_seconds"
CLIENTS = 8


def setUpModule():
    build(SOURCE)


def asked(target, method="GET", content=b""):
    """Gives the octets of a request."""
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\n"
    if content:
        head += f"Content-Length: {len(content)}\r\n"
    return head.encode() + b"\r\n" + content


class Metered(unittest.TestCase):
    def start(self, backend, *options, **more):
        subject = Subject(backend, *options, source=SOURCE, **more)
        self.addCleanup(subject.stop)
        return subject

    def read(self, subject, accept="*/*"):
        """Asks for the page, and reads it."""
        with subject.connect() as client:
            client.send(
                b"GET /-/metrics HTTP/1.1\r\nHost: a\r\nAccept: "
                + accept.encode() + b"\r\n\r\n"
            )
            answer = client.answer()
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        kind = answer.field("Content-Type")
        is_open = kind.startswith("application/openmetrics-text; version=1.0.0")
        if not is_open:
            self.assertTrue(kind.startswith("text/plain; version=0.0.4"), kind)
        self.assertEqual(is_open, "openmetrics" in accept)
        return Exposition(answer.body.decode(), is_open)

    def ask(self, subject, octets, status, count=1):
        """Sends the same request some times over one connection."""
        with subject.connect() as client:
            for _ in range(count):
                client.send(octets)
                self.assertEqual(client.answer().status, status)

    def ask_from_all_sides(self, subject, wishes):
        """Sends requests over many connections at once, and gives what the
        metrics must say."""
        expected = collections.Counter()
        threads = []
        for number in range(CLIENTS):
            for octets, key, count in wishes:
                expected[key] += count + number
                threads.append(threading.Thread(
                    target=self.ask,
                    args=(subject, octets, key[2], count + number),
                ))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return expected

    def workers(self, subject):
        """Gives the processes of the workers."""
        process = subject.process.pid
        children = Path(f"/proc/{process}/task/{process}/children")
        return {int(x) for x in children.read_text().split()}

    def kill_workers(self, subject):
        """Kills all workers, and awaits the new ones."""
        killed = self.workers(subject)
        for number, process in enumerate(killed, 1):
            os.kill(process, signal.SIGKILL)
            subject.await_log(b"died of", number)
        deadline = time.monotonic() + 10
        while len(self.workers(subject) - killed) < len(killed):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


class Requests(Metered):
    WISHES = (
        (asked("/"), ("GET", "/", 200), 200),
        (asked("/user/7?x=1"), ("GET", "/user/:id", 200), 100),
        (asked("/echo", "POST", b"octets"), ("POST", "/echo", 200), 30),
        (asked("/nowhere"), ("GET", "", 404), 20),
        (asked("/", "DELETE"), ("DELETE", "", 405), 2),
        (asked("/", "BREW"), ("_OTHER", "", 501), 2),
        (asked("/fail"), ("GET", "/fail", 500), 5),
        (asked("/teapot"), ("GET", "/teapot", 418), 5),
        (asked("/wait/1"), ("GET", "/wait/:ms", 200), 10),
    )

    def check(self, subject, wishes):
        expected = self.ask_from_all_sides(subject, wishes)
        for pages, accept in enumerate(("*/*", OPEN)):
            found = self.read(subject, accept)
            # The page itself is counted when it is answered.
            self.assertEqual(found.requests().pop(PAGE, 0), pages)
            requests = found.requests()
            requests.pop(PAGE, 0)
            self.assertEqual(requests, expected)
        return found

    def test_counts_equal_those_of_the_clients(self):
        for backend in BACKENDS:
            for workers in ("1", "4"):
                with self.subTest(backend=backend, workers=workers):
                    subject = self.start(backend, "--workers", workers)
                    found = self.check(subject, self.WISHES)
                    self.assertEqual(
                        found.value("flare_workers"), int(workers)
                    )
                    self.assertEqual(
                        found.value("flare_handler_errors_total"),
                        sum(5 + i for i in range(CLIENTS)),
                    )
                    self.assertGreaterEqual(
                        found.value("flare_connections"), 1
                    )
                    # As of the end of each worker's latest turn.
                    self.assertLessEqual(
                        found.value("http_server_active_requests"), 1
                    )
                    self.assertGreater(
                        found.value("process_resident_memory_bytes"), 1 << 20
                    )
                    subject.stop()

    def test_counts_over_http2(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, "--workers", "2", speaks_h2=True)
                self.check(subject, self.WISHES)
                subject.stop()

    def test_streams_are_counted_at_their_end(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend)
                for _ in range(3):
                    with subject.connect() as client:
                        client.send(asked("/streamed"))
                        self.assertEqual(client.head().status, 200)
                        self.assertEqual(client.chunks(), b"piece" * 3)
                requests = self.read(subject).requests()
                self.assertEqual(requests[("GET", "/streamed", 200)], 3)
                subject.stop()

    def test_counts_over_tls(self):
        subject = self.start("epoll", "--workers", "2", transport="tls")
        self.ask(subject, asked("/"), 200, 5)
        found = self.read(subject)
        self.assertEqual(
            found.value(
                DURATION + "_count", http_request_method="GET",
                http_response_status_code="200", http_route="/",
                url_scheme="https",
            ),
            5,
        )
        self.assertEqual(found.value("flare_tls_handshakes_total"), 2)

    def test_refused_requests_are_counted(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend)
                self.ask(subject, b"GET / HTTP/1.1\r\n\r\n", 400)
                self.ask(subject, b"GET /x y HTTP/1.1\r\nHost: a\r\n\r\n", 400)
                self.ask(
                    subject, asked("/" + "x" * 9000), 414
                )
                self.ask(
                    subject,
                    b"POST /echo HTTP/1.1\r\nHost: a\r\n"
                    b"Content-Length: 9000\r\n\r\n",
                    413,
                )
                found = self.read(subject)
                self.assertEqual(
                    found.requests(),
                    {
                        ("_OTHER", "", 400): 2,
                        ("_OTHER", "", 414): 1,
                        ("POST", "/echo", 413): 1,
                    },
                )
                self.assertEqual(found.value("flare_refused_total"), 4)
                subject.stop()

    def test_durations_are_those_of_the_handlers(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, "--every-edge")
                self.ask(subject, asked("/wait/40"), 200, 10)
                found = self.read(subject)
                labels = tuple(sorted({
                    "http_request_method": "GET",
                    "http_response_status_code": "200",
                    "http_route": "/wait/:ms", "url_scheme": "http",
                }.items()))
                buckets = dict(found.buckets(DURATION, labels))
                self.assertEqual(buckets[0.0375], 0)
                self.assertEqual(buckets[1.0], 10)
                total = found.samples[(DURATION + "_sum", labels)]
                self.assertGreater(total, 0.4)
                self.assertLess(total, 10)
                subject.stop()


class OwnInstruments(Metered):
    def test_they_are_added_over_workers(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, "--workers", "4")
                threads = [
                    threading.Thread(
                        target=self.ask,
                        args=(subject, asked(f"/order/k{i % 4}"), 200, 50),
                    )
                    for i in range(16)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.ask(subject, asked("/in-thread"), 200, 5)
                found = self.read(subject)
                self.assertEqual(found.value("orders_total"), 805)
                self.assertEqual(found.value("orders_open"), 0)
                for i in range(4):
                    self.assertEqual(
                        found.value("orders_by_kind_total", kind=f"k{i}"), 200
                    )
                name = "order_duration_seconds"
                self.assertEqual(found.value(name + "_count"), 800)
                self.assertEqual(found.value(name + "_sum"), 2)
                buckets = dict(found.buckets(name, ()))
                self.assertEqual(buckets[0.005], 800)
                subject.stop()

    def check_database(self, subject, system, wrong):
        """Asks a database, and compares what is counted."""
        self.assertNotIn(system, str(self.read(subject).samples))
        self.ask(subject, asked(f"/{system}/right"), 200, 30)
        self.ask(subject, asked(f"/{system}/wrong"), 500, 4)
        found = self.read(subject)
        count = "db_client_operation_duration_seconds_count"
        own = {"db_system_name": system}
        self.assertEqual(found.value(count, **own), 30)
        self.assertEqual(found.value(count, **own, error_type=wrong), 4)
        seconds = found.value(count.replace("count", "sum"), **own)
        self.assertTrue(0 < seconds < 30, seconds)
        used, idle = self.connections(found, system)
        self.assertEqual(used, 0)
        self.assertGreater(idle, 0)
        pending = "db_client_connection_pending_requests"
        self.assertEqual(found.value(pending, **own), 0)

    def connections(self, found, system):
        """Gives how many connections are used, and idle."""
        return [
            found.value(
                "db_client_connection_count",
                db_system_name=system, db_client_connection_state=state,
            )
            for state in ("used", "idle")
        ]

    def test_statements_of_sqlite_are_counted(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend)
                self.check_database(subject, "sqlite", "1")
                subject.stop()

    def test_statements_of_postgresql_are_counted(self):
        cluster = clusters.start(self.addCleanup)
        cluster.psql("CREATE DATABASE counted")
        url = cluster.url("counted")
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, "--postgres", url)
                self.check_database(subject, "postgresql", "42703")
                self.ask(subject, asked("/postgresql/transaction"), 200, 3)
                used, idle = self.connections(self.read(subject), "postgresql")
                self.assertEqual(used, 0)
                self.assertGreater(idle, 0)
                self.check_that_a_statement_is_seen_while_it_runs(subject)
                subject.stop()

    def check_that_a_statement_is_seen_while_it_runs(self, subject):
        with subject.connect() as client:
            client.send(asked("/postgresql/slow"))
            until = time.monotonic() + 2
            used = 0
            while used == 0 and time.monotonic() < until:
                used, _ = self.connections(self.read(subject), "postgresql")
            self.assertEqual(used, 1)
            self.assertEqual(client.answer().status, 200)
        used, _ = self.connections(self.read(subject), "postgresql")
        self.assertEqual(used, 0)

    def test_searches_for_files_are_counted(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        Path(folder, "a.txt").write_text("content")
        subject = self.start("io_uring", "--files", folder)
        self.ask(subject, asked("/files/a.txt"), 200, 20)
        self.ask(subject, asked("/files/nowhere"), 404, 1)
        found = self.read(subject)
        counts = {
            result: found.value("flare_file_searches_total", result=result)
            for result in ("hit", "recheck", "miss")
        }
        self.assertEqual(sum(counts.values()), 21, counts)
        self.assertGreater(counts["hit"], 10)
        self.assertEqual(counts["miss"], 2)

    def test_paths_cannot_add_series_without_end(self):
        subject = self.start("epoll")
        for i in range(1100):
            self.ask(subject, asked(f"/order/{i}"), 200)
        found = self.read(subject)
        self.assertEqual(found.value("orders_by_kind_total", kind="other"), 100)
        self.assertEqual(len(found.series("orders_by_kind_total")), 1001)

    def test_values_of_clients_are_escaped(self):
        subject = self.start("epoll")
        for path, kind in (
            ("%0A%22%5C", '\n"\\'), ("%7Dx%3D%22", '}x="'), ("%C3%A4", "ä"),
        ):
            self.ask(subject, asked("/order/" + path), 200)
            for accept in ("*/*", OPEN):
                found = self.read(subject, accept)
                self.assertEqual(
                    found.value("orders_by_kind_total", kind=kind), 1
                )


class Supervised(Metered):
    def test_the_time_of_processes_outlives_them(self):
        subject = self.start("io_uring", "--workers", "2", "--supervised")
        total = "process_cpu_seconds_total"
        self.ask(subject, asked("/"), 200, 2000)
        before = self.read(subject).value(total)
        for _ in range(2):
            self.kill_workers(subject)
            after = self.read(subject).value(total)
            self.assertGreaterEqual(after, before)
            before = after
        self.assertGreater(before, 0)

    def test_counts_outlive_a_worker_that_is_killed(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, "--workers", "4", "--supervised")
                expected = collections.Counter()
                expected["/"] += sum(
                    self.ask_from_all_sides(
                        subject, [(asked("/"), ("GET", "/", 200), 50)]
                    ).values()
                )
                self.ask(subject, asked("/order/early"), 200, 10)
                self.ask(subject, asked("/hold"), 200, 40)
                before = self.read(subject)
                self.assertEqual(
                    before.requests()[("GET", "/", 200)], expected["/"]
                )
                self.assertEqual(before.value("orders_open"), 40)
                self.assertEqual(before.value("flare_workers"), 4)
                self.kill_workers(subject)
                # What the dead ones held, they hold no more, once all serve.
                deadline = time.monotonic() + 10
                after = self.read(subject)
                while after.value("orders_open") and (
                    time.monotonic() < deadline
                ):
                    time.sleep(0.01)
                    after = self.read(subject)
                self.assertEqual(after.value("orders_open"), 0)
                requests = after.requests()
                self.assertEqual(requests[("GET", "/", 200)], expected["/"])
                self.assertEqual(after.value("orders_total"), 10)
                self.assertEqual(
                    after.value("orders_by_kind_total", kind="early"), 10
                )
                self.ask(subject, asked("/order/early"), 200, 7)
                self.ask(subject, asked("/in-thread"), 200, 3)
                expected["/"] += sum(
                    self.ask_from_all_sides(
                        subject, [(asked("/"), ("GET", "/", 200), 50)]
                    ).values()
                )
                last = self.read(subject)
                self.assertEqual(
                    last.requests()[("GET", "/", 200)], expected["/"]
                )
                self.assertEqual(last.value("orders_total"), 20)
                self.assertEqual(
                    last.value("orders_by_kind_total", kind="early"), 17
                )
                for name, labels in before.samples:
                    # The CPU time is that of the processes that live.
                    if name.startswith("process_"):
                        continue
                    if name.endswith("_total") or name.startswith(
                        DURATION
                    ):
                        self.assertGreaterEqual(
                            last.samples[(name, labels)],
                            before.samples[(name, labels)],
                            name,
                        )
                subject.stop()


@unittest.skipUnless(
    shutil.which("prometheus"), "no prometheus: apt-get install prometheus"
)
class RealPrometheus(Metered):
    def test_prometheus_reads_what_the_clients_have_done(self):
        subject = self.start("epoll", "--workers", "4", "--supervised")
        with tempfile.TemporaryDirectory() as folder:
            port = self.start_prometheus(folder, subject.port)
            expected = self.ask_from_all_sides(subject, Requests.WISHES)
            self.kill_workers(subject)
            expected += self.ask_from_all_sides(subject, Requests.WISHES)
            query = (
                "sum by (http_request_method, http_route,"
                f" http_response_status_code) ({DURATION}_count)"
            )
            deadline = time.monotonic() + 30
            found = {}
            while time.monotonic() < deadline and found != expected:
                time.sleep(0.2)
                found = self.query(port, query)
                found.pop(PAGE, None)
            self.assertEqual(found, expected)

    def test_counts_and_quantiles_are_those_of_the_clients(self):
        subject = self.start(
            "io_uring", "--workers", "4", "--supervised", "--every-edge"
        )
        waits = [25 + 397 * i * i // 200 % 400 for i in range(200)]
        lasted = []

        def ask(own):
            with subject.connect() as client:
                for wait_ms in own:
                    began = time.monotonic()
                    client.send(asked(f"/wait/{wait_ms}"))
                    client.answer()
                    lasted.append(time.monotonic() - began)

        def ask_all():
            threads = [
                threading.Thread(target=ask, args=(waits[i::CLIENTS],))
                for i in range(CLIENTS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        with tempfile.TemporaryDirectory() as folder:
            port = self.start_prometheus(folder, subject.port)
            ask_all()
            self.kill_workers(subject)
            ask_all()
            lasted.sort()
            self.assertEqual(len(lasted), 2 * len(waits))
            key = ("GET", "/wait/:ms", 200)
            count = f"sum by (http_request_method, http_route, " \
                f"http_response_status_code) ({DURATION}_count)"
            deadline = time.monotonic() + 30
            while self.query(port, count).get(key) != len(lasted):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.2)
            for share in (0.5, 0.9, 0.99):
                found = self.query(
                    port,
                    f"histogram_quantile({share}, sum by (le,"
                    " http_request_method, http_route,"
                    f" http_response_status_code) ({DURATION}_bucket))",
                )[key]
                wanted = lasted[int(share * len(lasted))]
                self.assertLess(abs(found / wanted - 1), 0.07, (share, wanted))

    def start_prometheus(self, folder, port):
        """Starts it with one target, and gives its port."""
        path = Path(folder) / "prometheus.yml"
        path.write_text(
            "global: {scrape_interval: 500ms}\n"
            "scrape_configs:\n"
            "- job_name: flare\n"
            "  metrics_path: /-/metrics\n"
            f"  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
        )
        process = subprocess.Popen(
            [
                "prometheus", f"--config.file={path}",
                f"--storage.tsdb.path={folder}/data",
                "--web.listen-address=127.0.0.1:0",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.terminate)
        for line in process.stderr:
            if "Listening on" in line and "address=" in line:
                address = line.split("address=")[1].split()[0]
                threading.Thread(
                    target=process.stderr.read, daemon=True
                ).start()
                return int(address.strip('"').rsplit(":", 1)[1])
        self.fail("prometheus does not listen")

    def query(self, port, expression):
        """Gives the values of an expression by method, route and status."""
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression}
        )
        with urllib.request.urlopen(url, timeout=10) as answer:
            result = json.load(answer)["data"]["result"]
        return {
            (
                each["metric"]["http_request_method"],
                each["metric"].get("http_route", ""),
                int(each["metric"]["http_response_status_code"]),
            ): float(each["value"][1])
            for each in result
        }


if __name__ == "__main__":
    unittest.main()
