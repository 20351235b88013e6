"""Checks when a worker that died is started again."""

from flare.http.server.process.restart_delay import RestartDelay

from tests.asserting import assert_equal


def test_a_worker_that_lived_long_is_back_at_once() raises:
    var delay = RestartDelay()
    for _ in range(20):
        assert_equal(
            delay.after_death(served=True, lived_ms=1000, requests=0), 0
        )


def test_a_worker_that_answered_much_is_back_at_once() raises:
    var delay = RestartDelay()
    for _ in range(20):
        assert_equal(
            delay.after_death(served=True, lived_ms=5, requests=100), 0
        )


def test_one_that_served_waits_50_ms_at_most() raises:
    var expected: List[Int] = [0, 10, 20, 40, 50, 50, 50]
    var delay = RestartDelay()
    for each in expected:
        assert_equal(
            delay.after_death(served=True, lived_ms=999, requests=99), each
        )


def test_one_that_never_serves_waits_five_seconds_at_most() raises:
    var expected: List[Int] = [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]
    var delay = RestartDelay()
    for each in expected:
        assert_equal(
            delay.after_death(served=False, lived_ms=5000, requests=500), each
        )
    for _ in range(100):
        assert_equal(
            delay.after_death(served=False, lived_ms=0, requests=0), 5000
        )


def test_a_good_life_forgets_the_deaths_before() raises:
    var delay = RestartDelay()
    for _ in range(9):
        _ = delay.after_death(served=False, lived_ms=0, requests=0)
    assert_equal(delay.after_death(served=True, lived_ms=60_000, requests=9), 0)
    assert_equal(delay.after_death(served=True, lived_ms=1, requests=1), 0)
    assert_equal(delay.after_death(served=True, lived_ms=1, requests=1), 10)


comptime TESTS = __functions_in_module()
