"""Tests for `flare.http.server.process.start_barrier`."""

from flare.core import Erased, heap_create, heap_destroy
from flare.http.server.process.start_barrier import StartBarrier
from flare.runtime.scheduler import Scheduler
from flare.sys.thread import Lock

from tests.asserting import assert_equal

comptime _COUNT = 32


def test_nobody_passes_before_all_have_arrived() raises:
    for _ in range(50):
        var party = heap_create(_Party())
        Scheduler.start(
            _COUNT, False, _arrive, party.unsafe_bitcast[NoneType]()
        )
        for index in range(_COUNT):
            assert_equal(party[].found[index], 0)
            assert_equal(party[].seen[index], _COUNT)
        heap_destroy(party)


def test_the_problem_of_one_is_told_to_all() raises:
    for failing in [0, 1, _COUNT - 1]:
        var party = heap_create(_Party())
        party[].failing = failing
        Scheduler.start(
            _COUNT, False, _arrive, party.unsafe_bitcast[NoneType]()
        )
        for index in range(_COUNT):
            assert_equal(party[].found[index], -24)
        heap_destroy(party)


struct _Party(Movable):
    var barrier: StartBarrier
    var lock: Lock
    var failing: Int
    var arrived: Int
    var found: List[Int]
    var seen: List[Int]

    def __init__(out self):
        self.barrier = StartBarrier.create(_COUNT)
        self.lock = Lock.create()
        self.failing = -1
        self.arrived = 0
        self.found = List[Int](length=_COUNT, fill=1)
        self.seen = List[Int](length=_COUNT, fill=0)

    def __deinit__(deinit self):
        self.barrier.destroy()
        self.lock.destroy()


def _arrive(argument: Erased, index: Int):
    var party = argument.unsafe_bitcast[_Party]()
    party[].lock.acquire()
    party[].arrived += 1
    party[].lock.release()
    var problem = -24 if index == party[].failing else 0
    party[].found[index] = party[].barrier.arrive(problem)
    party[].lock.acquire()
    party[].seen[index] = party[].arrived
    party[].lock.release()


comptime TESTS = __functions_in_module()
