"""Runs every test of `flare.dns` in one binary."""

from std.testing import TestSuite

from tests.dns import (
    test_cache,
    test_config,
    test_files,
    test_host_name,
    test_resolve,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_cache.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_config.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_files.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_host_name.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_resolve.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
