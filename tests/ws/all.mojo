"""Runs every test of `flare.ws` in one binary."""

from std.testing import TestSuite

from tests.ws import (
    test_between_reads,
    test_client,
    test_client_opening,
    test_codecs,
    test_compression,
    test_echo,
    test_frame,
    test_handshake,
    test_options,
    test_seeds,
    test_sending,
    test_stops,
    test_topics,
    test_watching,
)


def main() raises:
    var failures = List[String]()
    _run[test_between_reads.TESTS](failures)
    _run[test_client.TESTS](failures)
    _run[test_client_opening.TESTS](failures)
    _run[test_codecs.TESTS](failures)
    _run[test_compression.TESTS](failures)
    _run[test_echo.TESTS](failures)
    _run[test_frame.TESTS](failures)
    _run[test_handshake.TESTS](failures)
    _run[test_options.TESTS](failures)
    _run[test_seeds.TESTS](failures)
    _run[test_sending.TESTS](failures)
    _run[test_stops.TESTS](failures)
    _run[test_topics.TESTS](failures)
    _run[test_watching.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
