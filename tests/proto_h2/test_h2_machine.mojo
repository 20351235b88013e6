"""Tests a server's machine: streams from their heads to their ends."""

from flare.message import HeaderMap
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.stream_table import NO_SLOT

from tests.asserting import assert_equal, assert_false, assert_true

from .machine_scene import (
    GET,
    POST,
    MachineScene,
    block_of,
    date_span,
    number,
)

# The longest frame.
comptime _ROOM = 16_384


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
    var sent = scene.sent()
    assert_true(sent.startswith("HEADERS:4:1:"), sent)
    assert_true(sent.endswith("DATA:1:1:5"), sent)
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)


def test_octets_may_arrive_one_by_one() raises:
    var scene = MachineScene()
    scene.request(1, POST, ends=False)
    scene.frame(0, 0, 1, [97, 98])
    # Padding of three octets.
    scene.frame(0, 8, 1, [3, 99, 0, 0, 0])
    scene.frame(200, 0, 1, [1, 2, 3])
    scene.frame(1, 5, 1, block_of("x-sum: 1"))
    var all = List[UInt8](scene.window[].span())
    scene.window[].clear()
    var seen = String()
    for octet in all:
        scene.window[].append_octet(octet)
        while True:
            var before = List[UInt8](scene.window[].span())
            var event = scene.next()
            if event.kind == H2Event.NEED_OCTETS:
                break
            if event.kind == H2Event.DATA:
                seen += _text(scene, event, before)
            elif event.kind == H2Event.TRAILERS:
                assert_true(event.ends)
                seen += String(len(scene.state[].input.trailers.lines))
            else:
                seen += "h"
    assert_equal(seen, "habc1")
    assert_equal(scene.state[].streams[0].receiving.held, 3)


def test_a_block_in_pieces_is_one_head() raises:
    var scene = MachineScene()
    var block = block_of(GET)
    scene.frame(1, 1, 1, List[UInt8](block[:5]))
    scene.frame(9, 0, 1, List[UInt8](block[5:9]))
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_true(scene.machine().is_head_open())
    scene.frame(9, 4, 1, List[UInt8](block[9:]))
    var event = scene.next()
    assert_equal(event.kind, H2Event.REQUEST_HEAD)
    assert_true(event.ends)
    assert_false(scene.machine().is_head_open())


def test_the_length_of_content_must_be_the_announced_one() raises:
    # More in one frame, more in two, less at the end, and none at all.
    for row in ["123", "12|3", "1|", ""]:
        var scene = MachineScene()
        scene.request(1, POST + "|content-length: 2", ends=row == "")
        var kind = scene.next().kind
        if row != "":
            var parts = String(row).split("|")
            for i in range(len(parts)):
                scene.frame(
                    0,
                    1 if i + 1 == len(parts) else 0,
                    1,
                    List[UInt8](parts[i].as_bytes()),
                )
                kind = scene.next().kind
            assert_equal(kind, H2Event.RESET, row)
        assert_equal(scene.sent(), "RST:0:1:1", row)


def test_credit_returns_when_content_is_taken() raises:
    var scene = MachineScene()
    scene.request(1, POST, ends=False)
    var slot = scene.next().slot
    for _ in range(3):
        scene.frame(0, 0, 1, List[UInt8](length=16384, fill=1))
        assert_equal(scene.next().length, 16384)
    assert_equal(scene.sent(), "")
    scene.machine().release(slot, 16383, scene.output)
    assert_equal(scene.sent(), "")
    # A quarter of the window of the stream is due now.
    scene.machine().release(slot, 1, scene.output)
    assert_equal(scene.sent(), "WINDOW:0:1:16384 PING:0:0:8")
    # An octet more than there is room for.
    scene.frame(0, 0, 1, List[UInt8](length=16384, fill=1))
    scene.frame(0, 0, 1, List[UInt8](length=16384, fill=1))
    scene.frame(0, 0, 1, [1])
    for _ in range(2):
        assert_equal(scene.next().kind, H2Event.DATA)
    assert_equal(scene.next().kind, H2Event.RESET)
    assert_equal(scene.sent(), "RST:0:1:3")
    # The connection gets all of it back with the stream.
    scene.machine().forget(slot, scene.output)
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(
        scene.state[].window.receive + scene.state[].window.due, 1 << 20
    )


