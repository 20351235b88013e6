"""Tests for `flare.proto.ws`: frames in, events out, in any pieces."""

from std.sys.info import size_of

from flare.proto.ws import WsRole, WsState

from tests.asserting import assert_equal, assert_true
from tests.proto_ws.peer import Peer, frame, header, transcript_of

comptime _ROLES: List[UInt8] = [WsRole.SERVER, WsRole.CLIENT]


@fieldwise_init
struct Row(Copyable, Movable):
    """Holds the first octet and the rest of a frame, and what comes of it."""

    var what: String
    var first: UInt8
    var payload: String
    var expected: String


def test_frames_are_reported_as_sent_in_any_pieces() raises:
    for role in materialize[_ROLES]():
        var octets = _conversation(role)
        var expected = transcript_of(role, octets)
        assert_equal(
            expected,
            (
                "= TEXT Hello\n= BINARY \\x00\\xff\\x80\n= TEXT \n+\n= PING"
                " are you there?\n+\n= TEXT caf\\xc3\\xa9\n= PONG \n= CLOSE"
                " 1001 bye\n"
            ),
        )
        for cut in range(1, len(octets)):
            assert_equal(
                transcript_of(role, octets, [cut]), expected, String(cut)
            )
        assert_equal(transcript_of(role, octets, _all(octets)), expected)


def test_each_length_at_each_form_is_reported() raises:
    for role in materialize[_ROLES]():
        for length in [0, 1, 125, 126, 127, 65535, 65536, 70000]:
            var payload = List[UInt8](length=length, fill=97)
            var octets = frame(role, 0x81, Span(payload))
            var peer = Peer(role)
            peer.receive(octets)
            assert_equal(len(peer.lines), 1, String(length))
            assert_equal(peer.lines[0].byte_length(), length + 7)
            assert_equal(peer.pieces, 1)
            assert_equal(len(peer.window), 0)


def test_a_long_frame_is_reported_in_pieces_as_it_arrives() raises:
    var peer = Peer(WsRole.SERVER)
    var payload = List[UInt8](length=1000, fill=98)
    var octets = frame(WsRole.SERVER, 0x82, Span(payload))
    for i in range(0, len(octets), 100):
        peer.receive(Span(octets)[i : min(i + 100, len(octets))])
        assert_equal(len(peer.window), 0, "nothing is held back")
    assert_equal(peer.pieces, 11)
    assert_equal(peer.starts, 1)
    assert_equal(len(peer.lines), 1)


def test_a_header_without_data_is_consumed() raises:
    var peer = Peer(WsRole.SERVER)
    peer.receive(header(WsRole.SERVER, 0x81, 5))
    assert_equal(len(peer.window), 0)
    assert_equal(peer.pieces, 0)
    assert_equal(peer.announced_octets(), 5)
    assert_true(peer.is_receiving_message())


def test_a_control_frame_stays_in_the_window_until_it_is_whole() raises:
    var octets = frame(WsRole.CLIENT, 0x89, "12345")
    var peer = Peer(WsRole.CLIENT)
    peer.receive(Span(octets)[:6])
    assert_equal(len(peer.window), 6)
    peer.receive(Span(octets)[6:])
    assert_equal(peer.text(), "= PING 12345\n")


def test_a_key_of_zeros_masks_nothing() raises:
    var peer = Peer(WsRole.SERVER)
    peer.receive([0x81, 0x82, 0, 0, 0, 0, 104, 105])
    assert_equal(peer.text(), "= TEXT hi\n")


def test_what_breaks_a_rule_is_refused_with_its_code() raises:
    var rows: List[Row] = [
        Row("RSV1", 0xC1, "a", "! 1002 a reserved bit without its extension\n"),
        Row("RSV2", 0xA1, "a", "! 1002 a reserved bit without its extension\n"),
        Row("RSV3", 0x91, "a", "! 1002 a reserved bit without its extension\n"),
        Row("opcode 3", 0x83, "a", "! 1002 an unknown opcode\n"),
        Row("opcode 7", 0x87, "a", "! 1002 an unknown opcode\n"),
        Row("opcode 11", 0x8B, "a", "! 1002 an unknown opcode\n"),
        Row("opcode 15", 0x8F, "a", "! 1002 an unknown opcode\n"),
        Row("ping part", 0x09, "a", "! 1002 a control frame in fragments\n"),
        Row("close part", 0x08, "", "! 1002 a control frame in fragments\n"),
        Row(
            "continuation",
            0x80,
            "a",
            "! 1002 a continuation without a message\n",
        ),
        Row(
            "close of one octet",
            0x88,
            "a",
            "! 1002 a close frame with one octet\n",
        ),
        Row("code 0", 0x88, "\0\0", "! 1002 an invalid close code\n"),
    ]
    for role in materialize[_ROLES]():
        for row in rows:
            var octets = frame(role, row.first, row.payload.as_bytes())
            octets.extend(frame(role, 0x81, "more"))
            assert_equal(transcript_of(role, octets), row.expected, row.what)
            assert_equal(
                transcript_of(role, octets, _all(octets)),
                row.expected,
                row.what,
            )


