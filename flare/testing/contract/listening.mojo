"""Claims about the reactor's immediate actions on a listener, without an
operation.
"""


from flare.core import heap_create, heap_destroy
from flare.runtime.operation import CANCELLED, OperationKind
from flare.sys.errno import EAGAIN
from flare.sys.file import close_descriptor

from .claims import assert_equal, assert_true
from .connecting import check_connected, connect
from .scene import Scene
from .world import ReactorWorld


def accepting_now_takes_who_waits[W: ReactorWorld]() raises:
    """Accepting without waiting takes the waiting clients, then returns EAGAIN.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var reactor = scene.world.reactor()
    var listener = scene.world.listen()
    assert_equal(reactor.accept_now(listener), -EAGAIN)
    var first = connect(scene, listener, 0)
    var second = connect(scene, listener, 0)
    var one = reactor.accept_now(listener)
    var other = reactor.accept_now(listener)
    assert_true(one >= 0 and other >= 0 and one != other)
    assert_equal(reactor.accept_now(listener), -EAGAIN)
    check_connected(scene, first, Int32(one))
    check_connected(scene, Int32(other), second)
    for end in [first, second, Int32(one), Int32(other), listener]:
        scene.close(end)
    scene^.end()


def accepting_now_alternates_with_accepts[W: ReactorWorld]() raises:
    """Neither a cancelled accept nor accepting without waiting loses a client.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var listener = scene.world.listen()
    var ends = List[Int32]()
    for _ in range(5):
        var accept = scene.watch(OperationKind.ACCEPT, listener)
        accept.state[].operation.multishot = True
        accept.submit()
        ends.append(connect(scene, listener, 0))
        scene.expect_count(accept, 1)
        assert_true(accept.last() >= 0, "while the operation waits")
        ends.append(Int32(accept.last()))
        accept.cancel()
        scene.finish(accept)
        assert_equal(accept.last(), CANCELLED)
        ends.append(connect(scene, listener, 0))
        var accepted = scene.world.reactor().accept_now(listener)
        assert_true(accepted >= 0, "without an operation")
        ends.append(Int32(accepted))
    for i in range(0, len(ends), 2):
        check_connected(scene, ends[i], ends[i + 1])
    for end in ends:
        scene.close(end)
    scene.close(listener)
    scene^.end()


def held_back_connections_do_not_enter_the_queue[W: ReactorWorld]() raises:
    """A listener that holds connections back still accepts waiting clients, but
    no new ones.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var reactor = scene.world.reactor()
    var listener = scene.world.listen()
    var first = connect(scene, listener, 0)
    reactor.hold_back(listener, True)
    var held = scene.world.socket()
    var watch = scene.watch(OperationKind.CONNECT, held)
    var storage = heap_create(scene.world.address(listener))
    watch.state[].operation.address = storage.unsafe_bitcast[UInt8]()
    watch.state[].operation.length = storage[].octet_count()
    watch.submit()
    scene.turns(3)
    var one = reactor.accept_now(listener)
    assert_true(one >= 0, "what waited is there still")
    check_connected(scene, first, Int32(one))
    assert_equal(reactor.accept_now(listener), -EAGAIN)
    watch.cancel()
    scene.finish(watch)
    heap_destroy(storage)
    scene.close(held)
    reactor.hold_back(listener, False)
    var second = connect(scene, listener, 0)
    var other = reactor.accept_now(listener)
    assert_true(other >= 0, "it comes when it may")
    check_connected(scene, second, Int32(other))
    for end in [first, second, Int32(one), Int32(other), listener]:
        scene.close(end)
    scene^.end()


def who_is_turned_away_reads_the_answer[W: ReactorWorld]() raises:
    """Turning away takes one waiting client, and no reset destroys the answer.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var reactor = scene.world.reactor()
    var listener = scene.world.listen()
    comptime ANSWER: StaticString = "no room"
    var spare = Int32(-1)
    assert_equal(reactor.turn_away(listener, spare, ANSWER.as_bytes()), -EAGAIN)
    var first = connect(scene, listener, 0)
    var second = connect(scene, listener, 0)
    # The peer does not read it: closing must not reset the connection.
    scene.deliver(first, String("x") * 30_000)
    assert_equal(reactor.turn_away(listener, spare, ANSWER.as_bytes()), 0)
    var answer = scene.receive(first, multishot=True)
    scene.finish(answer)
    assert_equal(answer.text(), "no room")
    assert_equal(answer.last(), 0, "an orderly end")
    var one = reactor.accept_now(listener)
    assert_true(one >= 0, "only one was turned away")
    check_connected(scene, second, Int32(one))
    for end in [first, second, Int32(one), listener]:
        scene.close(end)
    if spare >= 0:
        _ = close_descriptor(spare)
    scene^.end()
