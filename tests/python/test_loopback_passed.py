"""Passes listening sockets to the real server, and lets it pass them on."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.subject import BACKENDS, ROOT, build  # noqa: E402

PROGRAM = ROOT / "tests" / "programs" / "passed.mojo"
END_SECONDS_MAX = 10
# Gives descriptors the numbers from 3 on, in a process that then becomes the
# program: only it knows its own id.
PLACE = """
import fcntl, os, sys
numbers = [int(x) for x in sys.argv[1].split(",")]
away = [fcntl.fcntl(x, fcntl.F_DUPFD_CLOEXEC, 100) for x in numbers]
for i, number in enumerate(away):
    os.dup2(number, 3 + i)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def setUpModule():
    build(PROGRAM)


def listener(path=None):
    """Opens a listening socket, of TCP unless there is a path."""
    if path:
        opened = socket.socket(socket.AF_UNIX)
        opened.bind(path)
    else:
        opened = socket.socket()
        opened.bind(("127.0.0.1", 0))
    opened.listen(100)
    return opened


def place_of(opened):
    """Tells where to connect to: a port, or a path."""
    name = opened.getsockname()
    return name if isinstance(name, str) else name[1]


def ask(place, target, fields=b"Connection: close\r\n"):
    """Sends one request on a connection of its own, and gives the content."""
    with Client(place) as client:
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (target, fields))
        return client.answer().body


class Program:
    """Is one process of the server under test, and those that follow it."""

    def __init__(self, *options, passed=(), **variables):
        command = [build(PROGRAM), *options]
        numbers = [x.fileno() for x in passed]
        if passed:
            variables["LISTEN_FDS"] = str(len(passed))
            shown = ",".join(str(x) for x in numbers)
            command = [sys.executable, "-c", PLACE, shown, *command]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=numbers,
        )
        self.followers = []

    def lines(self, count):
        """Reads lines of standard output, without their ends."""
        return [
            self.process.stdout.readline().decode().rstrip("\n")
            for _ in range(count)
        ]

    def begin(self, count=1):
        """Reads what the program says at first; gives where it listens."""
        passed = int(self.lines(1)[0].split()[0])
        found = self.lines(passed)
        assert self.lines(1) == ["0 left"]
        places = [x.removeprefix("at ") for x in self.lines(count)]
        return passed, found, places

    def stop(self):
        """Ends all processes, also where a test has failed."""
        for process in self.followers:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def number_or_path(text):
    """Turns an address of the program's into one to connect to."""
    if text.startswith("unix:"):
        return text.removeprefix("unix:")
    return int(text.rsplit(":", 1)[1])


class Case(unittest.TestCase):
    def start(self, *options, **how):
        program = Program(*options, **how)
        self.addCleanup(program.stop)
        return program

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = f"{holder.name}/passed.sock"

    def open(self, path=None):
        opened = listener(path)
        self.addCleanup(opened.close)
        return opened

    def expect_end(self, program):
        self.assertEqual(program.process.wait(END_SECONDS_MAX), 0)


