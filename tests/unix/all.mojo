"""Runs every test of `flare.unix` in one binary."""

from std.testing import TestSuite

from tests.unix import test_address, test_datagram, test_paths, test_stream


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_address.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_datagram.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_paths.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_stream.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
