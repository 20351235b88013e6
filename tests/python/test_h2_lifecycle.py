"""Stops, reloads, hands over and kills the real server under streams of HTTP/2.

No stream that was accepted stays without its answer, but those of a worker that
died. A stream above the last one of a GOAWAY was not accepted: its client may send
it again.
"""

import os
import signal
import subprocess
import sys
import time
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client  # noqa: E402
from loopback.h2_traffic import (  # noqa: E402
    LAST_ID,
    Request,
    Traffic,
)
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import (  # noqa: E402
    ROOT,
    Subject,
    build,
    on_each_backend,
    on_each_transport,
)

PASSED = ROOT / "tests" / "programs" / "passed.mojo"
SUPERVISED = ROOT / "tests" / "programs" / "supervised.mojo"
PIECES = (b"a" * 1000, b"b" * 2000, b"c" * 3000)
SUM = b"6000 %d" % zlib.adler32(b"".join(PIECES))
REQUESTS = (
    Request("/", b"hello"),
    Request("/delay/40", b"waited 40"),
    Request("/sum", SUM, PIECES),
    Request("/big/50000", b"x" * 50_000),
    Request("/stream/20000", (bytes(range(251)) * 80)[:20_000]),
)
PLACES = (Request("/"), Request("/delay/30"))
EXIT_SECONDS_MAX = 8
PRIORITY = 2


def setUpModule():
    for source in (None, PASSED, SUPERVISED):
        build(*filter(None, [source]))


class Case:
    """Starts servers, and judges what became of the streams."""

    def start(self, *options, **how):
        subject = Subject(
            self.backend, *options, transport=self.transport, **how
        )
        self.addCleanup(subject.stop)
        return subject

    def send(self, subject, requests=REQUESTS, **how):
        traffic = Traffic(
            subject.place, requests, secure=subject.secure, **how
        )
        self.addCleanup(traffic.end)
        traffic.await_answers(200)
        return traffic

    def expect_no_loss(self, traffic):
        traffic.end()
        self.assertEqual((traffic.faults, traffic.lost), ([], []))
        # Nothing here exceeds what a client may begin.
        self.assertEqual(traffic.counts["refused"], 0)


class Stop(Case):
    def stop(self, *options, **how):
        subject = self.start(*options)
        traffic = self.send(subject, **how)
        subject.process.terminate()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)
        self.expect_no_loss(traffic)
        return traffic

    def stop_each(self, **how):
        for options in (
            (), ("--workers", "2"), ("--workers", "2", "--supervise")
        ):
            yield self.stop(*options, **how)

    def test_clients_that_heed_the_first_word_lose_nothing(self):
        for traffic in self.stop_each(returns=False):
            self.assertEqual(traffic.counts["not_accepted"], 0)
            for goaways in traffic.ends:
                # The second one says which streams were accepted: all.
                self.assertEqual(goaways[0][0], LAST_ID)
                self.assertLess(goaways[-1][0], LAST_ID)

    def test_clients_that_go_on_lose_nothing_that_was_accepted(self):
        begun_late = 0
        for traffic in self.stop_each(returns=False, manner="deaf"):
            begun_late += traffic.counts["not_accepted"]
        self.assertGreater(begun_late, 0)

    def test_clients_that_answer_no_ping_lose_nothing_that_was_accepted(self):
        traffic = self.stop(returns=False, manner="mute")
        for goaways in traffic.ends:
            self.assertLess(goaways[-1][0], LAST_ID)

    def test_clients_that_come_and_go_lose_nothing(self):
        for traffic in self.stop_each(threads=8, streams_max=5):
            self.assertGreater(len(traffic.ends), 8)

    def test_many_streams_of_one_connection_lose_nothing(self):
        self.stop(returns=False, threads=1, in_flight=128)

    def test_clients_that_wait_to_be_accepted_are_told_too(self):
        subject = self.start()
        with subject.connect() as holder:
            holder.send(b"GET /busy/300 HTTP/1.1\r\nHost: a\r\n\r\n")
            # Their connections wait while the worker is busy.
            time.sleep(0.1)
            traffic = Traffic(
                subject.place, REQUESTS, secure=subject.secure, returns=False
            )
            self.addCleanup(traffic.end)
            time.sleep(0.1)
            subject.process.terminate()
            self.assertEqual(holder.answer().body, b"busy")
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)
        self.expect_no_loss(traffic)
        self.assertEqual(len(traffic.ends), 4)
        for goaways in traffic.ends:
            self.assertEqual(goaways[0][0], LAST_ID)

    def test_octets_that_still_come_do_not_reset_the_last_answers(self):
        # The one has no stream any more, and the other ends with its last one.
        for first, seconds in (("/", 0.3), ("/delay/1500", 1.2)):
            with self.subTest(first):
                self.go_on_sending(first, seconds)

    def go_on_sending(self, first, seconds):
        subject = self.start()
        client = H2Client(subject, kernel_octets=8192)
        self.addCleanup(client.close)
        streams = [client.begin("GET", first)]
        client.ping()
        subject.process.terminate()
        if seconds > 1:
            # Later than a client may begin streams that does not read.
            time.sleep(seconds)
        streams.append(client.begin("GET", "/big/100000"))
        # The answer is in the kernel of the server, which ends the connection.
        for _ in range(40):
            client.raw(PRIORITY, 0, streams[0], b"\0\0\0\0\x10")
            time.sleep(0.02)
        bodies = [len(client.answer(stream).body) for stream in streams]
        self.assertEqual(bodies[1], 100_000)
        client.close()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)


