"""Runs every test of `flare.http.encoding` in one binary."""

from std.testing import TestSuite

from tests.encoding import (
    test_accept_encoding,
    test_coding,
    test_compress,
    test_content,
    test_limits,
    test_streams,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_accept_encoding.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_coding.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_compress.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_content.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_limits.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_streams.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
