"""Tests for `flare.core.buffer`, against a list of octets."""

from flare.core import Buffer
from fuzz.random import Random

from tests.asserting import assert_equal, assert_true


def test_a_new_buffer_holds_no_memory() raises:
    var buffer = Buffer()
    assert_equal(len(buffer), 0)
    assert_equal(buffer.capacity(), 0)
    assert_equal(len(buffer.span()), 0)
    buffer.consume(0)
    buffer.clear()
    assert_equal(buffer.capacity(), 0)


def test_a_buffer_agrees_with_a_list_of_octets() raises:
    var grown = 0
    var compacted = 0
    for seed in range(400):
        var random = Random(31, seed)
        var buffer = Buffer(capacity=random.between(1, 200))
        if random.chance(30):
            buffer = Buffer()
        var model = List[UInt8]()
        for _ in range(60):
            var capacity = buffer.capacity()
            var choice = random.below(10)
            if choice < 4:
                var octets = random.octets(random.below(90))
                buffer.append(Span(octets))
                model.extend(octets^)
            elif choice < 5:
                buffer.append_octet(UInt8(choice))
                model.append(UInt8(choice))
            elif choice < 6:
                var octets = random.octets(random.below(40))
                var target = buffer.reserve(len(octets) + random.below(50))
                for i in range(len(octets)):
                    target[unsafe_offset=i] = octets[i]
                buffer.advance(len(octets))
                model.extend(octets^)
            elif choice < 9:
                var count = random.between(0, len(model))
                buffer.consume(count)
                var rest = List[UInt8]()
                for i in range(count, len(model)):
                    rest.append(model[i])
                model = rest^
                compacted += 1 if count > 0 and len(model) > 0 else 0
            elif random.chance(10):
                buffer.clear()
                model.clear()
            else:
                var count = random.between(0, min(len(model), 5))
                buffer.shorten(count)
                model.shrink(len(model) - count)
            grown += 1 if buffer.capacity() > capacity else 0
            _assert_same(buffer, model)
    assert_true(grown > 400 and compacted > 400)


def test_room_at_the_front_is_used_before_memory_grows() raises:
    var buffer = Buffer(capacity=100)
    var octets = List[UInt8](length=100, fill=7)
    buffer.append(Span(octets))
    buffer.consume(60)
    buffer.append(Span(octets)[0:60])
    assert_equal(buffer.capacity(), 100)
    assert_equal(len(buffer), 100)
    buffer.append_octet(1)
    assert_equal(buffer.capacity(), 200)
    assert_equal(buffer.span()[100], 1)


def test_decimal_numbers_have_no_leading_zeros() raises:
    var rows: List[Int] = [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, Int.MAX]
    var power = 1
    for _ in range(18):
        power *= 10
        rows.append(power - 1)
        rows.append(power)
        rows.append(power + 1)
    for number in rows:
        var buffer = Buffer()
        buffer.append("<")
        buffer.append_decimal(number)
        buffer.append(">")
        assert_equal(_text(buffer), String("<", number, ">"))


def test_hexadecimal_numbers_have_no_leading_zeros() raises:
    var rows: List[Tuple[Int, String]] = [
        (0, "0"),
        (9, "9"),
        (10, "a"),
        (15, "f"),
        (16, "10"),
        (255, "ff"),
        (256, "100"),
        (0xFFFF, "ffff"),
        (0x10000, "10000"),
        (0x0FEDCBA987654321, "fedcba987654321"),
        (Int.MAX, "7fffffffffffffff"),
    ]
    for row in rows:
        var buffer = Buffer()
        buffer.append_hexadecimal(row[0])
        assert_equal(_text(buffer), row[1])


def test_clear_keeps_the_memory() raises:
    var buffer = Buffer()
    buffer.append("text")
    var capacity = buffer.capacity()
    buffer.clear()
    assert_equal(len(buffer), 0)
    assert_equal(buffer.capacity(), capacity)


def _text(buffer: Buffer) -> String:
    return String(StringSlice(unsafe_from_utf8=buffer.span()))


def _assert_same(buffer: Buffer, model: List[UInt8]) raises:
    assert_equal(len(buffer), len(model))
    var view = buffer.span()
    assert_equal(len(view), len(model))
    for i in range(len(model)):
        if view[i] != model[i]:
            raise Error("octet ", i, " differs")


comptime TESTS = __functions_in_module()
