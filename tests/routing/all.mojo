"""Runs every test of `flare.http.routing` in one binary."""

from std.testing import TestSuite

from tests.routing import (
    test_path,
    test_pattern,
    test_table,
    test_text_table,
    test_tree,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_path.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_pattern.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_table.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_text_table.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_tree.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
