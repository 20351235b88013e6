"""Tests for `flare.proto.ws`: the frames that a machine writes."""

from flare.core import equals
from flare.proto.ws import (
    WsCloseCode,
    WsFrameHead,
    WsOpcode,
    WsProtocolError,
    WsRole,
)

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.peer import KEY, Peer, frame


def test_frames_are_written_as_built_by_hand() raises:
    # The frames that a client writes are those that a server receives.
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        for length in [0, 1, 125, 126, 127, 65535, 65536]:
            var payload = List[UInt8](length=length, fill=97)
            var writer = Peer(WsRole.CLIENT if role == WsRole.SERVER else 0)
            _write(writer, WsOpcode.BINARY, Span(payload), True)
            assert_true(
                equals(
                    Span(writer.take_output()),
                    Span(frame(role, 0x82, Span(payload))),
                ),
                String(length),
            )


def test_a_payload_may_be_written_in_pieces() raises:
    var payload = "0123456789abcdef".as_bytes()
    for cut in range(len(payload)):
        var writer = Peer(WsRole.CLIENT)
        writer.write_frame_head(
            WsFrameHead(WsOpcode.TEXT, len(payload), mask=KEY)
        )
        writer.write_payload(payload[:cut], mask=KEY)
        writer.write_payload(payload[cut:], mask=KEY, offset=cut)
        var server = Peer(WsRole.SERVER)
        server.receive(writer.take_output())
        assert_equal(server.text(), "= TEXT 0123456789abcdef\n")


def test_pings_pongs_and_closes_arrive() raises:
    for role in [WsRole.SERVER, WsRole.CLIENT]:
        var writer = Peer(role)
        var mask = _mask_of(role)
        writer.write_ping("a".as_bytes(), mask=mask)
        writer.write_pong("b".as_bytes(), mask=mask)
        assert_true(
            writer.write_close(WsCloseCode.GOING_AWAY, "see you", mask=mask)
        )
        var reader = Peer(WsRole.SERVER if role == WsRole.CLIENT else 1)
        reader.receive(writer.take_output())
        assert_equal(
            reader.text(), "= PING a\n= PONG b\n= CLOSE 1001 see you\n"
        )
        # An answer passes in the other direction.
        var back = _mask_of(reader.role())
        assert_true(reader.write_close(WsCloseCode.GOING_AWAY, "", mask=back))
        writer.receive(reader.take_output())
        assert_equal(writer.text(), "= CLOSE 1001 \n")


def test_a_second_close_is_not_written() raises:
    var peer = Peer(WsRole.SERVER)
    assert_true(peer.write_close(WsCloseCode.NORMAL, ""))
    assert_equal(len(peer.take_output()), 4)
    assert_false(peer.write_close(WsCloseCode.GOING_AWAY, ""))
    assert_equal(len(peer.take_output()), 0)


def test_a_close_without_a_code_is_empty() raises:
    var peer = Peer(WsRole.SERVER)
    _ = peer.write_close(WsCloseCode.NO_STATUS, "")
    assert_equal(len(peer.take_output()), 2)


def test_no_frame_follows_a_close_or_a_violation() raises:
    var closed = Peer(WsRole.SERVER)
    _ = closed.write_close(WsCloseCode.NORMAL, "")
    var told = Peer(WsRole.SERVER)
    told.receive(frame(WsRole.SERVER, 0x88, ""))
    var failed = Peer(WsRole.SERVER)
    failed.receive(frame(WsRole.SERVER, 0x83, ""))
    _check_refused(closed, "a frame after the close")
    _check_refused(told, "a frame after the close")
    _check_refused(failed, "a frame after the close")
    assert_true(told.write_close(WsCloseCode.NORMAL, ""))
    assert_true(failed.write_close(WsCloseCode.PROTOCOL_ERROR, ""))


def test_frames_out_of_order_are_refused_before_any_octet() raises:
    var peer = Peer(WsRole.SERVER)
    _expect(
        peer,
        WsFrameHead(WsOpcode.CONTINUATION, 1),
        "a frame out of its order",
    )
    peer.write_frame_head(WsFrameHead(WsOpcode.TEXT, 0, fin=False))
    assert_true(peer.is_sending_message())
    _ = peer.take_output()
    _expect(peer, WsFrameHead(WsOpcode.TEXT, 1), "a frame out of its order")
    # A ping may stand between the frames of a message.
    peer.write_ping("".as_bytes())
    peer.write_frame_head(WsFrameHead(WsOpcode.CONTINUATION, 0))
    assert_false(peer.is_sending_message())
    assert_equal(len(peer.take_output()), 4)


