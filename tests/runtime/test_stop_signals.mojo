"""Tests for `flare.runtime.stop_signals`."""

from std.testing import assert_raises

from flare.runtime.backend import BackendKind
from flare.runtime.reactor import ReactorConfig
from flare.runtime.stop_signals import StopSignals
from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in
from flare.sys.process import process_id, send_signal
from flare.sys.signal import (
    SIGINT,
    SIGTERM,
    catch_signal,
    restore_signal,
)
from tests.asserting import assert_false, assert_true
from tests.runtime.loop import Loop


def test_the_first_signal_sets_the_flag_for_all() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        for number in [SIGTERM, SIGINT]:
            var loop = Loop(ReactorConfig(backend=kind))
            var signals = StopSignals()
            assert_false(signals.is_stopping())

            def wait() raises {imm signals} -> Int:
                signals.wait()
                signals.wait()
                return 1

            var first = spawn[unsafe_borrows=True](wait)
            var second = spawn[unsafe_borrows=True](wait)
            for _ in range(5):
                loop.turn(1)
            assert_false(first.is_done() or second.is_done())
            _ = send_signal(process_id(), number)
            while loop.busy() > 0:
                loop.turn()
            assert_true(first.is_done() and second.is_done())
            assert_true(signals.is_stopping())
            assert_true(signals.is_stopping())
            loop.close()


def test_a_wait_ends_at_the_deadline() raises:
    var signals = StopSignals()
    with assert_raises(contains="net.timeout"):
        with deadline_in(1):
            signals.wait()
    assert_false(signals.is_stopping())


def test_a_signal_that_was_seen_has_its_usual_effect_again() raises:
    var before = _handler(SIGTERM)
    for is_seen in [True, False]:
        var signals = StopSignals()
        assert_true(_handler(SIGTERM) != before)
        if is_seen:
            _ = send_signal(process_id(), SIGTERM)
            while not signals.is_stopping():
                pass
        assert_true((_handler(SIGTERM) == before) == is_seen)
        _ = signals^
        assert_true(_handler(SIGTERM) == before)


def _handler(number: Int) -> UInt64:
    var saved = catch_signal(number)[1]
    var handler = saved[].words[0]
    restore_signal(number, saved)
    return handler


comptime TESTS = __functions_in_module()
