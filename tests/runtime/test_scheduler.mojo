"""Tests for `flare.runtime.scheduler`."""

from std.testing import assert_raises

from flare.core import Erased, heap_create, heap_destroy
from flare.runtime.current import current_reactor
from flare.runtime.event import Event
from flare.runtime.scheduler import Scheduler, default_worker_count
from flare.runtime.wait import sleep
from flare.sys.thread import allowed_cpus, set_affinity

from tests.asserting import assert_equal, assert_true


def test_every_worker_runs_once_with_its_own_number() raises:
    for count in [1, 2, 3, 17, 256]:
        var seen = heap_create(_Seen())
        Scheduler.start(count, False, _note, seen.unsafe_bitcast[NoneType]())
        for index in range(256):
            assert_equal(seen[].runs[index], 1 if index < count else 0)
        heap_destroy(seen)


def test_worker_counts_outside_1_to_256_are_refused() raises:
    var seen = heap_create(_Seen())
    for count in [-1, 0, 257]:
        with assert_raises(contains="runtime.bad_count"):
            Scheduler.start(
                count, False, _note, seen.unsafe_bitcast[NoneType]()
            )
    for index in range(256):
        assert_equal(seen[].runs[index], 0)
    heap_destroy(seen)


def test_worker_n_keeps_to_the_nth_allowed_cpu() raises:
    var seen = heap_create(_Seen())
    var cpus = allowed_cpus()
    var count = len(cpus) + 1
    Scheduler.start(count, True, _note, seen.unsafe_bitcast[NoneType]())
    for index in range(count):
        assert_equal(seen[].cpus[index], cpus[index % len(cpus)])
    heap_destroy(seen)


def test_the_caller_gets_its_affinity_back() raises:
    var before = allowed_cpus()
    var seen = heap_create(_Seen())
    Scheduler.start(2, True, _note, seen.unsafe_bitcast[NoneType]())
    heap_destroy(seen)
    assert_equal(allowed_cpus(), before)


def test_only_allowed_cpus_are_used_and_counted() raises:
    var before = allowed_cpus()
    var last = before[len(before) - 1]
    assert_equal(set_affinity([last]), 0)
    var seen = heap_create(_Seen())
    Scheduler.start(2, True, _note, seen.unsafe_bitcast[NoneType]())
    var counted = default_worker_count()
    _ = set_affinity(before)
    assert_equal(seen[].cpus[0], last)
    assert_equal(seen[].cpus[1], last)
    assert_equal(counted, 1)
    heap_destroy(seen)


def test_the_default_is_at_least_one_and_at_most_the_allowed_cpus() raises:
    var count = default_worker_count()
    assert_true(count >= 1 and count <= len(allowed_cpus()))


def test_each_worker_waits_on_a_loop_of_its_own() raises:
    var seen = heap_create(_Seen())
    for _ in range(4):
        seen[].arrived.append(Event())
    Scheduler.start(4, False, _wait, seen.unsafe_bitcast[NoneType]())
    for index in range(4):
        assert_equal(seen[].runs[index], 1)
        for other in range(index):
            assert_true(seen[].cpus[index] != seen[].cpus[other])
    heap_destroy(seen)


struct _Seen(Movable):
    # Each worker writes to its own place; the join orders the reads after it.
    var runs: List[Int]
    var cpus: List[Int]
    var arrived: List[Event]

    def __init__(out self):
        self.runs = List[Int](length=256, fill=0)
        self.cpus = List[Int](length=256, fill=-1)
        self.arrived = List[Event]()


def _note(argument: Erased, index: Int):
    var seen = argument.unsafe_bitcast[_Seen]()
    seen[].runs[index] += 1
    var cpus = allowed_cpus()
    seen[].cpus[index] = cpus[0]


def _wait(argument: Erased, index: Int):
    var seen = argument.unsafe_bitcast[_Seen]()
    try:
        sleep(1)
        seen[].arrived[index].set()
        # The loops of all exist at once.
        for i in range(4):
            seen[].arrived[i].wait()
        seen[].runs[index] += 1
    except:
        pass
    var reactor = current_reactor()
    if reactor:
        seen[].cpus[index] = Int(reactor.value().state)


comptime TESTS = __functions_in_module()
