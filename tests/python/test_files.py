"""Asks for files, on io_uring and epoll, with and without TLS: whole, in parts, if
they have changed, and cut off."""

import email
import errno
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.demo import Demo  # noqa: E402
from loopback.file_server import (  # noqa: E402
    LONG,
    SECONDS_MAX,
    SOURCE,
    FileCase,
)
from loopback.subject import build  # noqa: E402

BOTH = (False, True)
RECHECK_SECONDS = 0.15
# Around the places where flare changes how it reads, keeps or sends a file.
SIZES = (
    0, 1, 4_095, 4_096, 4_097, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537,
    (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000,
)


def setUpModule():
    build(SOURCE)


def content(size):
    return bytes(i * 7 % 251 for i in range(1009)) * (size // 1009 + 1)


class Files(FileCase):
    def test_files_of_every_length_arrive_whole(self):
        for size in SIZES:
            self.write(f"{size}.bin", content(size)[:size])
        for server in self.servers(secure=BOTH):
            for size in (*SIZES, *SIZES):
                status, fields, octets = self.ask_once(server, f"{size}.bin")
                self.assertEqual((status, len(octets)), (200, size))
                self.assertEqual(octets, content(size)[:size])
                self.assertEqual(fields["Content-Length"], str(size))
                head = self.ask_once(server, f"{size}.bin", "HEAD")
                self.assertEqual((head[0], head[2]), (200, b""))
                for name in ("Content-Length", "ETag", "Last-Modified"):
                    self.assertEqual(head[1][name], fields[name])
            self.assertEqual(server.stop(), 0)

    def test_parts_are_those_of_the_file(self):
        whole = content(LONG)[:LONG]
        self.write("short.bin", whole[:100_000])
        self.write("long.bin", whole)
        for server in self.servers(secure=BOTH):
            for name, size in (("short.bin", 100_000), ("long.bin", LONG)):
                for first, last in ((0, 0), (99, 70_000), (size - 10, size + 9)):
                    status, fields, octets = self.ask_once(
                        server, name, Range=f"bytes={first}-{last}"
                    )
                    last = min(last, size - 1)
                    self.assertEqual(status, 206)
                    self.assertEqual(octets, whole[first : last + 1])
                    self.assertEqual(
                        fields["Content-Range"], f"bytes {first}-{last}/{size}"
                    )
                status, fields, octets = self.ask_once(
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
                self.assertEqual(self.ask_once(server, name, Range="bytes=9-1")[0], 200)
                status, fields, _ = self.ask_once(server, name, Range=f"bytes={size}-")
                self.assertEqual(status, 416)
                self.assertEqual(fields["Content-Range"], f"bytes */{size}")

    def test_a_file_of_gigabytes_has_parts_beyond_four_of_them(self):
        with open(self.folder / "sparse.bin", "wb") as file:
            file.truncate(5 << 30)
            file.seek((4 << 30) + 5)
            file.write(b"found")
        for server in self.servers():
            start = (4 << 30) + 5
            status, fields, octets = self.ask_once(
                server, "sparse.bin", Range=f"bytes={start}-{start + 4}"
            )
            self.assertEqual((status, octets), (206, b"found"))

    def test_times_that_never_change_are_no_validators(self):
        # Nix and reproducible images set them so.
        never = "Thu, 01 Jan 1970 00:00:01 GMT"
        always = "Fri, 31 Dec 2100 23:59:59 GMT"
        for server in self.servers():
            for seconds in (0, 1):
                tags = set()
                for octets in (b"before", b"behind"):
                    path = self.write("a.txt", octets)
                    os.utime(path, (seconds, seconds))
                    self.write("long.bin", octets * 200_000)
                    os.utime(self.folder / "long.bin", (seconds, seconds))
                    time.sleep(RECHECK_SECONDS)
                    for name in ("a.txt", "long.bin"):
                        for since in (never, always):
                            status, fields, got = self.ask_once(
                                server, name, If_Modified_Since=since
                            )
                            self.assertEqual((status, got[:6]), (200, octets))
                            self.assertNotIn("Last-Modified", fields)
                    self.assertNotIn("ETag", fields)
                    tags.add(self.ask_once(server, "a.txt")[1]["ETag"])
                self.assertEqual(len(tags), 2)

    def test_a_tag_is_that_of_the_content(self):
        # Back to an earlier version, and twice within a second.
        for server in self.servers():
            tags = []
            for octets in (b"one", b"two", b"one"):
                new = self.write("new.txt", octets)
                os.utime(new, (1_000_000_000, 1_000_000_000))
                new.rename(self.folder / "a.txt")
                time.sleep(RECHECK_SECONDS)
                tags.append(self.ask_once(server, "a.txt")[1]["ETag"])
            self.assertEqual(tags[0], tags[2])
            self.assertNotEqual(tags[0], tags[1])
            self.assertFalse(tags[0].startswith("W/"))

    def test_a_sibling_older_than_its_file_is_not_sent(self):
        for server in self.servers():
            self.write("a.js.br", b"BR")
            self.write("a.js", b"new")
            os.utime(self.folder / "a.js.br", (1_000_000_000, 1_000_000_000))
            os.utime(self.folder / "a.js", (1_000_000_001, 1_000_000_001))
            time.sleep(RECHECK_SECONDS)
            answer = self.ask_once(server, "a.js", Accept_Encoding="br")
            self.assertEqual(answer[2], b"new")
            date = answer[1]["Last-Modified"]
            os.utime(self.folder / "a.js.br", (1_000_000_009, 1_000_000_009))
            time.sleep(RECHECK_SECONDS)
            answer = self.ask_once(server, "a.js", Accept_Encoding="br")
            self.assertEqual(answer[2], b"BR")
            # The date is that of the content, whichever its coding.
            self.assertEqual(answer[1]["Last-Modified"], date)
            (self.folder / "a.js.br").unlink()
            time.sleep(RECHECK_SECONDS)
            answer = self.ask_once(server, "a.js", Accept_Encoding="br")
            self.assertEqual(answer[2], b"new")

    def test_each_answer_of_a_file_that_may_vary_says_so(self):
        self.write("a.js", b"plain")
        self.write("a.js.br", b"BR")
        for server in self.servers():
            tags = set()
            for accepted, octets in (("br", b"BR"), ("gzip", b"plain")):
                same = {"Accept_Encoding": accepted}
                status, fields, got = self.ask_once(server, "a.js", **same)
                self.assertEqual((status, got), (200, octets))
                tags.add(fields["ETag"])
                answers = [
                    self.ask_once(server, "a.js", **same, **asked)
                    for asked in (
                        {},
                        {"Range": "bytes=0-0"},
                        {"Range": "bytes=99-"},
                        {"If_None_Match": fields["ETag"]},
                        {"If_Match": '"other"'},
                    )
                ]
                self.assertEqual(
                    [answer[0] for answer in answers], [200, 206, 416, 304, 412]
                )
                for _, each, _ in answers[:4]:
                    self.assertEqual(each["Vary"], "Accept-Encoding")
                self.assertEqual(answers[3][1]["ETag"], fields["ETag"])
                self.assertNotIn("Content-Length", answers[3][1])
                self.assertEqual(answers[1][2], octets[:1])
            # No tag of one form is sent with the other.
            self.assertEqual(len(tags), 2)

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

    def test_a_long_file_is_not_copied(self):
        whole = content(LONG)[:LONG]
        self.write("long.bin", whole)
        for server in self.servers_with_faults(COPIES_FAIL=errno.EIO):
            self.assertEqual(self.ask_once(server, "long.bin")[2], whole)
            part = self.ask_once(server, "long.bin", Range="bytes=5-4000000")[2]
            self.assertEqual(part, whole[5:4_000_001])

    def test_a_file_that_the_kernel_cannot_send_is_copied(self):
        whole = content(LONG)[:LONG]
        self.write("long.bin", whole)
        # As of a file system, of a filter of system calls, of a disk.
        for fault in (errno.EINVAL, errno.EPERM, errno.EIO):
            for server in self.servers_with_faults(SENDFILE_FAILS=fault):
                self.assertEqual(self.ask_once(server, "long.bin")[2], whole)

    def test_a_disk_that_fails_resets_the_connection(self):
        self.write("long.bin", content(LONG)[:LONG])
        faults = {"SENDFILE_FAILS": errno.EIO, "COPIES_FAIL": errno.EIO}
        for server in self.servers_with_faults(**faults):
            with self.assertRaises((ConnectionResetError, http.client.HTTPException)):
                self.ask_once(server, "long.bin")
            self.write("short.txt", b"short")
            self.assertEqual(self.ask_once(server, "short.txt")[2], b"short")

    def test_the_demo_serves_a_folder(self):
        self.write("a.txt", b"content")
        server = Demo("epoll", "--files", self.folder)
        self.addCleanup(server.kill)
        server.secure = False
        self.assertEqual(self.ask_once(server, "a.txt")[2], b"content")
        self.assertEqual(server.stop(), 0)

    def assert_continues(self, *command):
        """Lets a command continue a file of which a part is there."""
        whole = content(LONG)[:LONG]
        self.write("long.bin", whole)
        for server in self.servers():
            target = self.outside / "long.bin"
            target.write_bytes(whole[:1_234_567])
            subprocess.run(
                [*command, target, f"http://{server.host}/files/long.bin"],
                check=True,
                timeout=SECONDS_MAX,
            )
            self.assertEqual(target.read_bytes(), whole)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl_continues_a_download(self):
        self.assert_continues("curl", "-sf", "-C", "-", "-o")

    @unittest.skipUnless(shutil.which("wget"), "wget is not installed")
    def test_wget_continues_a_download(self):
        self.assert_continues("wget", "-q", "-c", "-O")


class FilesOverH2(Files):
    """Asks for the same over HTTP/2, whose frames contain copies of files."""

    speaks_h2 = True
    test_a_file_that_becomes_shorter_resets_the_connection = None
    test_a_long_file_is_not_copied = None
    test_a_file_that_the_kernel_cannot_send_is_copied = None
    test_the_demo_serves_a_folder = None
    test_curl_continues_a_download = None
    test_wget_continues_a_download = None


if __name__ == "__main__":
    unittest.main()
