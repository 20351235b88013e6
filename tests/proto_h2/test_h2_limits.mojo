"""Tests the limits on a peer that causes work for no request."""

from flare.message import HeaderMap
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.recent_resets import RecentResets
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.token_bucket import TokenBucket

from tests.asserting import assert_equal, assert_false, assert_true

from .machine_scene import GET, POST, MachineScene, date_span, number


def test_frames_without_a_use_are_counted() raises:
    # Empty DATA, PRIORITY, SETTINGS, PING, windows without need, unknown types,
    # PRIORITY_UPDATE, and acknowledgements of nothing.
    _repeated(0, 0, 1, [])
    _repeated(2, 0, 1, [0, 0, 0, 3, 1])
    _repeated(4, 0, 0, [])
    _repeated(6, 0, 0, List[UInt8](length=8, fill=1))
    _repeated(8, 0, 0, number(1))
    _repeated(8, 0, 1, number(1))
    _repeated(99, 0, 0, [])
    _repeated(16, 0, 0, number(1))
    _repeated(4, 1, 0, [])
    # Answers to no PING, and farewells.
    _repeated(6, 1, 0, List[UInt8](length=8, fill=1))
    _repeated(7, 0, 0, List[UInt8](length=8, fill=0))


def test_frames_of_no_stream_are_counted() raises:
    # Content for a stream that was reset, and streams after GOAWAY.
    for is_content in [True, False]:
        var limits = H2Limits()
        limits.glitches = 20
        var scene = MachineScene(limits)
        scene.request(1, POST, ends=False)
        scene.machine().forget(scene.next().slot, scene.output)
        scene.machine().go_away(1, 0, scene.output)
        scene.output[].clear()
        for i in range(21):
            if is_content:
                # Long frames count a sixteenth.
                scene.frame(0, 0, 1, List[UInt8](length=255, fill=1))
            else:
                scene.request(2 * i + 3, GET)
        assert_equal(_code(scene), "11")


def test_content_for_a_refused_stream_is_cheap_in_long_frames() raises:
    var limits = H2Limits()
    limits.glitches = 20
    var scene = MachineScene(limits)
    scene.request(1, POST, ends=False)
    scene.machine().forget(scene.next().slot, scene.output)
    for i in range(16 * 20 + 1):
        assert_equal(_code(scene), "-", String(i))
        scene.frame(0, 0, 1, List[UInt8](length=256, fill=1))
    assert_equal(_code(scene), "11")


def test_content_pays_for_windows_and_pings() raises:
    """Clients that read in small pieces widen both windows after each."""
    var limits = H2Limits()
    limits.glitches = 20
    var scene = MachineScene(limits)
    var content = String("x") * 16_000
    for i in range(100):
        var id = 2 * i + 1
        scene.request(id, GET)
        var slot = scene.next().slot
        _ = scene.answer(slot, content)
        scene.machine().forget(slot, scene.output)
        for _ in range(125):
            scene.frame(8, 0, 0, number(128))
            scene.frame(8, 0, id, number(128))
        scene.frame(6, 0, 0, List[UInt8](length=8, fill=1))
        assert_equal(_code(scene), "-", String(i))
    # What no content explains counts, once the latest is used up.
    for _ in range(230):
        scene.frame(8, 0, 0, number(1))
    assert_equal(_code(scene), "11")


def test_short_content_pays_for_a_ping() raises:
    """Clients of gRPC measure the line after each message."""
    var limits = H2Limits()
    limits.glitches = 20
    limits.glitches_per_second = 0
    var scene = MachineScene(limits)
    scene.request(1, GET)
    var slot = scene.next().slot
    scene.machine().send_response_head(
        ResponseStart(slot, 200, -1, date_span()), HeaderMap(), scene.output
    )
    for i in range(1000):
        scene.machine().queue(slot, 5)
        scene.machine().send_data(slot, "hello".as_bytes(), False, scene.output)
        scene.frame(8, 0, 0, number(5))
        scene.frame(8, 0, 1, number(5))
        scene.frame(6, 0, 0, List[UInt8](length=8, fill=1))
        assert_equal(_code(scene), "-", String(i))


def test_requests_pay_for_glitches() raises:
    var limits = H2Limits()
    limits.glitches = 20
    var scene = MachineScene(limits)
    for i in range(100):
        scene.request(2 * i + 1, GET)
        var slot = scene.next().slot
        _ = scene.answer(slot, "hello")
        scene.machine().forget(slot, scene.output)
        # A window for a stream that has ended, and a ping.
        scene.frame(8, 0, 2 * i + 1, number(5))
        scene.frame(6, 0, 0, List[UInt8](length=8, fill=1))
        assert_equal(_code(scene), "-")


def test_resets_are_counted() raises:
    # Those of the peer, and those that its faults cause.
    for is_own in [True, False]:
        var limits = H2Limits()
        limits.resets = 5
        var scene = MachineScene(limits)
        var code = String("-")
        var count = 0
        while code == "-" and count < 100:
            var id = 2 * count + 1
            scene.request(id, POST, ends=False)
            var slot = scene.next().slot
            scene.frame(3 if is_own else 8, 0, id, number(8 if is_own else 0))
            code = _code(scene)
            count += 1
            if code == "-":
                scene.machine().forget(slot, scene.output)
        assert_equal(code, "11")
        assert_equal(count, 6)


def test_field_blocks_end() raises:
    # A ninth frame, and too many octets.
    for is_long in [True, False]:
        var scene = MachineScene()
        scene.frame(1, 0, 1, [0])
        for _ in range(9):
            var count = 2000 if is_long else 0
            scene.frame(9, 0, 1, List[UInt8](length=count, fill=0))
        assert_equal(_code(scene), "11")


def test_a_bucket_fills_with_time() raises:
    var bucket = TokenBucket(10, 5)
    for _ in range(10):
        assert_true(bucket.take(256, 1000))
    assert_false(bucket.take(256, 1000))
    assert_false(bucket.take(256, 1100))
    assert_true(bucket.take(256, 1300))
    # Never more than at first.
    for _ in range(10):
        assert_true(bucket.take(256, 1_000_000))
    assert_false(bucket.take(256, 1_000_000))


def test_forgotten_resets_count_as_resets() raises:
    var resets = RecentResets()
    for i in range(40):
        resets.note(2 * i + 101)
    for i in range(40):
        assert_true(resets.may_contain(2 * i + 101))
    # Lower ones may have been reset before.
    assert_true(resets.may_contain(3))
    assert_false(resets.may_contain(181))


comptime TESTS = __functions_in_module()


def _code(mut scene: MachineScene) raises -> String:
    """Returns the code with which the connection ends; `-` if it goes on."""
    try:
        while scene.next().kind != H2Event.NEED_OCTETS:
            pass
        return "-"
    except:
        var sent = scene.sent()
        return String(sent[byte = sent.rfind(":") + 1 :])


def _repeated(kind: Int, flags: Int, id: Int, payload: List[UInt8]) raises:
    """Checks how many frames of a kind a peer may send at once."""
    for extra in range(2):
        var limits = H2Limits()
        limits.glitches = 20
        var scene = MachineScene(limits)
        scene.request(1, POST, ends=False)
        _ = scene.next()
        # A request pays for some.
        for _ in range(20 + extra):
            scene.frame(kind, flags, id, payload)
        assert_equal(
            _code(scene), "11" if extra == 1 else "-", String("type ", kind)
        )
