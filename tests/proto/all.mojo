"""Runs every test of `flare.proto` in one binary."""

from std.testing import TestSuite

from tests.proto import (
    test_dns_answer,
    test_dns_name,
    test_h1_field_stops,
    test_h1_first_field,
    test_h1_fixtures,
    test_h1_guard,
    test_h1_limits,
    test_h1_machine,
    test_h1_pairs,
    test_h1_plain_host,
    test_h1_plain_request,
    test_h1_plain_response,
    test_h1_plain_status_line,
    test_h1_rules,
    test_h1_scan,
    test_h1_state,
    test_multipart,
)


def main() raises:
    var failures = List[String]()
    _run[test_dns_answer.TESTS](failures)
    _run[test_dns_name.TESTS](failures)
    _run[test_h1_field_stops.TESTS](failures)
    _run[test_h1_first_field.TESTS](failures)
    _run[test_h1_fixtures.TESTS](failures)
    _run[test_h1_guard.TESTS](failures)
    _run[test_h1_limits.TESTS](failures)
    _run[test_h1_machine.TESTS](failures)
    _run[test_h1_pairs.TESTS](failures)
    _run[test_h1_plain_host.TESTS](failures)
    _run[test_h1_plain_request.TESTS](failures)
    _run[test_h1_plain_response.TESTS](failures)
    _run[test_h1_plain_status_line.TESTS](failures)
    _run[test_h1_rules.TESTS](failures)
    _run[test_h1_scan.TESTS](failures)
    _run[test_h1_state.TESTS](failures)
    _run[test_multipart.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
