"""Runs every test of `flare.openapi` in one binary."""

from std.testing import TestSuite

from tests.openapi import (
    test_api_router,
    test_document,
    test_path_template,
    test_publish,
)


def main() raises:
    var failures = List[String]()
    _run[test_api_router.TESTS](failures)
    _run[test_document.TESTS](failures)
    _run[test_path_template.TESTS](failures)
    _run[test_publish.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
