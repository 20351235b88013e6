"""Runs every test of `flare.proto.ws` in one binary."""

from std.testing import TestSuite

from tests.proto_ws import (
    test_client_handshake,
    test_deflate_parameters,
    test_frames,
    test_limits,
    test_place,
    test_server_handshake,
    test_short_messages,
    test_stages,
    test_text,
    test_writing,
)


def main() raises:
    var failures = List[String]()
    _run[test_client_handshake.TESTS](failures)
    _run[test_deflate_parameters.TESTS](failures)
    _run[test_frames.TESTS](failures)
    _run[test_limits.TESTS](failures)
    _run[test_place.TESTS](failures)
    _run[test_server_handshake.TESTS](failures)
    _run[test_short_messages.TESTS](failures)
    _run[test_stages.TESTS](failures)
    _run[test_text.TESTS](failures)
    _run[test_writing.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
