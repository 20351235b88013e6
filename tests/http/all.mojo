"""Runs every test of `flare.http` above the server in one binary."""

from std.testing import TestSuite

from tests.http import (
    test_app,
    test_auto_etag,
    test_conditions,
    test_cors,
    test_cross_origin_protection,
    test_extract,
    test_field_guard,
    test_forms,
    test_forwarding,
    test_json,
    test_metrics_page,
    test_middleware,
    test_problem_details,
    test_ranges,
    test_rate_limit,
    test_rate_table,
    test_request,
    test_request_value,
    test_response,
    test_router,
    test_status_rows,
    test_stream_address,
    test_tracing,
    test_validation,
)


def main() raises:
    var failures = List[String]()
    _run[test_app.TESTS](failures)
    _run[test_auto_etag.TESTS](failures)
    _run[test_conditions.TESTS](failures)
    _run[test_cors.TESTS](failures)
    _run[test_cross_origin_protection.TESTS](failures)
    _run[test_extract.TESTS](failures)
    _run[test_field_guard.TESTS](failures)
    _run[test_forms.TESTS](failures)
    _run[test_forwarding.TESTS](failures)
    _run[test_json.TESTS](failures)
    _run[test_metrics_page.TESTS](failures)
    _run[test_middleware.TESTS](failures)
    _run[test_problem_details.TESTS](failures)
    _run[test_ranges.TESTS](failures)
    _run[test_rate_limit.TESTS](failures)
    _run[test_rate_table.TESTS](failures)
    _run[test_request.TESTS](failures)
    _run[test_request_value.TESTS](failures)
    _run[test_response.TESTS](failures)
    _run[test_router.TESTS](failures)
    _run[test_status_rows.TESTS](failures)
    _run[test_stream_address.TESTS](failures)
    _run[test_tracing.TESTS](failures)
    _run[test_validation.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
