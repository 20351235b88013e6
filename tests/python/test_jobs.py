"""Lets workers of examples/jobs share a table, and restarts their database."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import ROOT, build  # noqa: E402
from postgres import cluster as clusters  # noqa: E402

SOURCE = ROOT / "examples" / "jobs" / "worker.mojo"
ADD = ROOT / "examples" / "jobs" / "add.mojo"
SECONDS_MAX = 60
# An idle worker looks for the signal twice a second.
STOP_SECONDS_MAX = 5
CLUSTER = None


def setUpModule():
    global CLUSTER
    CLUSTER = clusters.start(unittest.addModuleCleanup)
    build(SOURCE)
    build(ADD)


class Worker:
    """Is one process, with the numbers of the jobs that it has done."""

    def __init__(self, url):
        self.process = subprocess.Popen(
            [build(SOURCE)],
            env={**os.environ, "DATABASE_URL": url},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def jobs(self):
        found = (re.fullmatch(r"job (\d+)\n", x) for x in self.lines)
        return [int(x[1]) for x in found if x]

    def stop(self, number=signal.SIGTERM):
        """Gives its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(STOP_SECONDS_MAX)
        self._reader.join(STOP_SECONDS_MAX)
        return code

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(STOP_SECONDS_MAX)
        self.process.stdout.close()


class JobsTest(unittest.TestCase):
    def setUp(self):
        self.database = self.id().rpartition(".")[2].lower()[:60]
        CLUSTER.psql(f"CREATE DATABASE {self.database}")

    def start(self, count=1):
        workers = [
            Worker(CLUSTER.url(self.database)) for _ in range(count)
        ]
        for worker in workers:
            self.addCleanup(worker.close)
        self.wait_for("to_regclass('jobs') IS NOT NULL", "true")
        return workers

    def holds(self, condition):
        """Tells whether a condition of SQL holds."""
        return (
            CLUSTER.psql(
                "DO $$ BEGIN IF NOT (%s) THEN RAISE 'no'; END IF; END $$"
                % condition,
                self.database,
                check=False,
            ).returncode
            == 0
        )

    def wait_for(self, condition, what):
        end = time.monotonic() + SECONDS_MAX
        while not self.holds(condition):
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def add(self, count, to="ann@example.test"):
        CLUSTER.psql(
            "INSERT INTO jobs (mail) SELECT json_build_object("
            f"'to', '{to}', 'text', 'mail ' || i) FROM generate_series(1, {count}) i",
            self.database,
        )

    def expect_once_each(self, count):
        self.assertTrue(
            self.holds(f"(SELECT count(*) FROM outbox) = {count}")
        )
        self.assertTrue(
            self.holds(f"(SELECT count(DISTINCT job) FROM outbox) = {count}")
        )

    def test_two_workers_never_do_one_job_twice(self):
        workers = self.start(2)
        self.add(200)
        self.wait_for(
            "(SELECT count(*) FROM jobs WHERE state = 'done') = 200", "done"
        )
        self.expect_once_each(200)
        for worker in workers:
            self.assertEqual(worker.stop(), 0)
            self.assertGreater(len(worker.jobs()), 20)
        done = workers[0].jobs() + workers[1].jobs()
        self.assertEqual(sorted(done), sorted(set(done)))
        self.assertEqual(len(done), 200)

    def test_an_idle_worker_learns_of_a_job_at_once(self):
        (worker,) = self.start()
        # Later than by a notification, it would look after half a second.
        waits = []
        for i in range(5):
            started = time.monotonic()
            self.add(1)
            while len(worker.jobs()) <= i:
                self.assertLess(time.monotonic() - started, SECONDS_MAX)
                time.sleep(0.005)
            waits.append(time.monotonic() - started)
        self.assertLess(min(waits), 0.3)

    def test_a_program_adds_a_job(self):
        (worker,) = self.start()
        text = 'it\'s "quoted" \\ 😀'
        added = subprocess.run(
            [build(ADD), "ann@example.test", text],
            env={**os.environ, "DATABASE_URL": CLUSTER.url(self.database)},
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        self.assertEqual(added.stdout, "1\n", added.stderr)
        escaped = text.replace("'", "''")
        self.wait_for(
            f"(SELECT text FROM outbox WHERE job = 1) = '{escaped}'", "done"
        )
        self.assertEqual(worker.stop(), 0)

    def test_workers_survive_a_restart_of_the_database(self):
        workers = self.start(2)
        self.add(200)
        self.wait_for("(SELECT count(*) FROM outbox) > 20", "begun")
        CLUSTER.stop()
        time.sleep(1)
        CLUSTER.start()
        # Also what is added afterwards is heard of.
        self.add(20)
        self.wait_for(
            "(SELECT count(*) FROM jobs WHERE state = 'done') = 220", "done"
        )
        self.expect_once_each(220)
        for worker in workers:
            self.assertEqual(worker.stop(), 0)

    def test_a_killed_worker_leaves_its_job_to_another(self):
        first, second = self.start(2)
        self.add(60)
        self.wait_for("(SELECT count(*) FROM outbox) > 10", "begun")
        first.process.kill()
        self.wait_for(
            "(SELECT count(*) FROM jobs WHERE state = 'done') = 60", "done"
        )
        self.expect_once_each(60)
        self.assertEqual(second.stop(signal.SIGINT), 0)

    def test_a_job_that_fails_is_tried_three_times(self):
        (worker,) = self.start()
        self.add(1, to="nobody")
        self.add(5)
        self.wait_for(
            "(SELECT count(*) FROM jobs WHERE state = 'failed'"
            " AND attempts = 3 AND problem LIKE 'no address%') = 1",
            "failed",
        )
        self.expect_once_each(5)
        self.assertEqual(worker.stop(), 0)
        self.assertEqual(worker.jobs().count(1), 3)

    def test_a_signal_lets_the_job_at_hand_be_finished(self):
        (worker,) = self.start()
        self.add(1_000)
        self.wait_for("(SELECT count(*) FROM outbox) > 5", "begun")
        self.assertEqual(worker.stop(), 0)
        self.assertEqual(worker.lines[-1], "stopped\n")
        done = len(worker.jobs())
        self.assertLess(done, 1_000)
        self.assertTrue(self.holds(f"(SELECT count(*) FROM outbox) >= {done}"))
        self.assertTrue(
            self.holds(
                "(SELECT count(*) FROM jobs WHERE state = 'done')"
                " = (SELECT count(*) FROM outbox)"
            )
        )


if __name__ == "__main__":
    unittest.main()
