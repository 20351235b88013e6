"""Floods the log of a server whose standard error is read slowly or not at all.
"""

import contextlib
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.programs import find_program  # noqa: E402
from loopback.subject import BACKENDS, ROOT, build  # noqa: E402

PROGRAM = ROOT / "tests" / "programs" / "noisy.mojo"
RESETS = 1100
WAIT_SECONDS_MAX = 15
# What a worker may take in one second, and in the one that follows.
PEER_LINES_MAX = 200


class Upstream:
    """Answers what comes through the proxy, on a port of its own."""

    def __init__(self, test):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        thread = threading.Thread(target=self._accept)
        thread.start()
        test.addCleanup(thread.join)
        test.addCleanup(self.listener.close)
        test.addCleanup(self.listener.shutdown, socket.SHUT_RDWR)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                stream, _ = self.listener.accept()
                threading.Thread(
                    target=self._answer, args=(stream,), daemon=True
                ).start()

    def _answer(self, stream):
        with stream, contextlib.suppress(OSError):
            stream.settimeout(WAIT_SECONDS_MAX)
            while stream.recv(65536):
                stream.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


class Server:
    """Is one process of the program, with its log in a pipe."""

    def __init__(self, test, backend, *options, upstream="http://127.0.0.1:1"):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        self.reader = os.fdopen(reader, "rb")
        test.addCleanup(self.reader.close)
        self.process = subprocess.Popen(
            [build(PROGRAM), backend, upstream, *(options or ("plain",))],
            stdout=subprocess.PIPE,
            stderr=writer,
        )
        test.addCleanup(self.process.stdout.close)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        self.port = int(self.process.stdout.readline())
        # Another opening of the same end can be non-blocking alone.
        self.stuffing = os.open(
            f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK
        )
        test.addCleanup(os.close, self.stuffing)
        os.close(writer)

    def fill_log(self):
        """Leaves no room in the pipe."""
        self.await_first_line()
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.stuffing, b"x")

    def await_first_line(self):
        self.first_line = self.reader.readline()

    def read_log(self):
        """Reads the rest of the log, from the end of the process on."""
        os.set_blocking(self.stuffing, True)
        return self.reader.read().lstrip(b"x").decode().splitlines()

    def connect(self):
        return Client(self.port)

    def ask(self, target):
        """Gives the content of one answer."""
        with self.connect() as client:
            client.send(
                f"GET {target} HTTP/1.1\r\nHost: a\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            return client.answer().body

    def counts(self):
        """Gives the errors of handlers, and the dropped lines."""
        return [int(each) for each in self.ask("/counts").split()]

    def reset_behind(self, head):
        """Sends a head, and a reset behind it."""
        stream = socket.create_connection(
            ("127.0.0.1", self.port), WAIT_SECONDS_MAX
        )
        stream.sendall(head)
        stream.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        stream.close()

    def workers(self):
        """Gives the processes that the supervisor has started."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(each) for each in Path(path).read_text().split()]

    def stop(self):
        """Stops the server; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_SECONDS_MAX)


class Log:
    def serve(self, *options, **more):
        return Server(self, self.backend, *options, **more)

    def test_requests_that_reset_behind_their_head_stop_no_worker(self):
        server = self.serve(upstream=Upstream(self).url)
        server.fill_log()
        for i in range(RESETS):
            if i % 2:
                head = b"GET /behind/x HTTP/1.1\r\nHost: a\r\n\r\n"
            else:
                head = (
                    b"POST /behind/x HTTP/1.1\r\nHost: a\r\n"
                    b"Content-Length: 10\r\n\r\n"
                )
            server.reset_behind(head)
        self.assertEqual(server.ask("/"), b"hello")
        # Who has left is no error of the handler, and makes no line.
        self.assertEqual(server.counts(), [0, 0])
        self.assertEqual(server.stop(), 0)

    def test_errors_of_handlers_stop_no_worker(self):
        server = self.serve()
        server.fill_log()
        for _ in range(RESETS):
            self.assertEqual(server.ask("/raise"), b"Internal Server Error")
        self.assertEqual(server.ask("/"), b"hello")
        errors, dropped = server.counts()
        self.assertEqual(errors, RESETS)
        self.assertGreater(dropped, 0)
        self.assertEqual(server.stop(), 0)

    def test_lines_that_peers_cause_have_a_rate_and_all_are_accounted_for(self):
        server = self.serve()
        server.await_first_line()
        lines = []
        reading = threading.Thread(
            target=lambda: lines.extend(server.read_log())
        )
        # The test's own opening of the pipe would keep it from ending.
        os.dup2(os.open(os.devnull, os.O_WRONLY), server.stuffing)
        reading.start()
        started = time.monotonic()
        for _ in range(RESETS):
            server.ask("/raise")
        seconds = time.monotonic() - started
        self.assertEqual(server.stop(), 0)
        reading.join(WAIT_SECONDS_MAX)
        raised = [x for x in lines if x.endswith("raised: it fails")]
        dropped = [
            int(found[1])
            for x in lines
            if (found := re.search(r"worker 0 dropped (\d+) log lines", x))
        ]
        self.assertLessEqual(len(raised), 100 * (seconds + 2))
        self.assertEqual(len(raised) + sum(dropped), RESETS)
        self.assertLessEqual(len(dropped), seconds + 2)

    def test_a_reader_of_the_log_that_leaves_ends_no_server(self):
        server = self.serve("access")
        server.await_first_line()
        server.reader.close()
        server.process.stdout.close()
        for _ in range(20):
            self.assertEqual(server.ask("/raise"), b"Internal Server Error")
        self.assertEqual(server.ask("/"), b"hello")
        self.assertEqual(server.stop(), 0)

    def test_lines_of_middleware_and_access_records_stop_no_worker(self):
        server = self.serve("access")
        server.fill_log()
        with server.connect() as client:
            for _ in range(RESETS):
                client.send(b"GET /logged HTTP/1.1\r\nHost: a\r\n\r\n" * 4)
                for _ in range(4):
                    self.assertEqual(client.answer().body, b"hello")
        self.assertGreater(server.counts()[1], 0)
        self.assertEqual(server.stop(), 0)

    def test_requests_of_http2_have_access_records(self):
        server = self.serve("access")
        server.await_first_line()
        # The program's port takes both versions.
        subprocess.run(
            [find_program("nghttp"), f"http://127.0.0.1:{server.port}/logged"],
            capture_output=True, check=True, timeout=WAIT_SECONDS_MAX,
        )
        self.assertEqual(server.stop(), 0)
        self.assertRegex(
            server.process.stdout.read().decode(),
            r" GET /logged 200 5 \d+ms HTTP/2.0\n",
        )

    def test_a_dead_worker_is_restarted_while_no_line_can_be_written(self):
        server = self.serve("supervise")
        server.fill_log()
        self.assertEqual(server.ask("/"), b"hello")
        for number in (signal.SIGSEGV, signal.SIGKILL):
            before = server.workers()
            os.kill(before[0], number)
            deadline = time.monotonic() + WAIT_SECONDS_MAX
            while server.workers() in (before, []):
                self.assertLess(time.monotonic(), deadline, "none is started")
            self.assertEqual(server.ask("/"), b"hello")
        self.assertEqual(server.stop(), 0)


for _backend in BACKENDS:
    _name = f"Log_on_{_backend}"
    globals()[_name] = type(
        _name, (Log, unittest.TestCase), {"backend": _backend}
    )


if __name__ == "__main__":
    unittest.main()
