"""Tests for `flare.proto.ws.text`, against the code points of each character.
"""

from flare.proto.ws import WsMessageCheck, WsText, is_utf8

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.peer import Peer, frame
from tests.proto_ws.text_model import BAD, OPEN, WHOLE, judge_text


def test_every_start_of_up_to_three_octets_is_judged() raises:
    var octets: List[UInt8] = [0, 0, 0]
    for a in range(256):
        octets[0] = UInt8(a)
        _check(Span(octets)[:1])
        if judge_text(Span(octets)[:1]) != OPEN:
            continue
        for b in range(256):
            octets[1] = UInt8(b)
            _check(Span(octets)[:2])
            if judge_text(Span(octets)[:2]) != OPEN:
                continue
            for c in range(256):
                octets[2] = UInt8(c)
                _check(octets)


def test_octets_after_ascii_of_any_length_are_seen() raises:
    for length in range(0, 140):
        for at in range(length):
            var octets = List[UInt8](length=length, fill=97)
            assert_true(is_utf8(octets))
            octets[at] = 0xFF
            assert_false(is_utf8(octets), String(length, " ", at))
            octets[at] = 0xC3
            assert_false(is_utf8(octets), String(length, " ", at))
            if at + 1 < length:
                octets[at + 1] = 0xA9
                assert_true(is_utf8(octets), String(length, " ", at))


def test_a_text_is_the_same_in_any_pieces() raises:
    var text = String("aé€😀 and more: ÿ퟿𐀀, ") * 3
    var octets = text.as_bytes()
    for first in range(len(octets)):
        for second in range(first, len(octets)):
            var check = WsText()
            assert_true(check.accept(octets[:first]))
            assert_true(check.accept(octets[first:second]))
            assert_true(check.accept(octets[second:]))
            assert_true(check.is_whole())


def test_the_first_octet_that_cannot_continue_fails() raises:
    # A message in pieces fails at 0x80, before its end arrives.
    var octets: List[UInt8] = [0xCE, 0xBA, 0xF4, 0x90, 0x80]
    var check = WsText()
    assert_true(check.accept(Span(octets)[:3]))
    assert_false(check.accept(Span(octets)[3:4]))


def test_a_text_that_ends_within_a_character_is_refused() raises:
    var cut: List[UInt8] = [0xE2, 0x82]
    assert_false(is_utf8(cut))
    for role in [UInt8(0), 1]:
        var peer = Peer(role)
        peer.receive(frame(role, 0x81, [97, 0xE2]))
        assert_equal(peer.text(), "! 1007 a text is not UTF-8\n")
        peer = Peer(role)
        peer.receive(frame(role, 0x01, [97, 0xE2]))
        peer.receive(frame(role, 0x80, ""))
        assert_equal(peer.text(), "+\n! 1007 a text is not UTF-8\n")


def test_a_message_check_begins_anew_with_each_message() raises:
    var check = WsMessageCheck(4)
    check.begin(is_text=True)
    check.take("abc".as_bytes())
    var lead: List[UInt8] = [0xE2]
    check.take(lead)
    var code: UInt16 = 0
    try:
        check.end()
    except e:
        code = e.close_code()
    assert_equal(code, 1007)
    check.begin(is_text=True)
    check.take("abcd".as_bytes())
    check.end()
    try:
        check.take("e".as_bytes())
    except e:
        code = e.close_code()
    assert_equal(code, 1009)
    check.begin(is_text=False)
    var binary: List[UInt8] = [0xFF, 0xFE]
    check.take(binary)
    check.end()


def _check(octets: Span[UInt8, _]) raises:
    var wanted = judge_text(octets)
    var text = WsText()
    var accepts = text.accept(octets)
    assert_equal(accepts, wanted != BAD, _numbers(octets))
    if accepts:
        assert_equal(text.is_whole(), wanted == WHOLE, _numbers(octets))


def _numbers(octets: Span[UInt8, _]) -> String:
    var text = String()
    for octet in octets:
        text += String(octet, " ")
    return text^


comptime TESTS = __functions_in_module()
