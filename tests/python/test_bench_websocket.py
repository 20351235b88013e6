"""Tests what the benchmark asks on WebSockets, and what it takes for right."""

import base64
import contextlib
import hashlib
import json
import pathlib
import re
import socketserver
import subprocess
import tempfile
import threading
import unittest

from benchmark.driver.generators import Asking, command_of
from benchmark.driver.websocket import BINARY, CLOSE, PING, PONG, TEXT
from benchmark.driver.websocket import frame, problem_of
from benchmark.driver.workloads import chosen

LOAD = pathlib.Path(__file__).resolve().parents[2] / "benchmark" / "load"
NO_ERRORS = {
    "connect": 0, "broken": 0, "malformed": 0, "status": 0, "length": 0,
    "unclosed": 0, "unanswered": 0,
}
ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Accept: "
)


def acceptance(key):
    digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    return ACCEPTED + base64.b64encode(digest.digest()) + b"\r\n\r\n"


def echo(opcode, payload):
    """Gives the octets that a right server answers a frame with."""
    return frame(PONG if opcode == PING else opcode, payload)


class EchoServer(socketserver.ThreadingTCPServer):
    """Accepts with what `accept(key)` gives and answers each frame with what
    `answer(opcode, payload)` gives; ends behind a Close, and where there is no
    answer."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, accept=acceptance, answer=echo):
        self.accept = accept
        self.answer = answer
        self.received = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port = self.server_address[1]
        threading.Thread(
            target=self.serve_forever, args=(0.01,), daemon=True
        ).start()

    def __exit__(self, *exception):
        self.shutdown()
        super().__exit__(*exception)


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        # A client that leaves in the middle is what some tests ask for.
        with contextlib.suppress(OSError):
            self.converse()

    def converse(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        key = re.search(rb"Sec-WebSocket-Key: (\S+)\r\n", head)[1]
        self.wfile.write(self.server.accept(key))
        frames = []
        self.server.received.append(frames)
        while one := self.next_frame():
            frames.append(one)
            answer = self.server.answer(*one)
            if answer is None:
                return
            self.wfile.write(answer)
            if one[0] == CLOSE:
                return

    def next_frame(self):
        head = self.rfile.read(2)
        if len(head) < 2:
            return None
        length = head[1] & 127
        if length > 125:
            count = 2 if length == 126 else 8
            length = int.from_bytes(self.rfile.read(count), "big")
        mask = self.rfile.read(4)
        payload = self.rfile.read(length)
        return head[0] & 15, bytes(
            octet ^ mask[i % 4] for i, octet in enumerate(payload)
        )


class Gate(unittest.TestCase):
    def problem(self, **behaviour):
        with EchoServer(**behaviour) as server:
            return problem_of(server.port, "/ws")

    def test_a_right_server_has_no_problem(self):
        self.assertIsNone(self.problem())

    def test_a_wrong_handshake_is_seen(self):
        for accept, words in (
            (lambda _: b"HTTP/1.1 404 Not Found\r\n\r\n", "no WebSocket"),
            (lambda _: acceptance(b"another"), "a wrong handshake"),
            (
                lambda key: acceptance(key)[:-2]
                + b"Sec-WebSocket-Extensions: x\r\n\r\n",
                "an extension",
            ),
        ):
            with self.subTest(words):
                self.assertIn(words, self.problem(accept=accept))

    def test_a_wrong_echo_is_seen(self):
        for name, answer in (
            ("other octets", lambda o, p: echo(o, p.upper())),
            ("another kind", lambda o, p: echo(o ^ TEXT ^ BINARY, p)),
            ("masked", lambda o, p: frame(o, p, b"\1\2\3\4")),
            ("a ping for a ping", frame),
        ):
            with self.subTest(name):
                self.assertIn("a frame is", self.problem(answer=answer))

    def test_an_end_without_a_close_is_seen(self):
        found = self.problem(
            answer=lambda o, p: None if o == CLOSE else echo(o, p)
        )
        self.assertIn("closed", found)


class Lean(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = pathlib.Path(folder.name) / "lean"
        subprocess.run([LOAD / "build", cls.program], check=True, timeout=120)

    def load(self, server, *options):
        finished = subprocess.run(
            [self.program, "--websocket", "-c", "4", "-d", "0.2", *options,
             "127.0.0.1", str(server.port), "/ws"],
            capture_output=True, text=True, timeout=20,
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return json.loads(finished.stdout)

    def test_echoes_are_counted(self):
        for options, payload in (
            ((), b"hello"),
            (("-p", "16"), b"hello"),
            (("--message", "0"), b""),
            (("--message", "126"), b"hello" * 25 + b"h"),
            (("--message", "70000"), b"hello" * 14000),
        ):
            with self.subTest(options), EchoServer() as server:
                result = self.load(server, *options)
                self.assertEqual(result["errors"], NO_ERRORS)
                self.assertGreater(result["requests"], 3)
                sent = {one for frames in server.received for one in frames}
                self.assertEqual(sent, {(TEXT, payload)})

    def test_a_limited_connection_ends_with_a_close(self):
        with EchoServer() as server:
            result = self.load(server, "-n", "10", "-p", "4")
        self.assertEqual(result["errors"], NO_ERRORS)
        self.assertGreater(len(server.received), 8)
        for frames in server.received:
            if frames and frames[-1][0] == CLOSE:
                self.assertEqual(frames[:-1], [(TEXT, b"hello")] * 10)
                self.assertEqual(frames[-1][1], b"\x03\xe8")
        ended = [f for f in server.received if f and f[-1][0] == CLOSE]
        self.assertGreater(len(ended), 4)

    def test_what_is_no_echo_is_an_error(self):
        for kind, behaviour in (
            ("status", {"accept": lambda _: b"HTTP/1.1 404 No\r\n\r\n"}),
            ("malformed", {"accept": lambda _: acceptance(b"another")}),
            ("malformed", {"answer": lambda o, p: echo(o, b"jello")}),
            ("malformed", {"answer": lambda o, p: echo(BINARY, p)}),
            ("malformed", {"answer": lambda o, p: frame(o, p, b"\1\2\3\4")}),
            ("malformed", {"answer": lambda o, p: 2 * echo(o, p)}),
            ("broken", {"answer": lambda o, p: None}),
        ):
            with self.subTest(kind, **behaviour):
                with EchoServer(**behaviour) as server:
                    result = self.load(server)
                self.assertGreater(result["errors"][kind], 0)

    def test_an_end_without_a_close_is_an_error(self):
        with EchoServer(
            answer=lambda o, p: None if o == CLOSE else echo(o, p)
        ) as server:
            result = self.load(server, "-n", "3")
        self.assertGreater(result["errors"]["broken"], 0)

    def test_a_request_that_is_no_get_is_refused(self):
        finished = subprocess.run(
            [self.program, "--websocket", "-m", "PUT", "127.0.0.1", "1", "/"],
            capture_output=True, text=True, timeout=10,
        )
        self.assertEqual(finished.returncode, 2)
        self.assertIn("--websocket", finished.stderr)

    def test_commands_say_what_the_workload_says(self):
        asking = Asking(80, (1,), 2.0, None)
        commands = [
            " ".join(command_of(workload, asking))
            for workload in chosen(["websocket"])
        ]
        self.assertEqual(len(commands), 3)
        for command, words in zip(commands, (
            "lean -c 64 -d 2 --websocket 127.0.0.1 80 /ws",
            "lean -c 64 -d 2 -p 16 --websocket 127.0.0.1 80 /ws",
            "lean -c 64 -d 2 -n 10 --websocket 127.0.0.1 80 /ws",
        )):
            self.assertTrue(command.endswith(words), command)


if __name__ == "__main__":
    unittest.main()
