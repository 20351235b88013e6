"""Runs every test of `flare.http.client` in one binary."""

from std.testing import TestSuite

from tests.client import (
    test_answers,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_answers.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