def test_windows_grow_if_they_hold_the_peer_back() raises:
    var scene = MachineScene()
    scene.request(1, POST, ends=False)
    var slot = scene.next().slot
    var machine = scene.machine()
    # One frame from one answer to the next, as from a slow peer.
    assert_equal(_exchange(scene, slot, 1), H2Event.NEED_OCTETS)
    assert_equal(scene.sent(), "WINDOW:0:1:16384 PING:0:0:8")
    assert_equal(_exchange(scene, slot, 1), H2Event.NEED_OCTETS)
    # Half a window.
    assert_equal(_exchange(scene, slot, 2), H2Event.WINDOW_SMALL)
    scene.output[].clear()
    assert_equal(machine.grow_windows(scene.output), 1 << 20)
    assert_equal(machine.grown_octets(), 1 << 20)
    assert_equal(scene.sent(), "WINDOW:0:0:1048576")
    # The stream follows when content of it is taken.
    scene.frame(0, 0, 1, List[UInt8](length=16384, fill=1))
    machine.release(slot, scene.next().length, scene.output)
    assert_equal(scene.sent(), "WINDOW:0:1:81920 PING:0:0:8")
    assert_equal(Int(scene.state[].streams[slot].receiving.window), 131_072)
    # An answer to no question.
    scene.frame(6, 1, 0, List[UInt8]("flare-bw".as_bytes()))
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    scene.frame(6, 1, 0, List[UInt8]("flare-bw".as_bytes()))
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)


def test_content_waits_for_both_windows() raises:
    var scene = MachineScene()
    scene.request(1, GET)
    scene.request(3, GET)
    var first = scene.next().slot
    var second = scene.next().slot
    var machine = scene.machine()
    for slot in [first, second]:
        machine.send_response_head(
            ResponseStart(slot, 200, 40_000, date_span()),
            HeaderMap(),
            scene.output,
        )
        machine.queue(slot, 40_000)
    scene.output[].clear()
    var octets = List[UInt8](length=16_384, fill=1)
    var sent = 0
    while True:
        var turn = machine.next_turn(_ROOM)
        if turn.slot == NO_SLOT:
            break
        # The first stream comes to its end before the second begins.
        assert_equal(turn.slot, first if sent < 40_000 else second)
        sent += turn.octets
        machine.send_data(
            turn.slot, Span(octets)[: turn.octets], sent == 40_000, scene.output
        )
    assert_equal(sent, 65_535)
    scene.output[].clear()
    scene.frame(8, 0, 0, number(10))
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(machine.next_turn(_ROOM).octets, 10)
    # The header of a frame takes nine.
    assert_equal(machine.next_turn(13).octets, 4)
    # Settings may take a window back, below zero.
    scene.frame(4, 0, 0, [0, 4, 0, 0, 0, 0])
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(machine.next_turn(_ROOM).slot, NO_SLOT)
    scene.frame(8, 0, 3, number(25_535 + 7))
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(machine.next_turn(_ROOM).octets, 7)


def test_a_head_that_may_have_no_content_ends_the_stream() raises:
    for row in ["200 0", "204 -1", "304 5", "200 5 HEAD"]:
        var parts = String(row).split(" ")
        var scene = MachineScene()
        var lines = String(GET)
        if len(parts) == 3:
            lines = lines.replace("GET", "HEAD")
        scene.request(1, lines)
        var slot = scene.next().slot
        scene.machine().send_response_head(
            ResponseStart(slot, Int(parts[0]), Int(parts[1]), date_span()),
            HeaderMap(),
            scene.output,
        )
        assert_true(scene.sent().startswith("HEADERS:5:1:"), row)
        assert_true(scene.machine().has_ended(slot), row)


