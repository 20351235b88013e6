"""Tests for `flare.runtime.buffer_pool`."""

from flare.core import Buffer, OctetPointer
from flare.runtime.buffer_pool import BufferPool
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true


def test_trimming_gives_pages_back_of_what_is_idle_and_keeps_what_is_lent() raises:
    var pool = BufferPool.create(4096, 256)
    var lent = List[OctetPointer]()
    for i in range(256):
        lent.append(pool.take().value())
        lent[i][unsafe_offset=4095] = UInt8(i & 127) + 1
    var kept = List[OctetPointer](lent[:56])
    for buffer in lent[56:]:
        pool.give(buffer)
    var rounds = 0
    while pool.trim(30):
        rounds += 1
    assert_equal(rounds, 2)
    assert_equal(len(pool.state[].free), 30)
    assert_equal(len(pool.state[].cold), 170)
    assert_equal(pool.lent(), 56)
    assert_equal(pool.available(), 200)
    for i in range(len(kept)):
        assert_equal(kept[i][unsafe_offset=4095], UInt8(i & 127) + 1)
    for buffer in pool.state[].cold:
        assert_equal(buffer[unsafe_offset=4095], 0, "its page is a new one")
    # All of them can be lent again, each once.
    var addresses = List[Int]()
    for _ in range(200):
        addresses.append(Int(pool.take().value()))
    assert_false(pool.take())
    sort(addresses)
    for i in range(1, len(addresses)):
        assert_true(addresses[i] > addresses[i - 1])
    for address in addresses:
        pool.give(OctetPointer(unsafe_from_address=address))
    for buffer in kept:
        pool.give(buffer)
    assert_equal(pool.lent(), 0)
    assert_false(pool.trim(256), "nobody gives back what is kept")
    pool.destroy()


def test_a_pool_without_users_holds_no_memory() raises:
    var pool = BufferPool.create(4096, 1000)
    assert_equal(pool.lent(), 0)
    assert_equal(pool.state[].count, 0)
    assert_false(pool.is_exhausted())
    assert_equal(pool.buffer_octets(), 4096)
    pool.destroy()


def test_the_limit_is_rounded_up_to_whole_chunks() raises:
    var rows: List[Tuple[Int, Int]] = [
        (1, 64),
        (63, 64),
        (64, 64),
        (65, 128),
        (128, 128),
    ]
    for row in rows:
        var pool = BufferPool.create(64, row[0])
        var lent = List[OctetPointer]()
        while True:
            var buffer = pool.take()
            if not buffer:
                break
            lent.append(buffer.value())
        assert_equal(len(lent), row[1], String(row[0]))
        assert_true(pool.is_exhausted())
        assert_false(pool.take())
        pool.give(lent[0])
        assert_false(pool.is_exhausted())
        assert_equal(pool.take().value(), lent[0])
        for buffer in lent:
            pool.give(buffer)
        assert_equal(pool.lent(), 0)
        pool.destroy()


def test_lent_buffers_never_overlap_and_keep_their_octets() raises:
    var random = Random(36)
    var pool = BufferPool.create(128, 200)
    var lent = List[OctetPointer]()
    var marks = List[UInt8]()
    var taken = 0
    for step in range(5000):
        if random.chance(55):
            var buffer = pool.take()
            assert_equal(Bool(buffer), len(lent) < 256)
            if buffer:
                var mark = UInt8(step & 255)
                for i in range(128):
                    buffer.value()[unsafe_offset=i] = mark
                lent.append(buffer.value())
                marks.append(mark)
                taken += 1
        elif len(lent) > 0:
            var at = random.below(len(lent))
            for i in range(128):
                if lent[at][unsafe_offset=i] != marks[at]:
                    raise Error("a buffer lost its octets")
            pool.give(lent[at])
            _ = lent.pop(at)
            _ = marks.pop(at)
        assert_equal(pool.lent(), len(lent))
    assert_true(taken > 1000)
    for buffer in lent:
        pool.give(buffer)
    pool.destroy()


def test_what_is_on_offer_is_not_in_use() raises:
    var pool = BufferPool.create(64, 64)
    var held = pool.take().value()
    var offered = pool.take().value()
    pool.offer(1)
    assert_equal(pool.lent(), 1)
    assert_equal(pool.available(), 63)
    pool.offer(-1)
    assert_equal(pool.lent(), 2)
    pool.give(offered)
    pool.give(held)
    assert_equal(pool.lent(), 0)
    pool.destroy()


def test_a_growing_buffer_gives_its_memory_back_once() raises:
    var pool = BufferPool.create(64, 64)
    var text = String("x") * 60
    for is_outgrown in [False, True]:
        var buffer = pool.take_growing()
        assert_equal(buffer.capacity(), 64)
        assert_equal(pool.lent(), 1)
        buffer.append(text.as_bytes())
        assert_equal(pool.lent(), 1)
        if is_outgrown:
            buffer.append(text.as_bytes())
            assert_equal(pool.lent(), 0)
            assert_equal(len(buffer), 120)
            for octet in buffer.span():
                assert_equal(octet, UInt8(ord("x")))
        var moved = Buffer()
        swap(moved, buffer)
        assert_equal(pool.lent(), 0 if is_outgrown else 1)
        _ = moved^
        _ = buffer^
        assert_equal(pool.lent(), 0)
    pool.destroy()


def test_a_growing_buffer_of_an_empty_pool_has_no_memory() raises:
    var pool = BufferPool.create(64, 64)
    var lent = List[Buffer]()
    for _ in range(64):
        lent.append(pool.take_growing())
    var none = pool.take_growing()
    assert_equal(none.capacity(), 0)
    none.append("it grows by itself")
    assert_equal(pool.lent(), 64)
    lent.clear()
    assert_equal(pool.lent(), 0)
    _ = none^
    pool.destroy()


def test_the_last_buffer_given_back_is_lent_first() raises:
    var pool = BufferPool.create(64, 64)
    var first = pool.take().value()
    var second = pool.take().value()
    pool.give(first)
    pool.give(second)
    assert_equal(pool.take().value(), second)
    assert_equal(pool.take().value(), first)
    pool.destroy()


comptime TESTS = __functions_in_module()
