"""Tests for `flare.runtime.event`."""

from std.atomic import Atomic
from std.testing import assert_raises

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.backend import BackendKind
from flare.runtime.event import Event, _drain_counter
from flare.runtime.reactor import ReactorConfig
from flare.runtime.scheduler import Scheduler
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in, sleep
from flare.sys.file import (
    close_descriptor,
    open_event_descriptor,
    read_descriptor,
)
from flare.sys.thread import join_thread, start_thread
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log, Loop


def test_a_flag_that_is_set_does_not_park() raises:
    var event = Event()
    assert_false(event.is_set())
    event.set()
    event.set()
    assert_true(event.is_set())
    event.wait()
    event.wait()
    event.clear()
    assert_false(event.is_set())
    event.clear()


def test_set_wakes_every_fiber_that_waits() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var event = Event()

        def waiter() raises {var event} -> Int:
            event.wait()
            return 1

        var handles = List[JoinHandle[Int]]()
        for _ in range(50):
            handles.append(spawn(waiter))
        for _ in range(5):
            loop.turn(1)
        for i in range(50):
            assert_false(handles[i].is_done())
        event.set()
        while loop.busy() > 0:
            loop.turn()
        while len(handles) > 0:
            assert_equal(handles.pop().join(), 1)
        loop.close()


def test_after_clear_waiting_parks_again() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var event = Event()
        var log = Log()

        def waiter() raises {var event, var log} -> Int:
            for i in range(3):
                event.wait()
                event.clear()
                log.add(String(i))
            return 3

        var handle = spawn(waiter)
        for i in range(3):
            for _ in range(3):
                loop.turn(1)
            assert_equal(len(log.read()), i)
            event.set()
            while len(log.read()) == i:
                loop.turn()
        while loop.busy() > 0:
            loop.turn()
        assert_equal(handle^.join(), 3)
        assert_equal(log.take(), ["0", "1", "2"])
        loop.close()


def test_a_cancelled_wait_ends_and_others_go_on() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var event = Event()

        def waiter() raises {var event} -> Int:
            event.wait()
            return 1

        var first = spawn(waiter)
        var second = spawn(waiter)
        loop.turn(1)
        loop.turn(1)
        first.cancel()
        while not first.is_done():
            loop.turn()
        assert_false(second.is_done())
        event.set()
        while not second.is_done():
            loop.turn()
        with assert_raises(contains="net.cancelled wait"):
            _ = first^.join()
        assert_equal(second^.join(), 1)
        loop.close()


def test_waiting_is_exempt_from_the_deadline() raises:
    var event = Event()

    def setter() raises {var event} -> Int:
        sleep(30)
        event.set()
        return 1

    var handle = spawn(setter)
    with deadline_in(1):
        event.wait()
    _ = handle^.join()
    assert_true(event.is_set())


def test_two_threads_hand_a_turn_to_and_fro() raises:
    # Each of 2,000 waits is ended by the other thread: a lost wake hangs.
    var table = heap_create(_Table(Event(), Event(), 0))
    Scheduler.start(2, False, _play, table.unsafe_bitcast[NoneType]())
    assert_equal(table[].moves, 2000)
    heap_destroy(table)


def test_a_set_races_a_clear_without_losing_the_last_set() raises:
    for _ in range(200):
        var table = heap_create(_Table(Event(), Event(), 0))
        Scheduler.start(4, False, _race, table.unsafe_bitcast[NoneType]())
        assert_equal(table[].moves, 2)
        heap_destroy(table)


def test_a_thread_without_a_loop_may_set_it() raises:
    var event = Event()

    def waiter() raises {var event} -> Int:
        event.wait()
        return 1

    var handle = spawn(waiter)
    sleep(0)
    var other = heap_create(event)
    var started = start_thread(_set_bare, other.unsafe_bitcast[NoneType]())
    assert_equal(started[0], 0)
    assert_equal(handle^.join(), 1)
    join_thread(started[1])
    heap_destroy(other)


def test_draining_the_counter_of_a_set_flag_raises_it_again() raises:
    # A `clear` whose read comes after the write of a later `set`.
    var event = Event()
    event.set()
    _drain_counter(event._state)
    var counter = List[UInt8](length=8, fill=0)
    var descriptor = event._state[].descriptor
    assert_equal(read_descriptor(descriptor, Span(counter)), 8)
    event.clear()
    assert_true(read_descriptor(descriptor, Span(counter)) < 0)
    assert_false(event.is_set())


def test_the_last_name_closes_the_descriptor() raises:
    var before = _lowest_free_descriptor()
    for _ in range(100):
        var event = Event()
        var copy = event
        copy.set()
        assert_true(event.is_set())
    assert_equal(_lowest_free_descriptor(), before)


@fieldwise_init
struct _Table(Movable):
    var first: Event
    var second: Event
    var moves: Int


def _play(argument: Erased, index: Int):
    var table = argument.unsafe_bitcast[_Table]()
    try:
        for _ in range(1000):
            if index == 0:
                table[].moves += 1
                table[].second.set()
                table[].first.wait()
                table[].first.clear()
            else:
                table[].second.wait()
                table[].second.clear()
                table[].moves += 1
                table[].first.set()
    except e:
        print(e)
        _count(table, -100_000)


def _race(argument: Erased, index: Int):
    # Two wait while one sets and clears; the last word is a set.
    var table = argument.unsafe_bitcast[_Table]()
    try:
        if index < 2:
            table[].first.wait()
            table[].second.wait()
            _count(table, 1)
        elif index == 2:
            for _ in range(20):
                table[].first.set()
                table[].first.clear()
            table[].first.set()
        else:
            for _ in range(20):
                table[].second.set()
                table[].second.clear()
            table[].second.set()
    except e:
        print(e)
        _count(table, -100)


def _count(table: PointerTo[_Table], moves: Int):
    _ = Atomic[Int].fetch_add(Pointer(to=table[].moves), moves)


def _set_bare(argument: Erased) abi("C") -> Optional[Erased]:
    argument.unsafe_bitcast[Event]()[].set()
    return None


def _lowest_free_descriptor() -> Int:
    var descriptor = open_event_descriptor()
    _ = close_descriptor(Int32(descriptor))
    return descriptor


comptime TESTS = __functions_in_module()
