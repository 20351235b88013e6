"""Lets `flare.postgres` talk with a server through PgBouncer."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from postgres import bouncer as bouncers  # noqa: E402
from postgres.case import BACKENDS, PostgresTest, start_cluster  # noqa: E402


def setUpModule():
    if bouncers.PROGRAM is None:
        raise unittest.SkipTest(
            "PgBouncer is not installed: make setup-peers brings it"
        )
    start_cluster()


class BouncerTest(PostgresTest):
    def bouncer(self, mode):
        made = bouncers.Bouncer(self.cluster, mode)
        self.addCleanup(made.close)
        return made

    def test_both_modes(self):
        for mode in ("session", "transaction"):
            bouncer = self.bouncer(mode)
            for backend in BACKENDS:
                with self.subTest(mode=mode, backend=backend):
                    self.assertEqual(
                        self.run_case(
                            self.url(port=bouncer.port),
                            f"bouncer_{mode}",
                            backend=backend,
                        ),
                        "",
                    )

    def test_a_restart(self):
        for mode in ("session", "transaction"):
            with self.subTest(mode=mode):
                bouncer = self.bouncer(mode)
                process = self.start(
                    self.url(port=bouncer.port), f"ride_bouncer_{mode}"
                )
                self.assertEqual(process.stdout.readline(), "up\n")
                bouncer.stop()
                self.assertEqual(process.stdout.readline(), "down\n")
                time.sleep(0.2)
                bouncer.start()
                self.assertEqual(self.finish(process), "up\n")


if __name__ == "__main__":
    unittest.main()
