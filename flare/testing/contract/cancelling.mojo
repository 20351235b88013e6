"""Claims about ending operations early, and about reusing their slots."""


from flare.runtime.operation import CANCELLED, OperationKind

from .claims import assert_equal, assert_true
from .scene import Scene
from .world import ReactorWorld


def cancel_before_submission_has_no_effect[W: ReactorWorld]() raises:
    """An operation that is cancelled in its own turn ends without effect.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    scene.deliver(other, "kept")
    scene.turns(3)
    var receive = scene.receive(one, multishot=True)
    receive.cancel()
    scene.finish(receive)
    assert_equal(receive.last(), CANCELLED)
    assert_equal(receive.count(), 1)
    var next = scene.receive(one, multishot=True)
    scene.expect(next, 4)
    assert_equal(next.text(), "kept")
    next.cancel()
    scene.finish(next)
    scene.close(one)
    scene.close(other)
    scene^.end()


def cancel_in_flight_completes_once[W: ReactorWorld]() raises:
    """A cancelled operation completes once, even if it is cancelled several
    times.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.receive(one, multishot=True)
    var read = scene.read(other, 10)
    scene.turns(3)
    for _ in range(3):
        receive.cancel()
        read.cancel()
        scene.turns(1)
    scene.finish(receive)
    scene.finish(read)
    scene.turns(5)
    assert_equal(receive.count(), 1)
    assert_equal(receive.last(), CANCELLED)
    assert_equal(read.count(), 1)
    assert_equal(read.last(), CANCELLED)
    scene.close(one)
    scene.close(other)
    scene^.end()


def cancel_of_an_idle_operation_does_nothing[W: ReactorWorld]() raises:
    """Cancelling before submission and after the last completion has no effect.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.watch(OperationKind.RECEIVE, one)
    receive.cancel()
    scene.turns(2)
    assert_equal(receive.count(), 0)
    scene.deliver(other, "a")
    receive.submit()
    scene.finish(receive)
    receive.cancel()
    scene.turns(2)
    assert_equal(receive.count(), 1)
    assert_equal(receive.text(), "a")
    scene.close(one)
    scene.close(other)
    scene^.end()


def cancel_that_races_loses_nothing[W: ReactorWorld]() raises:
    """If octets and a cancel race, no octet is lost.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var expected = String()
    var got = String()
    for i in range(100):
        var receive = scene.receive(one, multishot=i % 2 == 0)
        scene.turns(i % 3)
        var text = String(i, ".")
        var send = scene.send(other, text)
        if i % 5 < 2:
            scene.turns(1)
        receive.cancel()
        scene.finish(receive)
        scene.finish(send)
        assert_equal(receive.state[].finals, 1 + receive.state[].early_finals)
        # A short send leaves a rest, which is not sent again here.
        expected += text[byte = : send.last()]
        got += receive.text()
    var rest = scene.receive(one, multishot=True)
    scene.world.reactor().end_sending(other)
    scene.finish(rest)
    assert_equal(got + rest.text(), expected)
    scene.close(one)
    scene.close(other)
    scene^.end()


def slot_used_again_gets_no_old_answer[W: ReactorWorld]() raises:
    """An operation that is submitted again at once gets only new answers.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var receive = scene.watch(OperationKind.RECEIVE, one)
    receive.state[].operation.multishot = True
    receive.state[].resubmissions = 100
    receive.submit()
    var expected = String()
    for i in range(100):
        var text = String(i, ".")
        scene.deliver(other, text)
        expected += text
        # Each cancel may meet octets on their way; the resubmission is done
        # inside the final completion.
        receive.cancel()
        scene.turns(1 + i % 2)
    scene.expect(receive, expected.byte_length())
    receive.state[].resubmissions = 0
    receive.cancel()
    scene.finish(receive)
    assert_equal(receive.text(), expected)
    assert_true(receive.state[].finals > 20, "few resubmissions")
    scene.close(one)
    scene.close(other)
    scene^.end()


def slot_may_change_its_descriptor[W: ReactorWorld]() raises:
    """A slot that changes to another connection gets only that connection's
    octets.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var watch = scene.watch(OperationKind.RECEIVE, -1)
    watch.state[].operation.multishot = True
    for i in range(20):
        var one, other = scene.world.pair()
        watch.state[].operation.descriptor = one
        watch.state[].octets.clear()
        var text = String("connection ", i)
        scene.deliver(other, text)
        watch.submit()
        scene.expect(watch, text.byte_length())
        assert_equal(watch.text(), text)
        watch.cancel()
        scene.finish(watch)
        scene.deliver(other, "never read")
        scene.close(one)
        scene.close(other)
    scene^.end()


def cancel_in_a_completion_works[W: ReactorWorld]() raises:
    """Two operations end when the first completion cancels the second.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var third, fourth = scene.world.pair()
    var first = scene.receive(one, multishot=True)
    var second = scene.receive(third, multishot=True)
    scene.deliver(other, "go")
    scene.expect(first, 1)
    second.cancel()
    first.cancel()
    scene.finish(second)
    scene.finish(first)
    assert_equal(second.last(), CANCELLED)
    for end in [one, other, third, fourth]:
        scene.close(end)
    scene^.end()


def accept_and_poll_can_be_cancelled[W: ReactorWorld]() raises:
    """Operations that wait for a first event end when cancelled.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var listener = scene.world.listen()
    var one, other = scene.world.pair()
    var accept = scene.watch(OperationKind.ACCEPT, listener)
    var poll = scene.watch(OperationKind.POLL, one)
    poll.state[].operation.length = 1
    poll.state[].operation.multishot = True
    accept.submit()
    poll.submit()
    scene.turns(3)
    accept.cancel()
    poll.cancel()
    scene.finish(accept)
    scene.finish(poll)
    assert_equal(accept.last(), CANCELLED)
    assert_equal(poll.last(), CANCELLED)
    for end in [one, other, listener]:
        scene.close(end)
    scene^.end()
