"""Checks the load client of the benchmark against canned answers."""

import contextlib
import json
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOAD = ROOT / "benchmark" / "load"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
NO_ERRORS = {
    "connect": 0, "broken": 0, "malformed": 0, "status": 0, "length": 0,
    "unclosed": 0, "unanswered": 0,
}


def response(content, *fields, status="200 OK"):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def stalling_once():
    """Makes answers, one of which holds up all others for 0.3 s."""
    stalled = threading.Lock()

    def answer(number, _):
        with stalled:
            if number == 100:
                time.sleep(0.3)
        return HELLO

    return answer


class CannedServer:
    """Answers requests, counted from 0, with what `answer(number, head)` gives:
    octets, a list of octets to be sent apart, or None to end the connection.
    It closes where the request says so, unless `keeps_open`.
    """

    def __init__(self, answer, keeps_open=False):
        self.answer = answer
        self.keeps_open = keeps_open
        self.heads = []
        self.contents = []
        self.per_connection = []
        self.serving = 0
        self.lock = threading.Lock()
        self.left = threading.Condition(self.lock)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Closing alone would leave the accept in progress where it is.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.serving += 1
            threading.Thread(
                target=self.serve, args=(connection,), daemon=True
            ).start()

    def serve(self, connection):
        served = 0
        # A client that leaves in the middle is what some tests ask for.
        with contextlib.suppress(OSError), connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection.makefile("rb") as reader:
                while self.serve_one(connection, reader):
                    served += 1
        with self.left:
            self.serving -= 1
            self.left.notify()
            # The client looks first whether anybody is there.
            if served:
                self.per_connection.append(served)

    def wait_until_left(self):
        """Waits until the end of every connection was noticed."""
        with self.left:
            self.left.wait_for(lambda: not self.serving, timeout=5)

    def serve_one(self, connection, reader):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = reader.readline()
            if not line:
                return False
            head += line
        length = re.search(rb"Content-Length: (\d+)\r\n", head)
        content = reader.read(int(length[1])) if length else b""
        with self.lock:
            number = len(self.heads)
            self.heads.append(head)
            self.contents.append(content)
        answer = self.answer(number, head)
        if answer is None:
            return False
        for part in [answer] if isinstance(answer, bytes) else answer:
            connection.sendall(part)
            if not isinstance(answer, bytes):
                time.sleep(0.0005)
        if b"Connection: close\r\n" in head and not self.keeps_open:
            connection.shutdown(socket.SHUT_WR)
            return False
        return True


class LoadClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = pathlib.Path(cls.folder.name) / "lean"
        built = subprocess.run(
            [LOAD / "build", cls.program], capture_output=True, text=True,
            timeout=120,
        )
        if built.returncode:
            raise AssertionError(built.stderr)

    def load(self, server, *options, path="/", seconds="0.2"):
        finished = subprocess.run(
            [self.program, "-c", "4", "-d", seconds, *options, "127.0.0.1",
             str(server.port), path],
            capture_output=True, text=True, timeout=20,
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return json.loads(finished.stdout)

    def assert_errors(self, result, **wanted):
        self.assertEqual(result["errors"], NO_ERRORS | wanted)

    def assert_some(self, result, *kinds):
        for kind, count in result["errors"].items():
            if kind in kinds:
                self.assertGreater(count, 0, kind)
            else:
                self.assertEqual(count, 0, kind)

    def test_every_answer_is_counted_with_its_octets(self):
        with CannedServer(lambda *_: HELLO) as server:
            result = self.load(server, path="/here")
        self.assert_errors(result)
        self.assertGreater(result["requests"], 8)
        self.assertEqual(result["octets"], result["requests"] * len(HELLO))
        self.assertEqual(result["connections"], 4)
        # What was on its way at the end is answered and not counted.
        self.assertIn(len(server.heads) - result["requests"], range(5))
        self.assertEqual(
            server.heads[0],
            b"GET /here HTTP/1.1\r\n"
            b"Host: 127.0.0.1:%d\r\n\r\n" % server.port,
        )
        self.assertAlmostEqual(
            result["rate"], result["requests"] / result["seconds"], delta=0.1
        )
        self.assertGreater(result["cpu_us"], 0)
        order = [result["latency_us"][key] for key in
                 ("p50", "p90", "p99", "p99.9", "max")]
        self.assertEqual(order, sorted(order))
        self.assertGreater(order[0], 0)

    def test_threads_share_the_connections(self):
        with CannedServer(lambda *_: HELLO) as server:
            result = self.load(server, "-c", "5", "-t", "2")
            server.wait_until_left()
        self.assert_errors(result)
        self.assertEqual(len(server.per_connection), 5)
        self.assertLessEqual(len(server.heads) - result["requests"], 5)

    def test_warm_up_is_not_counted(self):
        with CannedServer(lambda *_: HELLO) as server:
            result = self.load(server, "-w", "0.3")
        self.assert_errors(result)
        self.assertEqual(result["seconds"], 0.2)
        self.assertEqual(result["connections"], 0)
        self.assertGreater(len(server.heads), result["requests"] * 1.2)

    def test_wrong_answers_of_the_warm_up_are_not_counted(self):
        begin = time.monotonic()

        def answer(*_):
            early = time.monotonic() - begin < 0.2
            return response(b"no", status="500 No") if early else HELLO

        with CannedServer(answer) as server:
            self.assert_errors(self.load(server, "-w", "0.4"))

    def test_a_batch_of_requests_is_sent_in_one_go(self):
        lengths = []

        def serve_one(connection, reader):
            octets = connection.recv(65536)
            count = octets.count(b"\r\n\r\n")
            if count:
                lengths.append(count)
                connection.sendall(HELLO * count)
            return count > 0

        with CannedServer(lambda *_: HELLO) as server:
            server.serve_one = serve_one
            result = self.load(server, "-p", "16")
        self.assert_errors(result)
        self.assertEqual(set(lengths), {16})
        self.assertGreater(result["requests"], 32)

    def test_answers_may_come_octet_by_octet(self):
        answer = b"HTTP/1.1 100 Continue\r\n\r\n" + HELLO + HELLO
        parts = [answer[i:i + 1] for i in range(len(answer))]

        def answer_pairs(number, _):
            return parts if number % 2 == 0 else []

        with CannedServer(answer_pairs) as server:
            result = self.load(server, "-c", "1", "-p", "2", seconds="1")
        self.assert_errors(result)
        self.assertGreater(result["requests"], 2)

    def test_long_contents_are_read_whole(self):
        content = b"x" * 1_000_000
        with CannedServer(lambda *_: response(content)) as server:
            result = self.load(server)
        self.assert_errors(result)
        self.assertGreater(result["requests"], 1)
        self.assertGreater(result["octets"], 1_000_000 * result["requests"])

    def test_chunked_contents_are_read_to_their_end(self):
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        whole = head + b"5\r\nhello\r\n0\r\n\r\n"
        apart = head + b"2;a=b\r\nhe\r\n03\r\nllo\r\n0\r\nAfter: word\r\n\r\n"

        def answer(number, _):
            return whole if number % 2 else [apart[:50], apart[50:57], apart[57:]]

        with CannedServer(answer) as server:
            result = self.load(server, "-p", "3")
        self.assert_errors(result)
        self.assertGreater(result["requests"], 6)

    def test_head_gets_no_content(self):
        answer = HELLO.replace(b"hello", b"")
        with CannedServer(lambda *_: answer) as server:
            result = self.load(server, "-m", "HEAD")
        self.assert_errors(result)
        self.assertGreater(result["requests"], 8)
        self.assertTrue(server.heads[0].startswith(b"HEAD / "))

    def test_a_content_is_uploaded_with_its_fields(self):
        content = bytes(range(256)) * 2_000
        file = pathlib.Path(self.folder.name) / "content"
        file.write_bytes(content)
        with CannedServer(lambda *_: HELLO) as server:
            result = self.load(
                server, "-b", str(file), "-H", "Content-Type: a/b",
                "-H", "Host: else.where", "--close-share", "50",
            )
        self.assert_errors(result)
        self.assertGreater(result["requests"], 4)
        self.assertEqual(set(server.contents), {content})
        self.assertIn(
            b"POST / HTTP/1.1\r\nContent-Type: a/b\r\nHost: else.where\r\n"
            b"Content-Length: 512000\r\n\r\n",
            server.heads,
        )

    def test_each_request_has_a_connection_of_its_own(self):
        with CannedServer(lambda *_: HELLO) as server:
            result = self.load(server, "-n", "1")
            server.wait_until_left()
        self.assert_errors(result)
        self.assertGreater(result["requests"], 8)
        self.assertEqual(set(server.per_connection), {1})
        self.assertEqual(len(server.per_connection), len(server.heads))
        self.assertNotIn(b"Connection", server.heads[0])

    def test_a_connection_ends_after_its_share_of_requests(self):
        with CannedServer(lambda *_: HELLO) as server:
            result = self.load(server, "-n", "10", "-p", "4")
            server.wait_until_left()
        self.assert_errors(result)
        # The last batch of a run may be short of the limit.
        self.assertEqual(max(server.per_connection), 10)
        short = [n for n in server.per_connection if n != 10]
        self.assertLessEqual(len(short), 4)
        self.assertGreater(len(server.per_connection), 10)

    def test_a_share_of_the_requests_says_close(self):
        for pipeline in ("1", "4"):
            with self.subTest(pipeline), CannedServer(
                lambda *_: HELLO
            ) as server:
                result = self.load(
                    server, "--close-share", "20", "-p", pipeline
                )
                self.assert_errors(result)
                closing = sum(
                    b"\r\nConnection: close\r\n" in head
                    for head in server.heads
                )
                self.assertAlmostEqual(
                    closing, len(server.heads) * 0.2, delta=1
                )
                self.assertGreater(closing, 10)
                self.assertEqual(result["closed_by_server"], 0)

    def test_a_connection_that_stays_open_is_counted(self):
        with CannedServer(lambda *_: HELLO, keeps_open=True) as server:
            result = self.load(server, "--close-share", "20", "-g", "0.1")
        self.assert_errors(result, unclosed=4)

    def test_an_announced_end_is_no_error(self):
        closing = HELLO.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n")

        def serve_one(connection, reader):
            count = connection.recv(65536).count(b"\r\n\r\n")
            if count:
                connection.sendall(HELLO * (min(count, 2) - 1) + closing)
            return False

        with CannedServer(None) as server:
            server.serve_one = serve_one
            result = self.load(server, "-p", "3")
        # The third request of each batch is asked again elsewhere.
        self.assert_errors(result)
        self.assertGreater(result["closed_by_server"], 4)

    def test_a_content_may_last_until_the_end(self):
        def serve_one(connection, reader):
            if connection.recv(65536):
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")
            return False

        with CannedServer(None) as server:
            server.serve_one = serve_one
            result = self.load(server)
        self.assert_errors(result)
        self.assertGreater(result["requests"], 4)

    def test_other_statuses_are_counted(self):
        wrong = response(b"", status="503 Busy")
        with CannedServer(
            lambda number, _: wrong if number % 10 == 9 else HELLO
        ) as server:
            result = self.load(server)
        self.assert_some(result, "status")
        self.assertAlmostEqual(
            result["errors"]["status"], result["requests"] / 10, delta=2
        )

    def test_other_lengths_are_counted_unless_they_may_vary(self):
        longer = response(b"hello!")
        with CannedServer(
            lambda number, _: longer if number % 10 == 9 else HELLO
        ) as server:
            result = self.load(server)
            self.assert_some(result, "length")
            self.assertAlmostEqual(
                result["errors"]["length"], result["requests"] / 10, delta=2
            )
            self.assert_errors(self.load(server, "--lengths-vary"))

    def test_ends_without_an_answer_are_counted(self):
        for answer in (None, HELLO[:-2], HELLO[:10]):
            with self.subTest(answer), CannedServer(None) as server:
                def serve_one(connection, reader):
                    if connection.recv(65536) and answer:
                        connection.sendall(answer)
                    return False

                server.serve_one = serve_one
                result = self.load(server, "-p", "2", seconds="0.1")
                errors = result["errors"]
                self.assertEqual(result["requests"], 0)
                self.assertGreater(errors["broken"], 0)
                self.assertAlmostEqual(
                    errors["unanswered"], 2 * errors["broken"], delta=8
                )

    def test_answers_of_doubtful_length_are_counted(self):
        head = "HTTP/1.1 200 OK\r\n"
        answers = [
            head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            head + "Content-Length: +5\r\n\r\nhello",
            head + "Content-Length : 5\r\n\r\nhello",
            head + "Transfer-Encoding: gzip\r\n\r\nhello",
            head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
            head + "Transfer-Encoding: chunked\r\n\r\nx\r\n",
            head + "Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
            "HTTP/2 200\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello",
            "hello\r\n\r\n",
            HELLO.decode() + "more",
        ]
        for answer in answers:
            with self.subTest(answer), CannedServer(
                lambda *_: answer.encode()
            ) as server:
                result = self.load(server, seconds="0.05")
                self.assertGreater(result["errors"]["malformed"], 0)

    def test_requests_without_an_answer_at_the_end_are_counted(self):
        def answer(number, _):
            if number >= 20:
                time.sleep(2)
            return HELLO

        with CannedServer(answer) as server:
            result = self.load(server, "-g", "0.1")
        self.assertEqual(result["requests"], 20)
        self.assert_errors(result, unanswered=4)

    def test_answers_shortly_after_the_end_are_waited_for(self):
        def answer(number, _):
            time.sleep(0.25)
            return HELLO

        with CannedServer(answer) as server:
            result = self.load(server, "-g", "1", seconds="0.35")
        self.assertEqual(result["requests"], 4)
        self.assert_errors(result)

    def test_a_fixed_rate_is_kept(self):
        with CannedServer(lambda *_: HELLO) as server:
            for options in (["-p", "1"], ["-t", "2"], ["-n", "3", "-p", "2"]):
                with self.subTest(options):
                    result = self.load(
                        server, "-R", "400", "-g", "1", *options, seconds="0.5"
                    )
                    self.assert_errors(result)
                    self.assertEqual(result["latency_us"]["count"], 200)
                    self.assertAlmostEqual(result["requests"], 200, delta=10)

    def test_requests_at_random_moments(self):
        arrivals = []

        def answer(*_):
            arrivals.append(time.monotonic())
            return HELLO

        with CannedServer(answer) as server:
            result = self.load(
                server, "-R", "400", "-g", "1", "--random", seconds="1"
            )
        self.assert_errors(result)
        due = result["latency_us"]["count"]
        self.assertAlmostEqual(due, 400, delta=60)
        self.assertAlmostEqual(result["requests"], due, delta=10)
        arrivals.sort()
        gaps = [b - a for a, b in zip(arrivals, arrivals[1:])]
        # Of a Poisson process 39 % come within half of the mean gap, and 14 %
        # after twice as long; of an even spread hardly any.
        soon = sum(gap < 0.00125 for gap in gaps) / len(gaps)
        late = sum(gap > 0.005 for gap in gaps) / len(gaps)
        self.assertGreater(soon, 0.25)
        self.assertGreater(late, 0.07)

    def test_a_connection_may_end_while_it_idles(self):
        for linger, kinds in (
            (struct.pack("ii", 0, 0), ()), (struct.pack("ii", 1, 0), ["broken"])
        ):
            def serve_one(connection, reader):
                connection.settimeout(0.01)
                if connection.recv(65536):
                    connection.sendall(HELLO)
                    with contextlib.suppress(TimeoutError):
                        connection.recv(1)
                connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
                return False

            with self.subTest(linger), CannedServer(None) as server:
                server.serve_one = serve_one
                result = self.load(server, "-R", "40", seconds="0.5")
                self.assert_some(result, *kinds)
                self.assertEqual(result["latency_us"]["count"], 20)
                self.assertGreater(result["connections"], 16)
                self.assertGreater(
                    result["errors"]["broken"] + result["closed_by_server"], 12
                )

    def test_a_stall_shows_in_the_latencies_of_a_fixed_rate(self):
        with CannedServer(stalling_once()) as server:
            result = self.load(server, "-R", "500", "-g", "1", seconds="1")
        self.assert_errors(result)
        latency = result["latency_us"]
        # Of 500 requests 150 were due while the server stood still.
        self.assertEqual(latency["count"], 500)
        self.assertGreater(latency["max"], 290_000)
        self.assertGreater(latency["p99"], 250_000)
        self.assertGreater(latency["p90"], 150_000)
        self.assertLess(latency["p50"], 100_000)

    def test_a_stall_spoils_the_tail_of_few_windows(self):
        with CannedServer(stalling_once()) as server:
            result = self.load(server, "-R", "1000", "-g", "1", seconds="5")
        self.assert_errors(result)
        latency = result["latency_us"]
        self.assertGreater(latency["p99"], 200_000)
        self.assertLess(latency["window_p99"], 100_000)

    def test_eleven_of_a_thousand_are_the_tail_of_a_window(self):
        def answer(number, _):
            if number % 90 == 0 and 0 < number <= 990:
                time.sleep(0.05)
            return HELLO

        with CannedServer(answer) as server:
            result = self.load(server, "-R", "500", "-g", "1", "-c", "16", seconds="2")
        self.assert_errors(result)
        latency = result["latency_us"]
        self.assertEqual(latency["count"], 1000)
        self.assertGreater(latency["window_p99"], 49_000)

    def test_a_stall_to_the_end_shows_as_well(self):
        def answer(number, _):
            if number >= 100:
                time.sleep(3)
            return HELLO

        with CannedServer(answer) as server:
            result = self.load(
                server, "-R", "500", "-g", "0.1", seconds="0.6"
            )
        latency = result["latency_us"]
        self.assertEqual(result["requests"], 100)
        self.assert_errors(result, unanswered=200)
        self.assertEqual(latency["count"], 300)
        self.assertGreater(latency["p99"], 350_000)
        self.assertGreater(latency["p50"], 50_000)

    def test_latencies_are_right_within_a_percent(self):
        def answer(*_):
            time.sleep(0.1)
            return HELLO

        with CannedServer(answer) as server:
            result = self.load(server, "-c", "1", seconds="0.55")
        latency = result["latency_us"]
        # At most, because the machine may be busy.
        self.assertIn(result["requests"], (3, 4, 5))
        self.assertGreater(latency["p50"], 99_000)
        self.assertAlmostEqual(
            latency["p99.9"], latency["max"], delta=latency["max"] / 100
        )

    def test_polling_gives_the_same_answers(self):
        with CannedServer(lambda *_: HELLO) as server:
            self.assert_errors(self.load(server, "--spin", "50"))
            result = self.load(server, "--spin", "50", "-R", "400")
        self.assert_errors(result)
        self.assertEqual(result["latency_us"]["count"], 80)

    def test_wrong_arguments_are_refused(self):
        for arguments, words in (
            (["127.0.0.1", "80"], "usage"),
            (["-c", "0", "127.0.0.1", "80", "/"], "-c: from 1 to"),
            (["-p", "1.5", "127.0.0.1", "80", "/"], "whole"),
            (["-H", "no colon", "127.0.0.1", "80", "/"], "field line"),
            (["-b", "/no/such/file", "127.0.0.1", "80", "/"], "No such file"),
            (["--random", "127.0.0.1", "80", "/"], "--random needs -R"),
            (["127.0.0.1", "1", "/"], "cannot connect"),
        ):
            with self.subTest(arguments):
                finished = subprocess.run(
                    [self.program, *arguments], capture_output=True,
                    text=True, timeout=10,
                )
                self.assertNotEqual(finished.returncode, 0)
                self.assertIn(words, finished.stderr)
                self.assertEqual(finished.stdout, "")


if __name__ == "__main__":
    unittest.main()
