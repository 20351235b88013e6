"""Runs every test of `flare.runtime` in one binary."""

from std.testing import TestSuite

from tests.runtime import (
    test_blocking,
    test_broadcast,
    test_buffer_pool,
    test_cancel,
    test_cpu_quota,
    test_epoll,
    test_event,
    test_fiber,
    test_line_ring,
    test_octet_ring,
    test_loop,
    test_mailbox,
    test_readiness,
    test_scheduler,
    test_start,
    test_stop_signals,
    test_task,
    test_timer_wheel,
    test_turn,
    test_uring,
    test_wait,
)


def main() raises:
    var failures = List[String]()
    _run[test_blocking.TESTS](failures)
    _run[test_broadcast.TESTS](failures)
    _run[test_buffer_pool.TESTS](failures)
    _run[test_cancel.TESTS](failures)
    _run[test_cpu_quota.TESTS](failures)
    _run[test_epoll.TESTS](failures)
    _run[test_event.TESTS](failures)
    _run[test_fiber.TESTS](failures)
    _run[test_line_ring.TESTS](failures)
    _run[test_octet_ring.TESTS](failures)
    _run[test_loop.TESTS](failures)
    _run[test_mailbox.TESTS](failures)
    _run[test_readiness.TESTS](failures)
    _run[test_scheduler.TESTS](failures)
    _run[test_start.TESTS](failures)
    _run[test_stop_signals.TESTS](failures)
    _run[test_task.TESTS](failures)
    _run[test_timer_wheel.TESTS](failures)
    _run[test_turn.TESTS](failures)
    _run[test_uring.TESTS](failures)
    _run[test_wait.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
