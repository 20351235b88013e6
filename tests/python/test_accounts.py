"""Runs the accounts of the examples on PostgreSQL and, by one changed line, on
SQLite."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import await_port, free_ports  # noqa: E402
from loopback.subject import ROOT, build  # noqa: E402
from postgres import cluster as clusters  # noqa: E402

FOLDER = ROOT / "examples" / "accounts"
LINE = re.compile(r"^from flare\.postgres import .*$", re.MULTILINE)
OTHER_LINE = re.compile(r"^    (from flare\.sqlite import .*)$", re.MULTILINE)
SECONDS_MAX = 120
CLIENTS = 8
TRANSFERS = 40


def on_sqlite():
    """Gives the folder of the same program with the line that its own docstring
    names."""
    folder = ROOT / "build" / "accounts_on_sqlite"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(FOLDER, folder)
    source = folder / "accounts.mojo"
    text = source.read_text()
    (line,) = OTHER_LINE.findall(text)
    changed, count = LINE.subn(line, text)
    assert count == 1, "more than one line imports the database"
    source.write_text(changed)
    return folder


def run_tests_of(folder, location):
    """Runs the tests of the program itself."""
    return subprocess.run(
        [build(folder / "test_accounts.mojo")],
        env={**os.environ, "DATABASE_URL": location},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )


class OnSqlite(unittest.TestCase):
    def test_its_own_tests_pass(self):
        folder = on_sqlite()
        lines = [
            path.joinpath("accounts.mojo").read_text().splitlines()
            for path in (FOLDER, folder)
        ]
        self.assertEqual(len(lines[0]), len(lines[1]))
        differing = [x for x in zip(*lines) if x[0] != x[1]]
        self.assertEqual(len(differing), 1)
        for name in ("main.mojo", "test_accounts.mojo"):
            self.assertEqual(
                *((x / name).read_text() for x in (FOLDER, folder))
            )
        with tempfile.TemporaryDirectory() as files:
            finished = run_tests_of(folder, f"{files}/bank.db")
        self.assertEqual(finished.returncode, 0, finished.stdout)
        self.assertIn(" 0 failed", finished.stdout)


class OnPostgres(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = clusters.start(cls.addClassCleanup)

    def test_its_own_tests_pass(self):
        self.cluster.psql("CREATE DATABASE tested")
        finished = run_tests_of(FOLDER, self.cluster.url("tested"))
        self.assertEqual(finished.returncode, 0, finished.stdout)
        self.assertIn(" 0 failed", finished.stdout)

    def test_concurrent_transfers_neither_make_nor_lose_money(self):
        self.cluster.psql("CREATE DATABASE bank")
        (port,) = free_ports(1)
        server = subprocess.Popen(
            [build(FOLDER / "main.mojo"), str(port)],
            env={**os.environ, "DATABASE_URL": self.cluster.url("bank")},
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        await_port(port, server)

        def ask(path, content=None):
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}",
                content and json.dumps(content).encode(),
                {"Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read()

        names = ("ann", "bob", "eve")
        for name in names:
            self.assertEqual(
                ask("/accounts", {"name": name, "balance": 100})[0], 201
            )
        seen = []

        def transfer(client):
            for i in range(TRANSFERS):
                # In both directions at once, and often more than there is.
                source, target = names[(client + i) % 3], names[(client) % 3]
                if source == target:
                    target = names[(client + 1) % 3]
                seen.append(
                    ask(
                        "/transfers",
                        {
                            "reference": f"{client}-{i}",
                            "source": source,
                            "target": target,
                            "amount": 40,
                        },
                    )[0]
                )

        started = time.monotonic()
        threads = [
            threading.Thread(target=transfer, args=(i,))
            for i in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLess(time.monotonic() - started, SECONDS_MAX)
        self.assertEqual(len(seen), CLIENTS * TRANSFERS)
        self.assertEqual(set(seen), {201, 422})
        status, accounts = ask("/accounts")
        self.assertEqual(status, 200)
        self.assertEqual(sum(x["balance"] for x in accounts), 300)
        self.assertGreaterEqual(min(x["balance"] for x in accounts), 0)


if __name__ == "__main__":
    unittest.main()