class Passed(Case):
    def test_sockets_of_whoever_starts_it_are_served(self):
        for backend in BACKENDS:
            for workers in ("1", "2"):
                with self.subTest(backend=backend, workers=workers):
                    self.serve_passed(backend, workers)

    def serve_passed(self, backend, workers):
        path = f"{self.path}-{backend}-{workers}"
        opened = [self.open(), self.open(path)]
        program = self.start(
            "--backend", backend, "--workers", workers,
            passed=opened, LISTEN_FDNAMES="web:unix one",
        )
        passed, found, places = program.begin(2)
        self.assertEqual(passed, 2)
        self.assertEqual(found[0].split(" ", 1)[1], "web")
        self.assertEqual(found[1], f"unix:{path} unix one")
        self.assertEqual(places[1], f"unix:{path}")
        for each in opened:
            for _ in range(5):
                self.assertEqual(
                    int(ask(place_of(each), b"/id")), program.process.pid
                )
        program.process.terminate()
        self.expect_end(program)
        # They are not its own: who comes now waits for the next one.
        for each in opened:
            with Client(place_of(each)) as client:
                client.send(b"GET /id HTTP/1.1\r\nHost: a\r\n\r\n")
                accepted, _ = each.accept()
                self.assertTrue(accepted.recv(100).startswith(b"GET /id"))
                accepted.close()

    def test_who_waits_before_the_start_is_answered(self):
        opened = self.open()
        clients = [Client(place_of(opened)) for _ in range(20)]
        for client in clients:
            client.send(b"GET /id HTTP/1.1\r\nHost: a\r\n\r\n")
        self.start("--workers", "2", passed=[opened])
        for client in clients:
            self.assertEqual(client.answer().status, 200)
            client.close()

    def test_sockets_for_another_process_are_left_alone(self):
        opened = self.open()
        program = self.start(
            "--at", "127.0.0.1:0", LISTEN_PID="1", LISTEN_FDS="1"
        )
        passed, _, places = program.begin()
        self.assertEqual(passed, 0)
        self.assertNotEqual(number_or_path(places[0]), place_of(opened))

    def test_what_is_no_listening_socket_is_refused(self):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(datagrams.close)
        one, other = socket.socketpair()
        self.addCleanup(one.close)
        self.addCleanup(other.close)
        file = open("/dev/null")
        self.addCleanup(file.close)
        for wrong in (datagrams, one, file):
            program = self.start(passed=[self.open(), wrong])
            found = program.process.communicate(timeout=20)
            self.assertIn(
                b"http.bad_activation descriptor 4 is no listening stream",
                b"".join(found),
            )
            self.assertNotEqual(program.process.returncode, 0)

    def test_a_name_of_a_server_without_a_mode_is_refused(self):
        program = self.start(
            passed=[self.open(self.path)], LISTEN_FDNAMES="flare.own.x"
        )
        found = program.process.communicate(timeout=20)
        self.assertIn(
            b"http.bad_activation descriptor 3 has a name without a mode",
            b"".join(found),
        )

    def test_numbers_that_are_none_are_refused(self):
        for count in ("", "x", "0", "-1", "1025", "99999999999999999999"):
            with self.subTest(count):
                command = (
                    "export LISTEN_PID=$$ LISTEN_FDS=$1;"
                    ' exec "$0" --at 127.0.0.1:0'
                )
                finished = subprocess.run(
                    ["sh", "-c", command, build(PROGRAM), count],
                    stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                )
                self.assertIn(
                    b"http.bad_activation LISTEN_FDS",
                    finished.stdout + finished.stderr,
                )


class Traffic:
    """Sends requests from threads until it is told to end."""

    def __init__(self, places, threads=4):
        self.places = places
        self.ending = False
        self.seen = set()
        self.answered = 0
        self.problems = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, args=(i,))
            for i in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, i):
        while not self.ending:
            place = self.places[i % len(self.places)]
            try:
                found = int(ask(place, b"/id"))
            except (OSError, EOFError, ValueError, AssertionError) as problem:
                with self._lock:
                    self.problems.append(repr(problem))
                return
            with self._lock:
                self.seen.add(found)
                self.answered += 1

    def await_from(self, process, count=200):
        """Waits until a process has answered, and some requests more."""
        deadline = time.monotonic() + 20
        while process not in self.seen:
            self._look(deadline)
        until = self.answered + count
        while self.answered < until:
            self._look(deadline)

    def _look(self, deadline):
        if self.problems or time.monotonic() > deadline:
            raise AssertionError(f"{self.seen} {self.problems[:3]}")
        time.sleep(0.001)

    def end(self):
        self.ending = True
        for thread in self._threads:
            thread.join(20)
        return self.problems


