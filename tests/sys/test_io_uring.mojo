"""Tests for rings against the real kernel: what is left when they have ended."""

from std.ffi import c_int, external_call

from flare.sys.io_uring import Uring

from tests.asserting import assert_equal, assert_true

comptime _ENTRIES = 1024
comptime _COMPLETIONS = 8192
# More than the sixteen that a thread may have registered at a time.
comptime _RINGS = 40
comptime _RLIMIT_AS = 9
comptime _PAGE_OCTETS = 4096
# More than the entries take, and less than the rings.
comptime _SPARE_OCTETS = 96 * 1024


def test_a_thread_that_ends_ring_after_ring_has_each_registered() raises:
    for i in range(_RINGS):
        var opened = Uring.open(_ENTRIES, _COMPLETIONS)
        assert_equal(opened[0], 0)
        var ring = opened[1].value()
        assert_true(ring.state[].enter_flags != 0, String("ring ", i))
        assert_true(ring.enter(0, 0) >= 0, String("ring ", i))
        ring.close()


def test_rings_that_end_in_another_order_are_each_registered() raises:
    for _ in range(_RINGS):
        var first = _open()
        var second = _open()
        assert_true(first.state[].enter_flags != 0)
        assert_true(second.state[].enter_flags != 0)
        first.close()
        assert_true(second.enter(0, 0) >= 0)
        second.close()


def test_a_ring_that_cannot_be_mapped_leaves_nothing_behind() raises:
    # What the ring itself allocates is there the second time.
    _open().close()
    var before = _ring_mappings()
    var limit = _address_space_limit()
    _limit_address_space(_address_space() + _SPARE_OCTETS)
    var opened = Uring.open(_ENTRIES, _COMPLETIONS)
    _limit_address_space(limit)
    assert_equal(opened[0], -12)
    assert_equal(_ring_mappings(), before)


def _open() raises -> Uring:
    var opened = Uring.open(_ENTRIES, _COMPLETIONS)
    assert_equal(opened[0], 0)
    return opened[1].value()


def _ring_mappings() raises -> Int:
    with open("/proc/self/maps", "r") as maps:
        return maps.read().count("[io_uring]")


def _address_space() raises -> Int:
    with open("/proc/self/statm", "r") as statm:
        return Int(statm.read().split(" ")[0]) * _PAGE_OCTETS


def _address_space_limit() raises -> Int:
    var limit = Array[UInt64, 2](fill=0)
    var read = external_call["getrlimit", c_int](
        c_int(_RLIMIT_AS), limit.unsafe_ptr()
    )
    assert_equal(Int(read), 0)
    return Int(limit[0])


def _limit_address_space(octets: Int) raises:
    var limit = Array[UInt64, 2](fill=0)
    var read = external_call["getrlimit", c_int](
        c_int(_RLIMIT_AS), limit.unsafe_ptr()
    )
    assert_equal(Int(read), 0)
    limit[0] = UInt64(octets)
    var set = external_call["setrlimit", c_int](
        c_int(_RLIMIT_AS), limit.unsafe_ptr()
    )
    assert_equal(Int(set), 0)


comptime TESTS = __functions_in_module()
