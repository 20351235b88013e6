"""Measures `TimerWheel` with 100,000 armed entries."""

from std.benchmark import black_box, keep
from std.time import perf_counter_ns

from measure import BATCHES, Case

from flare.core import PointerTo, heap_create
from flare.runtime import TimerEntry, TimerWheel

comptime ENTRIES = 100_000


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
    var arm = Case("timer_wheel/arm an idle entry")
    var rearm = Case("timer_wheel/arm an armed entry elsewhere")
    var push_back = Case("timer_wheel/push an idle timeout back")
    var next = Case("timer_wheel/next_deadline_ms")
    var cancel = Case("timer_wheel/cancel")
    var expire = Case("timer_wheel/expire, ticks of 1 ms")
    for _ in range(BATCHES):
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
        arm.add(Int(t1 - t0), ENTRIES)
        rearm.add(Int(t2 - t1), ENTRIES)
        push_back.add(Int(t3 - t2), ENTRIES)
        next.add(Int(t4 - t3), ENTRIES)
        cancel.add(Int(t5 - t4), ENTRIES)
        expire.add(Int(t7 - t6), ENTRIES)
    arm.report()
    rearm.report()
    push_back.report()
    next.report()
    cancel.report()
    expire.report()
