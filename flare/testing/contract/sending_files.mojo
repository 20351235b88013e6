"""Claims about sending octets of a file."""

from std.tempfile import NamedTemporaryFile

from flare.runtime.operation import CANCELLED, FileRange, OperationKind
from flare.sys.file import close_descriptor
from flare.sys.folder import open_file_in

from .claims import assert_equal, assert_true
from .scene import Scene, Watch
from .world import ReactorWorld

comptime _HEAD_OCTETS = 100
# More than two sockets of the kernel hold.
comptime _FILE_OCTETS = 16 << 20


def octets_of_a_file_follow_others[W: ReactorWorld]() raises:
    """Octets of a file arrive after those before them, even if the peer makes
    room late. After the end of the file, the result is 0.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var octets = _octets()
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var file = _open_file(Span(octets))
    var send = scene.watch(OperationKind.SEND, one)
    var sent = _fill(scene, send, file)
    var receive = scene.receive(other, multishot=True)
    scene.finish(send)
    while send.last() > 0:
        sent += send.last()
        _submit(send, file, sent)
        scene.finish(send)
        scene.expect(receive, sent)
    assert_equal(send.last(), 0)
    assert_equal(sent, len(octets))
    receive.cancel()
    scene.finish(receive)
    assert_true(receive.state[].octets == octets)
    _ = close_descriptor(file)
    scene.close(one)
    scene.close(other)
    scene^.end()


def a_forgotten_file_is_sent_no_more[W: ReactorWorld]() raises:
    """If the owner forgets the file of a send that waits for room, the send is
    cancelled, and the file is not used.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var file = _open_file(Span(_octets()))
    var send = scene.watch(OperationKind.SEND, one)
    var sent = _fill(scene, send, file)
    send.state[].operation.uncopied.file.descriptor = -1
    # Another file may get its number, or none.
    _ = close_descriptor(file)
    var receive = scene.receive(other, multishot=True)
    scene.finish(send)
    assert_equal(send.last(), CANCELLED)
    scene.expect(receive, sent)
    scene.turns(3)
    assert_equal(len(receive.state[].octets), sent)
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    scene.close(other)
    scene^.end()


def waiting_send_of_a_file_can_be_cancelled[W: ReactorWorld]() raises:
    """A send of a file that waits for room ends when cancelled. The socket
    sends other octets afterwards.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var file = _open_file(Span(_octets()))
    var send = scene.watch(OperationKind.SEND, one)
    var sent = _fill(scene, send, file)
    send.cancel()
    scene.finish(send)
    assert_equal(send.last(), CANCELLED)
    _ = close_descriptor(file)
    var receive = scene.receive(other, multishot=True)
    scene.deliver(one, "after it")
    scene.expect(receive, sent + 8)
    assert_true(receive.text().endswith("after it"))
    receive.cancel()
    scene.finish(receive)
    scene.close(one)
    scene.close(other)
    scene^.end()


def sending_a_file_to_a_closed_peer_fails[W: ReactorWorld]() raises:
    """After the peer has closed, sends of a file fail, and no signal ends the
    process.

    Parameters:
        W: The world that runs the test.

    Raises:
        Error: If the claim does not hold.
    """
    var scene = Scene[W]()
    var one, other = scene.world.pair()
    var file = _open_file(Span(_octets()))
    scene.close(other)
    scene.turns(3)
    var send = scene.watch(OperationKind.SEND, one)
    for _ in range(50):
        _submit(send, file, _HEAD_OCTETS)
        scene.finish(send)
        if send.last() < 0:
            break
    var failed = send.last()
    assert_true(failed == -32 or failed == -104, String(failed))
    _ = close_descriptor(file)
    scene.close(one)
    scene^.end()


def _octets() -> List[UInt8]:
    var octets = List[UInt8](length=_HEAD_OCTETS, fill=200)
    for i in range(_FILE_OCTETS):
        octets.append(UInt8((i * 31 + i // 251) & 0xFF))
    return octets^


def _open_file(octets: Span[UInt8, _]) raises -> Int32:
    var file = NamedTemporaryFile(prefix="flare_sent_")
    file.write_bytes(octets)
    var name = List[UInt8](file.name.as_bytes())
    name.append(0)
    # The name starts at the root, so that the folder does not matter.
    var descriptor = open_file_in(-1, Span(name))
    assert_true(descriptor >= 0, String(descriptor))
    file.close()
    return Int32(descriptor)


def _submit(send: Watch, file: Int32, sent: Int):
    """Sends the head, and the file after it, from a place on."""
    send.state[].memory = List[UInt8](length=_HEAD_OCTETS, fill=200)
    var start = max(sent, _HEAD_OCTETS)
    var left = max(_FILE_OCTETS + _HEAD_OCTETS - start, 1)
    send.state[].operation.uncopied.sends_file = True
    send.state[].operation.uncopied.file = FileRange(file, start, left)
    send.submit()
    send.state[].operation.length = max(_HEAD_OCTETS - sent, 0)


def _fill[
    W: ReactorWorld
](scene: Scene[W], send: Watch, file: Int32) raises -> Int:
    """Sends until a send waits; returns the number of octets sent."""
    var sent = 0
    _submit(send, file, sent)
    for _ in range(200):
        if send.is_idle():
            assert_true(send.last() > 0, String(send.last()))
            sent += send.last()
            _submit(send, file, sent)
        scene.turns(1)
    assert_true(not send.is_idle(), "a send without room does not wait")
    return sent
