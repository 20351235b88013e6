"""Tests how much memory the state of a connection takes."""

from std.sys.info import size_of

from flare.http.server.transport.connection_state import ConnectionState

from tests.asserting import assert_true


def test_idle_connection_takes_fifteen_cache_lines() raises:
    var octets = size_of[ConnectionState]()
    assert_true(octets <= 960, String(octets))


comptime TESTS = __functions_in_module()