def test_a_long_head_is_divided() raises:
    var scene = MachineScene()
    scene.request(1, GET)
    var slot = scene.next().slot
    var fields = HeaderMap()
    for i in range(5):
        fields.append(String("X-", i), String("{") * 8000)
    scene.machine().send_informational(slot, 103, fields, scene.output)
    var sent = scene.sent()
    assert_true(sent.startswith("HEADERS:0:1:16384 CONTINUATION:0:1:16384 "))
    assert_true(" CONTINUATION:4:1:" in sent, sent)


def test_more_streams_than_allowed_are_refused() raises:
    var limits = H2Limits()
    limits.streams_max = 2
    var scene = MachineScene(limits)
    scene.request(1, POST, ends=False)
    scene.request(3, POST, ends=False)
    scene.request(5, POST, ends=False)
    # The table of the decoder is right all the same, and its content is paid
    # back.
    scene.frame(0, 1, 5, [1, 2, 3])
    assert_equal(scene.next().slot, 0)
    assert_equal(scene.next().slot, 1)
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(scene.sent(), "RST:0:5:7")
    assert_equal(scene.state[].window.due, 3)
    # The peer resets one, but its handler has not ended.
    scene.frame(3, 0, 1, number(8))
    assert_equal(scene.next().kind, H2Event.RESET)
    scene.request(7, GET)
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(scene.sent(), "RST:0:7:7")
    scene.machine().forget(0, scene.output)
    scene.request(9, GET)
    assert_equal(scene.next().kind, H2Event.REQUEST_HEAD)


def test_after_goaway_later_streams_are_dropped() raises:
    var scene = MachineScene()
    scene.request(1, GET)
    _ = scene.next()
    scene.machine().go_away(1, 0, scene.output)
    assert_equal(scene.sent(), "GOAWAY:0:0:0")
    scene.request(3, POST, ends=False)
    scene.frame(0, 1, 3, [1])
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(scene.sent(), "")


def test_a_client_may_not_know_a_small_window_yet() raises:
    var limits = H2Limits()
    limits.stream_window_octets = 100
    var scene = MachineScene(limits)
    # The settings are on the way.
    scene.state[].has_unacknowledged_settings = True
    scene.request(1, POST, ends=False)
    var slot = scene.next().slot
    scene.frame(0, 0, 1, List[UInt8](length=150, fill=1))
    assert_equal(scene.next().kind, H2Event.DATA)
    # The acknowledgement takes the default window back.
    scene.frame(4, 1, 0, [])
    assert_equal(scene.next().kind, H2Event.NEED_OCTETS)
    assert_equal(Int(scene.state[].streams[slot].receiving.window), -50)
    scene.machine().release(slot, 150, scene.output)
    assert_equal(scene.sent(), "WINDOW:0:1:150 PING:0:0:8")
    scene.frame(0, 0, 1, List[UInt8](length=100, fill=1))
    assert_equal(scene.next().kind, H2Event.DATA)
    scene.frame(0, 0, 1, [1])
    assert_equal(scene.next().kind, H2Event.RESET)


def _exchange(scene: MachineScene, slot: Int, frames: Int) raises -> UInt8:
    """Sends content, takes it, and answers the PING."""
    for _ in range(frames):
        scene.frame(0, 0, 1, List[UInt8](length=16384, fill=1))
        scene.machine().release(slot, scene.next().length, scene.output)
    scene.frame(6, 1, 0, List[UInt8]("flare-bw".as_bytes()))
    return scene.next().kind


def _text(scene: MachineScene, event: H2Event, window: List[UInt8]) -> String:
    return String(
        StringSlice(
            unsafe_from_utf8=Span(window)[
                event.start : event.start + event.length
            ]
        )
    )


comptime TESTS = __functions_in_module()
