"""Tests for `flare.runtime.task`."""

from std.testing import assert_raises

from flare.core import Erased, heap_create, heap_destroy
from flare.net import NetError
from flare.runtime.backend import BackendKind
from flare.runtime.blocking import blocking
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import JoinHandle, captures_a_view, spawn
from flare.runtime.wait import deadline_in, sleep
from flare.sys.thread import join_thread, start_thread
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log, Loop, Noisy


def test_join_returns_what_the_body_returned() raises:
    def body() raises {} -> Int:
        return 42

    assert_equal(spawn(body).join(), 42)


def test_a_body_without_a_result_can_be_joined() raises:
    var log = Log()

    def body() raises {var log}:
        log.add("ran")

    spawn(body).join()
    assert_equal(log.take(), ["ran"])


def test_the_body_first_runs_in_the_next_turn() raises:
    var log = Log()

    def body() raises {var log} -> Int:
        log.add("body")
        return 1

    var handle = spawn(body)
    log.add("spawned")
    assert_false(handle.is_done())
    _ = handle^.join()
    log.add("joined")
    assert_equal(log.take(), ["spawned", "body", "joined"])


def test_a_move_only_result_and_capture_arrive_and_die_once() raises:
    var log = Log()
    var captured = Noisy("capture", log)

    def body() raises {var captured^, var log} -> Noisy:
        sleep(1)
        log.add(captured.name)
        return Noisy("result", log)

    var result = spawn(body^).join()
    assert_equal(log.read(), ["capture", "~capture"])
    assert_equal(result.name, "result")
    _ = result^
    assert_equal(log.take(), ["capture", "~capture", "~result"])


def test_join_raises_the_text_of_the_error_of_the_body() raises:
    def body() raises {} -> Int:
        sleep(0)
        raise Error("out of the body")

    with assert_raises(contains="out of the body"):
        _ = spawn(body).join()


def test_a_raising_body_destroys_its_captures_once() raises:
    var log = Log()
    var captured = Noisy("capture", log)

    def body() raises {var captured^} -> Int:
        sleep(0)
        raise Error(captured.name)

    with assert_raises(contains="capture"):
        _ = spawn(body^).join()
    assert_equal(log.take(), ["~capture"])


def test_a_cancelled_body_unwinds_at_its_wait() raises:
    var log = Log()

    def body() raises {var log} -> Int:
        var local = Noisy("local", log)
        log.add("begun")
        sleep(60_000)
        log.add("never")
        return local.name.byte_length()

    var handle = spawn(body)
    sleep(0)
    handle.cancel()
    assert_false(handle.is_done())
    with assert_raises(contains="net.cancelled sleep"):
        _ = handle^.join()
    assert_equal(log.take(), ["begun", "~local"])


def test_a_body_cancelled_before_its_first_turn_never_begins() raises:
    var log = Log()
    var captured = Noisy("capture", log)

    def body() raises {var captured^, var log} -> Int:
        log.add("began")
        return captured.name.byte_length()

    var handle = spawn(body^)
    handle.cancel()
    with assert_raises(contains="net.cancelled"):
        _ = handle^.join()
    assert_equal(log.take(), ["~capture"])


def test_dropping_the_handle_of_a_parked_fiber_cancels_it() raises:
    var log = Log()
    var captured = Noisy("capture", log)

    def body() raises {var captured^, var log} -> Int:
        log.add("begun")
        try:
            sleep(60_000)
        except e:
            log.add(String(e))
        return captured.name.byte_length()

    var handle = spawn(body^)
    sleep(0)
    _ = handle^
    assert_equal(log.read(), ["begun"], "unwinds in a later turn")
    sleep(1)
    assert_equal(
        log.take(), ["begun", "net.cancelled sleep errno=125", "~capture"]
    )


def test_dropping_the_handle_of_an_ended_fiber_drops_the_result() raises:
    var log = Log()

    def body() raises {var log} -> Noisy:
        return Noisy("result", log)

    var handle = spawn(body)
    sleep(1)
    assert_true(handle.is_done())
    assert_equal(len(log.read()), 0)
    _ = handle^
    assert_equal(log.take(), ["~result"])