def test_masks_of_the_wrong_end_are_refused() raises:
    assert_equal(
        transcript_of(WsRole.SERVER, frame(WsRole.CLIENT, 0x81, "a")),
        "! 1002 a frame of a client is not masked\n",
    )
    assert_equal(
        transcript_of(WsRole.CLIENT, frame(WsRole.SERVER, 0x81, "a")),
        "! 1002 a frame of a server is masked\n",
    )


def test_a_control_frame_over_125_octets_is_refused() raises:
    for role in materialize[_ROLES]():
        for opcode in [UInt8(0x88), 0x89, 0x8A]:
            assert_equal(
                transcript_of(role, header(role, opcode, 126)),
                "! 1002 a control frame over 125 octets\n",
            )


def test_lengths_that_are_not_the_shortest_are_refused() raises:
    var long: List[List[UInt8]] = [
        [0x82, 126, 0, 0],
        [0x82, 126, 0, 125],
        [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5],
        [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
    ]
    for octets in long:
        assert_equal(
            transcript_of(WsRole.CLIENT, octets),
            "! 1002 a length not in its shortest form\n",
        )


def test_lengths_beyond_all_memory_are_refused() raises:
    assert_equal(
        transcript_of(WsRole.CLIENT, [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        "! 1002 a length over 63 bits\n",
    )
    assert_equal(
        transcript_of(
            WsRole.CLIENT,
            [0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        ),
        "! 1009 a message exceeds the limit\n",
    )
    # A sum of 64 bits would wrap around to 9.
    var octets = frame(WsRole.CLIENT, 0x02, "0123456789")
    octets.extend([0x80, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    assert_equal(
        transcript_of(WsRole.CLIENT, octets),
        "+\n! 1009 a message exceeds the limit\n",
    )


def test_every_close_code_is_judged() raises:
    for code in range(0, 5100):
        var valid = (
            1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999
        )
        var text = transcript_of(
            WsRole.CLIENT, [0x88, 2, UInt8(code >> 8), UInt8(code & 0xFF)]
        )
        var expected = String("= CLOSE ", code, " \n")
        if not valid:
            expected = "! 1002 an invalid close code\n"
        assert_equal(text, expected)


def test_a_close_without_a_code_has_none() raises:
    assert_equal(transcript_of(WsRole.CLIENT, [0x88, 0]), "= CLOSE 1005 \n")


def test_a_close_reason_must_be_utf8() raises:
    assert_equal(
        transcript_of(WsRole.CLIENT, [0x88, 3, 3, 0xE8, 0xC3]),
        "! 1007 the reason of a close is not UTF-8\n",
    )


def test_state_takes_at_most_96_octets() raises:
    assert_true(size_of[WsState]() <= 96, String(size_of[WsState]()))


def _conversation(role: UInt8) -> List[UInt8]:
    var octets = frame(role, 0x81, "Hello")
    octets.extend(frame(role, 0x82, [0, 255, 128]))
    octets.extend(frame(role, 0x81, ""))
    # A character in two frames, with a ping between them.
    octets.extend(frame(role, 0x01, "caf"))
    octets.extend(frame(role, 0x89, "are you there?"))
    octets.extend(frame(role, 0x00, [0xC3]))
    octets.extend(frame(role, 0x80, [0xA9]))
    octets.extend(frame(role, 0x8A, ""))
    octets.extend(frame(role, 0x88, [3, 0xE9, 98, 121, 101]))
    # After a Close, no octet counts.
    octets.extend(frame(role, 0x81, "more"))
    octets.extend([0xFF, 0xFF])
    return octets^


def _all(octets: List[UInt8]) -> List[Int]:
    var cuts = List[Int]()
    for i in range(1, len(octets)):
        cuts.append(i)
    return cuts^


comptime TESTS = __functions_in_module()
