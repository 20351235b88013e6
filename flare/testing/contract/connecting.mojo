"""Claims about the start and the end of connections."""


from flare.core import heap_create, heap_destroy
from flare.runtime.operation import (
    CANCELLED,
    POLL_IN,
    POLL_OUT,
    POLL_PEER_CLOSED,
    OperationKind,
)
from flare.sys.socket_address import SocketAddressStorage

from .claims import assert_equal, assert_true
from .scene import Scene
from .world import ReactorWorld


def multishot_accept_goes_on[W: ReactorWorld]() raises:
    """A multishot accept delivers every connection until it is cancelled.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var listener = scene.world.listen()
    var accept = scene.watch(OperationKind.ACCEPT, listener)
    accept.state[].operation.multishot = True
    accept.submit()
    var ends = List[Int32]()
    for i in range(5):
        ends.append(connect(scene, listener, 0))
        scene.expect_count(accept, i + 1)
        assert_true(accept.last() >= 0)
        assert_equal(accept.state[].finals, accept.state[].early_finals)
        ends.append(Int32(accept.last()))
    check_connected(scene, ends[0], ends[1])
    check_connected(scene, ends[9], ends[8])
    accept.cancel()
    scene.finish(accept)
    assert_equal(accept.last(), CANCELLED)
    for end in ends:
        scene.close(end)
    scene.close(listener)
    scene^.end()


def single_accept_takes_one[W: ReactorWorld]() raises:
    """An accept that is not multishot takes one connection only.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var listener = scene.world.listen()
    var first = connect(scene, listener, 0)
    var second = connect(scene, listener, 0)
    var accept = scene.watch(OperationKind.ACCEPT, listener)
    accept.submit()
    scene.finish(accept)
    scene.turns(3)
    assert_equal(accept.count(), 1)
    accept.submit()
    scene.finish(accept)
    assert_equal(accept.count(), 2)
    var one = Int32(accept.state[].results[0])
    var other = Int32(accept.state[].results[1])
    assert_true(one != other)
    check_connected(scene, first, one)
    check_connected(scene, second, other)
    for end in [first, second, one, other, listener]:
        scene.close(end)
    scene^.end()


def refused_connect_says_so[W: ReactorWorld]() raises:
    """Connecting to an address without a listener fails with ECONNREFUSED.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var listener = scene.world.listen()
    var address = scene.world.address(listener)
    scene.close(listener)
    scene.turns(3)
    var descriptor = scene.world.socket()
    var watch = scene.watch(OperationKind.CONNECT, descriptor)
    var storage = heap_create(address^)
    watch.state[].operation.address = storage.unsafe_bitcast[UInt8]()
    watch.state[].operation.length = storage[].octet_count()
    watch.submit()
    scene.finish(watch)
    assert_equal(watch.last(), -111)
    heap_destroy(storage)
    scene.close(descriptor)
    scene^.end()


def address_of_the_peer_is_known[W: ReactorWorld]() raises:
    """The reactor knows the peer's address, and a closed descriptor has none.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var listener = scene.world.listen()
    var near = connect(scene, listener, 0)
    var storage = SocketAddressStorage()
    assert_equal(scene.world.reactor().peer_address(near, storage), 0)
    assert_true(storage.family() != 0)
    var lonely = scene.world.socket()
    assert_equal(scene.world.reactor().peer_address(lonely, storage), -107)
    scene.close(lonely)
    scene.close(near)
    scene.close(listener)
    scene^.end()


def poll_reports_readiness[W: ReactorWorld]() raises:
    """A poll completes with the events that became ready, and takes no octets.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var poll = scene.watch(OperationKind.POLL, one)
    poll.state[].operation.length = POLL_IN
    poll.submit()
    scene.turns(3)
    assert_equal(poll.count(), 0)
    scene.deliver(other, "ready")
    scene.finish(poll)
    assert_equal(poll.last() & POLL_IN, POLL_IN)
    var read = scene.read(one, 100)
    scene.finish(read)
    assert_true(read.last() > 0)
    var writable = scene.watch(OperationKind.POLL, one)
    writable.state[].operation.length = POLL_OUT
    writable.submit()
    scene.finish(writable)
    assert_equal(writable.last() & POLL_OUT, POLL_OUT)
    var gone = scene.watch(OperationKind.POLL, one)
    gone.state[].operation.length = POLL_PEER_CLOSED
    gone.submit()
    scene.turns(3)
    assert_equal(gone.count(), 0)
    scene.world.reactor().end_sending(other)
    scene.finish(gone)
    assert_equal(gone.last() & POLL_PEER_CLOSED, POLL_PEER_CLOSED)
    scene.close(one)
    scene.close(other)
    scene^.end()


def closed_descriptor_is_forgotten[W: ReactorWorld]() raises:
    """A descriptor number that is used again has no state of its earlier file.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    for round in range(20):
        var one, other = scene.world.pair()
        var receive = scene.receive(one, multishot=True)
        var text = String("round ", round)
        scene.deliver(other, text)
        scene.expect(receive, text.byte_length())
        assert_equal(receive.text(), text)
        if round % 2 == 0:
            scene.close(other)
            scene.finish(receive)
            assert_equal(receive.last(), 0)
            scene.close(one)
            continue
        receive.cancel()
        scene.finish(receive)
        scene.close(one)
        scene.close(other)
    scene^.end()


def unknown_descriptor_is_an_error[W: ReactorWorld]() raises:
    """An operation on a closed descriptor ends with EBADF.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.close(one)
    scene.close(other)
    scene.turns(3)
    var receive = scene.receive(one, multishot=True)
    scene.finish(receive)
    assert_equal(receive.last(), -9)
    var send = scene.send(one, "x")
    scene.finish(send)
    assert_equal(send.last(), -9)
    scene^.end()


def connect[
    W: ReactorWorld
](mut scene: Scene[W], listener: Int32, expected: Int) raises -> Int32:
    """Connects a new socket.

    Parameters:
        W: The world that runs the test.

    Args:
        scene: The scene.
        listener: The listener to connect to.
        expected: The expected result.

    Returns:
        The socket.

    Raises:
        Error: If the result is another one.
    """
    var descriptor = scene.world.socket()
    var watch = scene.watch(OperationKind.CONNECT, descriptor)
    var storage = heap_create(scene.world.address(listener))
    watch.state[].operation.address = storage.unsafe_bitcast[UInt8]()
    watch.state[].operation.length = storage[].octet_count()
    watch.submit()
    scene.finish(watch)
    assert_equal(watch.last(), expected, "connecting")
    heap_destroy(storage)
    return descriptor


def check_connected[
    W: ReactorWorld
](mut scene: Scene[W], one: Int32, other: Int32) raises:
    """Checks that octets of one socket arrive at the other.

    Parameters:
        W: The world that runs the test.

    Args:
        scene: The scene.
        one: The socket that sends.
        other: The one that receives.

    Raises:
        Error: If the octets do not arrive.
    """
    scene.deliver(one, "ping")
    var receive = scene.receive(other, multishot=True)
    scene.expect(receive, 4)
    assert_equal(receive.text(), "ping")
    receive.cancel()
    scene.finish(receive)
