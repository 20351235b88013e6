"""Lets clients of all kinds loose on a server, on networks of all kinds."""

from std.sys import get_defined_int
from std.testing import assert_equal, assert_true

from fuzz.random import Random

from .kinds import Kind, all_kinds
from .run import check_seed, seed_of, simulate
from .tally import WHOLE_SAMPLE_RUNS, Tally

comptime _RUNS = get_defined_int["RUNS", WHOLE_SAMPLE_RUNS]()
comptime _FAILURES_MAX = 10


def test_every_request_is_answered_once_in_order_or_its_connection_closed() raises:
    var tally = Tally()
    var failures = List[String]()
    for number in range(_RUNS):
        try:
            var random = Random(1, number)
            check_seed(seed_of(random), tally)
        except e:
            failures.append(
                String("run ", number, "; repeat: make simulate RUN=", number)
                + String("\nfinding: ", e)
            )
            if len(failures) == _FAILURES_MAX:
                break
    if failures:
        raise Error("\n".join(failures))
    print(tally.text())
    assert_equal(tally.gaps(_RUNS), "")


def test_seed_decides_every_event() raises:
    for number in range(50):
        var random = Random(2, number)
        var seed = seed_of(random)
        var tally = Tally()
        var one = simulate(seed, tally, True, False)
        var other = simulate(seed, tally, True, False)
        assert_equal(one.problem, "")
        assert_true(one.event_count > 0)
        assert_equal(one.event_count, other.event_count)
        assert_equal(one.digest, other.digest)
        assert_equal(one.trace, other.trace)


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
