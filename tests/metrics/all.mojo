"""Runs every test of `flare.metrics` in one binary."""

from std.testing import TestSuite

from tests.metrics import (
    test_buckets,
    test_instruments,
    test_metrics_text,
    test_registry,
)


def main() raises:
    var failures = List[String]()
    _run[test_buckets.TESTS](failures)
    _run[test_instruments.TESTS](failures)
    _run[test_metrics_text.TESTS](failures)
    _run[test_registry.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
