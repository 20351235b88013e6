"""Asks for files as attackers, crowds and deployments do: for what must not be
served, while files are replaced, and where the system refuses."""

import errno
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.call_filter import OPENAT2, refusing  # noqa: E402
from loopback.file_server import (  # noqa: E402
    LONG,
    SECONDS_MAX,
    SOURCE,
    FileCase,
)
from loopback.subject import BACKENDS, build  # noqa: E402

# Is read by a helper thread, and kept.
MIDDLE = 900_000
RECHECK_SECONDS = 0.15
MANY = 10_000
# A process of its own, which shares no lock with the clients.
REPLACE = """
import os, sys

path, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(count):
    with open(path + ".new", "wb") as file:
        file.write(b"%d" % (i % 10) * (size + i % 10))
    os.rename(path + ".new", path)
"""


def setUpModule():
    build(SOURCE)


class HostileFiles(FileCase):
    def descriptors(self, server):
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def await_descriptors(self, server, count):
        deadline = time.monotonic() + SECONDS_MAX
        while self.descriptors(server) > count and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertLessEqual(self.descriptors(server), count)

    def resident(self, server):
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        (line,) = [x for x in status.splitlines() if "VmRSS" in x]
        return int(line.split()[1])

    def processor_seconds(self, server):
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def lay_out_a_trap(self):
        (self.outside / "secret").write_bytes(b"secret")
        (self.folder / "link").symlink_to(self.outside / "secret")
        (self.folder / "folder").symlink_to(self.outside)
        (self.folder / "self").symlink_to("/proc/self")
        (self.folder / "around").symlink_to("around")
        (self.folder / "absolute").symlink_to(self.folder / "a" / "b.txt")
        self.write(".git/config", b"secret")
        self.write("a/b.txt", b"b")
        (self.folder / "inside").symlink_to("a/b.txt")
        os.mkfifo(self.folder / "fifo")
        name = self.outside.name
        return (
            "link", "folder/secret", "self/environ", "self/root/etc/passwd",
            "around", "absolute", "fifo", ".git/config",
            f"../{name}/secret", f"..%2f{name}%2fsecret", f"..%5c{name}%5csecret",
            f"%2e%2e/{name}/secret", f"a/../../{name}/secret",
            f"a/..%5c..%5c{name}", f"....//{name}/secret",
            f"..;/{name}/secret", f"/{name}/secret", f"./../{name}/secret",
            f"%252e%252e/{name}/secret", f"%c0%ae%c0%ae/{name}/secret",
            f"%uff0e%uff0e/{name}/secret", "a%2fb.txt", "a//b.txt", "a/./b.txt",
            "a/b.txt/", "a/b.txt%00", "a/b.txt%00.html", "%00", "a", "a/", "",
            "/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "a" * 300,
            "/".join("a" * 200 for _ in range(30)),
        )  # fmt: skip

    def assert_nothing_outside(self, client, rows):
        for row in rows:
            status, _, octets = self.ask(client, row)
            self.assertIn(status, (400, 404), row)
            for word in (b"secret", b"root:"):
                self.assertNotIn(word, octets, row)
        self.assertEqual(self.ask(client, "a/b.txt")[::2], (200, b"b"))

    def test_nothing_outside_of_the_folder_is_served(self):
        rows = self.lay_out_a_trap()
        for server in self.servers(secure=(False, True)):
            client = self.connect(server)
            self.assert_nothing_outside(client, rows)
            # A link within the folder is one of its files.
            self.assertEqual(self.ask(client, "inside")[::2], (200, b"b"))

    def test_a_kernel_without_openat2_follows_no_link(self):
        rows = self.lay_out_a_trap()
        filtered = refusing(OPENAT2, errno.ENOSYS)
        for server in self.servers(preexec_fn=filtered):
            client = self.connect(server)
            self.assert_nothing_outside(client, (*rows, "inside"))

    def test_a_filter_that_refuses_openat2_refuses_the_folder(self):
        self.write("a.txt", b"a")
        for refused in (errno.EPERM, errno.EACCES, errno.EINVAL):
            for backend in BACKENDS:
                with self.subTest(errno=refused, backend=backend):
                    filtered = refusing(OPENAT2, refused)
                    with self.assertRaises(RuntimeError) as caught:
                        self.start(backend, preexec_fn=filtered)
                    self.assertIn("http.bad_folder", str(caught.exception))

    def test_openat2_that_is_refused_later_opens_no_other_way(self):
        # "Not known" counts only at the start.
        rows = ((errno.ENOSYS, 500), (errno.EPERM, 403), (errno.EAGAIN, 503))
        for name in "abcdefgh":
            self.write(name, b"content")
        refusal = self.outside / "refusal"
        names = iter("abcdefgh")
        for server in self.servers_with_faults(OPENAT2_FAILS=refusal):
            client = self.connect(server)
            for refused, wanted in rows:
                name = next(names)
                refusal.write_text(str(refused))
                self.assertEqual(self.ask(client, name)[0], wanted)
                refusal.unlink()
                answer = self.ask(client, name)
                self.assertEqual(answer[::2], (200, b"content"))

    def test_a_crowd_that_asks_for_a_cold_file_reads_it_once(self):
        whole = os.urandom(MIDDLE)
        reads = self.outside / "reads"
        for server in self.servers_with_faults(READS=reads, READ_DELAY_MS=300):
            path = self.write("middle.bin", whole)
            # It is old enough to be trusted after one look.
            os.utime(path, (1_000_000_000, 1_000_000_000))
            reads.write_bytes(b"")
            crowd = [self.connect(server) for _ in range(64)]
            for client in crowd:
                client.request("GET", "/files/middle.bin")
            for client in crowd:
                self.assertEqual(client.getresponse().read(), whole)
            self.assertEqual(reads.stat().st_size, 1)

    def test_clients_that_leave_leave_no_descriptor(self):
        self.write("long.bin", bytes(LONG))
        request = b"GET /files/long.bin HTTP/1.1\r\nHost: a\r\n\r\n"
        for server in self.servers():
            self.ask(self.connect(server), "long.bin")
            before = self.descriptors(server)
            residents = []
            for i in range(MANY):
                with socket.create_connection(
                    ("127.0.0.1", server.port), SECONDS_MAX
                ) as client:
                    client.sendall(request)
                    if i % 4 != 0:
                        self.assertTrue(client.recv(1))
                if i in (MANY // 5, MANY - 1):
                    residents.append(self.resident(server))
            self.await_descriptors(server, before)
            self.assertLess(residents[1] - residents[0], 2_000)
            spent = self.processor_seconds(server)
            time.sleep(0.5)
            self.assertLess(self.processor_seconds(server) - spent, 0.1)
            self.assertEqual(self.ask(self.connect(server), "long.bin")[0], 200)

    def test_a_server_without_descriptors_neither_spins_nor_keeps_them(self):
        self.write("long.bin", bytes(LONG))
        self.write("short.txt", b"short")

        def bound():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        request = b"GET /files/long.bin HTTP/1.1\r\nHost: a\r\n\r\n"
        for server in self.servers(preexec_fn=bound):
            client = self.connect(server)
            self.assertEqual(self.ask(client, "short.txt")[2], b"short")
            before = self.descriptors(server)
            crowd = []
            for _ in range(64):
                other = socket.create_connection(("127.0.0.1", server.port))
                self.addCleanup(other.close)
                other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
                other.sendall(request)
                crowd.append(other)
            time.sleep(0.5)
            # Its look for a newer one may find no descriptor.
            self.assertIn(self.ask(client, "short.txt")[0], (200, 503))
            spent = self.processor_seconds(server)
            time.sleep(0.5)
            self.assertLess(self.processor_seconds(server) - spent, 0.2)
            for other in crowd:
                other.close()
            self.await_descriptors(server, before)
            self.assertEqual(self.ask(self.connect(server), "long.bin")[0], 200)

    def test_a_replaced_file_is_one_of_the_versions(self):
        # Of memory, and of the disk.
        rows = (("a.bin", 50_000, MANY), ("long.bin", 1_100_000, MANY // 10))
        for server in self.servers():
            for name, size, count in rows:
                path = self.write(name, b"0" * size)
                wrong, seen = [], set()
                is_over = threading.Event()

                def ask_on(name=name, size=size):
                    client = self.connect(server)
                    while not is_over.is_set():
                        status, _, octets = self.ask(client, name)
                        # The lengths differ, so that a mixed head shows too.
                        version = octets[:1].decode()
                        if (status, octets) != (
                            200,
                            version.encode() * (size + int(version or 0)),
                        ):
                            wrong.append((status, len(octets), version))
                        seen.add(version)

                crowd = [threading.Thread(target=ask_on) for _ in range(4)]
                for each in crowd:
                    each.start()
                try:
                    subprocess.run(
                        [sys.executable, "-c", REPLACE, path, str(size), str(count)],
                        check=True, timeout=SECONDS_MAX,
                    )  # fmt: skip
                finally:
                    is_over.set()
                    for each in crowd:
                        each.join()
                self.assertEqual(wrong, [])
                self.assertGreater(len(seen), 1)
                time.sleep(RECHECK_SECONDS)
                octets = self.ask(self.connect(server), name)[2]
                self.assertEqual(octets, b"9" * (size + 9))

    def test_a_file_that_is_old_is_compared_with_the_disk(self):
        for server in self.servers():
            self.write("a.txt", b"before")
            self.write("next", b"behind")
            # From then on, its status alone tells whether it has changed.
            time.sleep(2.1)
            client = self.connect(server)
            self.assertEqual(self.ask(client, "a.txt")[2], b"before")
            (self.folder / "next").rename(self.folder / "a.txt")
            time.sleep(RECHECK_SECONDS)
            self.assertEqual(self.ask(client, "a.txt")[2], b"behind")

    def test_a_file_that_is_changed_in_place_is_seen_in_two_seconds(self):
        path = self.write("a.txt", b"before")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        for server in self.servers():
            client = self.connect(server)
            for octets in (b"before", b"behind"):
                # Length and times are what they were.
                path.write_bytes(octets)
                os.utime(path, (1_000_000_000, 1_000_000_000))
                ending = time.monotonic() + 2
                while self.ask(client, "a.txt")[2] != octets:
                    self.assertLess(time.monotonic(), ending)
                    time.sleep(0.02)

    def test_a_change_within_a_tick_of_the_clock_is_seen(self):
        for server in self.servers_with_faults(WHOLE_SECONDS=1):
            # All of it happens within one second of the clock.
            time.sleep(1 - time.time() % 1)
            path = self.write("a.txt", b"before")
            client = self.connect(server)
            self.assertEqual(self.ask(client, "a.txt")[2], b"before")
            path.write_bytes(b"behind")
            time.sleep(RECHECK_SECONDS)
            self.assertEqual(self.ask(client, "a.txt")[2], b"behind")

    def test_floods_of_missing_names_cost_no_memory(self):
        self.write("a.txt", b"a")
        for server in self.servers():
            client = self.connect(server)
            sizes = []
            for i in range(MANY):
                self.assertEqual(self.ask(client, f"missing-{i}")[0], 404)
                if i in (MANY // 5, MANY - 1):
                    sizes.append(self.resident(server))
            self.assertLess(sizes[1] - sizes[0], 1_000)


if __name__ == "__main__":
    unittest.main()
