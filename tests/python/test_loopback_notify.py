"""Is the service manager of the real server: takes its notifications."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402
from test_loopback_passed import (  # noqa: E402
    PROGRAM,
    Case,
    ask,
    await_end_of,
    number_or_path,
)

WAIT_SECONDS_MAX = 20
SIGN = "WATCHDOG=1"
STOPPING = "STOPPING=1\nEXTEND_TIMEOUT_USEC=12000000"
KINDS = (
    ("--workers", "1"),
    ("--workers", "2"),
    ("--workers", "2", "--supervise"),
)


def setUpModule():
    build(PROGRAM)


class ServiceManager:
    """Takes notifications as systemd does, with the sender's process."""

    def __init__(self, name):
        self.name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(name.replace("@", "\0", 1))
        self._socket.settimeout(WAIT_SECONDS_MAX)

    def take(self):
        """Waits for one notification; gives its sender and its text."""
        octets, extra, _, _ = self._socket.recvmsg(4096, 256)
        credentials = next(
            data
            for level, kind, data in extra
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        )
        return struct.unpack("3i", credentials)[0], octets.decode()

    def take_until(self, text):
        """Gives all notifications up to the first one with a text."""
        found = []
        while not found or found[-1][1] != text:
            found.append(self.take())
        return found

    def left(self):
        """Gives what has come and was not taken."""
        found = []
        self._socket.settimeout(0)
        try:
            while True:
                found.append(self.take())
        except BlockingIOError:
            return found
        finally:
            self._socket.settimeout(WAIT_SECONDS_MAX)

    def fill(self):
        """Sends itself notifications until no more fit into its queue."""
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sender.setblocking(False)
        try:
            while True:
                sender.sendto(b"X=1", self.name)
        except BlockingIOError:
            sender.close()

    def close(self):
        self._socket.close()


