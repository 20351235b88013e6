"""Runs every test of `flare.session` in one binary."""

from std.testing import TestSuite

from tests.session import (
    test_encryptor,
    test_password,
    test_sessions,
    test_signer,
)


def main() raises:
    var failures = List[String]()
    _run[test_encryptor.TESTS](failures)
    _run[test_password.TESTS](failures)
    _run[test_sessions.TESTS](failures)
    _run[test_signer.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
