"""Tests for the loop that tests turn themselves."""

from std.testing import assert_raises

from flare.runtime.current import current_reactor
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from tests.asserting import assert_equal
from tests.runtime.loop import Loop


def test_a_test_that_fails_in_its_loop_leaves_the_thread_as_it_was() raises:
    sleep(0)
    var before = Int(current_reactor().value().state)
    var left = Optional[Reactor](None)
    with assert_raises(contains="a claim that does not hold"):
        _fail_inside(left)
    assert_equal(Int(current_reactor().value().state), before)
    sleep(1)
    left.value().destroy()


def _fail_inside(mut left: Optional[Reactor]) raises:
    var loop = Loop(ReactorConfig())
    left = loop.reactor

    def body() raises {}:
        sleep(10_000)

    var handle = spawn(body)
    loop.turn(0)
    if not handle.is_done():
        raise Error("a claim that does not hold")
    loop.close()


comptime TESTS = __functions_in_module()
