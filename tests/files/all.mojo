"""Runs every test of `flare.http.files` in one binary."""

from std.testing import TestSuite

from tests.files import test_media_types, test_siblings


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_media_types.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_siblings.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
