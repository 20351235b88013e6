"""Tests a server's machine: streams from their heads to their ends."""

from std.testing import assert_equal, assert_false, assert_true

from flare.message import HeaderMap
from flare.proto.h2.h2_event import H2Event

from .machine_scene import GET, POST, MachineScene, block_of, number


def test_a_request_is_reported_and_answered_in_two_frames() raises:
    var scene = MachineScene()
    scene.request(1, GET)
    var event = scene.next()
    assert_equal(event.kind, H2Event.REQUEST_HEAD)
    assert_equal(event.stream_id, 1)
    assert_true(event.ends)
    assert_true(scene.answer(event.slot, "hello"))
    assert_true(scene.machine().has_ended(event.slot))
    scene.machine().forget(event.slot, scene.output)
    assert_equal(scene.machine().count(), 0)
    assert_true(scene.sent().startswith("HEADERS:4:1:"))
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)


def test_content_arrives_in_pieces() raises:
    var scene = MachineScene()
    scene.request(1, POST, ends=False)
    scene.frame(0, 1, 1, [97, 98, 99])
    var all = List[UInt8](scene.window[].span())
    scene.window[].clear()
    var content = String()
    var ends = 0
    for octet in all:
        scene.window[].append_octet(octet)
        while True:
            var before = List[UInt8](scene.window[].span())
            var event = scene.next()
            if event.kind == H2Event.NEED_OCTETS:
                break
            if event.kind == H2Event.DATA:
                for i in range(event.length):
                    content.write(chr(Int(before[event.start + i])))
                ends += Int(event.ends)
    assert_equal(content, "abc")
    assert_equal(ends, 1)


comptime TESTS = __functions_in_module()
