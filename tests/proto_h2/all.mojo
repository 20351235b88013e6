"""Runs every test of `flare.proto.h2` in one binary."""

from std.testing import TestSuite

from tests.proto_h2 import (
    test_client_machine,
    test_dynamic_table,
    test_frames,
    test_h2_limits,
    test_h2_machine,
    test_hpack_decoding,
    test_hpack_encoder,
    test_hpack_examples,
    test_huffman,
    test_request_head,
    test_schedule,
    test_stream_states,
)


def main() raises:
    var failures = List[String]()
    _run[test_client_machine.TESTS](failures)
    _run[test_dynamic_table.TESTS](failures)
    _run[test_frames.TESTS](failures)
    _run[test_h2_limits.TESTS](failures)
    _run[test_h2_machine.TESTS](failures)
    _run[test_hpack_decoding.TESTS](failures)
    _run[test_hpack_encoder.TESTS](failures)
    _run[test_hpack_examples.TESTS](failures)
    _run[test_huffman.TESTS](failures)
    _run[test_request_head.TESTS](failures)
    _run[test_schedule.TESTS](failures)
    _run[test_stream_states.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
