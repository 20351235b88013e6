"""Runs every test of `flare.html` in one binary."""

from std.testing import TestSuite

from tests.html import test_html, test_template_reader


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_template_reader.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_html.TESTS]().run()
    except e:
        failures.append(String(e))
    if len(failures) > 0:
        raise Error("\n".join(failures))
