"""Tests programs whose driver is a library that was built before."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, ROOT, Subject  # noqa: E402

import quick  # noqa: E402
from driver_library import BuildError, succeed  # noqa: E402
from library_package import compiler, include_options  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "quick_server.mojo"
HEAD = " HTTP/1.1\r\nHost: a\r\n\r\n"
WRONG = """
from flare.prelude import *


def main() raises:
    print(loads[Int](1))
"""


class QuickBuilds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.program = cls.folder / "server"
        quick.build(SOURCE, cls.program, [])

    def serve(self, backend):
        subject = Subject(backend, command=[self.program, backend])
        self.addCleanup(subject.process.communicate)
        self.addCleanup(subject.process.kill)
        return subject

    def ask(self, subject, path):
        client = subject.connect()
        self.addCleanup(client.close)
        client.send(f"GET {path}{HEAD}".encode())
        return client

    def test_it_calls_the_library(self):
        self.assertRegex(self.program.read_bytes(), rb"libflare_driver_[0-9a-f]{24}")

    def test_a_handler_answers_streams_and_fails(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                subject = self.serve(backend)
                answer = self.ask(subject, "/hello/you").answer()
                self.assertEqual(answer.body, b"hello you")
                answer = self.ask(subject, "/count").answer()
                self.assertEqual(answer.body, b"0\n1\n2\n")
                self.assertEqual(self.ask(subject, "/fail").answer().status, 500)
                subject.await_log(rb"raised: it fails")
                self.assertEqual(self.ask(subject, "/none").answer().status, 404)

    def test_a_wait_parks_the_fiber_and_not_the_worker(self):
        # Program and library must agree on the loop of the thread.
        for backend in BACKENDS:
            with self.subTest(backend):
                subject = self.serve(backend)
                clients = [self.ask(subject, "/meet") for _ in range(2)]
                for client in clients:
                    self.assertEqual(client.answer().body, b"met")

    def test_a_signal_stops_it(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                subject = self.serve(backend)
                self.assertEqual(self.ask(subject, "/count").answer().status, 200)
                subject.process.terminate()
                self.assertEqual(subject.process.wait(10), 0)

    def test_an_error_names_the_sources_of_flare_and_no_folder_that_is_gone(self):
        source = self.folder / "wrong.mojo"
        source.write_text(WRONG)
        with self.assertRaisesRegex(BuildError, r"(?m)^flare/json/text\.mojo:"):
            quick.build(source, self.folder / "wrong", [])

    def test_a_library_of_other_sources_is_not_called(self):
        program = self.folder / "other"
        succeed(
            compiler(quick.MOJO),
            ["build", *include_options(ROOT), "-D", "FLARE_DRIVER=0",
             "-o", str(program), str(SOURCE)],
        )  # fmt: skip
        finished = subprocess.run(
            [program, "epoll"], capture_output=True, text=True, timeout=60
        )
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn(
            "http.no_driver libflare_driver_0.so is not among the program's"
            " libraries: build the program again",
            finished.stdout + finished.stderr,
        )


if __name__ == "__main__":
    unittest.main()
