"""Tests values that are sent to any number of fibers and threads."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.runtime import (
    Broadcast,
    JoinHandle,
    Overflow,
    blocking,
    deadline_in,
    sleep,
    spawn,
)

from tests.asserting import assert_equal, assert_false, assert_true


def test_every_subscriber_gets_every_value_in_order() raises:
    var news = Broadcast[String]()
    news.send("before any subscription")
    var a = news.subscribe()
    var b = news.subscribe()
    assert_equal(news.subscribers(), 2)
    for i in range(10):
        news.send(String(i))
    var c = news.subscribe()
    news.send("last")
    for i in range(10):
        assert_equal(a.next().value(), String(i))
        assert_equal(b.next().value(), String(i))
    assert_equal(a.next().value(), "last")
    assert_equal(c.next().value(), "last")
    assert_equal(a.missed(), 0)
    _ = b^
    assert_equal(news.subscribers(), 2)
    _ = a^
    _ = c^
    assert_equal(news.subscribers(), 0)
    news.send("to nobody")


def test_a_slow_subscriber_misses_the_oldest_values() raises:
    var news = Broadcast[Int]()
    var slow = news.subscribe(queue_max=3)
    for i in range(10):
        news.send(i)
    for i in [7, 8, 9]:
        assert_equal(slow.next().value(), i)
    assert_equal(slow.missed(), 7)


def test_a_slow_subscriber_is_closed_by_choice() raises:
    var news = Broadcast[Int]()
    var slow = news.subscribe(queue_max=3, overflow=Overflow.CLOSE)
    var quick = news.subscribe()
    for i in range(3):
        news.send(i)
    assert_equal(slow.next().value(), 0)
    news.send(3)
    news.send(4)
    for _ in range(2):
        with assert_raises(contains="runtime.too_slow"):
            _ = slow.next()
    for i in range(5):
        assert_equal(quick.next().value(), i)


def test_a_waiting_fiber_is_woken() raises:
    var news = Broadcast[Int]()
    var waits = news.subscribe()

    def receive() raises {var waits^} -> Int:
        return waits.next().value() + waits.next().value()

    var task = spawn(receive^)
    sleep(5)
    assert_false(task.is_done())
    news.send(1)
    sleep(5)
    assert_false(task.is_done())
    news.send(2)
    assert_equal(task^.join(), 3)


def test_a_wait_ends_with_its_deadline_and_its_fiber() raises:
    var news = Broadcast[Int]()
    var waits = news.subscribe()
    with assert_raises(contains="net.timeout"):
        with deadline_in(5):
            _ = waits.next()
    # The subscription goes on.
    news.send(7)
    assert_equal(waits.next().value(), 7)

    def receive() raises {var waits^}:
        _ = waits.next()

    var task = spawn(receive^)
    sleep(5)
    task.cancel()
    with assert_raises(contains="net.cancelled"):
        _ = task^.join()
    assert_equal(news.subscribers(), 0)


def test_one_fiber_waits_on_the_thread_of_the_subscription() raises:
    var news = Broadcast[Int]()
    var feed = ArcPointer(news.subscribe())

    def receive() raises {var feed} -> Int:
        return feed[].next().value()

    var task = spawn(receive)
    sleep(5)
    with assert_raises(contains="runtime.busy"):
        _ = feed[].next()
    with assert_raises(contains="runtime.wrong_thread"):
        _ = blocking(receive)
    news.send(3)
    assert_equal(task^.join(), 3)


def test_closing_ends_all_after_what_is_queued() raises:
    var news = Broadcast[Int]()
    var a = news.subscribe()

    def receive() raises {var news} -> Bool:
        var own = news.subscribe()
        return Bool(own.next())

    var task = spawn(receive^)
    sleep(5)
    assert_equal(a.missed(), 0)
    news.close()
    assert_false(task^.join())
    assert_false(Bool(a.next()))
    var late = news.subscribe()
    assert_false(Bool(late.next()))


def test_threads_send_and_receive_at_once() raises:
    comptime THREADS = 3
    comptime VALUES = 2_000
    var news = Broadcast[Int]()
    var feed = news.subscribe(queue_max=THREADS * VALUES)

    var first = _start_thread(news, VALUES)
    var second = _start_thread(news, VALUES)
    var third = _start_thread(news, VALUES)
    var sum = 0
    for _ in range(THREADS * VALUES):
        sum += feed.next().value()
    assert_equal(sum, THREADS * VALUES * (VALUES - 1) // 2)
    assert_true(first^.join() > 0)
    assert_true(second^.join() > 0)
    assert_true(third^.join() > 0)
    assert_equal(news.subscribers(), 1)
    _ = feed.missed()


def test_queues_have_bounds() raises:
    var news = Broadcast[Int]()
    for count in [0, -1, 1_000_001]:
        with assert_raises(contains="runtime.bad_broadcast"):
            _ = news.subscribe(queue_max=count)


comptime TESTS = __functions_in_module()


def _start_thread(news: Broadcast[Int], values: Int) raises -> JoinHandle[Int]:
    def work() raises {var news, var values} -> Int:
        def run() raises {var news, var values} -> Int:
            # A subscriber of another thread, with a loop of its own.
            var own = news.subscribe(queue_max=100_000)
            for i in range(values):
                news.send(i)
            var last = -1
            for _ in range(values):
                last = max(last, own.next().value())
            return last

        return blocking(run)

    return spawn(work^)
