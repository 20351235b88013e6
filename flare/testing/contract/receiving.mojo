"""Claims about receiving octets."""


from flare.core import Buffer
from flare.runtime.operation import NO_BUFFERS, OperationKind
from flare.runtime.reactor import RECEIVE_BUFFER_OCTETS, ReactorConfig

from .claims import assert_equal, assert_true
from .scene import Scene
from .world import ReactorWorld


def receive_delivers_a_buffer[W: ReactorWorld]() raises:
    """A receive completes once, with the octets in a buffer.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=False)
    scene.turns(3)
    assert_equal(receive.count(), 0)
    scene.deliver(other, "a")
    scene.finish(receive)
    assert_equal(receive.text(), "a")
    assert_equal(receive.count(), 1)
    scene.deliver(other, "b")
    scene.turns(3)
    assert_equal(receive.count(), 1)
    var next = scene.receive(one, multishot=False)
    scene.finish(next)
    assert_equal(next.text(), "b")
    scene.close(one)
    scene.close(other)
    scene^.end()


def receive_finds_what_has_arrived_before[W: ReactorWorld]() raises:
    """A receive completes with octets that arrived before its submission.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.deliver(other, "early")
    scene.turns(5)
    var receive = scene.receive(one, multishot=True)
    scene.expect(receive, 5)
    assert_equal(receive.text(), "early")
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    scene.close(other)
    scene^.end()


def receive_at_once_does_not_wait[W: ReactorWorld]() raises:
    """A receive without an operation returns octets, EAGAIN, or the end. Later
    operations receive the octets that it leaves, and those that arrive
    afterwards.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    # A receive before leaves the backend with knowledge of the socket.
    scene.deliver(other, "first")
    var first = scene.receive(one, multishot=False)
    scene.finish(first)
    assert_equal(_received_at_once(scene, one, 9), "-11")
    scene.deliver(other, "abcdef")
    scene.turns(3)
    var taken = String()
    while taken.byte_length() < 4:
        taken += _received_at_once(scene, one, 4 - taken.byte_length())
    assert_equal(taken, "abcd")
    var rest = scene.receive(one, multishot=True)
    scene.expect(rest, 2)
    scene.deliver(other, "gh")
    scene.expect(rest, 4)
    assert_equal(rest.text(), "efgh")
    rest.cancel()
    scene.finish(rest)
    # The backend has not seen that these octets were taken.
    scene.deliver(other, "i")
    scene.turns(3)
    assert_equal(_received_at_once(scene, one, 9), "i")
    var last = scene.receive(one, multishot=False)
    scene.turns(3)
    assert_equal(last.count(), 0)
    scene.deliver(other, "j")
    scene.finish(last)
    assert_equal(last.text(), "j")
    scene.world.reactor().end_sending(other)
    scene.turns(3)
    assert_equal(_received_at_once(scene, one, 9), "")
    scene.close(one)
    scene.close(other)
    scene^.end()


def _received_at_once[
    W: ReactorWorld
](mut scene: Scene[W], descriptor: Int32, room: Int) raises -> String:
    var octets = Buffer()
    var count = scene.world.reactor().receive_at_once(
        descriptor,
        Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=octets.reserve(room), length=room
        ),
    )
    if count < 0:
        return String(count)
    octets.advance(count)
    return String(StringSlice(unsafe_from_utf8=octets.span()))


def multishot_receive_goes_on[W: ReactorWorld]() raises:
    """A multishot receive completes many times, and finally at the end.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    var expected = String()
    for i in range(20):
        var part = String(i, ",")
        scene.deliver(other, part)
        expected += part
        scene.expect(receive, expected.byte_length())
        assert_equal(receive.state[].finals, receive.state[].early_finals)
    scene.world.reactor().end_sending(other)
    scene.finish(receive)
    assert_equal(receive.text(), expected)
    assert_equal(receive.last(), 0)
    scene.close(one)
    scene.close(other)
    scene^.end()


def receive_may_be_bounded[W: ReactorWorld]() raises:
    """A receive with a length takes no more octets than its length.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.deliver(other, "abcdefgh")
    var receive = scene.watch(OperationKind.RECEIVE, one)
    receive.state[].operation.length = 3
    var got = String()
    while got.byte_length() < 8:
        receive.submit()
        scene.finish(receive)
        assert_true(receive.last() > 0 and receive.last() <= 3)
        got = receive.text()
    assert_equal(got, "abcdefgh")
    scene.close(one)
    scene.close(other)
    scene^.end()


def read_fills_memory_of_the_owner[W: ReactorWorld]() raises:
    """A read writes octets into its owner's memory, and changes no other octet.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var got = String()
    scene.deliver(other, "abcdefgh")
    while got.byte_length() < 8:
        var read = scene.read(one, 3)
        scene.finish(read)
        assert_true(read.last() > 0 and read.last() <= 3)
        got += StringSlice(
            unsafe_from_utf8=Span(read.state[].memory)[: read.last()]
        )
    assert_equal(got, "abcdefgh")
    scene.close(one)
    scene.close(other)
    scene^.end()


