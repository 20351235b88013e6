"""Runs the simulated server with many seeds in one binary."""

from std.testing import TestSuite

from tests.simulation import test_simulated


def main() raises:
    TestSuite.discover_tests[test_simulated.TESTS]().run()
