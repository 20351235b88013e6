"""Runs the quick cases of the Autobahn test suite against the demo server and a
client, and tests the judge of its verdicts; `make autobahn` runs all cases."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from autobahn.run import judge, judge_client  # noqa: E402
from autobahn.suite import AGENT, CASES, SLOW, problems_of, why_not  # noqa: E402

QUICK_SECONDS_MAX = 120


@unittest.skipIf(why_not(), why_not())
class Server(unittest.TestCase):
    def test_each_quick_case_is_ok_on_io_uring(self):
        self.assertEqual(judge("io_uring", "/ws", SLOW, QUICK_SECONDS_MAX), [])

    def test_each_quick_case_is_ok_on_epoll(self):
        self.assertEqual(judge("epoll", "/ws", SLOW, QUICK_SECONDS_MAX), [])


@unittest.skipIf(why_not(), why_not())
class Client(unittest.TestCase):
    def test_each_quick_case_is_ok_on_io_uring(self):
        self.assertEqual(
            judge_client("io_uring", "off", SLOW, QUICK_SECONDS_MAX), []
        )

    def test_each_quick_case_is_ok_on_epoll(self):
        self.assertEqual(
            judge_client("epoll", "off", SLOW, QUICK_SECONDS_MAX), []
        )


@unittest.skipIf(why_not(), why_not())
class Streams(unittest.TestCase):
    """Asks both ends over HTTP/2."""

    def test_each_quick_case_of_a_server_is_ok(self):
        self.assertEqual(
            judge("io_uring", "/ws", SLOW, QUICK_SECONDS_MAX, over_h2=True), []
        )

    def test_each_quick_case_of_a_client_is_ok(self):
        found = judge_client(
            "epoll", "off", SLOW, QUICK_SECONDS_MAX, over_h2=True
        )
        self.assertEqual(found, [])


class Judge(unittest.TestCase):
    def judge(self, case, behavior="OK", close="OK"):
        return problems_of(
            {AGENT: {case: {"behavior": behavior, "behaviorClose": close}}}, 1
        )

    def test_any_verdict_but_ok_is_found(self):
        for verdict in (
            "NON-STRICT", "INFORMATIONAL", "FAILED", "UNIMPLEMENTED",
            "WRONG CODE", "UNCLEAN",
        ):
            with self.subTest(verdict):
                self.assertEqual(
                    self.judge("6.4.1", verdict),
                    [f"case 6.4.1: behavior is {verdict}"],
                )
                self.assertEqual(
                    self.judge("6.4.1", close=verdict),
                    [f"case 6.4.1: behaviorClose is {verdict}"],
                )
        self.assertEqual(self.judge("6.4.1"), [])

    def test_cases_without_a_rule_may_be_reported(self):
        for case in ("7.1.6", "7.13.1", "7.13.2"):
            with self.subTest(case):
                verdict = "INFORMATIONAL"
                self.assertEqual(self.judge(case, verdict, verdict), [])
                self.assertEqual(len(self.judge(case, "FAILED")), 1)

    def test_cases_that_were_not_judged_are_found(self):
        self.assertEqual(
            problems_of({}, CASES[SLOW]), ["0 cases were judged, not 247"]
        )


if __name__ == "__main__":
    unittest.main()