def end_of_the_peer_is_zero[W: ReactorWorld]() raises:
    """After the peer's end, each receive completes with 0.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    scene.deliver(other, "last")
    scene.close(other)
    scene.finish(receive)
    assert_equal(receive.text(), "last")
    assert_equal(receive.last(), 0)
    for _ in range(2):
        var again = scene.receive(one, multishot=True)
        scene.finish(again)
        assert_equal(again.last(), 0)
    var read = scene.read(one, 8)
    scene.finish(read)
    assert_equal(read.last(), 0)
    scene.close(one)
    scene^.end()


def reset_of_the_peer_is_an_error[W: ReactorWorld]() raises:
    """On a reset connection, a receive completes finally with a negative
    result.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    scene.turns(3)
    scene.world.reset(other)
    scene.finish(receive)
    assert_equal(receive.last(), -104)
    scene.close(one)
    scene^.end()


def receive_without_buffers_says_so[W: ReactorWorld]() raises:
    """If no buffer is free, a receive ends and the octets stay in the socket.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W](ReactorConfig(receive_buffers_max=64, fibers_max=8))
    var reactor = scene.world.reactor()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    receive.state[].keeps_buffers = True
    var sent = 0
    while receive.last() != NO_BUFFERS:
        assert_true(sent < 200, "buffers without end")
        var before = receive.count()
        scene.deliver(other, "o")
        sent += 1
        scene.expect_count(receive, before + 1)
    assert_true(receive.is_idle())
    assert_true(len(receive.state[].kept) >= 60, "few buffers")
    for buffer in receive.state[].kept:
        reactor.buffers().give(buffer)
    receive.state[].keeps_buffers = False
    # If the kernel chooses buffers, it gets these in the next turn.
    scene.turns(1)
    receive.submit()
    scene.expect(receive, sent)
    receive.cancel()
    scene.finish(receive)
    assert_equal(len(receive.state[].octets), sent)
    scene.close(one)
    scene.close(other)
    scene^.end()


def one_receive_leaves_buffers_to_others[W: ReactorWorld]() raises:
    """A turn takes few buffers for one connection, even if many octets wait on
    it.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var send = scene.watch(OperationKind.SEND, other)
    send.state[].memory = List[UInt8](length=1 << 23, fill=7)
    for _ in range(200):
        if send.is_idle():
            send.submit()
        scene.turns(1)
    assert_true(not send.is_idle(), "a send without room does not wait")
    var receive = scene.watch(OperationKind.RECEIVE, one)
    receive.state[].operation.multishot = True
    receive.state[].keeps_buffers = True
    for _ in range(10):
        if receive.is_idle():
            receive.submit()
        var before = len(receive.state[].kept)
        scene.turns(1)
        var taken = len(receive.state[].kept) - before
        assert_true(taken <= 128, String(taken, " buffers in a turn"))
    for buffer in receive.state[].kept:
        scene.world.reactor().buffers().give(buffer)
    receive.state[].keeps_buffers = False
    receive.cancel()
    send.cancel()
    scene.finish(receive)
    scene.finish(send)
    scene.close(one)
    scene.close(other)
    scene^.end()


def long_streams_arrive_whole[W: ReactorWorld]() raises:
    """A megabyte arrives in order, in pieces of any size.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    var expected = List[UInt8]()
    for i in range(1 << 20):
        expected.append(UInt8((i ^ (i >> 8) ^ (i >> 16)) & 255))
    var sent = 0
    var send = scene.watch(OperationKind.SEND, other)
    while sent < len(expected):
        send.state[].memory = List[UInt8](Span(expected)[sent:])
        send.submit()
        scene.finish(send)
        assert_true(send.last() > 0)
        sent += send.last()
    scene.expect(receive, len(expected))
    receive.cancel()
    scene.finish(receive)
    assert_true(receive.state[].octets == expected, "other octets")
    assert_true(receive.count() > (1 << 20) // RECEIVE_BUFFER_OCTETS)
    scene.close(one)
    scene.close(other)
    scene^.end()