def await_end_of(process):
    """Waits until a process that is no child of ours has ended."""
    deadline = time.monotonic() + END_SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text()
        except FileNotFoundError:
            return
        if state.rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.005)
    raise AssertionError(f"{process} does not end")


class HandedOver(Case):
    def begin(self, *options):
        program = self.start(
            *options, "--at", "127.0.0.1:0", "--at", f"unix:{self.path}"
        )
        _, _, places = program.begin(2)
        # The port of the next one is the same: it does not open its own.
        return program, [number_or_path(x) for x in places]

    def hand_over(self, program, place):
        answer = ask(place, b"/hand-over/self", b"")
        self.assertRegex(answer, rb"^\d+$")
        process = int(answer)
        program.followers.append(process)
        return process

    def test_nobody_notices_that_another_process_goes_on(self):
        for options in (
            ("--backend", "io_uring", "--workers", "2"),
            ("--backend", "epoll", "--workers", "2"),
            ("--backend", "io_uring"),
            ("--backend", "epoll", "--workers", "2", "--supervise"),
        ):
            with self.subTest(options):
                self.go_on(options)

    def go_on(self, options):
        program, places = self.begin(*options)
        traffic = Traffic(places)
        try:
            first = program.process.pid
            if "--supervise" not in options:
                traffic.await_from(first)
            second = self.hand_over(program, places[0])
            self.expect_end(program)
            if "--supervise" not in options:
                traffic.await_from(second)
            self.assertTrue(Path(self.path).is_socket())
            # And once more, by the one that was given them.
            third = self.hand_over(program, places[1])
            await_end_of(second)
            if "--supervise" not in options:
                traffic.await_from(third)
        finally:
            problems = traffic.end()
        self.assertEqual(problems, [])
        os.kill(third, signal.SIGTERM)
        await_end_of(third)
        # The last one removes what the first one has made.
        self.assertFalse(Path(self.path).exists())
        with self.assertRaises(ConnectionRefusedError):
            ask(places[0], b"/id")

    def test_requests_in_flight_are_finished(self):
        program, places = self.begin("--workers", "2")
        slow = [Client(place) for place in places * 2]
        for client in slow:
            client.send(b"GET /delay/500 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.hand_over(program, places[0])
        for client in slow:
            answer = client.answer()
            self.assertEqual(int(answer.body), program.process.pid)
            self.assertTrue(answer.closes())
            client.close()
        self.expect_end(program)

    def test_a_program_that_does_not_serve_changes_nothing(self):
        program, places = self.begin("--workers", "2")
        rows = [
            (b"missing", rb"^http\.successor cannot be run \(ENOENT\)$"),
            (b"false", rb"^http\.successor \d+ ended before it served$"),
            (b"silent", rb"^http\.successor \d+ does not serve after 300 ms$"),
        ]
        for kind, error in rows:
            with self.subTest(kind):
                answer = ask(places[0], b"/hand-over/" + kind)
                self.assertRegex(answer, error)
                for place in places:
                    self.assertEqual(
                        int(ask(place, b"/id")), program.process.pid
                    )
        threads = Path(f"/proc/{program.process.pid}/task").iterdir()
        for thread in threads:
            self.assertEqual((thread / "children").read_text(), "")
        program.process.terminate()
        self.expect_end(program)
        self.assertFalse(Path(self.path).exists())

    def test_what_was_lent_is_lent_to_the_next_one_too(self):
        opened = self.open(self.path)
        program = self.start(passed=[opened], LISTEN_FDNAMES="mine")
        program.begin(1)
        second = self.hand_over(program, self.path)
        self.expect_end(program)
        self.assertEqual(int(ask(self.path, b"/id")), second)
        os.kill(second, signal.SIGTERM)
        await_end_of(second)
        self.assertTrue(Path(self.path).exists())
        with Client(self.path):
            accepted, _ = opened.accept()
            accepted.close()


if __name__ == "__main__":
    unittest.main()
