"""Runs every test of `flare.sqlite` in one binary."""

from std.testing import TestSuite

from tests.sqlite import (
    test_database,
    test_digits,
    test_error,
    test_faults,
    test_group,
    test_statement_kind,
    test_transaction,
    test_types,
    test_waiting,
)


def main() raises:
    var failures = List[String]()
    _run[test_database.TESTS](failures)
    _run[test_digits.TESTS](failures)
    _run[test_error.TESTS](failures)
    _run[test_faults.TESTS](failures)
    _run[test_group.TESTS](failures)
    _run[test_statement_kind.TESTS](failures)
    _run[test_transaction.TESTS](failures)
    _run[test_types.TESTS](failures)
    _run[test_waiting.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
