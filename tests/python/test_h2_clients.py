"""Lets clients of other makers ask the real server over HTTP/2."""

import asyncio
import functools
import ssl
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.peers import PROGRAMS  # noqa: E402
from loopback.programs import find_program  # noqa: E402
from loopback.secure_socket import ROOT, certificates  # noqa: E402
from loopback.subject import (  # noqa: E402
    FOLDER,
    Subject,
    build,
    on_each_backend,
)

sys.path.append(str(ROOT / ".venv" / "http2"))

import httpx  # noqa: E402

SECONDS_MAX = 60
# Enough for any limit on the frames about content to be reached.
LONG = 256 << 20
CONTENT = (b"abcdefg" * 142_858)[:1_000_000]
SUM = f"{len(CONTENT)} {zlib.adler32(CONTENT)}"
# What each client says of its conversation.
SAID = (
    f"users 100\nsum {SUM}\nstream 3000000 0\ntrailer 11\nhints 103 page\n"
    "raised 500\n"
)


def setUpModule():
    build()


@functools.lru_cache
def go_client():
    """Builds the client in Go; gives its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = FOLDER / "h2_client"
    subprocess.run(
        [find_program("go"), "build", "-o", program,
         PROGRAMS / "h2_client.go"],
        check=True, timeout=300,
    )
    return program


class Clients:
    def start(self):
        subject = Subject(self.backend, transport=self.transport)
        self.addCleanup(subject.stop)
        self.before = subject.statistics()["connections_accepted"]
        self.scheme = "https" if subject.secure else "http"
        self.url = f"{self.scheme}://localhost:{subject.port}"
        return subject

    def check_connections(self, subject, count):
        """Checks how many connections the clients have opened."""
        found = subject.statistics()["connections_accepted"] - self.before
        # Another one asks for the counters.
        self.assertEqual(found - 1, count)

    def run_client(self, *command):
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS_MAX
        )
        self.assertEqual(finished.stdout, SAID, finished.stderr)
        self.assertEqual(finished.returncode, 0, finished.stderr)

    def authority(self):
        return [certificates() / "ca.pem"] if self.scheme == "https" else []

    def test_node(self):
        subject = self.start()
        self.run_client(
            find_program("node"), PROGRAMS / "h2_client.js", self.url,
            *self.authority(),
        )
        self.check_connections(subject, 1)

    def test_go(self):
        subject = self.start()
        self.run_client(go_client(), self.url, *self.authority())
        self.check_connections(subject, 1)

    def test_go_reads_in_small_pieces(self):
        # After each one, it widens the windows.
        self.start()
        for octets in (512, 4096):
            finished = subprocess.run(
                [go_client(), self.url, *self.authority(), str(LONG),
                 str(octets)],
                capture_output=True, text=True, timeout=SECONDS_MAX,
            )
            self.assertEqual(
                finished.stdout, f"read {LONG}\n", finished.stderr
            )

    def httpx_options(self):
        context = ssl.create_default_context(cafile=certificates() / "ca.pem")
        return {"http1": False, "http2": True, "verify": context}

    def test_httpx(self):
        subject = self.start()
        with httpx.Client(
            **self.httpx_options(), base_url=self.url, trust_env=False
        ) as client:
            answer = client.get("/users/1")
            self.assertEqual(answer.http_version, "HTTP/2")
            self.assertEqual(answer.text, "user 1")
            self.assertEqual(client.post("/sum", content=CONTENT).text, SUM)
            pieces = iter([CONTENT[:1], b"", CONTENT[1:]])
            self.assertEqual(client.post("/sum", content=pieces).text, SUM)
            with client.stream("GET", "/stream/3000000") as answer:
                octets = b"".join(answer.iter_bytes())
            self.assertEqual(len(octets), 3_000_000)
            self.assertEqual(octets[:251] * 2, octets[:502])
            # A response that is left cancels its handler, and nothing else.
            with client.stream("GET", "/endless") as answer:
                next(answer.iter_bytes())
            self.assertEqual(client.get("/raise").status_code, 500)
            self.assertEqual(client.head("/big/1000000").content, b"")
            form = client.post("/echo", data={"a": "b c"})
            self.assertEqual(form.text, "a=b+c")
        self.check_connections(subject, 1)

    def test_httpx_at_once(self):
        subject = self.start()

        async def ask():
            async with httpx.AsyncClient(
                **self.httpx_options(), base_url=self.url, trust_env=False,
                limits=httpx.Limits(max_connections=1),
            ) as client:
                return await asyncio.gather(
                    *(client.get(f"/users/{i}") for i in range(200)),
                    *(client.get("/delay/100") for _ in range(50)),
                    *(client.post("/sum", content=CONTENT) for _ in range(5)),
                )

        texts = [answer.text for answer in asyncio.run(ask())]
        self.assertEqual(texts[:200], [f"user {i}" for i in range(200)])
        self.assertEqual(texts[200:250], ["waited 100"] * 50)
        self.assertEqual(texts[250:], [SUM] * 5)
        self.check_connections(subject, 1)

    def test_nghttp(self):
        self.start()
        with tempfile.NamedTemporaryFile() as content:
            content.write(CONTENT)
            content.flush()
            finished = subprocess.run(
                [find_program("nghttp"), "--no-verify-peer",
                 f"--data={content.name}", f"{self.url}/sum"],
                capture_output=True, timeout=SECONDS_MAX, check=True,
            )
            self.assertEqual(finished.stdout.decode(), SUM)
        finished = subprocess.run(
            [find_program("nghttp"), "--no-verify-peer", "--multiply=50",
             f"{self.url}/users/7", f"{self.url}/stream/100000"],
            capture_output=True, timeout=SECONDS_MAX, check=True,
        )
        self.assertEqual(finished.stdout.count(b"user 7"), 50)
        self.assertEqual(len(finished.stdout), 50 * (6 + 100_000))
        finished = subprocess.run(
            [find_program("nghttp"), "--no-verify-peer", "--null-out",
             "--stat", f"{self.url}/stream/{LONG}"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=True,
        )
        self.assertIn(" 200 256M /stream/", finished.stdout)

    def test_curl(self):
        self.start()
        urls = [f"{self.url}/users/{i}" for i in range(30)]
        output = [option for _ in urls for option in ("-o", "-")]
        finished = subprocess.run(
            [find_program("curl"), "-sS", "--http2", "--parallel",
             "--cacert", certificates() / "ca.pem",
             "-w", "\\n%{http_version}\\n", *output, *urls],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=True,
        )
        # Texts and versions may come in any order.
        self.assertEqual(finished.stdout.count("\n2\n"), 30)
        texts = finished.stdout.replace("\n2\n", "").split("user ")
        self.assertEqual(sorted(map(int, texts[1:])), list(range(30)))


# Some versions of curl cannot ask twice by prior knowledge, and the library of Go
# speaks HTTP/2 inside of TLS only.
WITHOUT_TLS = dict.fromkeys(
    ("test_curl", "test_go", "test_go_reads_in_small_pieces")
)

on_each_backend(Clients, unittest.TestCase, ("tls",))
on_each_backend(Clients, unittest.TestCase, ("tcp",), **WITHOUT_TLS)


if __name__ == "__main__":
    unittest.main()
