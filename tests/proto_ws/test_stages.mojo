"""Tests for `flare.proto.ws`: every state with every frame."""

from flare.proto.ws import (
    FrameKind,
    WsCloseCode,
    WsRole,
    WsStage,
    next_stage,
)

from tests.asserting import assert_equal, assert_true
from tests.proto_ws.peer import Peer, frame

# One row per state, one column per frame, in the order of the constants: whole,
# first, middle, last, ping, pong, close. `.` is illegal, letters name the next
# state: Open, In message, close Sent, close Received, Failed.
comptime _TABLE: List[StaticString] = [
    "OI..OOR",  # open
    "..IOIIR",  # in a message
    "SSSSSSR",  # close sent
    "RRRRRRR",  # close received
    "FFFFFFF",  # failed
]
comptime _LETTERS: StaticString = "OISRF"
comptime _FIRST_OCTETS: List[UInt8] = [
    0x81,
    0x01,
    0x00,
    0x80,
    0x89,
    0x8A,
    0x88,
]
# What a frame with the text "ab" is reported as, frame by frame in each state. A
# message in progress has "x" already.
comptime _REPORTS: List[StaticString] = [
    "= TEXT ab",
    "+",
    "! 1002",
    "! 1002",
    "= PING ab",
    "= PONG ab",
    "= CLOSE",
    "! 1002",
    "! 1002",
    "+",
    "= TEXT xab",
    "= PING ab",
    "= PONG ab",
    "= CLOSE",
    "",
    "",
    "",
    "",
    "",
    "",
    "= CLOSE",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
]


def test_every_pair_of_the_table_is_as_stated() raises:
    var rows = materialize[_TABLE]()
    assert_equal(len(rows), WsStage.COUNT)
    for stage in range(WsStage.COUNT):
        var row = rows[stage].as_bytes()
        assert_equal(len(row), FrameKind.COUNT)
        for kind in range(FrameKind.COUNT):
            assert_equal(
                next_stage(UInt8(stage), UInt8(kind)),
                _stage_of(row[kind]),
                String(stage, " on ", kind),
            )


def test_the_machine_follows_the_table_in_every_pair() raises:
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        for stage in range(WsStage.COUNT):
            for kind in range(FrameKind.COUNT):
                _check_pair(role, stage, kind)


def test_frames_of_either_end_are_written_in_the_same_order() raises:
    # The table of the receiving side holds for the sending side.
    for kind in range(4):
        assert_equal(
            next_stage(WsStage.OPEN, UInt8(kind)) == WsStage.ILLEGAL, kind >= 2
        )


def test_a_data_frame_within_which_a_close_is_sent_is_dropped() raises:
    var peer = Peer(WsRole.CLIENT)
    peer.receive([0x81, 10, 97, 98])
    assert_true(peer.write_close(WsCloseCode.NORMAL, "", mask=UInt32(7)))
    peer.receive("cdefghij".as_bytes())
    # Not even text is judged any more, and a limit is none.
    peer.receive([0x81, 2, 0xFF, 0xFF])
    peer.receive([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0])
    peer.receive(List[UInt8](length=100_000, fill=1))
    assert_equal(peer.text(), "~ ab\n")
    assert_equal(len(peer.window), 0)


def test_a_close_after_ours_is_reported_and_ends_all() raises:
    var peer = Peer(WsRole.CLIENT)
    _ = peer.write_close(WsCloseCode.NORMAL, "", mask=UInt32(7))
    peer.receive([0x89, 1, 97, 0x81, 1, 97, 0x88, 2, 3, 0xE8, 0x81, 1, 97])
    assert_equal(peer.text(), "= CLOSE 1000 \n")
    assert_true(peer.has_received_close())
    assert_true(peer.has_sent_close())
    assert_equal(len(peer.window), 0)


def test_form_counts_even_after_a_close_was_sent() raises:
    var peer = Peer(WsRole.CLIENT)
    _ = peer.write_close(WsCloseCode.NORMAL, "", mask=UInt32(7))
    peer.receive([0x83, 1, 97])
    assert_equal(peer.text(), "! 1002 an unknown opcode\n")
    assert_true(peer.has_failed())


def _check_pair(role: UInt8, stage: Int, kind: Int) raises:
    var peer = Peer(role)
    _bring_to(peer, role, UInt8(stage))
    assert_equal(peer.stage(), UInt8(stage))
    var before = len(peer.lines)
    var what = String("role ", role, ", state ", stage, ", frame ", kind)
    var first = materialize[_FIRST_OCTETS]()[kind]
    # As a code, "ab" would be 24930.
    var payload: List[UInt8] = [97, 98]
    if first == 0x88:
        payload = [3, 0xE8]
    peer.receive(frame(role, first, payload))
    var expected = String(
        materialize[_REPORTS]()[stage * FrameKind.COUNT + kind]
    )
    if expected.byte_length() == 0:
        assert_equal(len(peer.lines), before, what)
    else:
        assert_equal(len(peer.lines), before + 1, what)
        assert_true(peer.lines[before].startswith(expected), what)
    assert_equal(len(peer.window), 0, what)
    var next = next_stage(UInt8(stage), UInt8(kind))
    if next == WsStage.ILLEGAL:
        next = WsStage.FAILED
    assert_equal(peer.stage(), next, what)


def _bring_to(mut peer: Peer, role: UInt8, stage: UInt8) raises:
    if stage == WsStage.IN_MESSAGE:
        peer.receive(frame(role, 0x01, "x"))
    elif stage == WsStage.CLOSE_SENT:
        var mask = Optional[UInt32](None)
        if role == WsRole.CLIENT:
            mask = UInt32(9)
        _ = peer.write_close(WsCloseCode.NORMAL, "", mask=mask)
    elif stage == WsStage.CLOSE_RECEIVED:
        peer.receive(frame(role, 0x88, ""))
    elif stage == WsStage.FAILED:
        peer.receive(frame(role, 0x83, ""))


def _stage_of(letter: UInt8) -> UInt8:
    for i in range(_LETTERS.byte_length()):
        if _LETTERS.as_bytes()[i] == letter:
            return UInt8(i)
    return WsStage.ILLEGAL


comptime TESTS = __functions_in_module()
