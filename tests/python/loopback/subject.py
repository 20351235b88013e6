"""Builds the server under test once, starts it, and watches its resources."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from loopback.client import Client
from loopback.h2_translator import TranslatedClient
from loopback.secure_socket import certificates

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import tested_programs  # noqa: E402
from tested_programs import FOLDER  # noqa: E402, F401

SOURCE = ROOT / "tests" / "programs" / "subject.mojo"
BACKENDS = ("io_uring", "epoll")
PLAIN_TRANSPORTS = ("tcp", "unix")
TRANSPORTS = (*PLAIN_TRANSPORTS, "tls")
# A Unix socket adds nothing of its own to HTTP/2.
H2_TRANSPORTS = ("tcp", "tls")
EFFECT_SECONDS_MAX = 5.0
# Resources that must be what they were once all clients have gone.
HELD = (
    "connections",
    "requests_in_flight",
    "streams",
    "fibers",
    "receive_buffers",
)


@functools.lru_cache
def build(source=SOURCE):
    """Builds a program, by default the server under test; gives its path."""
    return tested_programs.build(source)


def build_sanitized(source):
    """Builds a program with AddressSanitizer; gives its path."""
    return tested_programs.build_sanitized(source)


class Subject:
    """Is one process of the server under test."""

    def __init__(
        self,
        backend,
        *options,
        transport="tcp",
        opening=b"",
        descriptors_max=None,
        command=None,
        secure=False,
        speaks_h2=False,
        source=SOURCE,
        **popen,
    ):
        # What stands in front of the first request of a connection.
        self.opening = opening
        # What the clients of the tests speak.
        self.speaks_h2 = speaks_h2
        self.secure = secure or transport == "tls"
        if self.secure:
            options += ("--tls", certificates())
        self._folder = None
        if transport == "unix":
            self._folder = tempfile.mkdtemp()
            options += ("--at", f"unix:{self._folder}/subject.sock")
        command = command or [build(source), "--backend", backend, *options]
        if descriptors_max:
            limit = f'ulimit -n {descriptors_max}; exec "$@"'
            command = ["sh", "-c", limit, "sh", *command]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **popen,
        )
        self._log = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(10)
            self._reader.join(10)
            self._remove_folder()
            raise RuntimeError(f"the server did not start: {self.log()}")
        if self._folder:
            self.place = line.decode().strip().removeprefix("unix:")
        else:
            self.place = self.port = int(line)

    def _read_log(self):
        for line in self.process.stderr:
            with self._changed:
                self._log.append(line)
                self._changed.notify_all()

    def log(self):
        """Gives the lines that were written to standard error so far: all of
        them once the process has ended."""
        if self.process.poll() is not None:
            self._reader.join(10)
        with self._changed:
            return list(self._log)

    def await_log(self, pattern, count=1):
        """Waits until lines match a pattern (octets), and gives them."""
        deadline = time.monotonic() + EFFECT_SECONDS_MAX
        with self._changed:
            while True:
                found = [x for x in self._log if re.search(pattern, x)]
                left = deadline - time.monotonic()
                if len(found) >= count:
                    return found
                if left <= 0:
                    raise AssertionError(f"{pattern} is not in {self._log}")
                self._changed.wait(left)

    def connect(self, **options):
        """Opens a connection."""
        if self.speaks_h2:
            return TranslatedClient(self, **options)
        return self._connect_plainly(**options)

    def _connect_plainly(self, **options):
        return Client(self.place, **{"secure": self.secure, **options})

    def statistics(self):
        """Asks the server for its counters."""
        with self._connect_plainly() as client:
            client.send(self.opening + b"GET /statistics HTTP/1.1\r\nHost: a\r\n"
                        b"Connection: close\r\n\r\n")
            answer = client.answer()
            client.expect_end()
        pairs = (line.split("=") for line in answer.body.decode().split())
        found = {name: int(value) for name, value in pairs}
        # A request is counted apart once its stream has begun.
        found["served"] = found["requests_in_flight"] + found["streams"]
        return found

    def descriptors(self):
        """Counts the open descriptors of the process."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_octets(self, name="VmRSS"):
        """Reads a figure of the memory of the process."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) << 10
        raise AssertionError(f"no {name}")

    def forget_peak(self):
        """Lets VmHWM begin anew."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as f:
            f.write("5")

    def cpu_seconds(self):
        """Reads the CPU time of all threads."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def pipes(self):
        """Counts the open ends of pipes, but those of its output."""
        folder = f"/proc/{self.process.pid}/fd"
        found = 0
        for name in os.listdir(folder):
            # One of an earlier connection may be closed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                is_pipe = os.readlink(f"{folder}/{name}").startswith("pipe:")
                found += is_pipe and int(name) > 2
        return found

    def await_statistics(self, **wanted):
        """Waits until counters have the wanted values."""
        deadline = time.monotonic() + EFFECT_SECONDS_MAX
        while True:
            found = self.statistics()
            if all(found[name] == value for name, value in wanted.items()):
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"wanted {wanted}, found {found}")
            time.sleep(0.002)

    def stop(self):
        """Ends the process, also where a test has failed."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
        self._remove_folder()
        return self.process.returncode

    def _remove_folder(self):
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def delay(milliseconds):
    """Makes a request that is answered after some time."""
    return b"GET /delay/%d HTTP/1.1\r\nHost: a\r\n\r\n" % milliseconds


