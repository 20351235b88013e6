"""Runs every test of `flare.proto` in one binary."""

from std.testing import TestSuite

from tests.proto import test_h1_fixtures


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_h1_fixtures.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
