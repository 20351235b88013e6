"""Tests for `flare.runtime.timer_wheel`."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime import TimerEntry, TimerWheel
from fuzz.random import Random
from fuzz.timer_wheel_model import Program

from tests.asserting import assert_equal, assert_false, assert_true

comptime TEN_YEARS_MS = 10 * 366 * 86_400_000


struct Bench(Movable):
    """Holds a wheel with entries that are tagged by their index.

    Tests reach the wheel through methods only: a handle copied out of a bench
    does not keep the bench alive.
    """

    var wheel: TimerWheel
    var entries: List[PointerTo[TimerEntry]]

    def __init__(out self, now_ms: Int, count: Int):
        self.wheel = TimerWheel.create(now_ms)
        self.entries = []
        for i in range(count):
            self.entries.append(heap_create(TimerEntry(tag=i)))

    def __deinit__(deinit self):
        for entry in self.entries:
            self.wheel.cancel(entry)
        self.wheel.destroy()
        for entry in self.entries:
            heap_destroy(entry)

    def arm(self, index: Int, deadline_ms: Int):
        self.wheel.arm(self.entries[index], deadline_ms)

    def cancel(self, index: Int):
        self.wheel.cancel(self.entries[index])

    def is_armed(self, index: Int) -> Bool:
        return self.entries[index][].is_armed()

    def advance(self, now_ms: Int):
        self.wheel.advance(now_ms)

    def now_ms(self) -> Int:
        return self.wheel.now_ms()

    def next_deadline_ms(self) -> Optional[Int]:
        return self.wheel.next_deadline_ms()

    def armed_count(self) -> Int:
        return self.wheel.armed_count()

    def take(self) -> Bool:
        return Bool(self.wheel.next_due())

    def hold_all(self) -> Int:
        var taken = List[PointerTo[TimerEntry]]()
        while True:
            var next = self.wheel.next_due()
            if not next:
                break
            taken.append(next.value())
        for entry in taken:
            self.wheel.hold(entry)
        return len(taken)

    def first_held(self) -> Int:
        var first = self.wheel.first_held()
        return first.value()[].tag if first else -1

    def take_all(self) -> List[Int]:
        var tags = List[Int]()
        while True:
            var taken = self.wheel.next_due()
            if not taken:
                return tags^
            tags.append(taken.value()[].tag)


@fieldwise_init
struct Row(Copyable):
    var name: StaticString
    var now_ms: Int
    var deadline_ms: Int


def test_an_entry_fires_at_its_deadline_and_not_a_tick_before() raises:
    for row in _rows():
        var bench = Bench(row.now_ms, 1)
        bench.arm(0, row.deadline_ms)
        bench.advance(row.deadline_ms - 1)
        assert_equal(len(bench.take_all()), 0, row.name)
        assert_true(bench.is_armed(0), row.name)
        bench.advance(row.deadline_ms)
        assert_equal(len(bench.take_all()), 1, row.name)
        assert_false(bench.is_armed(0), row.name)
        assert_equal(bench.armed_count(), 0, row.name)


def test_an_entry_fires_at_once_when_the_clock_jumps_past_it() raises:
    for row in _rows():
        if row.deadline_ms == Int.MAX:
            continue
        var bench = Bench(row.now_ms, 1)
        bench.arm(0, row.deadline_ms)
        bench.advance(Int.MAX)
        assert_equal(len(bench.take_all()), 1, row.name)
        assert_false(bench.next_deadline_ms(), row.name)


def test_a_loop_that_waits_as_told_wakes_at_most_once_per_level() raises:
    for row in _rows():
        var bench = Bench(row.now_ms, 1)
        bench.arm(0, row.deadline_ms)
        var wakes = 0
        while bench.is_armed(0):
            var next = bench.next_deadline_ms().value()
            assert_true(next > bench.now_ms(), row.name)
            assert_true(next <= row.deadline_ms, row.name)
            bench.advance(next)
            _ = bench.take_all()
            wakes += 1
        assert_equal(bench.now_ms(), row.deadline_ms, row.name)
        assert_true(wakes <= 11, row.name)


def test_a_late_deadline_is_due_at_the_next_advance_and_not_before() raises:
    var bench = Bench(1000, 2)
    bench.arm(0, 1000)
    bench.arm(1, -5)
    assert_equal(len(bench.take_all()), 0)
    assert_equal(bench.next_deadline_ms().value(), 1000)
    bench.advance(1000)
    assert_equal(len(bench.take_all()), 2)


def test_arming_again_from_a_due_entry_does_not_trap_the_loop() raises:
    var bench = Bench(0, 1)
    bench.arm(0, 10)
    bench.advance(10)
    var taken = 0
    while bench.take():
        taken += 1
        bench.arm(0, 0)
    assert_equal(taken, 1)
    assert_equal(bench.armed_count(), 1)


def test_a_due_entry_can_be_cancelled_before_it_is_taken() raises:
    var bench = Bench(0, 3)
    for i in range(3):
        bench.arm(i, 5 + i)
    bench.advance(7)
    bench.cancel(1)
    assert_equal(bench.armed_count(), 2)
    var tags = bench.take_all()
    assert_equal(len(tags), 2)
    assert_equal(tags[0], 0)
    assert_equal(tags[1], 2)


def test_a_due_entry_can_be_armed_again_before_it_is_taken() raises:
    var bench = Bench(0, 1)
    bench.arm(0, 5)
    bench.advance(5)
    bench.arm(0, 9)
    assert_equal(len(bench.take_all()), 0)
    bench.advance(9)
    assert_equal(len(bench.take_all()), 1)


def test_arming_an_armed_entry_moves_its_deadline_both_ways() raises:
    for first in [3, 70, 5000, 900_000]:
        for second in [2, 65, 4999, 900_001]:
            var bench = Bench(0, 1)
            bench.arm(0, first)
            bench.arm(0, second)
            assert_equal(bench.armed_count(), 1)
            bench.advance(second - 1)
            assert_equal(len(bench.take_all()), 0)
            bench.advance(second)
            assert_equal(len(bench.take_all()), 1)
            bench.advance(1_000_000)
            assert_equal(len(bench.take_all()), 0)


def test_a_cancelled_entry_never_fires_wherever_it_stands_in_its_slot() raises:
    for cancelled in range(4):
        var bench = Bench(0, 4)
        for i in range(4):
            bench.arm(i, 100)
        bench.cancel(cancelled)
        bench.cancel(cancelled)
        assert_equal(bench.armed_count(), 3)
        bench.advance(100)
        var tags = bench.take_all()
        assert_equal(len(tags), 3)
        for tag in tags:
            assert_true(tag != cancelled)


def test_held_entries_are_due_again_in_the_next_millisecond_and_first() raises:
    var bench = Bench(500, 4)
    for i in range(3):
        bench.arm(i, 502)
    bench.arm(3, 503)
    bench.advance(502)
    assert_equal(bench.hold_all(), 3)
    assert_equal(bench.first_held(), 0)
    assert_equal(bench.armed_count(), 4)
    assert_equal(bench.next_deadline_ms().value(), 503)
    bench.advance(502)
    assert_false(bench.take())
    bench.cancel(0)
    assert_equal(bench.first_held(), 1)
    bench.arm(1, 505)
    assert_equal(bench.first_held(), 2)
    bench.advance(503)
    assert_equal(bench.take_all(), [2, 3])
    assert_equal(bench.first_held(), -1)
    assert_equal(bench.next_deadline_ms().value(), 505)


def test_a_clock_that_goes_back_changes_nothing() raises:
    var bench = Bench(500, 1)
    bench.arm(0, 510)
    bench.advance(100)
    assert_equal(bench.now_ms(), 500)
    assert_equal(bench.next_deadline_ms().value(), 510)
    bench.advance(510)
    assert_equal(len(bench.take_all()), 1)


def test_a_negative_start_counts_as_zero() raises:
    var bench = Bench(-1000, 1)
    assert_equal(bench.now_ms(), 0)
    bench.arm(0, 3)
    bench.advance(3)
    assert_equal(len(bench.take_all()), 1)


def test_entries_fire_in_the_order_of_deadlines_when_every_tick_is_told() raises:
    var bench = Bench(17, 200)
    var random = Random(9)
    var deadlines = List[Int]()
    for i in range(200):
        deadlines.append(18 + random.below(10_000))
        bench.arm(i, deadlines[i])
    var last = 0
    var fired = 0
    for now in range(18, 10_019):
        bench.advance(now)
        for tag in bench.take_all():
            assert_equal(deadlines[tag], now)
            assert_true(deadlines[tag] >= last)
            last = deadlines[tag]
            fired += 1
    assert_equal(fired, 200)


def test_a_hundred_thousand_entries_survive_a_jump_of_ten_years() raises:
    var bench = Bench(1, 100_000)
    var random = Random(4)
    var soon = 0
    for i in range(100_000):
        var deadline = random.below(TEN_YEARS_MS * 2)
        if deadline <= TEN_YEARS_MS:
            soon += 1
        bench.arm(i, deadline)
    assert_equal(bench.armed_count(), 100_000)
    bench.advance(TEN_YEARS_MS)
    assert_equal(len(bench.take_all()), soon)
    bench.advance(TEN_YEARS_MS * 2)
    assert_equal(len(bench.take_all()), 100_000 - soon)


def test_a_wheel_agrees_with_a_list_of_deadlines() raises:
    var fired = 0
    for seed in range(3000):
        var random = Random(77, seed)
        var program = Program(random.octets(4 * random.between(1, 60)))
        fired += program.run().fired
    assert_true(fired > 10_000)


def _rows() -> List[Row]:
    return [
        Row("the next tick", 0, 1),
        Row("last slot of level 0", 0, 63),
        Row("first of level 1", 0, 64),
        Row("across a boundary of level 0", 63, 64),
        Row("two past a boundary of level 0", 63, 66),
        Row("last of level 1", 0, 4095),
        Row("first of level 2", 0, 4096),
        Row("across a boundary of level 2", 262_143, 262_145),
        Row("thirty seconds, odd start", 1_795_251_957_123, 1_795_251_987_123),
        Row("ten years", 7, 7 + TEN_YEARS_MS),
        Row("ten years, odd start", 12_345_678_901, TEN_YEARS_MS * 2 + 1),
        Row("across the highest bit", (1 << 62) - 1, 1 << 62),
        Row("the largest deadline", 5, Int.MAX),
    ]


comptime TESTS = __functions_in_module()
