"""Runs the suite h2spec, with its strict cases, against a built server."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import why_no_suite  # noqa: E402
from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402

FOLDER = ROOT / ".venv" / "h2spec"
# Any path whose handler reads the content and answers with some.
PATH = "/received"
CASES = 146
SECONDS_MAX = 300
# For an answer; a busy machine needs more than the usual two.
ANSWER_SECONDS = "5"
WHY_NOT = why_no_suite("h2spec", FOLDER, "h2spec")


def setUpModule():
    build()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Conformance(unittest.TestCase):
    def judge(self, subject, *options):
        finished = subprocess.run(
            [FOLDER / "h2spec", "--port", str(subject.port), "--strict",
             "--path", PATH, "--timeout", ANSWER_SECONDS, *options],
            capture_output=True, text=True, timeout=SECONDS_MAX,
        )
        self.assertIn(
            f"{CASES} tests, {CASES} passed, 0 skipped, 0 failed",
            finished.stdout,
        )
        self.assertEqual(finished.returncode, 0)

    def test_with_prior_knowledge(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                subject = Subject(backend, "--http2")
                self.addCleanup(subject.stop)
                self.judge(subject)

    def test_inside_of_tls(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                subject = Subject(backend, transport="tls")
                self.addCleanup(subject.stop)
                self.judge(subject, "--tls", "--insecure")


if __name__ == "__main__":
    unittest.main()
