"""Runs every test of `flare.tcp` in one binary."""

from std.testing import TestSuite

from tests.tcp import (
    test_connect,
    test_errors,
    test_exchange,
    test_stream,
    test_threads,
    test_waits,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_connect.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_errors.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_exchange.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_stream.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_threads.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_waits.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
