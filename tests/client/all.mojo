"""Runs every test of `flare.http.client` in one binary."""

from std.testing import TestSuite

from tests.client import (
    test_answers,
    test_call_log,
    test_closing,
    test_connect_to,
    test_cookie_file,
    test_cookies,
    test_decoding,
    test_digest,
    test_digest_parallel,
    test_download,
    test_forms,
    test_h2_content,
    test_h2_faults,
    test_h2_required,
    test_h2_sharing,
    test_h2_tunnels,
    test_handlers,
    test_odd_answers,
    test_pool,
    test_redirects,
    test_requests,
    test_secrets,
    test_secure_proxies,
    test_slow_peers,
    test_streams,
    test_surplus,
    test_transports,
)


def main() raises:
    var failures = List[String]()
    _run[test_answers.TESTS](failures)
    _run[test_call_log.TESTS](failures)
    _run[test_closing.TESTS](failures)
    _run[test_connect_to.TESTS](failures)
    _run[test_cookie_file.TESTS](failures)
    _run[test_cookies.TESTS](failures)
    _run[test_decoding.TESTS](failures)
    _run[test_digest.TESTS](failures)
    _run[test_digest_parallel.TESTS](failures)
    _run[test_download.TESTS](failures)
    _run[test_forms.TESTS](failures)
    _run[test_h2_content.TESTS](failures)
    _run[test_h2_faults.TESTS](failures)
    _run[test_h2_required.TESTS](failures)
    _run[test_h2_sharing.TESTS](failures)
    _run[test_h2_tunnels.TESTS](failures)
    _run[test_handlers.TESTS](failures)
    _run[test_odd_answers.TESTS](failures)
    _run[test_pool.TESTS](failures)
    _run[test_redirects.TESTS](failures)
    _run[test_requests.TESTS](failures)
    _run[test_secrets.TESTS](failures)
    _run[test_secure_proxies.TESTS](failures)
    _run[test_slow_peers.TESTS](failures)
    _run[test_streams.TESTS](failures)
    _run[test_surplus.TESTS](failures)
    _run[test_transports.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
