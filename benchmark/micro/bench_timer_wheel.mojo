"""Measures `TimerWheel` with 100,000 armed entries.

Prints nanoseconds per operation, the best of five rounds.
"""

from std.benchmark import black_box, keep
from std.time import perf_counter_ns

from flare.core import PointerTo, heap_create
from flare.runtime import TimerEntry, TimerWheel

comptime ENTRIES = 100_000
comptime ROUNDS = 5


def _deadline(i: Int, now_ms: Int) -> Int:
    # A multiplicative hash spreads the deadlines over a minute.
    return now_ms + 1 + ((i * 2_654_435_761) >> 7) % 60_000


def main() raises:
    """Runs the measurement.

    Raises:
        Error: Never.
    """
    var wheel = TimerWheel.create(1_000_000)
    var entries = List[PointerTo[TimerEntry]]()
    for i in range(ENTRIES):
        entries.append(heap_create(TimerEntry(tag=i)))
    var arm = Int.MAX
    var rearm = Int.MAX
    var push_back = Int.MAX
    var next = Int.MAX
    var fire = Int.MAX
    var cancel = Int.MAX
    for _ in range(ROUNDS):
        var now_ms = wheel.now_ms()
        var t0 = perf_counter_ns()
        for i in range(ENTRIES):
            wheel.arm(entries[i], black_box(_deadline(i, now_ms)))
        var t1 = perf_counter_ns()
        for i in range(ENTRIES):
            wheel.arm(entries[i], black_box(_deadline(i + 7, now_ms)))
        var t2 = perf_counter_ns()
        for i in range(ENTRIES):
            wheel.arm(entries[i & 63], black_box(now_ms + 30_000 + i // 1000))
        var t3 = perf_counter_ns()
        for _ in range(ENTRIES):
            keep(wheel.next_deadline_ms())
        var t4 = perf_counter_ns()
        for i in range(ENTRIES):
            wheel.cancel(entries[i])
        var t5 = perf_counter_ns()
        for i in range(ENTRIES):
            wheel.arm(entries[i], _deadline(i, now_ms))
        var t6 = perf_counter_ns()
        var fired = 0
        for step in range(60_001):
            wheel.advance(now_ms + step)
            while wheel.next_due():
                fired += 1
        var t7 = perf_counter_ns()
        if fired != ENTRIES:
            raise Error("fired ", fired)
        arm = min(arm, Int(t1 - t0))
        rearm = min(rearm, Int(t2 - t1))
        push_back = min(push_back, Int(t3 - t2))
        next = min(next, Int(t4 - t3))
        cancel = min(cancel, Int(t5 - t4))
        fire = min(fire, Int(t7 - t6))
    print("arm an idle entry               ", Float64(arm) / ENTRIES)
    print("arm an armed entry elsewhere    ", Float64(rearm) / ENTRIES)
    print("push an idle timeout back       ", Float64(push_back) / ENTRIES)
    print("next_deadline_ms                ", Float64(next) / ENTRIES)
    print("cancel                          ", Float64(cancel) / ENTRIES)
    print("fire, ticks of 1 ms, per entry  ", Float64(fire) / ENTRIES)
