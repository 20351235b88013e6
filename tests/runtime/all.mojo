"""Runs every test of `flare.runtime` in one binary."""

from std.testing import TestSuite

from tests.runtime import (
    test_blocking,
    test_buffer_pool,
    test_cancel,
    test_cpu_quota,
    test_epoll,
    test_event,
    test_fiber,
    test_loop,
    test_mailbox,
    test_scheduler,
    test_start,
    test_task,
    test_timer_wheel,
    test_turn,
    test_uring,
    test_wait,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_blocking.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_buffer_pool.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_cancel.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_cpu_quota.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_epoll.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_event.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_fiber.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_loop.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_mailbox.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_scheduler.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_start.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_task.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_timer_wheel.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_turn.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_uring.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_wait.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
