"""Runs every test of `flare.testing` in one binary."""

from std.testing import TestSuite

from tests.testing import (
    test_asserting,
    test_contract_epoll,
    test_contract_faults,
    test_contract_simulated,
    test_contract_uring,
    test_test_client,
    test_web_socket_faults,
    test_web_sockets,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_asserting.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_contract_epoll.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_contract_faults.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_contract_simulated.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_contract_uring.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_test_client.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_web_socket_faults.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_web_sockets.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
