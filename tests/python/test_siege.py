"""Besieges built servers for a short time, and tests that the judge of it finds
what is wrong (siege/; `make siege` attacks for an hour)."""

import asyncio
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, build  # noqa: E402
from siege.judge import Besieged, besiege, settle  # noqa: E402
from siege.run import PROGRAM, parse, run  # noqa: E402

# Memory of handlers stays with Mojo's allocator, which gives none back.
KEPT_MEBIBYTES_MAX = 256

# Answers as a server does, and does something wrong when asked for /wrong.
SERVER = """\
#!{python}
import os, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
kept = []
refusing_until = 0
def spin():
    while True:
        pass
while True:
    stream, _ = listener.accept()
    if b"/wrong" in stream.recv(4096):
        if sys.argv[1] == "dies":
            os.abort()
        if sys.argv[1] == "stalls":
            time.sleep(1.5)
        if sys.argv[1] == "refuses":
            refusing_until = time.monotonic() + 1
        if sys.argv[1] == "keeps memory":
            kept.append(b"x" * (30 << 20))
        if sys.argv[1] == "keeps descriptors":
            kept.append(os.dup(0))
        if sys.argv[1] == "spins":
            threading.Thread(target=spin, daemon=True).start()
    status = b"503" if time.monotonic() < refusing_until else b"200"
    stream.sendall(b"HTTP/1.1 " + status + b" X\\r\\nContent-Length: 0\\r\\n\\r\\n")
    stream.close()
"""


async def judge(program, wrong):
    """Returns what is said of a server that does something wrong."""
    server = Besieged(program, wrong)
    try:
        server.note_idle()

        async def attack():
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", server.port
            )
            writer.write(b"GET /wrong HTTP/1.1\r\n\r\n")
            await asyncio.sleep(0.3)
            writer.close()

        report = await besiege(server, wrong, attack(), 0.5)
        if server.is_alive():
            await settle(
                server, report, parse(["--settle", "3", "--kept", "8"])
            )
        return report.problems
    finally:
        server.process.kill()
        server.stop()


class Judge(unittest.TestCase):
    def test_what_is_wrong_with_a_server_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "server")
            program.write_text(SERVER.format(python=sys.executable))
            program.chmod(0o700)
            for wrong, found in (
                ("nothing", []),
                ("dies", ["DIED -6"]),
                ("stalls", ["STALLED"]),
                ("refuses", ["DENIES"]),
                ("keeps memory", ["BLOATED"]),
                ("keeps descriptors", ["1 DESCRIPTORS LEFT"]),
                ("spins", ["SPINS"]),
            ):
                with self.subTest(wrong):
                    self.assertEqual(
                        asyncio.run(judge(program, wrong)), found
                    )


class Siege(unittest.TestCase):
    def besiege(self, backend):
        given = parse(
            ["--backends", backend, "--seconds", "0.25", "--settles-once",
             "--slowest", "10", "--kept", str(KEPT_MEBIBYTES_MAX)]
        )
        reports = asyncio.run(run(build(PROGRAM), given, lambda report: None))
        self.assertEqual(
            [str(report) for report in reports if report.problems], []
        )
        self.assertGreater(len(reports), 100)

    def test_a_siege_leaves_no_mark_on_io_uring(self):
        self.besiege(BACKENDS[0])

    def test_a_siege_leaves_no_mark_on_epoll(self):
        self.besiege(BACKENDS[1])


if __name__ == "__main__":
    unittest.main()
