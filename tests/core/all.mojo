"""Runs every test of `flare.core` in one binary."""

from std.testing import TestSuite

from tests.core import (
    test_base64url,
    test_buffer,
    test_civil_date,
    test_hmac,
    test_message_digest,
    test_octet_block,
    test_octet_mask,
    test_octets,
    test_sha256,
    test_siphash,
    test_slab,
)


def main() raises:
    var failures = List[String]()
    _run[test_base64url.TESTS](failures)
    _run[test_buffer.TESTS](failures)
    _run[test_civil_date.TESTS](failures)
    _run[test_hmac.TESTS](failures)
    _run[test_message_digest.TESTS](failures)
    _run[test_octet_block.TESTS](failures)
    _run[test_octet_mask.TESTS](failures)
    _run[test_octets.TESTS](failures)
    _run[test_sha256.TESTS](failures)
    _run[test_siphash.TESTS](failures)
    _run[test_slab.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
