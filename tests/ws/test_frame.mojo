"""Tests frames that programs build and read."""

from std.testing import assert_raises

from flare.ws import WsError, WsFrame, WsOpcode

from tests.asserting import assert_equal, assert_true


def test_frames_are_the_examples_of_the_specification() raises:
    # RFC 6455 section 5.7.
    var plain: List[UInt8] = [0x81, 5, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
    assert_equal(WsFrame.text("Hello").encode(), plain)
    var masked: List[UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D]
    masked.extend([0x7F, 0x9F, 0x4D, 0x51, 0x58])
    assert_equal(WsFrame.text("Hello").encode(UInt32(0x3D21FA37)), masked)
    var ping = WsFrame.ping("Hello".as_bytes())
    assert_equal(ping.encode()[0], 0x89)
    assert_equal(WsFrame.close(1001, "bye").encode()[1], 5)
    assert_equal(len(WsFrame.close(1005).encode()), 2)


def test_frame_is_read_back_from_each_prefix() raises:
    var octets = WsFrame.text("Hello").encode(mask=UInt32(7))
    for length in range(len(octets)):
        var part = WsFrame.decode_one(Span(octets)[:length])
        assert_true(not part.is_whole())
        assert_equal(part.consumed, 0)
    octets.append(1)
    var whole = WsFrame.decode_one(Span(octets))
    assert_equal(whole.consumed, len(octets) - 1)
    var frame = whole.take_frame()
    assert_equal(frame.opcode, WsOpcode.TEXT)
    assert_equal(frame.text_payload(), "Hello")
    with assert_raises(contains="ws.bad_call"):
        _ = whole.take_frame()


def test_illegal_frame_is_an_error_with_its_code() raises:
    try:
        var octets: List[UInt8] = [0xF1, 0]
        _ = WsFrame.decode_one(Span(octets))
    except e:
        var own = WsError.of(e).value().copy()
        assert_equal(own.kind, WsError.PROTOCOL)
        assert_equal(Int(own.code), 1002)
        assert_equal(String(own), String(e))
        return
    raise Error("accepted")


def test_text_of_an_error_is_read_back() raises:
    var rows: List[WsError] = [
        WsError(WsError.CLOSED, code=1001, is_clean=True),
        WsError(WsError.HANDSHAKE, "the server refuses", status=403),
        WsError(WsError.TIMEOUT, "no pong: 20 s", code=1011),
    ]
    for row in rows:
        var own = WsError.of(Error(row)).value().copy()
        assert_equal(own.kind, row.kind)
        assert_equal(own.code, row.code)
        assert_equal(own.is_clean, row.is_clean)
        assert_equal(own.status, row.status)
        assert_equal(own.detail, row.detail)
    assert_true(not WsError.of(Error("ws.other code=1 clean=true")))
    assert_true(not WsError.of(Error("net.closed read")))
    assert_true(not WsError.of(Error("ws.closed")))


comptime TESTS = __functions_in_module()
