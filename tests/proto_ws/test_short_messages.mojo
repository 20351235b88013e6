"""Tests that the short way of messages and the machine agree."""

from flare.proto.ws import WsFrameHead, WsOpcode, WsRole

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.peer import KEY, Peer, frame, header

comptime _ROLES: List[UInt8] = [WsRole.SERVER, WsRole.CLIENT]
comptime _TEXTS: List[StaticString] = [
    "",
    "a",
    "abc",
    "abcd",
    "hello",
    "seven!!",
    "eight!!!",
    "nine!!!!!",
    "fifteen octets!",
    "sixteen octets!!",
    "seventeen octets!",
    "longer than two vectors of octets are",
    "é",
    "€ and more",
    "it ends with the last one: €",
]


def test_every_first_octet_and_length_is_judged_alike() raises:
    var shorts = 0
    for role in materialize[_ROLES]():
        for first in range(256):
            for length in [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 124, 125, 126]:
                var octets = _frame_of(role, UInt8(first), length)
                octets.extend(Span(frame(role, 0x81, "next")))
                shorts += _compare(role, octets)
    # Text and binary, in both roles, of each length to 125; and the next.
    assert_true(shorts > 2 * 2 * 13 * 2, String(shorts))


def test_lengths_in_a_long_form_are_judged_alike() raises:
    for role in materialize[_ROLES]():
        var mask = UInt8(0x80 if role == WsRole.SERVER else 0)
        for first in [0x81, 0x82]:
            for length in [0, 5, 125, 126, 127]:
                var octets: List[UInt8] = [UInt8(first), mask | 126]
                octets.extend([0, UInt8(length)])
                octets.extend(List[UInt8](length=length + 4, fill=97))
                _ = _compare(role, octets)
                octets = [UInt8(first), mask | 127, 0, 0, 0, 0, 0, 0]
                octets.extend([0, UInt8(length)])
                octets.extend(List[UInt8](length=length + 4, fill=97))
                _ = _compare(role, octets)


def test_frames_with_the_mask_of_the_other_role_are_judged_alike() raises:
    for role in materialize[_ROLES]():
        var other = WsRole.CLIENT
        if role == WsRole.CLIENT:
            other = WsRole.SERVER
        for first in range(256):
            for length in [0, 2, 9, 125]:
                var octets = _frame_of(other, UInt8(first), length)
                assert_equal(_compare(role, octets), 0)


def test_texts_are_judged_alike_wherever_they_break_off() raises:
    for role in materialize[_ROLES]():
        for text in materialize[_TEXTS]():
            for opcode in [WsOpcode.TEXT, WsOpcode.BINARY]:
                for count in range(text.byte_length() + 1):
                    var octets = frame(
                        role, 0x80 | opcode, text.as_bytes()[:count]
                    )
                    octets.extend(Span(frame(role, 0x81, "next")))
                    _ = _compare(role, octets)


def test_each_octet_at_each_place_is_judged_alike() raises:
    for role in materialize[_ROLES]():
        for length in [1, 4, 5, 8, 11, 16, 21]:
            for place in range(length):
                for octet in [0x7F, 0x80, 0xC3, 0xFF]:
                    var payload = List[UInt8](length=length, fill=97)
                    payload[place] = UInt8(octet)
                    _ = _compare(role, frame(role, 0x81, payload))


def test_states_that_make_a_frame_special_are_judged_alike() raises:
    for role in materialize[_ROLES]():
        # Within a message, and within a frame whose payload looks like one.
        var octets = frame(role, 0x01, "he")
        octets.extend(Span(frame(role, 0x81, "in between")))
        _ = _compare(role, octets)
        octets = frame(role, 0x01, "he")
        octets.extend(Span(frame(role, 0x80, "llo")))
        octets.extend(Span(frame(role, 0x82, "next")))
        assert_equal(_compare(role, octets), 1)
        octets = frame(role, 0x88, "")
        octets.extend(Span(frame(role, 0x81, "too late")))
        assert_equal(_compare(role, octets), 0)
        octets = frame(role, 0x83, "a violation")
        octets.extend(Span(frame(role, 0x81, "too late")))
        assert_equal(_compare(role, octets), 0)
        var inner = frame(role, 0x81, "inner")
        octets = header(role, 0x82, 2 * len(inner))
        octets.extend(Span(inner))
        octets.extend(Span(inner))
        _ = _compare(role, octets)


