"""Runs every test of `flare.runtime` in one binary."""

from std.testing import TestSuite

from tests.runtime import test_timer_wheel


def main() raises:
    var failure = Optional[Error](None)
    try:
        TestSuite.discover_tests[test_timer_wheel.TESTS]().run()
    except e:
        failure = e^
    if failure:
        raise failure.take()
