"""What the tests of `flare.postgres` share: a server, and programs to run."""

import os
import subprocess
import unittest

from loopback.subject import ROOT, build, build_sanitized

from . import cluster as clusters

SOURCE = ROOT / "tests" / "programs" / "postgres.mojo"
BACKENDS = ("io_uring", "epoll")
SECONDS_MAX = 120


def start_cluster():
    """Starts a server for the tests of the module that calls, or skips them."""
    PostgresTest.cluster = clusters.start(unittest.addModuleCleanup)
    return PostgresTest.cluster


class PostgresTest(unittest.TestCase):
    """Has a database of its own for each test."""

    cluster = None
    # Whether AddressSanitizer watches the program.
    is_sanitized = False

    def setUp(self):
        self.database = self.id().rpartition(".")[2].lower()
        self.cluster.psql(f"DROP DATABASE IF EXISTS {self.database}")
        self.cluster.psql(f"CREATE DATABASE {self.database}")

    def url(self, query="", **place):
        """Gives the URL of the test's database."""
        return self.cluster.url(self.database, query, **place)

    def start(self, *arguments, backend="io_uring", env=None, **options):
        """Starts the program."""
        env = {
            **(os.environ if env is None else env),
            # Of Mojo's library, and of what it keeps until the end.
            "ASAN_OPTIONS": "detect_container_overflow=0:detect_leaks=0",
        }
        make = build_sanitized if self.is_sanitized else build
        return subprocess.Popen(
            [make(SOURCE), backend, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=env,
            **options,
        )

    def finish(self, process, seconds_max=SECONDS_MAX):
        """Gives what the program has written; it must have succeeded."""
        output, _ = process.communicate(timeout=seconds_max)
        self.assertEqual(process.returncode, 0, output)
        return output

    def run_case(self, *arguments, **options):
        """Runs the program, and gives what it has written."""
        return self.finish(self.start(*arguments, **options))
