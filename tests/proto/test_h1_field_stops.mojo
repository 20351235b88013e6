"""Tests for `flare.proto.h1.field_stops`."""

from std.testing import assert_equal

from flare.proto.h1.field_stops import FieldStops
from flare.proto.h1.scan import (
    not_field_content,
    not_token,
    scan,
    window_of,
)


def test_every_stop_is_found_wherever_the_window_begins_and_ends() raises:
    for length in range(1, 150):
        var octets = List[UInt8](length=length, fill=97)
        for i in range(0, length, 7):
            octets[i] = 58
        for i in range(5, length, 23):
            octets[i] = 13
        var window = window_of(octets)
        for base in range(0, length, 5):
            for start in range(base, length):
                var stops = FieldStops(window, base)
                assert_equal(
                    stops.name_end(window, start),
                    scan[not_token](window, start, length),
                )
                stops = FieldStops(window, base)
                assert_equal(
                    stops.value_end(window, start),
                    scan[not_field_content](window, start, length),
                )


def test_every_octet_stops_as_in_a_scan() raises:
    for octet in range(256):
        for length in [1, 15, 16, 31, 32, 63, 64, 100]:
            var octets = List[UInt8](length=length, fill=97)
            octets[length - 1] = UInt8(octet)
            var window = window_of(octets)
            var stops = FieldStops(window, 0)
            assert_equal(
                stops.name_end(window, 0), scan[not_token](window, 0, length)
            )
            stops = FieldStops(window, 0)
            assert_equal(
                stops.value_end(window, 0),
                scan[not_field_content](window, 0, length),
            )


def test_behind_the_window_the_start_comes_back() raises:
    for length in range(0, 130):
        var octets = List[UInt8](length=length, fill=97)
        var window = window_of(octets)
        var stops = FieldStops(window, 0)
        assert_equal(stops.name_end(window, length), length)
        assert_equal(stops.value_end(window, length + 1), length + 1)


comptime TESTS = __functions_in_module()
