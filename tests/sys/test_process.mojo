"""Checks processes, and the last word of one that a fault ends."""

from std.ffi import ErrNo, c_int, external_call, get_errno, set_errno
from std.time import sleep

from flare.core import Erased, heap_create, heap_destroy
from flare.sys.fatal_signal import (
    SIGABRT,
    SIGFPE,
    SIGILL,
    FatalSignals,
    fatal_signal_name,
)
from flare.sys.file import close_descriptor, read_descriptor, write_descriptor
from flare.sys.process import (
    SIGKILL,
    PollEntry,
    block_signals,
    end_with_parent,
    exit_process,
    fork_process,
    parent_process_id,
    process_id,
    send_signal,
    set_signal_mask,
    wait_for_end,
    wait_readable,
)
from flare.sys.signal import (
    SIGTERM,
    SavedAction,
    action_of_signal,
    catch_signal,
    set_signal_descriptor,
)
from flare.sys.socket import open_socket_pair
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM

from tests.asserting import assert_equal, assert_false, assert_true

comptime _NOBODY: UInt8 = 0xFF


def test_a_wait_longer_than_31_bits_of_milliseconds_is_a_wait() raises:
    for timeout_ms in [1 << 32, (1 << 33) + 1, Int.MAX]:
        var pair = _Pair()
        var child = fork_process()
        if child == 0:
            sleep(0.03)
            var octets = List[UInt8](length=1, fill=0)
            _ = write_descriptor(pair.writer, Span(octets))
            exit_process(0)
        assert_true(pair.has_octets(timeout_ms), String(timeout_ms))
        assert_equal(wait_for_end(child).exit_code(), 0)
        pair.close()


def test_a_child_has_another_id_and_ends_with_its_code() raises:
    var own = process_id()
    var child = fork_process()
    if child == 0:
        exit_process(
            7 if process_id() != own and parent_process_id() == own else 1
        )
    var end = wait_for_end(child)
    assert_equal(end.exit_code(), 7)
    assert_equal(end.signal(), 0)


def test_a_child_that_was_killed_has_no_exit_code() raises:
    var child = fork_process()
    if child == 0:
        while parent_process_id() > 0:
            pass
    assert_equal(send_signal(child, SIGKILL), 0)
    var end = wait_for_end(child)
    assert_equal(end.signal(), SIGKILL)
    assert_equal(end.exit_code(), -1)


def test_the_end_of_somebody_elses_child_is_unknown() raises:
    var end = wait_for_end(process_id())
    assert_equal(end.signal(), 0)
    assert_equal(end.exit_code(), -1)


def test_a_process_knows_that_its_parent_is_gone() raises:
    var child = fork_process()
    if child == 0:
        var gone = not end_with_parent(process_id())
        var alive = end_with_parent(parent_process_id())
        exit_process(0 if gone and alive else 1)
    assert_equal(wait_for_end(child).exit_code(), 0)


def test_a_blocked_signal_comes_when_it_is_let_through() raises:
    var pair = _Pair()
    var child = fork_process()
    if child == 0:
        # A child has one thread, so that nobody else takes the signal.
        _ = set_signal_descriptor(pair.writer)
        _ = catch_signal(SIGTERM)
        var mask = block_signals(SIGTERM)
        _ = send_signal(process_id(), SIGTERM)
        var early = pair.has_octets(0)
        set_signal_mask(mask)
        exit_process(0 if not early and pair.has_octets(0) else 1)
    assert_equal(wait_for_end(child).exit_code(), 0)
    pair.close()


def test_a_caught_signal_leaves_errno_as_it_was() raises:
    var child = fork_process()
    if child == 0:
        # No such descriptor: the write of the handler fails.
        _ = set_signal_descriptor(1 << 20)
        _ = catch_signal(SIGTERM)
        set_errno(ErrNo.EAGAIN)
        _ = external_call["raise", c_int](c_int(SIGTERM))
        exit_process(0 if get_errno() == ErrNo.EAGAIN else 1)
    assert_equal(wait_for_end(child).exit_code(), 0)


def test_a_wait_ends_with_octets_with_the_end_and_in_time() raises:
    var pair = _Pair()
    assert_false(pair.has_octets(1))
    _ = write_descriptor(pair.writer, [UInt8(1)])
    assert_true(pair.has_octets(10_000))
    var octets: List[UInt8] = [0, 0]
    assert_equal(read_descriptor(pair.reader, Span(octets)), 1)
    assert_false(pair.has_octets(0))
    _ = close_descriptor(pair.writer)
    assert_true(pair.has_octets(10_000))
    _ = close_descriptor(pair.reader)


