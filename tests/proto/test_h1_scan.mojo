"""Tests for `flare.proto.h1.scan`."""

from flare.core import TOKEN_OCTETS
from flare.proto.h1.scan import (
    Stops,
    not_field_content,
    not_token,
    not_visible,
    scan,
    window_of,
)

from tests.asserting import assert_equal


def test_every_octet_stops_a_token_scan_unless_it_is_a_token_octet() raises:
    for octet in range(256):
        var stops = UInt8(octet) not in materialize[TOKEN_OCTETS]()
        _check_octet[not_token](UInt8(octet), stops)


def test_a_target_scan_passes_0x21_to_0x7e() raises:
    for octet in range(256):
        _check_octet[not_visible](UInt8(octet), octet < 0x21 or octet > 0x7E)


def test_a_value_scan_stops_at_control_octets_but_tab() raises:
    for octet in range(256):
        var stops = (octet < 0x20 and octet != 9) or octet == 0x7F
        _check_octet[not_field_content](UInt8(octet), stops)


def test_a_scan_finds_the_first_stop_at_any_start_end_and_length() raises:
    for length in range(0, 50):
        var octets = List[UInt8](length=length, fill=97)
        for at in range(length):
            octets[at] = 13
            for start in range(0, at + 1, 3):
                for end in range(start, length + 1, 5):
                    assert_equal(
                        scan[not_token](window_of(octets), start, end),
                        min(at, end),
                    )
            octets[at] = 97
        assert_equal(scan[not_token](window_of(octets), 0, length), length)


def test_a_stop_before_the_start_is_not_found() raises:
    for length in range(1, 40):
        var octets = List[UInt8](length=length, fill=97)
        for start in range(1, length + 1):
            octets[start - 1] = 13
            assert_equal(
                scan[not_token](window_of(octets), start, length), length
            )
            octets[start - 1] = 97


def _check_octet[stops: Stops](octet: UInt8, expected: Bool) raises:
    for length in [1, 15, 16, 17, 40]:
        var octets = List[UInt8](length=length, fill=97)
        octets[length - 1] = octet
        var found = scan[stops](window_of(octets), 0, length)
        assert_equal(found == length - 1, expected, String(octet))


comptime TESTS = __functions_in_module()