def test_no_message_is_taken_after_the_own_close() raises:
    for role in materialize[_ROLES]():
        var peer = Peer(role, takes_short=True)
        var mask = Optional[UInt32](None)
        if role == WsRole.CLIENT:
            mask = KEY
        _ = peer.write_close(1000, "", mask=mask)
        peer.receive(frame(role, 0x81, "dropped"))
        assert_equal(peer.text(), "")
        assert_equal(peer.shorts, 0)


def test_limits_on_messages_are_judged_alike() raises:
    for role in materialize[_ROLES]():
        for limit in [0, 1, 4, 5, 124, 125]:
            for length in [limit, limit + 1]:
                var payload = List[UInt8](length=length, fill=97)
                var octets = frame(role, 0x82, payload)
                octets.extend(Span(octets.copy()))
                var shorts = _compare(role, octets, octets_max=limit)
                assert_equal(shorts, 2 if length == limit else 0)


def test_written_messages_are_the_same() raises:
    for length in [0, 1, 5, 125, 126]:
        var payload = List[UInt8](length=length, fill=98)
        for opcode in range(16):
            for has_begun in [False, True]:
                var short = Peer(WsRole.SERVER)
                var plain = Peer(WsRole.SERVER)
                if has_begun:
                    var first = WsFrameHead(WsOpcode.TEXT, 0, fin=False)
                    short.write_frame_head(first)
                    plain.write_frame_head(first)
                var is_written = short.write_short(UInt8(opcode), Span(payload))
                var is_legal = True
                try:
                    plain.write_frame_head(WsFrameHead(UInt8(opcode), length))
                    plain.write_payload(Span(payload))
                except:
                    is_legal = False
                if is_written:
                    assert_true(is_legal)
                    assert_equal(short.take_output(), plain.take_output())
                    assert_equal(
                        short.is_sending_message(), plain.is_sending_message()
                    )
                elif not has_begun:
                    assert_equal(short.written(), 0)
                    assert_true(not is_legal or length > 125)


def test_only_an_open_server_writes_in_the_short_way() raises:
    var client = Peer(WsRole.CLIENT)
    assert_false(client.write_short(WsOpcode.TEXT, "a".as_bytes()))
    assert_equal(client.written(), 0)
    var server = Peer(WsRole.SERVER)
    server.receive(frame(WsRole.SERVER, 0x88, ""))
    assert_false(server.write_short(WsOpcode.TEXT, "a".as_bytes()))
    assert_equal(server.written(), 0)
    server = Peer(WsRole.SERVER)
    _ = server.write_close(1000, "")
    _ = server.take_output()
    assert_false(server.write_short(WsOpcode.TEXT, "a".as_bytes()))
    assert_equal(server.written(), 0)


def _frame_of(role: UInt8, first: UInt8, length: Int) -> List[UInt8]:
    var payload = List[UInt8](capacity=length)
    for i in range(length):
        # A valid code, if the frame is a Close.
        payload.append(UInt8([3, 232][i]) if i < 2 else UInt8(97 + i % 26))
    if first & 15 != WsOpcode.CLOSE:
        for i in range(min(length, 2)):
            payload[i] = UInt8(65 + i)
    return frame(role, first, payload)


def _compare(
    role: UInt8, octets: List[UInt8], *, octets_max: Int = 1 << 20
) raises -> Int:
    """Compares both ways, with the octets whole and cut everywhere.

    Returns:
        How many messages of the whole octets the short way took.
    """
    var shorts = 0
    for can_compress in [False, True]:
        var plain = Peer(
            role, message_octets_max=octets_max, can_compress=can_compress
        )
        plain.receive(Span(octets))
        for cut in range(len(octets)):
            if cut > 20 and cut < len(octets) - 20:
                continue
            var short = Peer(
                role,
                message_octets_max=octets_max,
                can_compress=can_compress,
                takes_short=True,
            )
            if cut > 0:
                short.receive(Span(octets)[:cut])
            short.receive(Span(octets)[cut:])
            assert_equal(short.text(), plain.text())
            assert_equal(short.stage(), plain.stage())
            assert_equal(len(short.window), len(plain.window))
            # A violation is found in the piece that has it.
            if not plain.has_failed():
                assert_equal(short.announced_octets(), plain.announced_octets())
            if cut == 0:
                shorts = short.shorts
    return shorts


comptime TESTS = __functions_in_module()
