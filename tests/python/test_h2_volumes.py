"""Moves much content over streams of HTTP/2, and watches the server's memory.

`benchmark/workloads/multiplexed/run` does so with a gibibyte, and over a distance.
"""

import os
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import h2_context  # noqa: E402
from loopback.h2_transfer import Transfer  # noqa: E402
from loopback.secure_socket import NAME  # noqa: E402
from loopback.subject import build, on_each_backend  # noqa: E402

MEBIBYTE = 1 << 20
OCTETS = 64 * MEBIBYTE
GROWN_OCTETS_MAX = 20 * MEBIBYTE
PERIOD = bytes(range(251)) * 256


def setUpModule():
    build()


class Volumes:
    def setUp(self):
        opened = socket.create_connection(("127.0.0.1", self.subject.port))
        opened.settimeout(30)
        if self.subject.secure:
            opened = h2_context().wrap_socket(opened, server_hostname=NAME)
        self.addCleanup(opened.close)
        self.transfer = Transfer(opened)
        self.subject.forget_peak()
        self.resident = self.subject.resident_octets()

    def expect_little_memory(self):
        peak = self.subject.resident_octets("VmHWM")
        self.assertLess(peak - self.resident, GROWN_OCTETS_MAX)

    def upload(self, streams, path):
        octets = OCTETS // streams
        block = os.urandom(MEBIBYTE)
        sent = [
            self.transfer.post(path, block, octets) for _ in range(streams)
        ]
        self.transfer.run()
        for upload, response in sent:
            self.assertTrue(response.is_ok)
            self.assertEqual(
                response.start, b"%d %d" % (octets, upload.adler)
            )
        self.expect_little_memory()

    def download(self, streams, path):
        octets = OCTETS // streams
        responses = [
            self.transfer.get(f"{path}/{octets}") for _ in range(streams)
        ]
        self.transfer.run()
        for response in responses:
            self.assertTrue(response.is_ok)
            self.assertEqual(response.octets, octets)
            self.assertEqual(response.start[:500], PERIOD[:500])
        self.assertEqual(len({x.crc for x in responses}), 1)
        self.expect_little_memory()

    def test_uploads_over_one_stream(self):
        self.upload(1, "/sum")

    def test_uploads_over_a_hundred_streams(self):
        self.upload(100, "/sum")

    def test_uploads_to_slow_handlers(self):
        self.upload(100, "/sum-slowly/1")

    def test_downloads_over_one_stream(self):
        self.download(1, "/stream")

    def test_downloads_over_a_hundred_streams(self):
        for path in ("/stream", "/chunks"):
            self.download(100, path)


on_each_backend(Volumes, transports=("tcp", "tls"))


if __name__ == "__main__":
    unittest.main()
