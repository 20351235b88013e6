"""Runs the simulated server with many seeds in one binary."""

from std.testing import TestSuite

from tests.simulation import test_assertions, test_simulated, test_tally


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_assertions.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_simulated.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_tally.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