def test_a_detached_fiber_runs_to_its_end() raises:
    var log = Log()

    def body() raises {var log} -> Noisy:
        sleep(1)
        log.add("end")
        return Noisy("result", log)

    spawn(body).detach()
    sleep(20)
    assert_equal(log.read(), ["end", "~result"])
    var late = spawn(body)
    sleep(20)
    late^.detach()
    assert_equal(log.take(), ["end", "~result", "end", "~result"])


def test_a_fiber_inherits_the_deadline_of_its_spawner() raises:
    def body() raises {} -> Int:
        sleep(60_000)
        return 1

    var handle: JoinHandle[Int]
    with deadline_in(5):
        handle = spawn(body)
    with assert_raises(contains="net.timeout sleep"):
        _ = handle^.join()


def test_join_is_exempt_from_the_deadline() raises:
    def body() raises {} -> Int:
        sleep(30)
        return 7

    var handle = spawn(body)
    with deadline_in(1):
        assert_equal(handle^.join(), 7)


def test_fibers_spawn_fibers() raises:
    assert_equal(_leaves[7](), 128)


def test_a_cancelled_joiner_cancels_what_it_joins() raises:
    var log = Log()

    def inner() raises {var log} -> Int:
        try:
            sleep(60_000)
        except e:
            log.add(String("inner ", e))
            raise e^
        return 1

    def outer() raises {var log, var inner} -> Int:
        try:
            return spawn(inner).join()
        except e:
            log.add(String("outer ", e))
            raise e^

    var handle = spawn(outer)
    sleep(1)
    handle.cancel()
    with assert_raises(contains="net.cancelled join"):
        _ = handle^.join()
    sleep(1)
    assert_equal(
        log.take(),
        [
            "outer net.cancelled join errno=125",
            "inner net.cancelled sleep errno=125",
        ],
    )


def test_a_body_that_ignores_being_cancelled_is_left_behind() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))
        var log = Log()
        var captured = Noisy("capture", log)

        def stubborn() raises {var captured^} -> Int:
            while captured.name != "":
                try:
                    sleep(1)
                except:
                    pass
            return captured.name.byte_length()

        var handle = spawn(stubborn^)
        loop.turn()
        handle.cancel()
        for _ in range(990):
            loop.turn()
        assert_equal(loop.leaked(), 0)
        assert_false(handle.is_done())
        for _ in range(20):
            if loop.leaked() == 0:
                loop.turn()
        assert_equal(loop.leaked(), 1)
        assert_true(handle.is_done())
        with assert_raises(contains="runtime.lost"):
            _ = handle^.join()
        assert_equal(log.take(), ["~capture"])
        loop.close()


def test_at_the_limit_of_fibers_spawn_raises() raises:
    var loop = Loop(ReactorConfig(fibers_max=2))

    def body() raises {} -> Int:
        sleep(60_000)
        return 1

    var first = spawn(body)
    var second = spawn(body)
    var kind = -1
    try:
        spawn(body).detach()
    except e:
        kind = NetError.of(e).value().kind
    assert_equal(kind, NetError.NO_MEMORY)
    _ = first^
    loop.turn()
    spawn(body).detach()
    _ = second^
    loop.close()


def test_a_handle_outlives_its_reactor() raises:
    var log = Log()
    var loop = Loop(ReactorConfig())

    def waits() raises {var log} -> Int:
        var local = Noisy("local", log)
        sleep(60_000)
        return local.name.byte_length()

    def ends() raises {} -> Int:
        return 3

    var parked = spawn(waits)
    var ended = spawn(ends)
    var fresh: JoinHandle[Int]
    loop.turn()
    fresh = spawn(ends)
    loop.close()
    assert_equal(log.take(), ["~local"], "destroying the reactor unwinds")
    assert_true(parked.is_done() and ended.is_done() and fresh.is_done())
    parked.cancel()
    with assert_raises(contains="net.cancelled sleep"):
        _ = parked^.join()
    assert_equal(ended^.join(), 3)
    with assert_raises(contains="net.cancelled"):
        _ = fresh^.join()


