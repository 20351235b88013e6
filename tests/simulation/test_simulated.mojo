"""Lets clients of all kinds loose on a server, on networks of all kinds."""

from std.sys import get_defined_int

from fuzz.random import Random

from tests.asserting import assert_equal, assert_true

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


comptime TESTS = __functions_in_module()
