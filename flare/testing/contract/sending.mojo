"""Claims about sending octets."""


from flare.runtime.operation import CANCELLED, OperationKind
from flare.sys.sealed_pages import SealedPages

from .claims import assert_equal, assert_true
from .scene import Scene, Watch
from .world import ReactorWorld


def send_may_be_partial[W: ReactorWorld]() raises:
    """A send to a peer that does not read completes with fewer octets than it
    has.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var send = scene.watch(OperationKind.SEND, one)
    send.state[].memory = List[UInt8](length=1 << 25, fill=7)
    var sent = 0
    # Sends until the peer's window is full; one then waits or was partial.
    send.submit()
    for _ in range(200):
        if send.is_idle():
            assert_true(send.last() > 0)
            sent += send.last()
            send.submit()
        scene.turns(1)
    assert_true(sent < 1 << 25, "the peer took everything")
    assert_true(not send.is_idle(), "a send without room does not wait")
    var receive = scene.receive(other, multishot=True)
    scene.finish(send)
    assert_true(send.last() > 0, "the send goes on when there is room")
    sent += send.last()
    scene.expect(receive, sent)
    receive.cancel()
    scene.finish(receive)
    assert_equal(len(receive.state[].octets), sent)
    scene.close(one)
    scene.close(other)
    scene^.end()


def one_send_carries_two_runs[W: ReactorWorld]() raises:
    """The second part of a send arrives after the first, and counts in the
    result.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var tail = scene.watch(OperationKind.SEND, -1)
    tail.state[].memory = List[UInt8](length=100, fill=200)
    var sends = List[Watch]()
    var receives = List[Watch]()
    # More than a backend describes to its kernel at a time.
    for i in range(20):
        var one, other = scene.world.pair()
        receives.append(scene.receive(other, multishot=True))
        var send = scene.watch(OperationKind.SEND, one)
        send.state[].memory = List[UInt8](length=i + 1, fill=UInt8(i))
        send.state[].operation.second = (
            tail.state[]
            .memory.unsafe_ptr()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        send.state[].operation.second_length = 100
        send.submit()
        sends.append(send)
    for i in range(20):
        scene.finish(sends[i])
        var count = sends[i].last()
        assert_true(count > 0 and count <= i + 101, String(count))
        scene.expect(receives[i], count)
        for at in range(count):
            var expected = UInt8(i) if at <= i else 200
            assert_equal(receives[i].state[].octets[at], expected)
        receives[i].cancel()
        scene.finish(receives[i])
        scene.close(sends[i].state[].operation.descriptor)
        scene.close(receives[i].state[].operation.descriptor)
    scene^.end()


def sealed_pages_arrive_as_other_octets[W: ReactorWorld]() raises:
    """Sealed pages in the second part of a send arrive after the first part,
    even if the peer makes room in steps. They may be unmapped afterwards.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var octets = List[UInt8](length=100, fill=200)
    for i in range(1 << 22):
        octets.append(UInt8((i * 31 + i // 251) & 0xFF))
    var pages = SealedPages()
    assert_equal(pages.seal(Span(octets)[100:]), 0)
    var send = scene.watch(OperationKind.SEND, one)
    send.state[].memory = List[UInt8](length=100, fill=200)
    ref operation = send.state[].operation
    operation.uncopied.is_sealed = True
    var sent = 0
    var receive = scene.receive(other, multishot=True)
    while sent < len(octets):
        var of_pages = pages.octets()[max(sent - 100, 0) :]
        operation.second = (
            of_pages.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        operation.second_length = len(of_pages)
        send.submit()
        operation.length = max(100 - sent, 0)
        scene.finish(send)
        assert_true(send.last() > 0)
        sent += send.last()
        scene.expect(receive, sent)
    _ = pages^
    receive.cancel()
    scene.finish(receive)
    assert_true(receive.state[].octets == octets)
    scene.close(one)
    scene.close(other)
    scene^.end()


def operations_wait_behind_sealed_pages[W: ReactorWorld]() raises:
    """On a socket that has sent sealed pages, a receive still waits for octets,
    and a send for room.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var pages = SealedPages()
    assert_equal(pages.seal(List[UInt8](length=60_000, fill=200)), 0)
    var send = scene.watch(OperationKind.SEND, one)
    send.state[].memory = List[UInt8](length=1 << 25, fill=7)
    ref operation = send.state[].operation
    operation.uncopied.is_sealed = True
    operation.second = (
        pages.octets()
        .unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
    operation.second_length = len(pages)
    send.submit()
    operation.length = 0
    scene.finish(send)
    var sent = send.last()
    assert_true(sent > 0)
    operation.second = None
    _ = pages^
    var answer = scene.receive(one, multishot=False)
    send.submit()
    for _ in range(200):
        if send.is_idle():
            assert_true(send.last() > 0, String(send.last()))
            sent += send.last()
            send.submit()
        scene.turns(1)
    assert_true(not send.is_idle(), "a send without room does not wait")
    assert_true(not answer.is_idle(), "a receive without octets does not wait")
    var receive = scene.receive(other, multishot=True)
    scene.finish(send)
    assert_true(send.last() > 0, String(send.last()))
    scene.expect(receive, sent + send.last())
    var back = scene.watch(OperationKind.SEND, other)
    back.state[].memory = List[UInt8](length=5, fill=1)
    back.submit()
    # Either may be short.
    scene.expect(answer, 1)
    scene.finish(back)
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    scene.close(other)
    scene^.end()


def waiting_send_can_be_cancelled[W: ReactorWorld]() raises:
    """A send that waits for room ends when cancelled.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var send = scene.watch(OperationKind.SEND, one)
    send.state[].memory = List[UInt8](length=1 << 25, fill=7)
    send.submit()
    for _ in range(200):
        if send.is_idle():
            send.submit()
        scene.turns(1)
    assert_true(not send.is_idle())
    send.cancel()
    scene.finish(send)
    # A kernel may report what it took before as the result.
    assert_true(send.last() == CANCELLED or send.last() > 0)
    scene.close(one)
    scene.close(other)
    scene^.end()


def both_directions_go_at_once[W: ReactorWorld]() raises:
    """A receive and a send on one descriptor do not disturb each other.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive_one = scene.receive(one, multishot=True)
    var receive_other = scene.receive(other, multishot=True)
    var expected = String()
    for i in range(50):
        var text = String(i, ";")
        expected += text
        scene.deliver(one, text)
        scene.deliver(other, text)
    scene.expect(receive_one, expected.byte_length())
    scene.expect(receive_other, expected.byte_length())
    assert_equal(receive_one.text(), expected)
    assert_equal(receive_other.text(), expected)
    receive_one.cancel()
    receive_other.cancel()
    scene.finish(receive_one)
    scene.finish(receive_other)
    scene.close(one)
    scene.close(other)
    scene^.end()


def end_of_sending_leaves_receiving[W: ReactorWorld]() raises:
    """After this end has half-closed, the peer's octets still arrive.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.deliver(one, "bye")
    scene.world.reactor().end_sending(one)
    var theirs = scene.receive(other, multishot=True)
    scene.finish(theirs)
    assert_equal(theirs.text(), "bye")
    assert_equal(theirs.last(), 0)
    var ours = scene.receive(one, multishot=True)
    scene.deliver(other, "still")
    scene.expect(ours, 5)
    assert_equal(ours.text(), "still")
    var late = scene.send(one, "late")
    scene.finish(late)
    assert_equal(late.last(), -32)
    ours.cancel()
    scene.finish(ours)
    scene.close(one)
    scene.close(other)
    scene^.end()


def sending_to_a_closed_peer_fails[W: ReactorWorld]() raises:
    """After the peer has closed, every send except the first fails.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.close(other)
    scene.turns(3)
    var failed = 0
    for _ in range(50):
        var send = scene.send(one, "x")
        scene.finish(send)
        if send.last() < 0:
            failed = send.last()
            break
    assert_true(failed == -32 or failed == -104, String(failed))
    scene.close(one)
    scene^.end()
