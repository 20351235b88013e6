"""Tests for `flare.proto.h1`: every fixture of conformance/h1."""

from tests.asserting import assert_true
from tests.proto.fixtures import load


def test_every_fixture_holds_whole_and_split_at_every_octet() raises:
    var fixtures = load("conformance/h1")
    assert_true(len(fixtures) >= 300, "fixtures are missing")
    var failures = String()
    var runs = 0
    for fixture in fixtures:
        try:
            runs += fixture.check()
        except e:
            failures += String(e, "\n")
    assert_true(failures == "", failures)
    assert_true(runs > 50 * len(fixtures), "splits are missing")


comptime TESTS = __functions_in_module()
