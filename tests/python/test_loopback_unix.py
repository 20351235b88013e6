"""Lets the real server listen at paths and abstract names."""

import collections
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.subject import ROOT, Subject, build, on_each_backend  # noqa: E402

PASSED = ROOT / "tests" / "programs" / "passed.mojo"
HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
UNIX = ("unix",)


def setUpModule():
    build()
    build(PASSED)


def answer_to(place, request=HELLO):
    with Client(place) as client:
        client.send(request)
        return client.answer()


def await_nobody_at(place):
    """Waits until nobody listens: the kernel may end a ring behind its
    process, and what the ring holds with it."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            Client(place).close()
        except ConnectionRefusedError:
            return
    raise AssertionError(f"somebody listens at {place}")


def await_end(process_id):
    """Waits until a process has gone: a connection that it accepted before is
    reset with it."""
    deadline = time.monotonic() + 5
    while Path(f"/proc/{process_id}").exists():
        if time.monotonic() > deadline:
            raise AssertionError(f"process {process_id} has not ended")


class Case:
    def start(self, *options, **how):
        subject = Subject(
            self.backend, *options, transport=self.transport, **how
        )
        self.addCleanup(subject.stop)
        # It has begun once it answers.
        subject.statistics()
        return subject


class Workers(Case):
    def who_answers(self, subject, count):
        """Counts the answers of each worker to requests one after another."""
        before = len(subject.await_log(rb"worker \d+ request", 0))
        for _ in range(count):
            answer_to(subject.place, b"GET /raise HTTP/1.1\r\nHost: a\r\n\r\n")
        lines = subject.await_log(rb"worker \d+ request", before + count)
        return collections.Counter(
            re.search(rb"worker (\d+)", x)[1] for x in lines[before:]
        )

    def test_connections_go_around(self):
        subject = self.start("--workers", "3")
        # Workers may begin late.
        deadline = time.monotonic() + 10
        while len(self.who_answers(subject, 9)) < 3:
            self.assertLess(time.monotonic(), deadline)
        # Each has its turn; epoll passes over who waits for a processor.
        sums = collections.Counter()
        for _ in range(20):
            sums += self.who_answers(subject, 60)
            if len(sums) == 3 and min(sums.values()) >= 15:
                break
        else:
            self.fail(f"some get little: {sums}")
        self.assertEqual(subject.stop(), 0)

    def test_a_busy_worker_holds_few_connections_up(self):
        subject = self.start("--workers", "2")
        deadline = time.monotonic() + 10
        while len(self.who_answers(subject, 6)) < 2:
            self.assertLess(time.monotonic(), deadline)
        with Client(subject.place) as holder:
            holder.send(b"GET /busy/3000 HTTP/1.1\r\nHost: a\r\n\r\n")
            clients = [Client(subject.place) for _ in range(20)]
            late = 0
            for client in clients:
                client.send(HELLO)
            for client in clients:
                client.socket.settimeout(1)
                try:
                    client.answer()
                except TimeoutError:
                    late += 1
            # Some it may have accepted before it was busy.
            self.assertLessEqual(late, 4)
            for client in clients:
                client.close()
        self.assertEqual(subject.stop(), 0)


class Paths(Case):
    def test_the_path_is_for_its_user_alone_and_goes_first(self):
        subject = self.start()
        path = Path(subject.place)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        with Client(subject.place) as client:
            client.send(b"GET /delay/300 HTTP/1.1\r\nHost: a\r\n\r\n")
            subject.await_statistics(served=1)
            subject.process.terminate()
            deadline = time.monotonic() + 5
            while path.exists():
                self.assertLess(time.monotonic(), deadline)
            # What is in flight is still answered.
            self.assertEqual(client.answer().body, b"waited 300")
        self.assertEqual(subject.process.wait(5), 0)

    def test_the_peer_is_a_process(self):
        subject = self.start()
        answer = answer_to(
            subject.place, b"GET /credentials HTTP/1.1\r\nHost: a\r\n\r\n"
        )
        self.assertEqual(
            answer.body.decode(),
            f"{os.getpid()} {os.getuid()} {os.getgid()}",
        )

    def test_a_path_left_over_is_replaced(self):
        subject = self.start()
        path = subject.place
        subject.process.kill()
        subject.process.wait()
        self.assertTrue(Path(path).is_socket())
        await_nobody_at(path)
        again = subprocess.Popen(
            [build(), "--backend", self.backend, "--at", f"unix:{path}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.addCleanup(again.stdout.close)
        self.addCleanup(again.wait)
        self.addCleanup(again.kill)
        self.assertEqual(again.stdout.readline(), b"unix:%s\n" % path.encode())
        self.assertEqual(answer_to(path).body, b"hello")

    def test_a_path_in_use_and_a_file_are_not_touched(self):
        subject = self.start()
        with tempfile.NamedTemporaryFile() as file:
            for path in (subject.place, file.name):
                finished = subprocess.run(
                    [build(), "--at", f"unix:{path}"],
                    capture_output=True, timeout=20,
                )
                self.assertNotEqual(finished.returncode, 0)
                self.assertIn(
                    b"net.address_in_use bind errno=98: " + path.encode(),
                    finished.stdout + finished.stderr,
                )
            self.assertTrue(Path(file.name).is_file())
        self.assertEqual(answer_to(subject.place).body, b"hello")

    def test_another_file_at_the_path_stays(self):
        subject = self.start()
        path = Path(subject.place)
        path.unlink()
        path.write_text("mine")
        subject.process.terminate()
        self.assertEqual(subject.process.wait(5), 0)
        self.assertEqual(path.read_text(), "mine")

    def test_octets_of_a_path_are_escaped_in_the_log(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        finished = subprocess.Popen(
            [build(), "--backend", self.backend,
             "--at", f"unix:{folder.name}/a\x1b[31m\n.sock"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        finished.stdout.readline()
        line = finished.stderr.readline()
        finished.terminate()
        finished.communicate(timeout=10)
        self.assertIn(b"/a\\x1b[31m\\x0a.sock, 1 worker on ", line)


class AbstractNames(Case):
    def test_an_abstract_name_is_served_and_served_again(self):
        name = f"flare-test-{os.getpid()}-{self.backend}"
        subject = subprocess.Popen(
            [build(), "--backend", self.backend, "--workers", "2",
             "--at", f"unix:@{name}", "--serves", "2"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for stream in (subject.stdin, subject.stdout):
            self.addCleanup(stream.close)
        self.addCleanup(subject.wait)
        self.addCleanup(subject.kill)
        self.assertEqual(
            subject.stdout.readline(), b"unix:@%s\n" % name.encode()
        )
        self.assertEqual(answer_to(f"\0{name}").body, b"hello")
        subject.terminate()
        self.assertEqual(subject.stdout.readline(), b"served\n")
        # Nobody is let in who would wait for nothing.
        with self.assertRaises(ConnectionRefusedError):
            Client(f"\0{name}")
        subject.stdin.write(b"\n")
        subject.stdin.flush()
        deadline = time.monotonic() + 5
        while True:
            try:
                self.assertEqual(answer_to(f"\0{name}").body, b"hello")
                break
            except ConnectionRefusedError:
                self.assertLess(time.monotonic(), deadline)
        subject.terminate()
        self.assertEqual(subject.wait(10), 0)


class Mixed(Case):
    def test_one_server_listens_at_addresses_of_several_kinds(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        places = [f"unix:{folder.name}/{x}.sock" for x in "ab"]
        for options in ((), ("--workers", "2"), ("--supervise",)):
            with self.subTest(options):
                self.serve_all([*places, "127.0.0.1:0"], options)
                for place in places:
                    path = place.removeprefix("unix:")
                    self.assertFalse(Path(path).exists())

    def serve_all(self, places, options):
        command = [build(PASSED), "--backend", self.backend, *options]
        for place in places:
            command += ["--at", place]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(2):
            process.stdout.readline()
        found = [
            process.stdout.readline().decode().strip().removeprefix("at ")
            for _ in places
        ]
        self.assertEqual(found[:2], places[:2])
        port = int(found[2].rsplit(":", 1)[1])
        where = [x.removeprefix("unix:") for x in found[:2]] + [port]
        for place in where * 3:
            answer = answer_to(place, b"GET /id HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(answer.status, 200)
        if "--supervise" in options:
            # The supervisor keeps the sockets, and the paths stay.
            os.kill(int(answer.body), signal.SIGKILL)
            await_end(int(answer.body))
            for place in where:
                answer = answer_to(
                    place, b"GET /id HTTP/1.1\r\nHost: a\r\n\r\n"
                )
                self.assertEqual(answer.status, 200)
        process.terminate()
        self.assertEqual(process.wait(10), 0)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 1)


for cases in (Workers, Paths, AbstractNames, Mixed):
    on_each_backend(cases, unittest.TestCase, UNIX)


if __name__ == "__main__":
    unittest.main()