class Notified(Case):
    def manage(self, name=None):
        manager = ServiceManager(name or f"{self.path}.notify")
        self.addCleanup(manager.close)
        return manager

    def begin(self, manager, *options, **variables):
        program = self.start(
            "--notify", *options, "--at", "127.0.0.1:0",
            NOTIFY_SOCKET=manager.name, **variables,
        )
        _, _, places = program.begin()
        return program, number_or_path(places[0])

    def each(self, *kinds):
        for backend in BACKENDS:
            for kind in kinds or KINDS:
                with self.subTest(backend=backend, kind=kind):
                    with tempfile.TemporaryDirectory() as folder:
                        manager = self.manage(f"{folder}/notify")
                        yield manager, ("--backend", backend, *kind)

    def test_ready_is_sent_when_all_workers_serve_and_stopping_at_the_end(self):
        for manager, options in self.each():
            program, place = self.begin(manager, *options)
            own = program.process.pid
            self.assertEqual(manager.take(), (own, "STATUS=about to serve"))
            self.assertEqual(manager.take(), (own, "READY=1"))
            for _ in range(4):
                self.assertTrue(ask(place, b"/id"))
            program.process.terminate()
            self.expect_end(program)
            self.assertEqual(manager.left(), [(own, STOPPING)])

    def test_an_abstract_name_is_reached(self):
        manager = self.manage(f"@flare-{os.getpid()}-{id(self)}")
        program, _ = self.begin(manager)
        own = program.process.pid
        manager.take_until("READY=1")
        program.process.terminate()
        self.expect_end(program)
        self.assertEqual(manager.left(), [(own, STOPPING)])

    def test_a_handler_that_stops_the_server_announces_it_once(self):
        for manager, options in self.each():
            program, place = self.begin(manager, *options)
            manager.take_until("READY=1")
            ask(place, b"/stop")
            self.expect_end(program)
            self.assertEqual(manager.left(), [(program.process.pid, STOPPING)])

    def test_signs_of_life_come_while_all_workers_turn(self):
        for manager, options in self.each(*KINDS[1:]):
            program, _ = self.begin(manager, *options, WATCHDOG_USEC="2000000")
            found = manager.take_until("READY=1")
            began = time.monotonic()
            while sum(text == SIGN for _, text in found) < 5:
                found.append(manager.take())
            # They are four periods of half a second apart: twice as often as
            # sd_watchdog_enabled(3) recommends.
            self.assertLess(time.monotonic() - began, 3.5)
            self.assertEqual({x for x, _ in found}, {program.process.pid})
            program.process.terminate()
            self.expect_end(program)
            self.assertEqual(
                [x for _, x in manager.left() if x != SIGN], [STOPPING]
            )

    def test_signs_of_life_go_on_while_requests_are_finished(self):
        for manager, options in self.each(*KINDS[1:]):
            program, place = self.begin(
                manager, *options, WATCHDOG_USEC="1000000"
            )
            manager.take_until("READY=1")
            with Client(place) as client:
                client.send(b"GET /delay/2000 HTTP/1.1\r\nHost: a\r\n\r\n")
                program.process.terminate()
                manager.take_until(STOPPING)
                # The other worker has ended by now.
                for _ in range(4):
                    self.assertEqual(
                        manager.take(), (program.process.pid, SIGN)
                    )
                self.assertEqual(client.answer().status, 200)
            self.expect_end(program)

    def test_no_sign_of_life_comes_while_one_worker_is_busy(self):
        for manager, options in self.each(*KINDS[:2]):
            program, place = self.begin(
                manager, *options, WATCHDOG_USEC="400000"
            )
            manager.take_until(SIGN)
            with Client(place) as client:
                client.send(b"GET /busy/1500 HTTP/1.1\r\nHost: a\r\n\r\n")
                times = [time.monotonic()]
                # The last sign is the one behind the long silence.
                while len(times) < 2 or times[-1] - times[-2] < 1:
                    self.assertEqual(manager.take()[1], SIGN)
                    times.append(time.monotonic())
                    self.assertLess(times[-1] - times[0], WAIT_SECONDS_MAX)
                self.assertEqual(client.answer().status, 200)
            for _ in range(3):
                self.assertEqual(manager.take()[1], SIGN)

    def test_a_supervised_worker_that_is_busy_is_replaced(self):
        for manager, options in self.each(KINDS[2]):
            program, place = self.begin(
                manager, *options, WATCHDOG_USEC="4000000"
            )
            manager.take_until(SIGN)
            with Client(place) as client:
                client.send(b"GET /busy/60000 HTTP/1.1\r\nHost: a\r\n\r\n")
                # Signs come as often as before, one a second.
                for _ in range(4):
                    before = time.monotonic()
                    self.assertEqual(
                        manager.take(), (program.process.pid, SIGN)
                    )
                    self.assertLess(time.monotonic() - before, 3)
                client.has_ended()
            for _ in range(8):
                self.assertTrue(ask(place, b"/id"))
            program.process.terminate()
            self.expect_end(program)
            said = program.process.stderr.read().decode()
            self.assertRegex(said, r"worker \d has not turned for \d+ ms; it")
            self.assertRegex(
                said, r"worker \d died of SIGABRT in request \d+ \(GET /busy/:ms"
            )

    def test_signs_of_life_that_another_process_owes_are_not_sent(self):
        manager = self.manage()
        program, place = self.begin(
            manager, WATCHDOG_USEC="2000000", WATCHDOG_PID="1"
        )
        manager.take_until("READY=1")
        self.assertTrue(ask(place, b"/id"))
        program.process.terminate()
        self.expect_end(program)
        self.assertEqual([x for _, x in manager.left()], [STOPPING])

    def test_the_process_that_goes_on_is_named_and_speaks_for_itself(self):
        for manager, options in self.each(*KINDS[1:]):
            program, place = self.begin(
                manager, *options, WATCHDOG_USEC="2000000"
            )
            first = program.process.pid
            manager.take_until("READY=1")
            second = int(ask(place, b"/hand-over/self"))
            program.followers.append(second)
            self.expect_end(program)
            found = manager.take_until(f"MAINPID={second}")
            if "--supervise" in options:
                # A worker of the first one has called it.
                self.assertNotIn(found[-1][0], (first, second))
            else:
                self.assertEqual(found[-1][0], first)
            found += manager.left()
            self.assertIn((second, "READY=1"), found)
            self.assertNotIn((first, STOPPING), found)
            while (second, SIGN) not in found:
                found.append(manager.take())
            os.kill(second, signal.SIGTERM)
            await_end_of(second)
            self.assertIn((second, STOPPING), manager.left())

    def test_the_environment_alone_changes_nothing(self):
        manager = self.manage()
        program = self.start(
            "--at", "127.0.0.1:0",
            NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="1000",
        )
        _, _, places = program.begin()
        self.assertTrue(ask(number_or_path(places[0]), b"/id"))
        program.process.terminate()
        self.expect_end(program)
        self.assertEqual(manager.left(), [])

    def test_a_program_without_a_service_manager_serves(self):
        program = self.start("--notify", "--at", "127.0.0.1:0")
        _, _, places = program.begin()
        self.assertTrue(ask(number_or_path(places[0]), b"/id"))

    def test_a_full_queue_is_reported_in_time(self):
        manager = self.manage()
        manager.fill()
        self.refuse(rb"net\.timeout send", NOTIFY_SOCKET=manager.name)

    def test_variables_that_make_no_sense_are_refused(self):
        manager = self.manage()
        for name in ("notify", "vsock:2:1", "@", "/" + "x" * 108):
            with self.subTest(name):
                self.refuse(
                    rb"http\.bad_activation NOTIFY_SOCKET", NOTIFY_SOCKET=name
                )
        for time_text in ("x", "0", "-1", "1.5", "9" * 30):
            with self.subTest(time_text):
                self.refuse(
                    rb"http\.bad_activation WATCHDOG_USEC",
                    NOTIFY_SOCKET=manager.name,
                    WATCHDOG_USEC=time_text,
                )
        self.refuse(rb"net\.not_found send", NOTIFY_SOCKET="/nowhere/notify")

    def refuse(self, pattern, **variables):
        finished = subprocess.run(
            [build(PROGRAM), "--notify", "--at", "127.0.0.1:0"],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WAIT_SECONDS_MAX,
        )
        self.assertNotEqual(finished.returncode, 0)
        said = finished.stdout + finished.stderr
        self.assertTrue(re.search(pattern, said), said)


if __name__ == "__main__":
    unittest.main()
