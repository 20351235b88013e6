"""Leaves out kinds of events from counts, and adds unknown ones."""

from tests.asserting import assert_equal, assert_true

from .kinds import Kind, all_kinds
from .tally import Tally


def test_kinds_have_names_of_their_own() raises:
    var kinds = all_kinds()
    for i in range(len(kinds)):
        for j in range(i):
            assert_true(kinds[i].name != kinds[j].name, kinds[i].name)


def test_kind_that_strikes_in_less_than_a_tenth_of_the_runs_is_a_gap() raises:
    var kinds = all_kinds()
    for scarce in kinds:
        var tally = Tally()
        for kind in kinds:
            var is_scarce = kind.name == scarce.name
            tally.add(kind, 499 if is_scarce else 500)
        assert_equal(
            tally.gaps(5000), String(scarce.name, " struck only 499 times\n")
        )
        tally.add(scarce)
        assert_equal(tally.gaps(5000), "")


def test_kind_that_never_strikes_is_a_gap_however_few_the_runs() raises:
    var tally = Tally()
    for kind in all_kinds():
        tally.add(kind, Int(kind.name != Kind.UPGRADED.name))
    assert_equal(tally.gaps(1), "upgraded connections struck only 0 times\n")


def test_name_that_is_not_listed_is_a_gap() raises:
    var tally = Tally()
    for kind in all_kinds():
        tally.add(kind, 500)
    tally.add(Kind("upgraded conections"), 500)
    assert_equal(tally.gaps(5000), "upgraded conections is no listed kind\n")


comptime TESTS = __functions_in_module()