class WithSubject(unittest.TestCase):
    """Starts one server for a class, and checks at the end that it is well."""

    backend = BACKENDS[0]
    transport = TRANSPORTS[0]
    opening = b""
    options = ()
    source = SOURCE
    speaks_h2 = False

    def check_time(self, started, seconds):
        """Checks that something took a time, and not much more."""
        elapsed = time.monotonic() - started
        self.assertGreater(elapsed, seconds * 0.9)
        self.assertLess(elapsed, seconds + 3)

    @classmethod
    def setUpClass(cls):
        cls.subject = Subject(
            cls.backend,
            *cls.options,
            transport=cls.transport,
            opening=cls.opening,
            source=cls.source,
            speaks_h2=cls.speaks_h2,
        )
        cls.addClassCleanup(cls.subject.stop)
        if "--workers" in cls.options:
            cls._await_both_workers()
        cls.warm_up()
        # Another worker may close its last connection a moment later.
        found = cls.subject.await_statistics(connections=1)
        cls.held_before = {name: found[name] for name in HELD}
        cls.descriptors_before = cls._settled_descriptors()

    @classmethod
    def warm_up(cls):
        """Asks for what makes something that later requests use again."""
        cls.subject.statistics()

    @classmethod
    def tearDownClass(cls):
        if cls.subject.process.poll() is not None:
            raise AssertionError(
                f"the server ended with {cls.subject.process.returncode}:"
                f" {cls.subject.log()[-20:]}"
            )
        cls.subject.await_statistics(**cls.held_before)
        found = cls._settled_descriptors(cls.descriptors_before)
        if found > cls.descriptors_before:
            raise AssertionError(
                f"{found - cls.descriptors_before} descriptors leaked"
            )
        code = cls.subject.stop()
        if code != 0:
            raise AssertionError(
                f"exit code {code}: {cls.subject.log()[-50:]}"
            )

    @classmethod
    def _await_both_workers(cls):
        # One that begins late would open its descriptors after the count.
        seen = set()
        deadline = time.monotonic() + 10
        while len(seen) < 2 and time.monotonic() < deadline:
            with cls.subject.connect() as client:
                client.send(b"GET /raise HTTP/1.1\r\nHost: a\r\n\r\n")
                client.answer()
            lines = cls.subject.await_log(rb"worker \d+ request")
            seen = {re.search(rb"worker (\d+)", x)[1] for x in lines}

    @classmethod
    def _settled_descriptors(cls, wanted=0):
        # A connection that has ended is closed a moment later.
        deadline = time.monotonic() + (EFFECT_SECONDS_MAX if wanted else 0.2)
        fewest = cls.subject.descriptors()
        while fewest > wanted and time.monotonic() < deadline:
            fewest = min(fewest, cls.subject.descriptors())
        return fewest

    def expect_closing(self, answer):
        """Checks that a response says that its connection ends. That of HTTP/2
        goes on."""
        self.assertEqual(answer.closes(), not self.speaks_h2)

    def connect(self, **options):
        """Opens a connection that ends with the test."""
        client = self.subject.connect(**options)
        self.addCleanup(client.close)
        return client

    def expect_answers_still(self):
        """Checks that the server answers somebody else."""
        with self.subject.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(client.answer().body, b"hello")


def on_each_backend(
    cases, base=WithSubject, transports=TRANSPORTS[:1], infix="", **more
):
    """Makes a test class of `cases` for each kernel interface, with more
    members."""
    module = sys.modules[cases.__module__]
    for transport in transports:
        for backend in BACKENDS:
            name = f"{cases.__name__}{infix}_on_{backend}"
            if transport != TRANSPORTS[0]:
                name += f"_and_{transport}"
            members = {
                "backend": backend,
                "transport": transport,
                "__module__": cases.__module__,
                **more,
            }
            setattr(module, name, type(name, (cases, base), members))
    return cases


def on_each_transport(cases, base=WithSubject):
    """Makes a test class for each transport and each kernel interface."""
    return on_each_backend(cases, base, TRANSPORTS)


def on_each_version(cases, base=WithSubject):
    """Makes a test class for each transport and each kernel interface, and some
    more of clients that speak HTTP/2. These leave the tests `of_http1` out."""
    left_out = {
        name: None
        for name, test in vars(cases).items()
        if getattr(test, "is_of_http1", False)
    }
    on_each_backend(
        cases, base, H2_TRANSPORTS, "_over_h2", speaks_h2=True, **left_out
    )
    return on_each_transport(cases, base)


def of_http1(test):
    """Marks a test of the wire of HTTP/1.1, or of its connections."""
    test.is_of_http1 = True
    return test


def on_each_plain_transport(cases, base=WithSubject):
    """Does so without TLS: where a connection waits, no handshake ends."""
    return on_each_backend(cases, base, PLAIN_TRANSPORTS)
