"""Lets `flare.postgres` use Debian's libpq and a newer one, and counts what it
gets from the library and gives back."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import ROOT  # noqa: E402
from postgres.case import BACKENDS, PostgresTest, start_cluster  # noqa: E402

PROGRAMS = ROOT / "tests" / "programs"
NEWER = ROOT / ".venv" / "libpq" / "psycopg_binary.libs"
CASES = (
    "types",
    "statements",
    "sharing",
    "places",
    "streams",
    "copies",
    "closed",
    "savepoints",
    "listen",
    "transactions",
    "left_open",
    "terminated",
    "plans",
    "repeated",
    "exhausted",
    "lost_commit",
    "lifetime",
    "neighbours",
    "fork",
)
STATEMENTS = 100_000


def setUpModule():
    start_cluster()


def newer_library():
    """Gives the path of the newer library, or skips the test."""
    found = sorted(NEWER.glob("libpq-*.so.5*"))
    if not found:
        raise unittest.SkipTest("a newer libpq is missing: make setup-peers")
    return found[0]


class LibraryTest(PostgresTest):
    def folder(self):
        """Gives a folder in which the loader looks first."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return Path(made.name)

    def environment(self, folder, *others):
        path = ":".join(map(str, (folder, *others)))
        return {**os.environ, "LD_LIBRARY_PATH": path}

    def counted(self, real):
        """Builds the library that counts, before another one."""
        folder = self.folder()
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror",
             f'-DREAL="{real}"', "-o", folder / "libpq.so.5",
             PROGRAMS / "libpq_counted.c"],
            check=True,
        )  # fmt: skip
        return folder

    def expect_all_given_back(self, output):
        counts = re.findall(r"^(\w+) (\d+) freed (\d+)$", output, re.M)
        self.assertEqual(len(counts), 4, output)
        for what, got, freed in counts:
            self.assertEqual(got, freed, f"{what}: {output}")
        return {what: int(got) for what, got, _ in counts}


class StormTest(LibraryTest):
    def storm(self, backend, statements, environment):
        output = self.run_case(
            self.url(), "storm", statements, backend=backend, env=environment
        )
        first, _, rest = output.partition("\n")
        answered, _, lost, connects = map(int, first.split())
        self.assertGreaterEqual(answered, statements)
        self.assertGreater(lost, 100)
        self.assertGreater(connects, 50)
        return rest

    def test_nothing_is_left_after_a_storm(self):
        real = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/libpq.so.5")
        environment = self.environment(self.counted(real))
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                self.cluster.psql("DROP TABLE IF EXISTS pairs, ones",
                                  self.database)
                counts = self.expect_all_given_back(
                    self.storm(backend, STATEMENTS, environment)
                )
                self.assertGreater(counts["results"], STATEMENTS)
                self.assertGreater(counts["connections"], 50)

    def test_nothing_is_left_with_a_newer_library(self):
        counted = self.counted(newer_library())
        self.expect_all_given_back(
            self.storm(
                "io_uring",
                STATEMENTS,
                self.environment(counted, NEWER),
            )
        )


class NewerLibraryTest(LibraryTest):
    def newer(self):
        folder = self.folder()
        (folder / "libpq.so.5").symlink_to(newer_library())
        return self.environment(folder, NEWER)

    def test_it_is_the_one_that_is_used(self):
        output = self.run_case(self.url(), "library", env=self.newer())
        self.assertGreaterEqual(int(output), 180_000)

    def test_each_case(self):
        environment = self.newer()
        for case in CASES:
            with self.subTest(case=case):
                self.assertEqual(
                    self.run_case(self.url(), case, env=environment), ""
                )

    def test_cases_inside_of_tls(self):
        environment = self.newer()
        trust = (
            f"?sslmode=verify-full&sslrootcert={self.cluster.certificate}"
        )
        for case in ("sharing", "places"):
            with self.subTest(case=case):
                self.assertEqual(
                    self.run_case(self.url(trust), case, env=environment), ""
                )

    def test_a_cancel_reaches_no_neighbour(self):
        output = self.run_case(self.url(), "cancels", 10, env=self.newer())
        timeouts, lost, errors, _ = map(int, output.split())
        self.assertEqual((timeouts, lost, errors), (10 * 16, 0, 0))


if __name__ == "__main__":
    unittest.main()
