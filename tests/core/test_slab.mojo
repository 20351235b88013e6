"""Tests for `flare.core.slab`, against a list of what is lent."""

from std.testing import assert_equal, assert_false, assert_true

from flare.core import PointerTo, heap_create, heap_destroy
from flare.core.slab import Slab, SlotHandle
from fuzz.random import Random


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


comptime TESTS = __functions_in_module()
