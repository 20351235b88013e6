"""Runs every test of `flare.proto` in one binary."""

from std.testing import TestSuite

from tests.proto import (
    test_dns_answer,
    test_dns_name,
    test_h1_field_stops,
    test_h1_first_field,
    test_h1_fixtures,
    test_h1_grammar,
    test_h1_guard,
    test_h1_limits,
    test_h1_machine,
    test_h1_pairs,
    test_h1_plain_host,
    test_h1_plain_request,
    test_h1_plain_response,
    test_h1_plain_status_line,
    test_h1_scan,
    test_h1_state,
    test_multipart,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_dns_answer.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_dns_name.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_field_stops.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_first_field.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_fixtures.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_grammar.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_guard.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_limits.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_machine.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_pairs.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_plain_host.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_plain_request.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_plain_response.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_plain_status_line.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_scan.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_h1_state.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_multipart.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
