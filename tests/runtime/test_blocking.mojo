"""Tests for `flare.runtime.blocking`."""

from std.testing import assert_raises

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.runtime.backend import BackendKind
from flare.runtime.blocking import blocking
from flare.runtime.cancel import Cancel
from flare.runtime.job_threads import JOB_THREADS_MAX, JOBS_MAX, JobThreads
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in, sleep
from flare.sys.thread import Lock
from flare.sys.thread_cell import thread_word
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log, Loop, Noisy


def test_the_result_comes_back_from_another_thread() raises:
    def on_which_thread() raises {} -> Int:
        return Int(thread_word())

    var there = blocking(on_which_thread)
    assert_true(there != 0 and there != Int(thread_word()))


def test_a_move_only_result_and_capture_die_once() raises:
    var log = Log()
    var captured = Noisy("capture", log)

    def body() raises {var captured^, var log} -> Noisy:
        return Noisy("result of " + captured.name, log)

    var result = blocking(body^)
    assert_equal(log.read(), ["~capture"])
    assert_equal(result.name, "result of capture")
    _ = result^
    assert_equal(log.take(), ["~capture", "~result of capture"])


def test_the_error_of_the_body_comes_back() raises:
    def body() raises {} -> Int:
        raise Error("from the other thread")

    with assert_raises(contains="from the other thread"):
        _ = blocking(body)


def test_a_body_without_a_result_runs() raises:
    var log = Log()

    def body() raises {var log}:
        log.add("ran")

    blocking(body)
    assert_equal(log.take(), ["ran"])


def test_the_loop_serves_others_while_a_job_blocks() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var door = _Door()
        var log = Log()

        def waits() raises {var door, var log} -> Int:
            def job() raises {var door} -> Int:
                door.pass_through()
                return 5

            var five = blocking(job)
            log.add("job")
            return five

        def other() raises {var door, var log} -> Int:
            sleep(1)
            log.add("other")
            door.open()
            return 1

        var first = spawn(waits)
        var second = spawn(other)
        while loop.busy() > 0:
            loop.turn()
        assert_equal(first^.join(), 5)
        assert_equal(second^.join(), 1)
        assert_equal(log.take(), ["other", "job"])
        loop.close()
        door.destroy()


def test_a_cancelled_fiber_waits_for_its_job_and_raises_then() raises:
    var loop = Loop(ReactorConfig())
    var door = _Door()
    var log = Log()

    def waits() raises {var door, var log} -> Int:
        var token = Cancel.current()

        def job() raises {var door, var log, var token} -> Int:
            door.pass_through()
            log.add(String("cancelled: ", token.is_cancelled()))
            return 5

        return blocking(job)

    var handle = spawn(waits)
    loop.turn(1)
    handle.cancel()
    loop.turn(1)
    loop.turn(1)
    assert_false(handle.is_done())
    assert_equal(len(log.read()), 0)
    door.open()
    while not handle.is_done():
        loop.turn()
    assert_equal(log.take(), ["cancelled: True"])
    with assert_raises(contains="net.cancelled blocking"):
        _ = handle^.join()
    loop.close()
    door.destroy()


def test_a_cancelled_fiber_starts_no_job() raises:
    var log = Log()

    def waits() raises {var log} -> Int:
        def job() raises {var log} -> Int:
            log.add("ran")
            return 5

        try:
            sleep(60_000)
        except:
            pass
        return blocking(job)

    var handle = spawn(waits)
    sleep(0)
    handle.cancel()
    with assert_raises(contains="net.cancelled blocking"):
        _ = handle^.join()
    assert_equal(len(log.take()), 0)


def test_the_deadline_of_the_fiber_does_not_end_a_job() raises:
    def job() raises {} -> Int:
        # A helper thread waits like a script.
        sleep(30)
        return 5

    with deadline_in(1):
        assert_equal(blocking(job), 5)


def test_threads_and_waiting_jobs_are_bounded() raises:
    var loop = Loop(ReactorConfig(fibers_max=JOB_THREADS_MAX + JOBS_MAX + 10))
    var door = _Door()

    def waits() raises {var door} -> Int:
        def job() raises {var door} -> Int:
            door.pass_through()
            return 1

        return blocking(job)

    var handles = List[JoinHandle[Int]]()
    for _ in range(JOB_THREADS_MAX):
        handles.append(spawn(waits))
        loop.turn(0)
    door.await_visitors(JOB_THREADS_MAX)
    for _ in range(JOBS_MAX):
        handles.append(spawn(waits))
        loop.turn(0)
    assert_equal(JobThreads.of(loop.reactor).threads(), JOB_THREADS_MAX)
    assert_equal(loop.busy(), JOB_THREADS_MAX + JOBS_MAX)
    var refused = spawn(waits)
    loop.turn(0)
    var kind = -1
    try:
        _ = refused^.join()
    except e:
        kind = NetError.of(e).value().kind
    assert_equal(kind, NetError.NO_MEMORY)
    door.open()
    while loop.busy() > 0:
        loop.turn()
    assert_equal(JobThreads.of(loop.reactor).threads(), JOB_THREADS_MAX)
    var sum = 0
    while len(handles) > 0:
        sum += handles.pop().join()
    assert_equal(sum, JOB_THREADS_MAX + JOBS_MAX)
    loop.close()
    door.destroy()


def test_one_job_after_the_other_needs_one_thread() raises:
    var loop = Loop(ReactorConfig())

    def waits() raises {} -> Int:
        var sum = 0
        for i in range(200):

            def job() raises {var i} -> Int:
                return i

            sum += blocking(job)
        return sum

    var handle = spawn(waits)
    while not handle.is_done():
        loop.turn()
    assert_equal(handle^.join(), 19_900)
    assert_equal(JobThreads.of(loop.reactor).threads(), 1)
    loop.close()


def test_a_reactor_that_ends_waits_for_its_jobs() raises:
    var loop = Loop(ReactorConfig())
    var log = Log()

    def waits() raises {var log} -> Int:
        def job() raises {var log} -> Int:
            sleep(20)
            log.add("job")
            return 5

        return blocking(job)

    var handle = spawn(waits)
    loop.turn(1)
    loop.close()
    assert_equal(log.take(), ["job"])
    with assert_raises(contains="net.cancelled blocking"):
        _ = handle^.join()


struct _DoorState(Movable):
    var lock: Lock
    var is_open: Bool
    var visitors: Int

    def __init__(out self):
        self.lock = Lock.create()
        self.is_open = False
        self.visitors = 0


@fieldwise_init
struct _Door(ImplicitlyCopyable):
    # Holds helper threads until a test lets them go on.
    var state: PointerTo[_DoorState]

    def __init__(out self):
        self.state = heap_create(_DoorState())

    def pass_through(self):
        self.state[].lock.acquire()
        self.state[].visitors += 1
        self.state[].lock.wake_all()
        while not self.state[].is_open:
            self.state[].lock.wait()
        self.state[].lock.release()

    def await_visitors(self, count: Int):
        self.state[].lock.acquire()
        while self.state[].visitors < count:
            self.state[].lock.wait()
        self.state[].lock.release()

    def open(self):
        self.state[].lock.acquire()
        self.state[].is_open = True
        self.state[].lock.wake_all()
        self.state[].lock.release()

    def destroy(self):
        self.state[].lock.destroy()
        heap_destroy(self.state)


comptime TESTS = __functions_in_module()
