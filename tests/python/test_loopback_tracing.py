"""Compares the spans that real servers report with what their clients have done.
"""

import os
import signal
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.collector import Collector, attributes  # noqa: E402
from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "traced.mojo"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
# Octets that may stand in a target and want to break out of a text.
HOSTILE = b"/none/%22%5c%0d%0a%ff{}"


def setUpModule():
    build(SOURCE)


def asked(target, fields=b"", method=b"GET"):
    """Gives the octets of a request."""
    if isinstance(target, str):
        target = target.encode()
    return b"%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (method, target, fields)


def kill_worker(subject, deaths):
    """Kills the worker of a supervisor, and awaits the next one."""
    process = subject.process.pid
    children = Path(f"/proc/{process}/task/{process}/children")
    (killed,) = children.read_text().split()
    os.kill(int(killed), signal.SIGKILL)
    subject.await_log(b"died of", deaths)
    deadline = time.monotonic() + 10
    while children.read_text().split() in ([], [killed]):
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Spans(unittest.TestCase):
    def collector(self, **options):
        collector = Collector(**options)
        self.addCleanup(collector.close)
        return collector

    def start(self, url, *options, backend="io_uring", **more):
        subject = Subject(
            backend, "--collector", url, *options, source=SOURCE, **more
        )
        self.addCleanup(subject.stop)
        return subject

    def ask(self, subject, target, fields=b"", method=b"GET"):
        """Makes one request, and gives its answer."""
        with subject.connect() as client:
            client.send(asked(target, fields, method))
            return client.answer(to_head=method == b"HEAD")

    def numbers(self, subject):
        """Gives how many spans were exported, dropped and failed."""
        return [int(x) for x in self.ask(subject, "/statistics").body.split()]

    def await_numbers(self, subject, wanted):
        """Waits until the answers of the collector are counted; to ask for the
        numbers makes spans too."""
        deadline = time.monotonic() + 5
        while True:
            found = self.numbers(subject)
            if found[0] >= wanted[0] and found[1:] == wanted[1:]:
                return
            self.assertLess(time.monotonic(), deadline, found)

    def end(self, subject):
        """Ends the server as its supervisor would; gives how long it took."""
        began = time.monotonic()
        subject.process.terminate()
        self.assertEqual(subject.process.wait(15), 0)
        return time.monotonic() - began

    def test_each_request_has_its_span(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                self.check_spans(backend)

    def check_spans(self, backend):
        collector = self.collector()
        subject = self.start(collector.url, backend=backend)
        now = time.time_ns()
        self.ask(subject, "/hello/me?a=b", b"Traceparent: %s\r\n"
                 b"Tracestate: x=1\r\nTracestate: y=2\r\n" % PARENT.encode())
        self.ask(subject, "/fail")
        self.ask(subject, "/nowhere")
        self.ask(subject, HOSTILE)
        self.ask(subject, "/hello/me", method=b"HEAD")
        self.ask(subject, "/hello/me", method=b"BREW")
        spans = collector.await_spans(6)
        self.assertEqual(collector.authorizations, {"Bearer of-the-test"})
        self.assertEqual(collector.resources[0]["service.name"], 'a "test"')
        self.assertEqual(len(spans), 6)
        for span in spans:
            began = int(span["startTimeUnixNano"])
            ended = int(span["endTimeUnixNano"])
            self.assertLess(abs(began - now), 10_000_000_000)
            self.assertLessEqual(began, ended)
            self.assertLess(ended - began, 5_000_000_000)
            self.assertEqual(span["kind"], 2)
        first, failed, lost, hostile, head, other = spans
        self.assertEqual(first["name"], "GET /hello/:name")
        self.assertEqual(first["traceId"], TRACE)
        self.assertEqual(first["parentSpanId"], "b7ad6b7169203331")
        self.assertEqual(first["traceState"], "x=1,y=2")
        self.assertNotIn("status", first)
        self.assertEqual(
            attributes(first),
            {
                "http.request.method": "GET",
                "url.path": "/hello/me",
                "url.scheme": "http",
                "http.route": "/hello/:name",
                "network.protocol.version": "1.1",
                "http.response.status_code": "200",
            },
        )
        self.assertEqual(failed["status"], {"code": 2})
        self.assertEqual(attributes(failed)["error.type"], "500")
        self.assertNotIn("parentSpanId", failed)
        self.assertEqual(lost["name"], "GET")
        self.assertEqual(attributes(lost)["http.response.status_code"], "404")
        self.assertNotIn("status", lost)
        self.assertEqual(attributes(hostile)["url.path"], HOSTILE.decode())
        self.assertEqual(attributes(head)["http.request.method"], "HEAD")
        self.assertEqual(attributes(other)["http.request.method"], "_OTHER")
        self.await_numbers(subject, [6, 0, 0])

    def test_spans_of_two_servers_are_one_trace(self):
        collector = self.collector()
        subject = self.start(collector.url)
        shown = self.ask(subject, "/call").body.decode()
        inner, outer = collector.await_spans(2)
        self.assertEqual(outer["name"], "GET /call")
        self.assertEqual(inner["name"], "GET /show")
        self.assertEqual(inner["traceId"], outer["traceId"])
        self.assertEqual(inner["parentSpanId"], outer["spanId"])
        self.assertNotIn("parentSpanId", outer)
        wanted = f"00-{inner['traceId']}-{inner['spanId']}-01"
        self.assertEqual(shown, wanted)

    def test_a_proxy_passes_its_own_span_on(self):
        for strict in (False, True):
            with self.subTest(strict=strict):
                collector = self.collector()
                origin = self.start(collector.url)
                proxy = self.start(
                    collector.url, "--upstream",
                    f"http://127.0.0.1:{origin.port}",
                    *(["--strict"] if strict else []),
                )
                self.ask(proxy, "/show", b"traceparent: %s\r\n"
                         b"tracestate: x=1\r\n" % PARENT.encode())
                spans = collector.await_spans(2)
                (own,) = [x for x in spans if x["name"] == "GET"]
                (inner,) = [x for x in spans if x["name"] == "GET /show"]
                self.assertEqual(inner["parentSpanId"], own["spanId"])
                self.assertEqual(inner["traceId"], own["traceId"])
                self.assertEqual(own["traceId"] == TRACE, not strict)
                states = {x.get("traceState") for x in spans}
                self.assertEqual(states, {None} if strict else {"x=1"})

    def test_a_span_lasts_until_the_response_is_sent(self):
        collector = self.collector()
        subject = self.start(collector.url)
        with subject.connect() as client:
            client.send(asked("/streamed/4"))
            client.head()
            client.content()
        (span,) = collector.await_spans(1)
        lasted = int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
        self.assertGreater(lasted, 150_000_000)

    def test_a_client_that_leaves_has_a_span_too(self):
        collector = self.collector()
        subject = self.start(collector.url)
        with subject.connect() as client:
            client.send(asked("/wait/10000"))
            time.sleep(0.2)
        (span,) = collector.await_spans(1)
        self.assertEqual(attributes(span)["error.type"], "cancelled")
        self.assertNotIn("http.response.status_code", attributes(span))

    def test_only_a_share_of_new_traces_is_reported(self):
        collector = self.collector()
        subject = self.start(collector.url, "--share", "0.25")
        with subject.connect() as client:
            for _ in range(40):
                client.send(asked("/hello/me") * 50)
                for _ in range(50):
                    client.answer()
            # What another program has begun is its decision.
            for flags in ("00", "01"):
                text = PARENT[:-2] + flags
                client.send(asked("/show", f"traceparent: {text}\r\n".encode()))
                self.assertEqual(client.answer().body[-2:].decode(), flags)
        self.end(subject)
        ours = [x for x in collector.spans if x["traceId"] != TRACE]
        self.assertEqual(len(collector.spans), len(ours) + 1)
        # 2,000 throws: 500 are expected, with a deviation of 19.
        self.assertLess(abs(len(ours) - 500), 120)

    def test_strangers_choose_no_trace(self):
        collector = self.collector()
        subject = self.start(collector.url, "--strict")
        self.ask(subject, "/show", b"traceparent: %s\r\n" % PARENT.encode())
        (span,) = collector.await_spans(1)
        self.assertNotEqual(span["traceId"], TRACE)
        self.assertNotIn("parentSpanId", span)

    def test_the_end_of_a_server_loses_no_span(self):
        for options in ((), ("--workers", "4"), ("--supervised",)):
            with self.subTest(options=options):
                collector = self.collector()
                # No batch is due before the end.
                subject = self.start(
                    collector.url, "--delay-ms", "60000", *options
                )
                threads = [
                    threading.Thread(target=self.ask_often, args=(subject,))
                    for _ in range(8)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertLess(self.end(subject), 5)
                self.assertFalse(collector.faults)
                ids = {x["spanId"] for x in collector.spans}
                self.assertEqual(len(ids), 8 * 100)
                self.assertEqual(len(collector.spans), 8 * 100)

    def test_a_worker_that_is_started_again_repeats_no_id(self):
        collector = self.collector()
        subject = self.start(collector.url, "--supervised")
        traces, requests = set(), set()
        for turn in range(3):
            for _ in range(5):
                answer = self.ask(subject, "/show")
                traces.add(answer.body[3:35])
                requests.add(answer.field("X-Request-Id"))
            kill_worker(subject, turn + 1)
        self.assertEqual(len(traces), 15, traces)
        self.assertEqual(len(requests), 15, requests)

    def ask_often(self, subject):
        with subject.connect() as client:
            for _ in range(100):
                client.send(asked("/hello/me"))
                client.answer()

    def test_a_collector_that_is_busy_gets_them_later(self):
        collector = self.collector()
        collector.statuses = [503, 429]
        subject = self.start(collector.url)
        self.ask(subject, "/hello/me")
        collector.await_spans(1)
        self.await_numbers(subject, [1, 0, 0])
        self.assertFalse([x for x in subject.log() if b"spans" in x])

    def test_a_collector_that_refuses_is_told_about_once(self):
        collector = self.collector()
        collector.statuses = [400] * 3
        subject = self.start(collector.url)
        for _ in range(3):
            self.ask(subject, "/hello/me")
            time.sleep(0.2)
        subject.await_log(b"flare: spans are lost: the collector has answered 400")
        self.ask(subject, "/hello/me")
        collector.await_spans(1)
        subject.await_log(b"flare: spans arrive again")
        self.assertEqual(self.numbers(subject)[2], 3)
        found = [x for x in subject.log() if b"are lost" in x]
        self.assertEqual(len(found), 1, found)

    def test_without_a_collector_a_server_ends_in_time(self):
        collector = self.collector()
        collector.close()
        subject = self.start(collector.url)
        self.ask_often(subject)
        self.assertLess(self.end(subject), 8)
        found = subject.await_log(b"flare: spans are lost")
        self.assertEqual(len(found), 1)

    def test_a_slow_collector_holds_nobody_up_and_takes_no_memory(self):
        collector = self.collector()
        collector.delay_seconds = 3600
        subject = self.start(collector.url)
        self.ask_often(subject)
        resident = subject.resident_octets()
        with subject.connect() as client:
            for _ in range(200):
                client.send(asked("/hello/" + "x" * 200) * 50)
                for _ in range(50):
                    self.assertEqual(client.answer().status, 200)
        self.assertGreater(self.numbers(subject)[1], 1000)
        # The ring, and two batches with their copies.
        self.assertLess(subject.resident_octets() - resident, 4 << 20)
        self.assertLess(self.end(subject), 8)


if __name__ == "__main__":
    unittest.main()
