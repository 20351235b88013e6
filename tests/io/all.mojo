"""Runs every test of `flare.io` in one binary."""

from std.testing import TestSuite

from tests.io import (
    test_buf_reader,
    test_stream,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_buf_reader.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_stream.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
