"""Tests for `flare.proto.ws`: an intermediary finds the borders of frames."""

from flare.proto.ws import WsFramePlace, WsOpcode, WsRole

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.peer import frame

comptime _ROLES: List[UInt8] = [WsRole.SERVER, WsRole.CLIENT]
comptime _LENGTHS: List[Int] = [0, 1, 125, 126, 300, 65535, 65536]


def test_each_frame_ends_where_it_ends_in_any_pieces() raises:
    for role in materialize[_ROLES]():
        for length in materialize[_LENGTHS]():
            var octets = _frame(role, WsOpcode.BINARY, length)
            for cut in _cuts(len(octets)):
                var place = WsFramePlace()
                assert_equal(place.advance(Span(octets)[:cut]), cut)
                assert_equal(
                    place.is_between_frames(), cut == 0 or cut == len(octets)
                )
                assert_equal(
                    place.advance(Span(octets)[cut:]), len(octets) - cut
                )
                assert_true(place.is_between_frames())
                assert_false(place.has_closed())


def test_octets_of_the_next_frame_are_left() raises:
    for role in materialize[_ROLES]():
        for length in materialize[_LENGTHS]():
            var first = _frame(role, WsOpcode.TEXT, length)
            var octets = first.copy()
            octets.extend(Span(_frame(role, WsOpcode.PING, 3)))
            var place = WsFramePlace()
            assert_equal(place.advance(Span(octets)), len(first))
            assert_true(place.is_between_frames())
            place = WsFramePlace()
            place.advance_over(Span(octets)[: len(octets) - 1])
            assert_false(place.is_between_frames())
            place.advance_over(Span(octets)[len(octets) - 1 :])
            assert_true(place.is_between_frames())


def test_a_close_is_known_from_its_first_octet() raises:
    var place = WsFramePlace()
    var octets = _frame(WsRole.CLIENT, WsOpcode.CLOSE, 2)
    place.advance_over(Span(octets)[:1])
    assert_true(place.has_closed())
    assert_false(place.is_between_frames())
    place.advance_over(Span(octets)[1:])
    place.advance_over(Span(_frame(WsRole.CLIENT, WsOpcode.TEXT, 2)))
    assert_true(place.has_closed())


def test_a_length_that_no_endpoint_takes_ends_nothing() raises:
    var octets: List[UInt8] = [0x82, 127]
    for _ in range(8):
        octets.append(255)
    octets.extend(Span(List[UInt8](length=1000, fill=0x88)))
    var place = WsFramePlace()
    assert_equal(place.advance(Span(octets)), len(octets))
    assert_false(place.is_between_frames())
    assert_false(place.has_closed())


def _frame(role: UInt8, opcode: UInt8, length: Int) raises -> List[UInt8]:
    return frame(role, 0x80 | opcode, List[UInt8](length=length, fill=0x88))


def _cuts(count: Int) -> List[Int]:
    var cuts = List[Int]()
    for cut in range(min(count, 20) + 1):
        cuts.append(cut)
    cuts.append(count - 1)
    cuts.append(count)
    return cuts^


comptime TESTS = __functions_in_module()
