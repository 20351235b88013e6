"""Runs every test of `flare.postgres` in one binary."""

from std.testing import TestSuite

from tests.postgres import (
    test_array,
    test_connect,
    test_copy_row,
    test_entry,
    test_error,
    test_location,
    test_numeric,
    test_parameter,
    test_statement_cache,
    test_uuid,
)


def main() raises:
    var failures = List[String]()
    _run[test_array.TESTS](failures)
    _run[test_connect.TESTS](failures)
    _run[test_copy_row.TESTS](failures)
    _run[test_entry.TESTS](failures)
    _run[test_error.TESTS](failures)
    _run[test_location.TESTS](failures)
    _run[test_numeric.TESTS](failures)
    _run[test_parameter.TESTS](failures)
    _run[test_statement_cache.TESTS](failures)
    _run[test_uuid.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
