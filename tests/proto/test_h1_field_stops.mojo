"""Tests for `flare.proto.h1.field_stops`."""

from flare.core import TAB, TOKEN_OCTETS
from flare.proto.h1.field_stops import (
    FieldStops,
    FirstLook,
    PLAIN_HOST_OCTETS,
    PLAIN_PATH_OCTETS,
    STOPS_WINDOW_MIN,
)
from flare.proto.h1.scan import (
    Window,
    not_field_content,
    not_token,
    scan,
    window_of,
)

from tests.asserting import assert_equal


def test_every_stop_is_found_wherever_the_window_begins_and_ends() raises:
    for length in range(STOPS_WINDOW_MIN, 200):
        var octets = List[UInt8](length=length, fill=97)
        for i in range(0, length, 7):
            octets[i] = 58
        for i in range(5, length, 23):
            octets[i] = 13
        if length > 150:
            # A run that is longer than two looks.
            for i in range(10, 145):
                octets[i] = 97
        var window = window_of(octets)
        for base in range(0, length, 5):
            for last in range(base, min(base + 64, length)):
                var stops = FieldStops(window, base)
                assert_equal(
                    stops.name_end(window, last),
                    _name_end(window, last + 2),
                )
                stops = FieldStops(window, base)
                assert_equal(
                    stops.value_end(window, last),
                    _value_end(window, last + 1),
                )


def test_one_after_the_other_every_stop_is_found() raises:
    for line_octets in range(4, 150):
        var octets = List[UInt8](length=400, fill=97)
        for i in range(line_octets, 400 - 2, line_octets):
            octets[i - 2] = 13
            octets[i - 1] = 10
            if i + line_octets // 3 < 400:
                octets[i + line_octets // 3] = 58
        var window = window_of(octets)
        for first in range(0, 60, 3):
            var stops = FieldStops(window, first)
            var at = first
            while at < 400:
                var colon = stops.name_end(window, at)
                assert_equal(colon, _name_end(window, at + 2))
                at = stops.value_end(window, colon)
                assert_equal(at, _value_end(window, colon + 1))


def test_every_octet_stops_as_in_a_scan() raises:
    for octet in range(256):
        for length in [16, 31, 32, 63, 64, 100]:
            var octets = List[UInt8](length=length, fill=97)
            octets[length - 1] = UInt8(octet)
            var window = window_of(octets)
            var stops = FieldStops(window, 0)
            assert_equal(stops.name_end(window, 0), _name_end(window, 2))
            stops = FieldStops(window, 0)
            assert_equal(stops.value_end(window, 0), _value_end(window, 1))


def test_the_first_look_sees_each_octet_as_its_set_does() raises:
    var path = materialize[PLAIN_PATH_OCTETS]()
    var host = materialize[PLAIN_HOST_OCTETS]()
    var token = materialize[TOKEN_OCTETS]()
    for length in range(STOPS_WINDOW_MIN, 140):
        for shift in range(0, 256, 13):
            var octets = List[UInt8](length=length, fill=0)
            for i in range(length):
                octets[i] = UInt8((i * 3 + shift) & 255)
            var first = FirstLook.nothing()
            var stops = FieldStops(window_of(octets), first)
            assert_equal(stops.base, 0)
            for i in range(64):
                var names = True
                var values = True
                var paths = True
                var hosts = True
                var digits = True
                if i < length:
                    var b = octets[i]
                    names = b not in token
                    values = (b < 32 and b != TAB) or b == 127
                    paths = b not in path
                    hosts = b not in host
                    digits = b < 48 or b > 57
                assert_equal((stops.names >> UInt64(i)) & 1 == 1, names)
                assert_equal((stops.values >> UInt64(i)) & 1 == 1, values)
                assert_equal((first.paths >> UInt64(i)) & 1 == 1, paths)
                assert_equal((first.hosts >> UInt64(i)) & 1 == 1, hosts)
                assert_equal((first.digits >> UInt64(i)) & 1 == 1, digits)


def test_behind_the_window_the_start_comes_back() raises:
    for length in range(STOPS_WINDOW_MIN, 130):
        var octets = List[UInt8](length=length, fill=97)
        var window = window_of(octets)
        for last in range(max(length - 64, 0), length):
            var stops = FieldStops(window, max(length - 64, 0))
            assert_equal(stops.name_end(window, last), max(length, last + 2))
            stops = FieldStops(window, max(length - 64, 0))
            assert_equal(stops.value_end(window, last), length)


def _name_end(window: Window, start: Int) -> Int:
    if start >= len(window):
        return start
    return scan[not_token](window, start, len(window))


def _value_end(window: Window, start: Int) -> Int:
    if start >= len(window):
        return start
    return scan[not_field_content](window, start, len(window))


comptime TESTS = __functions_in_module()
