"""Runs every test of `flare.http` above the server in one binary."""

from std.testing import TestSuite

from tests.http import (
    test_app,
    test_extract,
    test_forms,
    test_middleware,
    test_request,
    test_response,
    test_router,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_app.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_extract.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_forms.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_middleware.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_request.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_response.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_router.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
