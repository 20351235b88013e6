"""Tests for `flare.runtime.cancel`."""

from std.testing import assert_raises

from flare.runtime.cancel import Cancel
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log, Loop


def test_a_fiber_sees_that_it_was_cancelled() raises:
    var log = Log()

    def body() raises {var log} -> Int:
        var token = Cancel.current()
        assert_false(token.is_cancelled())
        token.raise_if_cancelled()
        try:
            sleep(60_000)
        except:
            log.add(String(token.is_cancelled()))
        token.raise_if_cancelled()
        return 1

    var handle = spawn(body)
    sleep(0)
    handle.cancel()
    with assert_raises(contains="net.cancelled cancel"):
        _ = handle^.join()
    assert_equal(log.take(), ["True"])


def test_the_token_of_an_earlier_run_stays_cancelled() raises:
    var loop = Loop(ReactorConfig(fibers_max=1))

    def body() raises {} -> Cancel:
        return Cancel.current()

    var first = spawn(body)
    loop.turn()
    var earlier = first^.join()
    assert_false(earlier.is_cancelled(), "it has ended, nothing runs there")
    var second = spawn(body)
    loop.turn()
    var later = second^.join()
    assert_true(earlier.is_cancelled())
    assert_false(later.is_cancelled())
    loop.close()


def test_a_script_has_a_token_that_nobody_cancels() raises:
    var token = Cancel.current()
    assert_false(token.is_cancelled())
    token.raise_if_cancelled()


def test_inside_a_loop_but_outside_a_fiber_there_is_no_token() raises:
    var loop = Loop(ReactorConfig())
    with assert_raises(contains="errno=35"):
        _ = Cancel.current()
    loop.close()


comptime TESTS = __functions_in_module()