def test_join_inside_the_loop_but_outside_a_fiber_is_an_error() raises:
    var loop = Loop(ReactorConfig())

    def body() raises {} -> Int:
        return 1

    with assert_raises(contains="errno=35"):
        _ = spawn(body).join()
    loop.close()


def test_join_while_another_reactor_is_current_is_an_error() raises:
    var loop = Loop(ReactorConfig())

    def body() raises {} -> Int:
        return 1

    var handle = spawn(body)
    loop.leave()
    handle.cancel()
    with assert_raises(contains="runtime.wrong_thread"):
        _ = handle^.join()
    loop.enter()
    loop.turn()
    loop.close()


def test_a_handle_dropped_on_another_thread_detaches() raises:
    var log = Log()
    var loop = Loop(ReactorConfig())

    def body() raises {var log} -> Noisy:
        sleep(1)
        return Noisy("result", log)

    var handle = heap_create(spawn(body))
    loop.turn()
    var started = start_thread(_drop_handle, handle.unsafe_bitcast[NoneType]())
    join_thread(started[1])
    assert_equal(loop.busy(), 1)
    while loop.busy() > 0:
        loop.turn()
    assert_equal(log.take(), ["~result"])
    loop.close()


def test_a_result_can_be_had_on_another_thread() raises:
    def body() raises {} -> Int:
        return 8

    var handle = heap_create(Optional(spawn(body)))
    sleep(1)

    def there() raises {var handle} -> Int:
        return handle[].take().join()

    assert_equal(blocking(there), 8)
    heap_destroy(handle)


def test_a_closure_shows_whether_it_captures_a_view() raises:
    var text = String("text")
    var view = StringSlice(text)
    var constant = StaticString("constant")
    var views = [view]
    var number = 5

    def owns() raises {var text, var number, var constant}:
        _ = text.byte_length() + number + constant.byte_length()

    def views_one() raises {var view}:
        _ = view.byte_length()

    def views_many() raises {var views^}:
        _ = len(views)

    def refers() raises {imm number}:
        _ = number

    def captures_none() raises {}:
        pass

    assert_false(_shows(owns))
    assert_true(_shows(views_one))
    assert_true(_shows(views_many^))
    assert_true(_shows(refers))
    assert_false(_shows(captures_none))

    # A closure inside of a closure.
    def nested() raises {var views_one}:
        views_one()

    assert_true(_shows(nested))


def test_ten_thousand_fibers_are_parked_at_once_and_joined() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        var loop = Loop(ReactorConfig(backend=kind))

        def parent() raises {} -> Int:
            var handles = List[JoinHandle[Int]]()
            for i in range(10_000):

                def body() raises {var i} -> Int:
                    sleep(10)
                    return i

                handles.append(spawn(body))
            var sum = 0
            while len(handles) > 0:
                sum += handles.pop().join()
            return sum

        var handle = spawn(parent)
        while not handle.is_done():
            loop.turn()
        loop.leave()
        assert_equal(handle^.join(), 10_000 * 9_999 // 2)
        loop.enter()
        assert_equal(loop.busy(), 0)
        loop.close()


def _drop_handle(argument: Erased) abi("C") -> Optional[Erased]:
    heap_destroy(argument.unsafe_bitcast[JoinHandle[Noisy]]())
    return None


@no_inline
def _leaves[depth: Int]() raises -> Int:
    # By parameter: a function that spawns itself does not compile.
    comptime if depth == 0:
        return 1
    else:

        def half() raises {} -> Int:
            return _leaves[depth - 1]()

        var left = spawn(half)
        var right = spawn(half)
        return left^.join() + right^.join()


def _shows[F: def() raises -> None](var body: F) -> Bool:
    return captures_a_view[F]()


comptime TESTS = __functions_in_module()
