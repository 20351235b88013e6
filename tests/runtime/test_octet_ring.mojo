"""Checks the ring that carries entries of octets between two threads."""

from flare.core import heap_create, heap_destroy
from flare.runtime.octet_ring import OctetRing, OctetRingState

from tests.asserting import assert_equal, assert_false, assert_true

comptime _OCTETS = 1024


def test_entries_come_out_whole_and_in_order() raises:
    var ring = make_ring()
    for turn in range(300):
        # Lengths that leave each remainder at the end of the memory.
        for i in range(5):
            put(ring, i * 37 + turn % 16, UInt8(turn + i))
        for i in range(5):
            check(ring, i * 37 + turn % 16, UInt8(turn + i))
        assert_false(ring.oldest())
    heap_destroy(ring.state)


def test_an_entry_without_room_is_refused_until_another_is_dropped() raises:
    var ring = make_ring()
    # With its length, each takes a quarter.
    for i in range(4):
        put(ring, _OCTETS // 4 - 8, UInt8(i))
    assert_false(ring.reserve(0), "a length has no room either")
    check(ring, _OCTETS // 4 - 8, 0)
    assert_false(ring.reserve(_OCTETS // 4 - 7), "one octet too long")
    put(ring, _OCTETS // 4 - 8, 4)
    for i in range(1, 5):
        check(ring, _OCTETS // 4 - 8, UInt8(i))
    heap_destroy(ring.state)


def test_an_entry_longer_than_the_memory_is_refused() raises:
    var ring = make_ring()
    assert_false(ring.reserve(_OCTETS - 7))
    assert_false(ring.reserve(100 * _OCTETS))
    put(ring, _OCTETS - 8, 7)
    check(ring, _OCTETS - 8, 7)
    # It fits nowhere but at the front: the rest that it would pass over counts.
    put(ring, 8, 1)
    check(ring, 8, 1)
    assert_false(ring.reserve(_OCTETS - 8))
    heap_destroy(ring.state)


def test_a_reserved_entry_is_not_seen_before_it_is_published() raises:
    var ring = make_ring()
    _ = ring.reserve(100)
    assert_false(ring.oldest())
    assert_equal(ring.waiting(), 0)
    # Reserving again replaces the entry.
    put(ring, 20, 3)
    assert_equal(ring.waiting(), 32)
    check(ring, 20, 3)
    assert_equal(ring.waiting(), 0)
    heap_destroy(ring.state)


def test_fullness_is_seen_and_ends_when_entries_are_dropped() raises:
    var ring = make_ring()
    put(ring, _OCTETS // 4 - 8, 0)
    assert_false(ring.seems_fuller_than(_OCTETS // 4))
    put(ring, 8, 1)
    assert_true(ring.seems_fuller_than(_OCTETS // 4))
    check(ring, _OCTETS // 4 - 8, 0)
    assert_false(ring.seems_fuller_than(_OCTETS // 4))
    heap_destroy(ring.state)


comptime TESTS = __functions_in_module()


def make_ring() -> OctetRing:
    return OctetRing(heap_create(OctetRingState(_OCTETS)))


def put(ring: OctetRing, count: Int, octet: UInt8) raises:
    var entry = ring.reserve(count)
    assert_true(entry)
    for i in range(count):
        entry.value()[unsafe_offset=i] = octet
    ring.publish()


def check(ring: OctetRing, count: Int, octet: UInt8) raises:
    var entry = ring.oldest()
    assert_true(entry)
    assert_equal(len(entry.value()), count)
    for each in entry.value():
        assert_equal(each, octet)
    ring.drop_oldest()
