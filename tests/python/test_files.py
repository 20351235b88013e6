"""Asks the demo server for files, on io_uring and epoll: whole, in parts, and cut
off."""

import email
import errno
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.demo import SOURCE, Demo  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

SECONDS_MAX = 20
FILE_FAULTS = Path(__file__).resolve().parent / "file_faults.c"
# Around the places where flare changes how it reads, keeps or sends a file.
SIZES = (
    0, 1, 4_095, 4_096, 4_097, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537,
    (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000,
)
LONG = 8 << 20


def setUpModule():
    build(SOURCE)


def content(size):
    return bytes(i * 7 % 251 for i in range(1009)) * (size // 1009 + 1)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="flare_files_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, octets):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(octets)
        return path

    def servers(self, **environment):
        for backend in BACKENDS:
            server = Demo(
                backend, "--files", self.folder, environment=environment
            )
            self.addCleanup(server.kill)
            yield server

    def ask(self, server, path, method="GET", **fields):
        client = http.client.HTTPConnection(server.host, timeout=SECONDS_MAX)
        try:
            headers = {x.replace("_", "-"): y for x, y in fields.items()}
            client.putrequest(method, f"/files/{path}", skip_accept_encoding=True)
            for name, value in headers.items():
                client.putheader(name, value)
            client.endheaders()
            answer = client.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            client.close()

    def test_files_of_every_length_arrive_whole(self):
        for size in SIZES:
            self.write(f"{size}.bin", content(size)[:size])
        for server in self.servers():
            for size in (*SIZES, *SIZES):
                status, fields, octets = self.ask(server, f"{size}.bin")
                self.assertEqual((status, len(octets)), (200, size))
                self.assertEqual(octets, content(size)[:size])
                self.assertEqual(fields["Content-Length"], str(size))
                head = self.ask(server, f"{size}.bin", "HEAD")
                self.assertEqual((head[0], head[2]), (200, b""))
                for name in ("Content-Length", "ETag", "Last-Modified"):
                    self.assertEqual(head[1][name], fields[name])
            self.assertEqual(server.stop(), 0)

    def test_parts_are_those_of_the_file(self):
        whole = content(LONG)[:LONG]
        self.write("short.bin", whole[:100_000])
        self.write("long.bin", whole)
        for server in self.servers():
            for name, size in (("short.bin", 100_000), ("long.bin", LONG)):
                for first, last in ((0, 0), (99, 70_000), (size - 10, size + 9)):
                    status, fields, octets = self.ask(
                        server, name, Range=f"bytes={first}-{last}"
                    )
                    last = min(last, size - 1)
                    self.assertEqual(status, 206)
                    self.assertEqual(octets, whole[first : last + 1])
                    self.assertEqual(
                        fields["Content-Range"], f"bytes {first}-{last}/{size}"
                    )
                status, fields, octets = self.ask(
                    server, name, Range="bytes=0-9,500-599,-7"
                )
                self.assertEqual(status, 206)
                self.assertEqual(int(fields["Content-Length"]), len(octets))
                kind = f"Content-Type: {fields['Content-Type']}\r\n\r\n"
                parts = email.message_from_bytes(kind.encode() + octets)
                self.assertEqual(
                    [part.get_payload(decode=True) for part in parts.walk()][1:],
                    [whole[:10], whole[500:600], whole[:size][-7:]],
                )
                self.assertEqual(self.ask(server, name, Range="bytes=9-1")[0], 200)
                status, fields, _ = self.ask(server, name, Range=f"bytes={size}-")
                self.assertEqual(status, 416)
                self.assertEqual(fields["Content-Range"], f"bytes */{size}")

    def test_a_file_of_gigabytes_has_parts_beyond_four_of_them(self):
        with open(self.folder / "sparse.bin", "wb") as file:
            file.truncate(5 << 30)
            file.seek((4 << 30) + 5)
            file.write(b"found")
        for server in self.servers():
            start = (4 << 30) + 5
            status, fields, octets = self.ask(
                server, "sparse.bin", Range=f"bytes={start}-{start + 4}"
            )
            self.assertEqual((status, octets), (206, b"found"))

    def test_a_file_that_becomes_shorter_resets_the_connection(self):
        for server in self.servers():
            path = self.write("long.bin", content(LONG)[:LONG])
            with socket.create_connection(
                ("127.0.0.1", server.port), SECONDS_MAX
            ) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                client.sendall(b"GET /files/long.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertTrue(client.recv(1000))
                os.truncate(path, 1000)
                with self.assertRaises(ConnectionResetError):
                    while client.recv(1 << 20):
                        pass

    def with_faults(self, **faults):
        """Starts servers whose calls on files fail."""
        library = self.folder.with_suffix(".so")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", library, FILE_FAULTS], check=True
        )
        self.addCleanup(library.unlink, missing_ok=True)
        faults = {name: str(value) for name, value in faults.items()}
        return self.servers(LD_PRELOAD=str(library), **faults)

    def test_a_long_file_is_not_copied(self):
        whole = content(LONG)[:LONG]
        self.write("long.bin", whole)
        for server in self.with_faults(COPIES_FAIL=errno.EIO):
            self.assertEqual(self.ask(server, "long.bin")[2], whole)
            part = self.ask(server, "long.bin", Range="bytes=5-4000000")[2]
            self.assertEqual(part, whole[5:4_000_001])

    def test_a_file_that_the_kernel_cannot_send_is_copied(self):
        whole = content(LONG)[:LONG]
        self.write("long.bin", whole)
        # As of a file system, of a filter of system calls, of a disk.
        for fault in (errno.EINVAL, errno.EPERM, errno.EIO):
            for server in self.with_faults(SENDFILE_FAILS=fault):
                self.assertEqual(self.ask(server, "long.bin")[2], whole)

    def test_a_disk_that_fails_resets_the_connection(self):
        self.write("long.bin", content(LONG)[:LONG])
        faults = {"SENDFILE_FAILS": errno.EIO, "COPIES_FAIL": errno.EIO}
        for server in self.with_faults(**faults):
            with self.assertRaises((ConnectionResetError, http.client.HTTPException)):
                self.ask(server, "long.bin")
            self.write("short.txt", b"short")
            self.assertEqual(self.ask(server, "short.txt")[2], b"short")

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl_continues_a_download(self):
        whole = content(LONG)[:LONG]
        self.write("long.bin", whole)
        for server in self.servers():
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "long.bin"
                target.write_bytes(whole[:1_234_567])
                subprocess.run(
                    ["curl", "-sf", "-C", "-", "-o", target,
                     f"http://{server.host}/files/long.bin"],
                    check=True, timeout=SECONDS_MAX,
                )
                self.assertEqual(target.read_bytes(), whole)


if __name__ == "__main__":
    unittest.main()
