"""Runs every test of `flare.sys` in one binary."""

from std.testing import TestSuite

from tests.sys import (
    test_io_uring,
    test_listener,
    test_openssl_cipher,
    test_process,
    test_socket,
    test_splice_pipe,
    test_stack,
    test_thread_cell,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_io_uring.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_listener.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_openssl_cipher.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_process.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_socket.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_splice_pipe.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_stack.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_thread_cell.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
