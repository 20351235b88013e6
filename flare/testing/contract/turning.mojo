"""Claims about the turn of a loop: its waits, and the order of events."""


from flare.core import Erased, heap_create, heap_destroy
from flare.runtime.current import (
    current_fiber,
    current_reactor,
    set_current_reactor,
)
from flare.runtime.operation import OperationKind
from flare.runtime.reactor import Reactor
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry
from flare.sys.limits import raise_descriptor_limit
from flare.sys.thread import join_thread, start_thread

from .claims import assert_equal, assert_true
from .scene import Scene, Watch
from .world import ReactorWorld

comptime _MANY = 500


def nothing_is_called_inside_a_submission[W: ReactorWorld]() raises:
    """Completions arrive in a turn, also those that are known at once.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.deliver(other, "a")
    scene.turns(3)
    var receive = scene.receive(one, multishot=False)
    var send = scene.send(one, "b")
    var bad = scene.send(-1, "c")
    assert_equal(receive.count() + send.count() + bad.count(), 0)
    bad.cancel()
    assert_equal(bad.count(), 0)
    scene.finish(receive)
    scene.finish(send)
    scene.finish(bad)
    scene.close(one)
    scene.close(other)
    scene^.end()


def what_goes_at_once_completes_in_a_later_turn[W: ReactorWorld]() raises:
    """A completion may submit sends at once. Each completes once, in a later
    turn, even if it is cancelled after it has failed.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var receives = List[Watch]()
    var sends = List[Watch]()
    var ends = List[Int32]()
    for i in range(8):
        var one, other = scene.world.pair()
        ends.extend([one, other])
        scene.deliver(other, "a")
        # Every other send fails.
        var send = scene.watch(OperationKind.SEND, one if i % 2 == 0 else -1)
        send.state[].memory = List[UInt8](length=10, fill=UInt8(i))
        sends.append(send)
    for i in range(8):
        var receive = scene.receive(ends[2 * i], multishot=False)
        receive.state[].follower = sends[i].state
        receives.append(receive)
    for i in range(8):
        scene.finish(receives[i])
        if i % 2 == 1:
            sends[i].cancel()
        scene.finish(sends[i])
        assert_true(not receives[i].state[].was_followed_inside)
        assert_equal(sends[i].count(), 1)
        assert_equal(sends[i].last() > 0, i % 2 == 0)
    for end in ends:
        scene.close(end)
    scene^.end()


def turn_without_wait_returns[W: ReactorWorld]() raises:
    """A turn that may not wait returns even without an event.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    var before = scene.world.reactor().refresh_now_ms()
    scene.turns(20)
    var passed = scene.world.reactor().refresh_now_ms() - before
    assert_true(passed < 500, String("waited ", passed, " ms"))
    assert_equal(receive.count(), 0)
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    scene.close(other)
    scene^.end()


def timer_ends_a_wait[W: ReactorWorld]() raises:
    """A turn without a limit ends at the next deadline, not before.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var reactor = scene.world.reactor()
    var fired = heap_create(0)
    var task = heap_create(TimerTask(fired.unsafe_bitcast[NoneType](), _count))
    var timer = heap_create(
        TimerEntry(task.unsafe_bitcast[NoneType](), TIMER_OF_TASK)
    )
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    var begun = reactor.refresh_now_ms()
    reactor.timers().arm(timer, begun + 30)
    for _ in range(100):
        if fired[] > 0:
            break
        reactor.turn(-1)
    var passed = reactor.refresh_now_ms() - begun
    assert_equal(fired[], 1)
    assert_true(passed >= 30, String("fired after ", passed, " ms"))
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    scene.close(other)
    heap_destroy(timer)
    heap_destroy(task)
    heap_destroy(fired)
    scene^.end()