class Reload(Case):
    def test_no_stream_notices_that_certificates_are_replaced(self):
        subject = self.start("--workers", "2")
        kept = self.send(subject)
        fresh = self.send(subject, streams_max=5)
        for i in range(10):
            with subject.connect() as control:
                name = ("renewed", "server")[i % 2]
                control.send(
                    b"GET /reload/%s HTTP/1.1\r\nHost: a\r\n\r\n"
                    % name.encode()
                )
                self.assertEqual(control.answer().body, b"reloaded")
            kept.await_answers(50)
            fresh.await_answers(50)
        self.expect_no_loss(kept)
        self.expect_no_loss(fresh)
        self.assertEqual(kept.ends, [[]] * 4)
        self.assertGreater(len(fresh.ends), 20)


class HandOver(Case):
    """Lets a program go on while another one takes its port."""

    def test_streams_of_both_processes_are_answered(self):
        for workers in ("1", "2"):
            for manner in ("polite", "deaf"):
                with self.subTest(workers=workers, manner=manner):
                    self.hand_over(workers, manner)

    def hand_over(self, workers, manner):
        command = [
            build(PASSED), "--backend", self.backend, "--workers", workers,
            "--at", "127.0.0.1:0",
        ]
        if self.transport == "tls":
            # Only the last one speaks TLS.
            command += ["--at", "127.0.0.1:0", "--tls", certificates()]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = self.last_port(process, command.count("--at"))
        traffic = Traffic(
            port, (Request("/id"), Request("/delay/30")), manner=manner,
            secure=self.transport == "tls",
        )
        self.addCleanup(traffic.end)
        traffic.await_answers(200)
        self.assertEqual(traffic.bodies, {b"%d" % process.pid})
        with H2Client(traffic) as control:
            # Its answer is one of those that the end of the process awaits.
            second = int(control.ask("GET", "/hand-over/self").body)
        self.addCleanup(os.kill, second, signal.SIGKILL)
        self.assertEqual(process.wait(EXIT_SECONDS_MAX), 0)
        traffic.await_body(b"%d" % second)
        traffic.await_answers(200)
        self.expect_no_loss(traffic)

    def last_port(self, process, listeners):
        lines = []
        while len(lines) < listeners:
            line = process.stdout.readline()
            self.assertTrue(line)
            lines += [line] if line.startswith(b"at ") else []
        return int(lines[-1].rsplit(b":", 1)[1])


class Death(Case):
    """Kills a worker, whose clients lose what it had accepted."""

    def test_only_streams_of_the_dead_worker_are_lost(self):
        command = [build(SUPERVISED), self.backend, "--workers", "2"]
        if self.transport == "tls":
            command += ["--tls", certificates()]
        subject = self.start(command=command)
        kept = []
        # Connections that come together may all get to one worker.
        while len(workers_of(*kept)) < 2:
            self.assertLess(len(kept), 30)
            kept.append(self.send(subject, PLACES, threads=2))
        before = workers_of(*kept)
        dead = min(before)
        os.kill(dead, signal.SIGKILL)
        subject.await_log(rb"restarting")
        fresh = self.send(subject, PLACES, streams_max=5)
        fresh.await_so(lambda: workers_of(fresh) - before)
        subject.process.terminate()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)
        self.expect_no_loss(fresh)
        self.assertNotIn(dead, workers_of(fresh))
        lost = []
        for traffic in kept:
            traffic.end()
            self.assertEqual(traffic.faults, [])
            lost += traffic.lost
        self.assertGreater(len(lost), 0)
        for first_body, number, reason in lost:
            self.assertRegex(first_body, rb"^%d " % dead, (number, reason))


def workers_of(*traffics):
    """Gives the processes that answered."""
    found = set()
    for traffic in traffics:
        with traffic.lock:
            found |= {int(x.split()[0]) for x in traffic.bodies if b" " in x}
    return found


on_each_transport(Stop, unittest.TestCase)
on_each_backend(Reload, unittest.TestCase, ("tls",))
on_each_backend(HandOver, unittest.TestCase, ("tcp", "tls"))
on_each_backend(Death, unittest.TestCase, ("tcp", "tls"))


if __name__ == "__main__":
    unittest.main()
