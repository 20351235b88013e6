"""Tests for `flare.proto.ws`: the bounds on messages."""

from flare.proto.ws import EMPTY_FRAMES_MAX, WsMessageCheck, WsRole

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.peer import Peer, frame, header

comptime _TOO_LARGE: StaticString = "! 1009 a message exceeds the limit\n"


def test_a_message_may_have_exactly_the_most_octets() raises:
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        var peer = Peer(role, message_octets_max=300)
        peer.receive(frame(role, 0x82, Span(_zeros(300))))
        peer.receive(frame(role, 0x02, Span(_zeros(299))))
        peer.receive(frame(role, 0x80, Span(_zeros(1))))
        assert_equal(len(peer.lines), 3)
        assert_false(peer.has_failed())
        # The header alone decides.
        peer.receive(header(role, 0x82, 301))
        assert_true(peer.has_failed())


def test_the_frames_of_a_message_count_together() raises:
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        var peer = Peer(role, message_octets_max=10)
        peer.receive(frame(role, 0x01, "01234"))
        peer.receive(frame(role, 0x00, "56789"))
        peer.receive(header(role, 0x80, 1))
        assert_equal(peer.text(), String("+\n+\n", _TOO_LARGE))


def test_no_octet_is_a_limit_too() raises:
    var peer = Peer(WsRole.CLIENT, message_octets_max=0)
    peer.receive([0x81, 0, 0x81, 1])
    assert_equal(peer.text(), String("= TEXT \n", _TOO_LARGE))


def test_an_announced_length_never_wraps_around() raises:
    var check = WsMessageCheck(Int.MAX)
    check.octets = UInt64(Int.MAX) - 5
    check.announce(5)
    var code: UInt16 = 0
    try:
        # A sum of 64 bits wraps around.
        check.announce(UInt64.MAX - 4)
    except e:
        code = e.close_code()
    assert_equal(code, 1009)


def test_empty_frames_of_a_message_are_counted() raises:
    var peer = Peer(WsRole.CLIENT)
    # Two messages with the most empty frames each.
    for _ in range(2):
        peer.receive([0x01, 0])
        for _ in range(EMPTY_FRAMES_MAX - 2):
            peer.receive([0x00, 0])
        # A frame with an octet is none of them.
        peer.receive([0x00, 1, 97, 0x80, 0])
        assert_false(peer.has_failed())
    peer.receive([0x01, 0])
    for _ in range(EMPTY_FRAMES_MAX - 1):
        peer.receive([0x00, 0])
    assert_false(peer.has_failed())
    peer.receive([0x00, 0])
    assert_true(peer.has_failed())
    assert_equal(
        peer.lines[len(peer.lines) - 1], "! 1008 too many frames without data"
    )


def test_fragments_of_one_octet_are_no_violation() raises:
    var peer = Peer(WsRole.CLIENT)
    peer.receive([0x02, 1, 0])
    for _ in range(100_000):
        peer.receive([0x00, 1, 0])
    peer.receive([0x80, 0])
    assert_false(peer.has_failed())


def test_the_size_of_a_compressed_message_is_bounded_twice() raises:
    var peer = Peer(WsRole.CLIENT, message_octets_max=1000, can_compress=True)
    # Octets that do not compress take a little more room.
    peer.receive(header(WsRole.CLIENT, 0xC2, 1000 + 125 + 256))
    assert_false(peer.has_failed())
    peer = Peer(WsRole.CLIENT, message_octets_max=1000, can_compress=True)
    peer.receive(header(WsRole.CLIENT, 0xC2, 1000 + 125 + 257))
    assert_equal(peer.text(), _TOO_LARGE)
    peer = Peer(WsRole.CLIENT, message_octets_max=1000, can_compress=True)
    peer.receive(frame(WsRole.CLIENT, 0x42, Span(_zeros(1381))))
    peer.receive(header(WsRole.CLIENT, 0x80, 1))
    assert_true(peer.has_failed())


def test_a_compressed_text_is_not_judged_by_the_machine() raises:
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        var peer = Peer(role, can_compress=True)
        peer.receive(frame(role, 0x41, [0xFF]))
        peer.receive(frame(role, 0x80, [0xFE]))
        peer.receive(frame(role, 0x81, "plain"))
        assert_equal(
            peer.text(),
            "+\n= TEXT (compressed) \\xff\\xfe\n= TEXT plain\n",
        )


def test_only_the_first_frame_of_a_message_may_have_rsv1() raises:
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        for first in [UInt8(0x40), 0xC0, 0xC9, 0xCA, 0xC8]:
            var peer = Peer(role, can_compress=True)
            peer.receive(frame(role, 0x41, "a"))
            peer.receive(frame(role, first, ""))
            assert_equal(
                peer.lines[1],
                (
                    "! 1002 the bit of compression on a frame that starts no"
                    " message"
                ),
            )
        for first in [UInt8(0xA1), 0x91, 0xE1, 0xF1]:
            var peer = Peer(role, can_compress=True)
            peer.receive(frame(role, first, "a"))
            assert_equal(
                peer.lines[0], "! 1002 a reserved bit without its extension"
            )


def _zeros(count: Int) -> List[UInt8]:
    return List[UInt8](length=count, fill=0)


comptime TESTS = __functions_in_module()
