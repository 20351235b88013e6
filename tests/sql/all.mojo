"""Runs every test of `flare.sql` in one binary."""

from std.testing import TestSuite

from tests.sql import test_rows, test_text, test_types


def main() raises:
    var failures = List[String]()
    _run[test_rows.TESTS](failures)
    _run[test_text.TESTS](failures)
    _run[test_types.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
