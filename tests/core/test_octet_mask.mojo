"""Tests for `flare.core.octet_mask`, against one octet at a time."""

from flare.core import copy_xored, equals, turned_key, xor_octets

from tests.asserting import assert_equal, assert_true

comptime _KEY: UInt32 = 0xD4C3B2A1
comptime _ROOM = 1200


def test_every_length_and_address_is_masked_within_its_bounds() raises:
    for count in range(0, 700):
        for offset in [0, 1, 3, 7, 31]:
            for phase in range(4):
                _check(count, offset, phase)


def test_the_phase_counts_whole_keys_as_none() raises:
    for phase in range(4):
        assert_equal(turned_key(_KEY, phase), turned_key(_KEY, phase + 400))
    assert_equal(turned_key(_KEY, 1), 0xA1D4C3B2)


def test_octets_are_copied_and_masked_at_once() raises:
    for count in range(0, 300):
        var octets = _numbers()
        var copy = List[UInt8](length=_ROOM, fill=0)
        copy_xored(
            copy.unsafe_ptr()
            .unsafe_offset(5)
            .unsafe_origin_cast[MutUntrackedOrigin](),
            octets.unsafe_ptr().unsafe_offset(3),
            count,
            _KEY,
            2,
        )
        for i in range(_ROOM):
            var wanted: UInt8 = 0
            if 5 <= i < 5 + count:
                wanted = octets[i - 2] ^ _key_octet(i - 5 + 2)
            assert_equal(copy[i], wanted, String(count, " octets, at ", i))


def test_masking_twice_changes_no_octet() raises:
    var octets = _numbers()
    xor_octets(octets.unsafe_ptr(), _ROOM, _KEY, 1)
    xor_octets(octets.unsafe_ptr(), _ROOM, _KEY, 1)
    assert_true(equals(Span(octets), Span(_numbers())))


def _check(count: Int, offset: Int, phase: Int) raises:
    var octets = _numbers()
    xor_octets(octets.unsafe_ptr().unsafe_offset(offset), count, _KEY, phase)
    var wanted = _numbers()
    for i in range(count):
        wanted[offset + i] ^= _key_octet(phase + i)
    assert_true(
        equals(Span(octets), Span(wanted)),
        String(count, " octets at ", offset, ", phase ", phase),
    )


def _numbers() -> List[UInt8]:
    var octets = List[UInt8](capacity=_ROOM)
    for i in range(_ROOM):
        octets.append(UInt8(i * 7 & 0xFF))
    return octets^


def _key_octet(index: Int) -> UInt8:
    return UInt8(_KEY >> UInt32(8 * (index % 4)) & 0xFF)


comptime TESTS = __functions_in_module()
