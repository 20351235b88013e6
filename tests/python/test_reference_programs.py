"""Builds and runs, as they stand, the programs that the reference documents
show. They lie beside the project and are no part of it: without them there is
nothing to test."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from combined_build import link, write_sources  # noqa: E402
from loopback import named_network  # noqa: E402
from loopback.subject import ROOT  # noqa: E402
from quick import program_options  # noqa: E402
from run_tests import MOJO  # noqa: E402

DOCUMENT = next(
    (ROOT.parent / "shared" / "seeds").glob("001_*.txt"), None
)
IN_A_PROGRAM = re.compile(r"(from|def|struct|comptime) |@|\)|\s|$")
UNSHARED = ["unshare", "--net", "--mount"]
RUNNER = Path(named_network.__file__)
BUILD_SECONDS_MAX = 600
RUN_SECONDS_MAX = 60
ECHO_PORT = 8080
# What is served here asks the server of the program.
ASK = """
import http.client, subprocess, sys, time
server = subprocess.Popen(sys.argv[1])
deadline = time.monotonic() + 10
while True:
    asked = http.client.HTTPConnection("localhost", 8080, timeout=5)
    try:
        asked.request("POST", "/data", b'{"a": [1, 2.5]}')
        break
    except ConnectionRefusedError:
        if time.monotonic() > deadline:
            raise
        time.sleep(0.02)
answer = asked.getresponse()
print(answer.status, answer.headers["Content-Type"], answer.read().decode())
asked.request("POST", "/data", b'{"a": ')
print(asked.getresponse().status)
server.terminate()
sys.exit(server.wait(10))
"""


def programs(text):
    """Gives the programs of a document: imports, and what follows them up to
    the next line of prose."""
    found, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("from flare."):
            at += 1
            continue
        start = at
        while at < len(lines) and IN_A_PROGRAM.match(lines[at]):
            at += 1
        program = "\n".join(lines[start:at]).strip() + "\n"
        if "def main() raises:" in program:
            found.append(program)
    return found


def subject_of(program):
    """Names what a program shows."""
    for mark, subject in (
        ("WsFrame", "frames"),
        ("flare.ws", "websocket"),
        ("flare.tls", "tls"),
        ("flare.tcp", "tcp"),
        ("flare.dns", "addresses"),
        ("CookieJar", "cookies"),
        ("HttpClient(", "client"),
        ("get(\"https:", "requests"),
        ("serve_comptime", "comptime"),
        ("num_workers", "workers"),
        ("App(", "app"),
        ("req.json()", "json"),
        (":id", "router"),
    ):
        if mark in program:
            return subject
    return "other"


@unittest.skipUnless(DOCUMENT, "the reference documents are not here")
class ReferencePrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        shown = {
            subject_of(program): program
            for program in programs(DOCUMENT.read_text())
        }
        cls.subjects = sorted(shown)
        sources = []
        for subject in cls.subjects:
            source = cls.folder / "shown" / f"{subject}.mojo"
            source.parent.mkdir(exist_ok=True)
            source.write_text(shown[subject])
            sources.append(source)
        entry = write_sources(sources, cls.folder / "combined")
        binary = cls.folder / "combined" / "all"
        finished = subprocess.run(
            [MOJO, "build", *program_options(), "-o", binary, entry],
            capture_output=True, text=True, timeout=BUILD_SECONDS_MAX,
        )
        if finished.returncode:
            raise AssertionError(finished.stdout + finished.stderr)
        link(binary, [cls.folder / subject for subject in cls.subjects])
        names = ",".join(f"DNS:{name}" for name in named_network.NAMES)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=stand-in", "-addext", f"subjectAltName={names}",
             "-keyout", cls.folder / "key", "-out", cls.folder / "certificate"],
            check=True, capture_output=True,
        )

    def run_in_network(self, *program, echo_port=0):
        """Gives what a program prints, and what the stand-in was asked."""
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        finished = subprocess.run(
            [*UNSHARED, *user, sys.executable, RUNNER,
             self.folder / "certificate", self.folder / "key",
             str(echo_port), *program],
            capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
        )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        *printed, asked = finished.stdout.splitlines()
        return printed, json.loads(asked)

    def run_program(self, subject, **options):
        return self.run_in_network(self.folder / subject, **options)

    def test_every_program_is_known(self):
        self.assertEqual(
            self.subjects,
            ["addresses", "app", "client", "comptime", "cookies", "frames",
             "json", "requests", "router", "tcp", "tls", "websocket",
             "workers"],
        )

    def test_requests_are_echoed(self):
        printed, asked = self.run_program("requests")
        self.assertEqual(printed, ["200 True", "flare"])
        get, post = asked
        self.assertEqual(get["url"], "https://httpbin.org/get")
        self.assertEqual(post["json"], {"hello": "flare"})
        self.assertEqual(post["headers"]["Content-Type"], "application/json")

    def test_a_client_shows_its_token(self):
        _, asked = self.run_program("client")
        self.assertEqual(
            [(one["method"], one["url"]) for one in asked],
            [("GET", "https://api.example.com/items"),
             ("POST", "https://api.example.com/items")],
        )
        for one in asked:
            self.assertEqual(
                one["headers"]["Authorization"], "Bearer tok_abc"
            )

    def test_cookies_are_written_and_read(self):
        printed, _ = self.run_program("cookies")
        self.assertEqual(printed, ["session=abc123", "id 42 3600"])

    def test_a_handler_reads_json(self):
        printed, _ = self.run_in_network(
            sys.executable, "-c", ASK, self.folder / "json"
        )
        self.assertEqual(
            printed[-2:],
            ['200 application/json {"received": true}', "400"],
        )

    def test_addresses_are_parsed_and_resolved(self):
        printed, _ = self.run_program("addresses")
        self.assertEqual(printed, ["True", "True 8080", "127.0.0.1"])

    def test_octets_are_echoed(self):
        printed, _ = self.run_program("tcp", echo_port=ECHO_PORT)
        self.assertEqual(printed, [])

    def test_messages_are_echoed(self):
        printed, asked = self.run_program("websocket")
        self.assertEqual(printed, ["hello"])
        # At the end of the block it closes with 1000.
        self.assertEqual(
            asked,
            [{"opcode": 1, "text": b"hello".hex()},
             {"opcode": 8, "text": "03e8"}],
        )

    def test_frames_are_echoed(self):
        printed, asked = self.run_program("frames")
        self.assertEqual(printed, ["ping"])
        self.assertEqual(
            asked,
            [{"opcode": 1, "text": b"ping".hex()},
             {"opcode": 8, "text": "03e8"}],
        )

    def test_a_request_goes_through_tls(self):
        self.run_program("tls")


if __name__ == "__main__":
    unittest.main()
