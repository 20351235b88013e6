"""Tests for `flare.core.slab`, against a list of what is lent."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.core.slab import Slab, SlotHandle
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true


def test_idle_chunks_are_visited_once_until_a_slot_was_lent() raises:
    var slab = Slab[Int].create(1000)
    var slots = List[SlotHandle]()
    for i in range(200):
        slots.append(slab.take(i).value())
    _visit(slab, 0)
    for i in range(1, 200):
        assert_true(slab.give(slots[i]))
    # The first slot is still lent.
    _visit(slab, 3)
    _visit(slab, 0)
    assert_equal(slab.find(slots[0]).value()[], 0)
    for i in range(200):
        slots[i] = slab.take(i).value() if i > 0 else slots[0]
    for i in range(200):
        assert_equal(slab.find(slots[i]).value()[], i)
        assert_true(slab.give(slots[i]))
    _visit(slab, 4)
    slab.destroy()


def test_a_slab_agrees_with_a_list_of_what_is_lent() raises:
    var refused = 0
    var stale = 0
    for seed in range(100):
        var random = Random(35, seed)
        var count_max = random.between(1, 200)
        var slab = Slab[Int].create(count_max)
        var model = List[Tuple[SlotHandle, Int, Int]]()
        var given = List[SlotHandle]()
        for step in range(400):
            var choice = random.below(10)
            if choice < 6:
                var taken = slab.take(step)
                assert_equal(Bool(taken), len(model) < count_max)
                if taken:
                    var handle = taken.value()
                    var address = Int(slab.find(handle).value())
                    model.append((handle, step, address))
                else:
                    refused += 1
            elif choice < 9 and len(model) > 0:
                var at = random.below(len(model))
                var entry = model[at]
                _ = model.pop(at)
                assert_true(slab.give(entry[0]))
                given.append(entry[0])
            elif len(given) > 0:
                var handle = random.pick(given)
                assert_false(slab.find(handle))
                assert_false(slab.give(handle))
                stale += 1
            assert_equal(slab.lent(), len(model))
        for entry in model:
            var found = slab.find(entry[0]).value()
            assert_equal(found[], entry[1])
            assert_equal(Int(found), entry[2], "slots never move")
        assert_equal(len(slab.handles()), len(model))
        for handle in slab.handles():
            assert_true(slab.give(handle))
        assert_equal(slab.lent(), 0)
        slab.destroy()
    assert_true(refused > 100 and stale > 100)


def test_a_value_is_destroyed_once_when_its_slot_is_given_back() raises:
    var count = heap_create(0)
    var slab = Slab[_Counted].create(1)
    var handle = slab.take(_Counted(count)).value()
    assert_equal(count[], 0)
    assert_false(slab.take(_Counted(count)), "the limit")
    assert_equal(count[], 1, "a refused value dies")
    assert_true(slab.give(handle))
    assert_equal(count[], 2)
    assert_false(slab.give(handle))
    assert_equal(count[], 2)
    slab.destroy()
    heap_destroy(count)


def test_a_handle_that_was_never_lent_finds_nothing() raises:
    var slab = Slab[Int].create(10)
    var rows: List[SlotHandle] = [
        SlotHandle(0, 0),
        SlotHandle(0, 1),
        SlotHandle(UInt32.MAX, 0),
        SlotHandle(UInt32.MAX, UInt32.MAX),
    ]
    for handle in rows:
        assert_false(slab.find(handle))
    var lent = slab.take(7).value()
    for index in range(70):
        for generation in range(4):
            var handle = SlotHandle(UInt32(index), UInt32(generation))
            assert_equal(Bool(slab.find(handle)), handle == lent)
    assert_true(slab.give(lent))
    assert_false(slab.find(SlotHandle(lent.index, lent.generation + 1)))
    slab.destroy()


@fieldwise_init
struct _Counted(Movable):
    var count: PointerTo[Int]

    def __deinit__(deinit self):
        self.count[] += 1


def _visit(slab: Slab[Int], expected: Int) raises:
    var before = slab.state[].are_cold.copy()
    slab.visit_idle_chunks(_wipe)
    var visited = 0
    for i in range(len(before)):
        if slab.state[].are_cold[i] and not before[i]:
            visited += 1
            assert_equal(slab.state[].chunks[i][unsafe_offset=63], _WIPED)
    assert_equal(visited, expected)


comptime _WIPED = 0x5A5A5A5A5A5A5A5A


def _wipe(address: Int, octets: Int):
    var chunk = PointerTo[UInt8](unsafe_from_address=address)
    for i in range(octets):
        chunk[unsafe_offset=i] = 0x5A


comptime TESTS = __functions_in_module()
