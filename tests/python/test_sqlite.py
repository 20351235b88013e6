"""Lets `flare.sqlite` share files with other processes, and kills it."""

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import without_libraries  # noqa: E402
from loopback.subject import ROOT, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "sqlite.mojo"
BACKENDS = ("io_uring", "epoll")
KILLS = 12
SECONDS_MAX = 120
NOBODY = 65_534


class SqliteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.db"

    def start(self, case, *numbers, backend="io_uring", **options):
        return subprocess.Popen(
            [build(SOURCE), backend, self.path, case, *map(str, numbers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def finish(self, process):
        output, _ = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 0, output)
        return output

    def run_case(self, case, *numbers, **options):
        return self.finish(self.start(case, *numbers, **options))

    def read(self, sql):
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


class KillTest(SqliteTest):
    def test_a_killed_program_loses_nothing_that_it_has_acknowledged(self):
        told = {"singles": set(), "halves": set()}
        left_open = 0
        for i in range(KILLS):
            process = self.start(
                "acknowledge", 1_000_000 * i, backend=BACKENDS[i % 2]
            )
            # Not before the first answer, so that each run has some.
            first = process.stdout.readline()
            time.sleep(random.uniform(0, 0.15))
            process.kill()
            output = first + process.communicate(timeout=SECONDS_MAX)[0]
            # The last line may be torn.
            for line in output.splitlines(keepends=True):
                if line.endswith("\n"):
                    table, id = line.split()
                    told[table].add(int(id))
            self.assertEqual(self.read("PRAGMA integrity_check"), [("ok",)])
            for table, ids in told.items():
                there = {id for id, in self.read(f"SELECT id FROM {table}")}
                self.assertLessEqual(ids, there)
                left_open += len(there - ids)
            self.assertEqual(
                self.read(
                    "SELECT id FROM halves GROUP BY id HAVING count(*) <> 2"
                ),
                [],
                "half of a transaction",
            )
        self.assertGreater(len(told["singles"]), 100)
        self.assertGreater(len(told["halves"]), 10)


class SharedFileTest(SqliteTest):
    def test_several_processes_write_to_one_file(self):
        for backend in BACKENDS:
            for end in ("", "-wal", "-shm"):
                Path(f"{self.path}{end}").unlink(missing_ok=True)
            processes = [
                self.start("write", 50, backend=backend) for _ in range(4)
            ]
            for process in processes:
                self.assertEqual(self.finish(process), "")
            self.assertEqual(
                self.read("SELECT count(*) FROM singles"), [(800,)]
            )

    def test_a_lock_of_another_process(self):
        holder = self.start("hold", 3_000)
        self.assertEqual(holder.stdout.readline(), "held\n")
        begun = time.monotonic()
        read, error = self.run_case("try").splitlines()
        self.assertEqual(read, "0")
        self.assertIn("sqlite.engine 5 message=", error)
        self.assertGreater(time.monotonic() - begun, 1.9)
        self.finish(holder)
        self.assertEqual(self.run_case("try"), "1\n1\n")

    def test_a_file_whose_log_another_process_does_not_let_make(self):
        for lock in ("IMMEDIATE", "EXCLUSIVE"):
            self.path = self.folder / f"{lock}.db"
            other = sqlite3.connect(self.path, isolation_level=None)
            self.addCleanup(other.close)
            other.execute("CREATE TABLE singles (id INTEGER)")
            other.execute(f"BEGIN {lock}")
            process = self.start("retry")
            for _ in range(3):
                self.assertRegex(
                    process.stdout.readline(),
                    r"^sqlite\.open 5 .*database is locked",
                )
            other.execute("DELETE FROM singles")
            other.execute("COMMIT")
            self.assertEqual(self.finish(process), "1\n1\n")

    def test_the_error_of_a_file_names_it(self):
        self.path = self.folder / "nowhere" / "a.db"
        self.assertIn(f": {self.path}", self.run_case("try"))

    def test_a_fork(self):
        for backend in BACKENDS:
            self.path = self.folder / f"{backend}.db"
            self.assertEqual(self.run_case("fork", backend=backend), "")


class SoakTest(SqliteTest):
    def test_faults_leave_no_memory_behind(self):
        for backend in BACKENDS:
            self.path = self.folder / f"{backend}.db"
            grown, statements, errors = map(
                int, self.run_case("soak", 60_000, backend=backend).split()
            )
            self.assertLess(grown, 2_048)
            self.assertGreater(statements, 30_000)
            self.assertGreater(errors, 1_000)


class FileTest(SqliteTest):
    def make(self):
        connection = sqlite3.connect(self.path)
        connection.execute("CREATE TABLE singles (id INTEGER)")
        connection.commit()
        connection.close()

    def test_a_file_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.make()
        self.path.chmod(0o444)
        self.folder.chmod(0o755)
        read, error = self.run_case("try", user=NOBODY).splitlines()
        self.assertEqual(read, "0")
        self.assertIn("sqlite.engine 8 message=", error)

    def test_a_file_that_may_not_be_read(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.make()
        self.path.chmod(0o400)
        self.folder.chmod(0o755)
        self.assertIn("sqlite.open 14 ", self.run_case("try", user=NOBODY))

    def test_a_full_disk(self):
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "none", small],
            capture_output=True,
        )
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        for backend in BACKENDS:
            self.path = small / "a.db"
            rows = int(self.run_case("fill", backend=backend))
            self.assertEqual(
                self.read("SELECT count(*) FROM singles"), [(rows,)]
            )
            for path in small.iterdir():
                path.unlink()

    def test_a_damaged_header(self):
        self.path.write_bytes(b"SQLite format 3\0" + bytes(4_080))
        self.assertIn("sqlite.open 26 ", self.run_case("try"))

    def test_without_the_library_the_error_names_it(self):
        environment = without_libraries(self, ["libsqlite3.so.0"])
        output = self.run_case("try", env=environment)
        self.assertIn("sqlite.no_library", output)
        self.assertIn("libsqlite3-0", output)

    def test_no_variable_changes_the_file(self):
        hostile = {
            "SQLITE_TMPDIR": "/nowhere",
            "TMPDIR": "/nowhere",
            "SQLITE_FORCE_PROXY_LOCKING": "1",
        }
        self.make()
        self.assertEqual(
            self.run_case("try", env={**os.environ, **hostile}), "0\n1\n"
        )


if __name__ == "__main__":
    unittest.main()
