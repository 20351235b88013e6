"""Tests for `flare.runtime.wait`."""

from std.testing import assert_raises
from std.time import sleep as pause

from flare.net import NetError
from flare.runtime.backend import BackendKind
from flare.runtime.blocking import blocking
from flare.runtime.current import current_fiber
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in, sleep
from flare.sys.clock import monotonic_ms, monotonic_ns
from tests.asserting import assert_equal, assert_true
from tests.runtime.loop import Log, Loop


def test_a_script_sleeps_at_least_as_long_as_it_asks() raises:
    for duration_ms in [1, 2, 10, 25]:
        var begun = monotonic_ms()
        sleep(duration_ms)
        var slept = monotonic_ms() - begun
        assert_true(
            slept >= duration_ms and slept < duration_ms + 2_000, String(slept)
        )


def test_no_wait_is_shorter_than_its_time_however_often_the_loop_turns() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var log = Log()

        def body() raises {var log}:
            for duration_ms in range(1, 8):
                var begun = monotonic_ns()
                sleep(duration_ms)
                _note(log, "sleep", duration_ms, begun)
                begun = monotonic_ns()
                try:
                    with deadline_in(duration_ms):
                        sleep(60_000)
                except:
                    _note(log, "deadline", duration_ms, begun)
                # Other code may have read the clock within a millisecond.
                pause(0.0003)

        spawn(body).detach()
        while loop.busy() > 0:
            loop.turn(0)
        loop.close()
        assert_equal(log.take(), List[String]())


def test_a_loop_that_turns_often_ends_a_wait_soon_after_its_time() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var late = Log()

        def body() raises {var late}:
            var least_ns = Int.MAX
            for _ in range(20):
                # In the middle of a millisecond.
                while monotonic_ns() % 1_000_000 // 100_000 != 5:
                    pass
                var begun_ns = monotonic_ns()
                sleep(3)
                var passed_ns = monotonic_ns() - begun_ns
                least_ns = min(least_ns, passed_ns - 3_000_000)
            if least_ns > 300_000:
                late.add(String(least_ns))

        spawn(body).detach()
        while loop.busy() > 0:
            loop.turn(0)
        loop.close()
        assert_equal(late.take(), List[String]())


def test_fibers_wake_in_the_order_of_their_sleeps() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var log = Log()
        for duration_ms in [30, 10, 20, 0]:

            def body() raises {var log, var duration_ms}:
                sleep(duration_ms)
                log.add(String(duration_ms))

            spawn(body).detach()
        while loop.busy() > 0:
            loop.turn()
        assert_equal(log.take(), ["0", "10", "20", "30"])
        loop.close()


def test_sleeping_not_at_all_lets_others_run_first() raises:
    var log = Log()

    def other() raises {var log}:
        log.add("other")

    spawn(other).detach()
    log.add("before")
    sleep(0)
    sleep(-1)
    log.add("after")
    assert_equal(log.take(), ["before", "other", "after"])


def test_a_sleep_past_the_deadline_times_out_at_the_deadline() raises:
    var begun = monotonic_ms()
    with assert_raises(contains="net.timeout sleep errno=110"):
        with deadline_in(5):
            sleep(60_000)
    assert_true(monotonic_ms() - begun < 5_000)


def test_a_sleep_within_the_deadline_ends_well() raises:
    with deadline_in(60_000):
        sleep(1)


def test_a_time_without_end_does_not_end_at_once() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        for duration_ms in [1 << 40, 1 << 62, Int.MAX - (1 << 50), Int.MAX]:
            var loop = Loop(ReactorConfig(backend=kind))
            var log = Log()

            def sleeper() raises {var log, var duration_ms}:
                try:
                    sleep(duration_ms)
                    log.add("slept")
                except e:
                    log.add(String(e))

            def bounded() raises {var log, var duration_ms}:
                with deadline_in(duration_ms):
                    sleep(1)
                    log.add("in time")

            def wake() raises {var log}:
                def nap() raises {} -> Int:
                    pause(0.03)
                    return 0

                # What comes from outside is all that wakes the loop then.
                _ = blocking(nap)
                log.add("woken")

            spawn(sleeper).detach()
            spawn(bounded).detach()
            spawn(wake).detach()
            while loop.busy() > 1:
                loop.turn(-1)
            var turns = loop.reactor.state[].turns
            assert_true(turns < 100, String(kind, " ", duration_ms, " ", turns))
            loop.close()
            assert_equal(
                log.take(),
                ["in time", "woken", "net.cancelled sleep errno=125"],
            )