def limit_ends_a_wait_before_a_timer[W: ReactorWorld]() raises:
    """A turn waits no longer than its limit, even if a timer is due later.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var reactor = scene.world.reactor()
    var fired = heap_create(0)
    var task = heap_create(TimerTask(fired.unsafe_bitcast[NoneType](), _count))
    var timer = heap_create(
        TimerEntry(task.unsafe_bitcast[NoneType](), TIMER_OF_TASK)
    )
    var begun = reactor.refresh_now_ms()
    reactor.timers().arm(timer, begun + 60_000)
    reactor.turn(20)
    assert_true(reactor.refresh_now_ms() - begun < 10_000)
    assert_equal(fired[], 0)
    reactor.timers().cancel(timer)
    heap_destroy(timer)
    heap_destroy(task)
    heap_destroy(fired)
    scene^.end()


def yielding_fibers_let_others_work[W: ReactorWorld]() raises:
    """A fiber that only yields delays neither other fibers nor the network.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var reactor = scene.world.reactor()
    var before = current_reactor()
    set_current_reactor(reactor)
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    var send = scene.send(other, "through")
    var counters = heap_create(_Counters(0, 0, False))
    var fibers = reactor.state[].fibers
    var task = counters.unsafe_bitcast[NoneType]()
    fibers.resume(fibers.start(reactor, _yield_first, task).value())
    fibers.resume(fibers.start(reactor, _yield_second, task).value())
    scene.expect(receive, 1)
    assert_true(abs(counters[].first - counters[].second) <= 1, "one ran more")
    assert_true(counters[].first > 0)
    counters[].done = True
    for _ in range(3):
        reactor.turn(0)
    assert_equal(fibers.busy(), 0)
    receive.cancel()
    scene.finish(receive)
    scene.finish(send)
    set_current_reactor(before)
    heap_destroy(counters)
    scene.close(one)
    scene.close(other)
    scene^.end()


def post_from_a_thread_wakes_the_loop[W: ReactorWorld]() raises:
    """The loop calls the function that another thread posts, even while it
    waits.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    if not scene.world.has_kernel():
        scene^.end()
        return
    var reactor = scene.world.reactor()
    var letter = heap_create(_Letter(reactor, 0))
    var started = start_thread(_post_many, letter.unsafe_bitcast[NoneType]())
    for _ in range(2000):
        if letter[].count == 100:
            break
        reactor.turn(1000)
    assert_equal(letter[].count, 100)
    join_thread(started[1])
    heap_destroy(letter)
    scene^.end()


def many_operations_complete_once[W: ReactorWorld]() raises:
    """A thousand operations in flight complete once each, with the right
    results.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    _ = raise_descriptor_limit()
    var scene = Scene[W]()
    var ends = List[Int32]()
    var receives = List[Watch]()
    for i in range(_MANY):
        var one, other = scene.world.pair()
        ends.append(one)
        ends.append(other)
        receives.append(scene.receive(one, multishot=i % 2 == 0))
        receives.append(scene.read(other, 64))
    scene.turns(2)
    for i in range(2 * _MANY):
        assert_equal(receives[i].count(), 0)
        # Each end reads what the other one sends.
        _ = scene.send(ends[i ^ 1], String(i))
    for i in range(2 * _MANY):
        scene.expect_count(receives[i], 1)
        assert_true(receives[i].last() > 0)
        receives[i].cancel()
    for i in range(2 * _MANY):
        scene.finish(receives[i])
        assert_equal(
            receives[i].state[].finals, 1 + receives[i].state[].early_finals
        )
        var text = receives[i].text()
        if i % 2 == 1:
            text = String(
                StringSlice(
                    unsafe_from_utf8=Span(receives[i].state[].memory)[
                        : receives[i].state[].results[0]
                    ]
                )
            )
        assert_true(String(i).startswith(text), text)
    for i in range(len(scene.watches)):
        scene.finish(scene.watches[i])
    for end in ends:
        scene.close(end)
    scene^.end()


@fieldwise_init
struct _Counters(Movable):
    var first: Int
    var second: Int
    var done: Bool


def _yield_first(task: Erased):
    var counters = task.unsafe_bitcast[_Counters]()
    while not counters[].done:
        counters[].first += 1
        current_fiber().value().yield_turn()


def _yield_second(task: Erased):
    var counters = task.unsafe_bitcast[_Counters]()
    while not counters[].done:
        counters[].second += 1
        current_fiber().value().yield_turn()


def _count(owner: Erased):
    owner.unsafe_bitcast[Int]()[] += 1


@fieldwise_init
struct _Letter(Movable):
    var reactor: Reactor
    var count: Int


def _post_many(argument: Erased) abi("C") -> Optional[Erased]:
    var letter = argument.unsafe_bitcast[_Letter]()
    for _ in range(100):
        letter[].reactor.post(_count_letter, argument)
    return None


def _count_letter(owner: Erased):
    owner.unsafe_bitcast[_Letter]()[].count += 1
