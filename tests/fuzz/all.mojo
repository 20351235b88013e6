"""Runs every test of `fuzz` in one binary."""

from std.testing import TestSuite

from tests.fuzz import test_harness, test_random


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_harness.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_random.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