def test_a_fault_is_reported_before_it_ends_the_process() raises:
    for number in [SIGILL, SIGFPE, SIGABRT]:
        var pair = _Pair()
        var child = fork_process()
        if child == 0:
            _ = pair.watch(ends_at_once=True)
            if number == SIGILL:
                var numbers: List[Int] = [1]
                print(numbers[number])
            elif number == SIGFPE:
                print(Int.MIN // (number - SIGFPE - 1))
            else:
                external_call["abort", NoneType]()
            exit_process(0)
        assert_equal(wait_for_end(child).signal(), number)
        assert_equal(pair.received(), [_NOBODY, UInt8(number)])
        pair.close()


def test_the_watch_that_knows_the_thread_reports_alone() raises:
    var pair = _Pair()
    var child = fork_process()
    if child == 0:
        _ = pair.watch(ends_at_once=False)
        _ = FatalSignals.open(_know, pair.argument(), ends_at_once=True)
        external_call["abort", NoneType]()
    assert_equal(wait_for_end(child).signal(), SIGABRT)
    assert_equal(pair.received(), [UInt8(SIGABRT)])
    pair.close()


def test_actions_are_restored_behind_the_last_watch() raises:
    var pair = _Pair()
    var before = _handler(SIGILL)
    var first = pair.watch(ends_at_once=False)
    var caught = _handler(SIGILL)
    assert_true(caught != before)
    var second = pair.watch(ends_at_once=False)
    first.close()
    assert_equal(_handler(SIGILL), caught)
    second.close()
    assert_equal(_handler(SIGILL), before)
    pair.close()


def test_watches_are_bounded_and_come_back() raises:
    var pair = _Pair()
    var watches = List[FatalSignals]()
    for _ in range(64):
        watches.append(pair.watch(ends_at_once=False))
    assert_false(
        FatalSignals.open(_report, pair.argument(), ends_at_once=False)
    )
    while len(watches) > 0:
        watches.pop().close()
    pair.watch(ends_at_once=False).close()
    pair.close()


def test_signals_have_names() raises:
    assert_equal(fatal_signal_name(4), "SIGILL")
    assert_equal(fatal_signal_name(5), "SIGTRAP")
    assert_equal(fatal_signal_name(6), "SIGABRT")
    assert_equal(fatal_signal_name(7), "SIGBUS")
    assert_equal(fatal_signal_name(8), "SIGFPE")
    assert_equal(fatal_signal_name(9), "SIGKILL")
    assert_equal(fatal_signal_name(11), "SIGSEGV")
    assert_equal(fatal_signal_name(31), "a signal")


comptime TESTS = __functions_in_module()


def _know(number: Int, argument: Erased, unknown: Bool) -> Bool:
    if not unknown:
        _tell(argument, [UInt8(number)])
    return not unknown


def _report(number: Int, argument: Erased, unknown: Bool) -> Bool:
    if unknown:
        _tell(argument, [_NOBODY, UInt8(number)])
    return unknown


def _tell(argument: Erased, octets: List[UInt8]):
    _ = write_descriptor(Int32(Int(argument)), octets)


def _handler(number: Int) -> UInt64:
    var action = heap_create(SavedAction())
    action_of_signal(number, action)
    var handler = action[].words[0]
    heap_destroy(action)
    return handler


struct _Pair:
    var reader: Int32
    var writer: Int32

    def __init__(out self) raises:
        self.reader = -1
        self.writer = -1
        assert_equal(
            open_socket_pair(AF_UNIX, SOCK_STREAM, self.reader, self.writer), 0
        )

    def close(self):
        _ = close_descriptor(self.reader)
        _ = close_descriptor(self.writer)

    def argument(self) -> Erased:
        return Erased(unsafe_from_address=Int(self.writer))

    def watch(self, *, ends_at_once: Bool) raises -> FatalSignals:
        return FatalSignals.open(
            _report, self.argument(), ends_at_once=ends_at_once
        ).value()

    def has_octets(self, timeout_ms: Int) -> Bool:
        var entries: List[PollEntry] = [PollEntry(self.reader)]
        var count = wait_readable(entries, timeout_ms)
        return count == 1 and entries[0].is_ready()

    def received(self) -> List[UInt8]:
        var octets = List[UInt8](length=16, fill=0)
        var count = max(read_descriptor(self.reader, Span(octets)), 0)
        octets.shrink(count)
        return octets^
