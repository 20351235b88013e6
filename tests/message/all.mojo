"""Runs every test of `flare.message` in one binary."""

from std.testing import TestSuite

from tests.message import (
    test_cookie,
    test_cookie_date,
    test_cookie_file,
    test_cookie_store,
    test_date,
    test_etag,
    test_field_line,
    test_field_name,
    test_form,
    test_header_map,
    test_international_host,
    test_known_field,
    test_list_grammar,
    test_method,
    test_origin_list,
    test_percent,
    test_query,
    test_request_target,
    test_status,
    test_trace_context,
    test_url,
    test_url_location,
    test_url_reference,
)


def main() raises:
    var failures = List[String]()
    _run[test_cookie.TESTS](failures)
    _run[test_cookie_date.TESTS](failures)
    _run[test_cookie_file.TESTS](failures)
    _run[test_cookie_store.TESTS](failures)
    _run[test_date.TESTS](failures)
    _run[test_etag.TESTS](failures)
    _run[test_field_line.TESTS](failures)
    _run[test_field_name.TESTS](failures)
    _run[test_form.TESTS](failures)
    _run[test_header_map.TESTS](failures)
    _run[test_international_host.TESTS](failures)
    _run[test_known_field.TESTS](failures)
    _run[test_list_grammar.TESTS](failures)
    _run[test_method.TESTS](failures)
    _run[test_origin_list.TESTS](failures)
    _run[test_percent.TESTS](failures)
    _run[test_query.TESTS](failures)
    _run[test_request_target.TESTS](failures)
    _run[test_status.TESTS](failures)
    _run[test_trace_context.TESTS](failures)
    _run[test_url.TESTS](failures)
    _run[test_url_location.TESTS](failures)
    _run[test_url_reference.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