def test_frames_that_no_peer_accepts_are_refused() raises:
    var server = Peer(WsRole.SERVER)
    _expect(
        server,
        WsFrameHead(WsOpcode.TEXT, 1, mask=KEY),
        "a server masks no frame, a client each",
    )
    _expect(server, WsFrameHead(WsOpcode.PING, 1), "not a data frame")
    _expect(server, WsFrameHead(3, 1), "not a data frame")
    _expect(
        server,
        WsFrameHead(WsOpcode.TEXT, 1, rsv1=True),
        "a frame that may not be compressed",
    )
    _expect(
        Peer(WsRole.CLIENT),
        WsFrameHead(WsOpcode.TEXT, 1),
        "a server masks no frame, a client each",
    )
    var compressing = Peer(WsRole.SERVER, can_compress=True)
    compressing.write_frame_head(
        WsFrameHead(WsOpcode.TEXT, 1, rsv1=True, fin=False)
    )
    assert_equal(compressing.take_output()[0], 0x41)
    _expect(
        compressing,
        WsFrameHead(WsOpcode.CONTINUATION, 1, rsv1=True),
        "a frame that may not be compressed",
    )


def test_closes_that_no_peer_accepts_are_refused() raises:
    _expect_close(1005, "a", "a reason without a close code")
    _expect_close(1006, "", "an invalid close code")
    _expect_close(999, "", "an invalid close code")
    _expect_close(5000, "", "an invalid close code")
    _expect_close(1000, String("x") * 124, "a close reason over 123 octets")
    var peer = Peer(WsRole.SERVER)
    _ = peer.write_close(1000, String("x") * 123)
    assert_equal(len(peer.take_output()), 127)


def test_a_long_ping_is_refused() raises:
    var peer = Peer(WsRole.SERVER)
    var long = List[UInt8](length=126, fill=0)
    var got = StaticString("")
    try:
        peer.write_ping(Span(long))
    except e:
        got = e.reason
    assert_equal(got, "a control frame over 125 octets")
    peer.write_ping(Span(long)[:125])
    assert_equal(len(peer.take_output()), 127)


def test_errors_say_whose_fault_they_are() raises:
    var local = WsProtocolError.local("x")
    assert_false(local.is_of_peer())
    assert_equal(String(local), "websocket local error: x")
    assert_equal(local.close_code(), 1011)


def _write(
    mut peer: Peer, opcode: UInt8, payload: Span[UInt8, _], fin: Bool
) raises:
    var mask = _mask_of(peer.role())
    peer.write_frame_head(WsFrameHead(opcode, len(payload), mask=mask, fin=fin))
    peer.write_payload(payload, mask=mask)


def _mask_of(role: UInt8) -> Optional[UInt32]:
    if role == WsRole.CLIENT:
        return KEY
    return None


def _check_refused(mut peer: Peer, reason: StaticString) raises:
    _ = peer.take_output()
    _expect(peer, WsFrameHead(WsOpcode.TEXT, 0), reason)
    var got = StaticString("")
    try:
        peer.write_pong("".as_bytes())
    except e:
        got = e.reason
    assert_equal(got, reason)
    assert_equal(peer.written(), 0)


def _expect(peer: Peer, head: WsFrameHead, reason: StaticString) raises:
    var written = peer.written()
    var got = StaticString("")
    try:
        peer.write_frame_head(head)
    except e:
        got = e.reason
    assert_equal(got, reason)
    assert_equal(peer.written(), written)


def _expect_close(code: UInt16, text: String, reason: StaticString) raises:
    var peer = Peer(WsRole.SERVER)
    var got = StaticString("")
    try:
        _ = peer.write_close(code, text)
    except e:
        got = e.reason
    assert_equal(got, reason)
    assert_equal(peer.written(), 0)
    assert_false(peer.has_sent_close())


comptime TESTS = __functions_in_module()