def test_a_turn_longer_than_31_bits_of_milliseconds_waits() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))

        def wake() raises {}:
            def nap() raises {} -> Int:
                pause(0.03)
                return 0

            _ = blocking(nap)

        spawn(wake).detach()
        while loop.busy() > 0:
            loop.turn(1 << 32)
        var turns = loop.reactor.state[].turns
        assert_true(turns < 100, String(kind, " ", turns))
        loop.close()


def test_an_endless_deadline_leaves_the_outer_one() raises:
    with deadline_in(Int.MAX):
        assert_equal(_deadline_ms(), NO_DEADLINE)
        sleep(1)
    with deadline_in(10_000):
        var outer = _deadline_ms()
        with deadline_in(Int.MAX):
            assert_equal(_deadline_ms(), outer)
    with assert_raises(contains="net.timeout sleep"):
        with deadline_in(Int.MIN):
            sleep(60_000)
    sleep(Int.MIN)


def test_what_raises_inside_the_block_leaves_no_deadline_behind() raises:
    try:
        with deadline_in(5):
            raise Error("own")
    except e:
        assert_equal(String(e), "own")
    assert_equal(_deadline_ms(), NO_DEADLINE)
    sleep(10)


def test_an_inner_deadline_never_extends_the_outer_one() raises:
    with deadline_in(10_000):
        var outer = _deadline_ms()
        assert_true(outer != NO_DEADLINE)
        with deadline_in(20_000):
            assert_equal(_deadline_ms(), outer)
        with deadline_in(5_000):
            assert_true(_deadline_ms() <= outer - 4_000)
            with deadline_in(50_000):
                assert_true(_deadline_ms() <= outer - 4_000)
        assert_equal(_deadline_ms(), outer)
    assert_equal(_deadline_ms(), NO_DEADLINE)


def test_an_expired_block_waits_for_nothing_more() raises:
    var timeouts = 0
    with deadline_in(1):
        for _ in range(3):
            try:
                sleep(60_000)
            except e:
                assert_equal(NetError.of(e).value().kind, NetError.TIMEOUT)
                timeouts += 1
    assert_equal(timeouts, 3)
    with assert_raises(contains="net.timeout"):
        with deadline_in(-1):
            sleep(60_000)


def test_each_fiber_has_deadlines_of_its_own() raises:
    var log = Log()

    def bounded() raises {var log}:
        with deadline_in(5):
            try:
                sleep(60_000)
            except e:
                log.add(String(e))

    def unbounded() raises {var log}:
        sleep(20)
        log.add("slept")

    var first = spawn(bounded)
    var second = spawn(unbounded)
    first^.join()
    second^.join()
    assert_equal(log.take(), ["net.timeout sleep errno=110", "slept"])


def test_inside_a_loop_but_outside_a_fiber_waiting_is_an_error() raises:
    var loop = Loop(ReactorConfig())
    with assert_raises(contains="sleep errno=35"):
        sleep(1)
    with assert_raises(contains="wait errno=35"):
        with deadline_in(1):
            pass
    loop.close()


def test_a_script_that_turns_its_loop_itself_can_still_wait() raises:
    def body() raises {} -> Int:
        return 7

    sleep(0)
    var handle = spawn(body)
    current_fiber().value().reactor().turn(0)
    assert_true(handle.is_done())
    sleep(1)
    assert_equal(handle^.join(), 7)


def _note(log: Log, what: StringSlice, duration_ms: Int, begun_ns: Int):
    var passed_ns = monotonic_ns() - begun_ns
    if passed_ns < duration_ms * 1_000_000:
        log.add(String(what, " of ", duration_ms, " ms took ", passed_ns))


@no_inline
def _deadline_ms() -> Int:
    return current_fiber().value().state[].deadline_ms


comptime TESTS = __functions_in_module()
