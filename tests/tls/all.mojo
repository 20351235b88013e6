"""Runs every test of `flare.tls` in one binary."""

from std.testing import TestSuite

from tests.tls import (
    test_broken_certificates,
    test_config,
    test_error,
    test_machine,
    test_self_signed,
    test_stream,
    test_verification,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_broken_certificates.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_config.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_error.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_machine.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_self_signed.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_stream.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_verification.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
