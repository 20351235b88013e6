"""States what the arena's server owes the profiles static and static-tls: types,
lengths, compressed siblings, and files that are replaced meanwhile."""

import gzip
import os
import random
import sys
import time
import unittest
from pathlib import Path

import brotli

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.arena import Arena, build, made_files, request  # noqa: E402
from loopback.subject import BACKENDS  # noqa: E402
from benchmark.driver.arena import (  # noqa: E402
    BINARY_SUFFIXES,
    FILE_OCTETS,
)

ACCEPTED = "Accept-Encoding: br;q=1, gzip;q=0.8"
TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
STALE_SECONDS_MAX = 2.0
DECODERS = {None: bytes, "gzip": gzip.decompress, "br": brotli.decompress}
REPLACED = "app.js"


def setUpModule():
    build()


class Files(unittest.TestCase):
    def on_each_listener(self):
        """Gives a connection to each listener of a server on each backend."""
        for backend in BACKENDS:
            arena = Arena(backend, folder=made_files())
            self.addCleanup(arena.stop)
            for connect in (arena.connect, arena.connect_secure):
                with connect() as client:
                    yield client
            self.assertEqual(arena.stop(), 0)

    def ask(self, client, name, *fields):
        client.send(request(f"GET /static/{name}", *fields))
        return client.answer()

    def content(self, name):
        return (made_files() / "static" / name).read_bytes()

    def test_files_have_their_types_and_lengths(self):
        self.assertEqual(sum(FILE_OCTETS.values()), 1_271_603)
        for client in self.on_each_listener():
            for name, octets in FILE_OCTETS.items():
                answer = self.ask(client, name)
                self.assertEqual((answer.status, len(answer.body)), (200, octets))
                self.assertEqual(answer.body, self.content(name))
                self.assertIsNone(answer.field("Content-Encoding"))
                media_type = answer.field("Content-Type").split(";")[0]
                self.assertEqual(media_type, TYPES[Path(name).suffix])

    def test_siblings_are_sent_with_the_type_of_the_file(self):
        for client in self.on_each_listener():
            for fields, coding in (
                ((ACCEPTED,), "br"),
                (("Accept-Encoding: gzip",), "gzip"),
                (("Accept-Encoding: br;q=0, identity",), None),
            ):
                for name in FILE_OCTETS:
                    answer = self.ask(client, name, *fields)
                    expected = None if name.endswith(BINARY_SUFFIXES) else coding
                    self.assertEqual(answer.field("Content-Encoding"), expected)
                    content = DECODERS[expected](answer.body)
                    self.assertEqual(content, self.content(name))
                    self.assertEqual(answer.field("Vary"), "Accept-Encoding")
                    media_type = answer.field("Content-Type").split(";")[0]
                    self.assertEqual(media_type, TYPES[Path(name).suffix])

    def test_other_names_are_not_found(self):
        for client in self.on_each_listener():
            for name in ("nonexistent.txt", "", "app.jsx", "..%2fdataset.json"):
                self.assertEqual(self.ask(client, name).status, 404, name)
            self.assertEqual(self.ask(client, "../dataset.json").status, 400)
            self.assertEqual(self.ask(client, REPLACED).status, 200)

    def test_what_was_replaced_is_sent_soon(self):
        folder = made_files() / "static"
        names = [REPLACED, f"{REPLACED}.br", f"{REPLACED}.gz"]
        before = {name: (folder / name).read_bytes() for name in names}
        for client in self.on_each_listener():
            other = random.Random(1).randbytes(len(before[REPLACED]))
            contents = dict.fromkeys(names, b"")
            for name in names:
                contents[name] = other[: len(before[name])]
            for new in (contents, before):
                for name in names:
                    times = (folder / name).stat()
                    (folder / "part").write_bytes(new[name])
                    os.utime(folder / "part", ns=(times.st_atime_ns, times.st_mtime_ns))
                    (folder / "part").replace(folder / name)
                replaced = time.monotonic()
                for name, fields in zip(
                    names, ((), (ACCEPTED,), ("Accept-Encoding: gzip",))
                ):
                    while self.ask(client, REPLACED, *fields).body != new[name]:
                        past = time.monotonic() - replaced
                        self.assertLess(past, STALE_SECONDS_MAX, fields)
                        time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
