"""Runs every test of `flare.net` in one binary."""

from std.testing import TestSuite

from tests.net import (
    test_datagram_too_large,
    test_error,
    test_ip_address,
    test_ip_network,
    test_ip_text,
    test_proxy_header,
    test_raw_socket,
    test_socket_address,
    test_socket_options,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_datagram_too_large.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_error.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_ip_address.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_ip_network.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_ip_text.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_proxy_header.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_raw_socket.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_socket_address.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_socket_options.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
