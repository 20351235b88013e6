"""Runs every test of `flare.udp` in one binary."""

from std.testing import TestSuite

from tests.udp import (
    test_batch,
    test_groups,
    test_socket,
    test_threads,
    test_waits,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_batch.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_groups.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_socket.TESTS]().run()
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
