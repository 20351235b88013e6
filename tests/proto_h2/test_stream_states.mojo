"""Sends each type of frame in each state of a stream (RFC 9113 section 5.1)."""

from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.stream_state import H2StreamState

from tests.asserting import assert_equal, assert_true

from .machine_scene import GET, POST, MachineScene, block_of, number

comptime _STATES: List[StaticString] = [
    "connection",
    "idle",
    "open",
    "half-closed (local)",
    "half-closed (remote)",
    "reset",
    "closed",
]

# One row for each state: the answer to DATA, HEADERS, PRIORITY, RST_STREAM,
# SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION.
# `-` is none, `e` an event, `r` a reset of the stream and its event, a number
# the code with which the connection ends, and `a` an acknowledgement.
comptime _ANSWERS: List[StaticString] = [
    "1 1 1 1 a 1 a e - 1",
    "1 e - 1 1 1 1 1 1 1",
    "e e - e 1 1 1 1 - 1",
    "e e - e 1 1 1 1 - 1",
    "r r - e 1 1 1 1 - 1",
    "- - - - 1 1 1 1 - 1",
    "5 5 - - 1 1 1 1 - 1",
]


def _scene_in(state: Int) raises -> MachineScene:
    """Returns a machine whose stream 1 is in a state."""
    var scene = MachineScene()
    if state <= Int(H2StreamState.IDLE):
        return scene^
    scene.request(1, POST, ends=state == Int(H2StreamState.HALF_CLOSED_REMOTE))
    var slot = scene.next().slot
    if state == Int(H2StreamState.HALF_CLOSED_LOCAL):
        assert_true(scene.answer(slot, "early"))
    elif state == Int(H2StreamState.RESET):
        scene.machine().forget(slot, scene.output)
    elif state == Int(H2StreamState.CLOSED):
        assert_true(scene.answer(slot, "early"))
        scene.frame(0, 1, 1, [97])
        _ = scene.next()
        scene.machine().forget(slot, scene.output)
    scene.output[].clear()
    return scene^


def _payload(kind: Int, state: Int) raises -> List[UInt8]:
    if kind == 0:
        return [97]
    if kind == 1:
        var is_first = state <= Int(H2StreamState.IDLE)
        return block_of(GET if is_first else "x-sum: 1")
    if kind == 2:
        return [0, 0, 0, 3, 1]
    if kind == 3:
        return number(8)
    if kind == 6:
        return List[UInt8](length=8, fill=7)
    if kind == 7:
        return List[UInt8](length=8, fill=0)
    if kind == 8:
        return number(5)
    return []


def test_each_frame_in_each_state() raises:
    for state in range(H2StreamState.COUNT):
        var answers = String(materialize[_ANSWERS]()[state]).split(" ")
        for kind in range(10):
            var scene = _scene_in(state)
            # The last DATA and HEADERS of a stream.
            var flags = 1 if kind == 0 else (5 if kind == 1 else 0)
            scene.frame(
                kind,
                flags,
                0 if state == 0 else 1,
                _payload(kind, state),
            )
            var answer = String("-")
            try:
                var event = scene.next()
                if event.kind == H2Event.RESET and len(scene.output[]) > 0:
                    answer = "r"
                elif event.kind != H2Event.NEED_OCTETS:
                    answer = "e"
                elif len(scene.output[]) > 0:
                    answer = "a"
            except:
                var sent = scene.sent()
                assert_true(sent.startswith("GOAWAY:0:0:"), sent)
                answer = String(sent[byte=11:])
            assert_equal(
                answer,
                String(answers[kind]),
                String(materialize[_STATES]()[state], " ", kind),
            )


comptime TESTS = __functions_in_module()
