"""Compares the content codings of flare with those of Python, both ways."""

import gzip
import http.client
import os
import resource
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

import brotli
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import ROOT, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "encoding_peer.mojo"
SECONDS_MAX = 60
GIGABYTE = 1 << 30
CODINGS = ("gzip", "deflate", "br", "zstd")


def setUpModule():
    build(SOURCE)


def zstd_decompress(octets):
    return zstandard.ZstdDecompressor().decompressobj().decompress(octets)


DECODERS = {
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "br": brotli.decompress,
    "zstd": zstd_decompress,
}
ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def ask(*arguments, octets=b"", **popen):
    """Runs the program once and returns what it printed."""
    finished = subprocess.run(
        [build(SOURCE), *arguments],
        input=octets,
        stdout=subprocess.PIPE,
        timeout=SECONDS_MAX,
        **popen,
    )
    return finished.stdout.decode().rstrip("\n")


def contents():
    """Gives a short, a repetitive and a random content."""
    yield b""
    yield b"a"
    yield b"a line of text\n" * 5_000
    yield os.urandom(100_000)


def raw_deflate(octets):
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(octets) + deflater.flush()


class Codings(unittest.TestCase):
    def test_python_reads_what_flare_has_coded(self):
        for coding, levels in (
            ("gzip", "19"),
            ("deflate", "6"),
            ("br", "05"),
            ("zstd", "3"),
        ):
            for content in contents():
                for level in levels:
                    with self.subTest(coding, octets=len(content)):
                        coded = ask("encode", coding, level, octets=content)
                        self.assertEqual(
                            DECODERS[coding](bytes.fromhex(coded)), content
                        )

    def test_flare_reads_what_python_has_coded(self):
        for coding in CODINGS:
            for content in contents():
                with self.subTest(coding, octets=len(content)):
                    coded = ENCODERS[coding](content)
                    self.assertEqual(
                        ask("decode", coding, octets=coded), content.hex()
                    )

    def test_flare_reads_raw_deflate_and_several_members(self):
        content = b"a line of text\n" * 50
        for coding, coded in (
            ("deflate", raw_deflate(content)),
            ("gzip", gzip.compress(content[:100]) + gzip.compress(content[100:])),
            ("br, gzip", gzip.compress(brotli.compress(content))),
        ):
            with self.subTest(coding):
                self.assertEqual(
                    ask("decode", coding, octets=coded), content.hex()
                )

    def test_what_python_refuses_is_refused(self):
        for coding in CODINGS:
            coded = bytearray(ENCODERS[coding](b"a line of text\n" * 50))
            with self.subTest(coding):
                self.assertRegex(
                    ask("decode", coding, octets=coded[:-1]),
                    f"^encoding.truncated decode {coding}: ",
                )
                self.assertRegex(
                    ask("decode", coding, octets=coded + b"\0"),
                    f"^encoding.trailing_octets decode {coding}: ",
                )


class Bombs(unittest.TestCase):
    def bomb(self, coding):
        """Makes a GB of zeros out of about a MB, or much less."""
        if coding == "br":
            return brotli.compress(bytes(GIGABYTE // 4), quality=1)
        if coding == "zstd":
            return zstandard.ZstdCompressor(level=1).compress(bytes(GIGABYTE))
        return gzip.compress(bytes(GIGABYTE // 1024)) * 1024

    def test_a_bomb_is_refused_and_a_large_content_takes_no_memory(self):
        for coding in ("gzip", "br", "zstd"):
            with self.subTest(coding):
                coded = self.bomb(coding)
                self.assertLess(len(coded), 1_200_000)
                self.assertRegex(
                    ask("decode", coding, octets=coded),
                    f"^encoding.ratio decode {coding} limit=200: ",
                )

    def test_decoding_a_gigabyte_bit_by_bit_takes_no_memory(self):
        def bound():
            # Less address space than the content has octets.
            resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTE // 4,) * 2)

        self.assertEqual(
            ask(
                "drain",
                "gzip",
                str(GIGABYTE),
                octets=self.bomb("gzip"),
                preexec_fn=bound,
            ),
            str(GIGABYTE),
        )


class Missing(unittest.TestCase):
    """Hides libraries from the program, as on a machine without them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.library = os.path.join(cls.folder.name, "hide.so")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", cls.library,
             ROOT / "tests" / "python" / "hide_libraries.c", "-ldl"],
            check=True, timeout=SECONDS_MAX,
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def hidden(self, names, *arguments):
        return ask(
            *arguments,
            env={
                **os.environ,
                "LD_PRELOAD": self.library,
                "FLARE_HIDDEN": names,
            },
        )

    def test_a_missing_library_is_one_error_that_names_the_packages(self):
        for coding, name, packages in (
            ("gzip", "libz.so", ("zlib1g", "zlib on Fedora", "zlib from")),
            ("br", "libbrotli", ("libbrotli1", "libbrotli on", "brotli from")),
            ("zstd", "libzstd", ("libzstd1", "libzstd on", "zstd from")),
        ):
            for what in (("encode", coding, "3"), ("decode", coding)):
                with self.subTest(coding, what=what):
                    text = self.hidden(name, *what)
                    self.assertRegex(text, f"^encoding.no_library {what[0]} ")
                    for package in packages:
                        self.assertIn(package, text)

    def test_a_program_that_uses_none_runs_without_them(self):
        self.assertEqual(self.hidden("lib", "nothing"), "nothing was needed")


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen(
            [build(SOURCE), "serve"], stdout=subprocess.PIPE, text=True
        )
        cls.port = int(cls.process.stdout.readline())

    @classmethod
    def tearDownClass(cls):
        cls.process.kill()
        cls.process.wait()
        cls.process.stdout.close()

    def get(self, path, coding):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=SECONDS_MAX
        )
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={"Accept-Encoding": coding})
        return connection.getresponse()

    def test_responses_are_compressed_on_fibers(self):
        for coding in ("gzip", "br", "zstd"):
            for path, count in (("/text", 200), ("/long", 200_000)):
                with self.subTest(coding, path=path):
                    response = self.get(path, coding)
                    self.assertEqual(
                        response.getheader("Content-Encoding"), coding
                    )
                    self.assertEqual(
                        DECODERS[coding](response.read()),
                        b"a line of text\n" * count,
                    )

    def test_a_stream_is_flushed_at_each_write(self):
        inflaters = {
            "gzip": zlib.decompressobj(wbits=31).decompress,
            "br": brotli.Decompressor().process,
            "zstd": zstandard.ZstdDecompressor().decompressobj().decompress,
        }
        for coding, inflate in inflaters.items():
            with self.subTest(coding):
                response = self.get("/ticks", coding)
                content = b""
                while content != b"data: 1\n\n":
                    content += inflate(response.read1(1000))


if __name__ == "__main__":
    unittest.main()
