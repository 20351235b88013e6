"""Runs every test of `flare.http.files` in one binary."""

from std.testing import TestSuite

from tests.files import (
    test_attachment,
    test_compressed_forms,
    test_file_path,
    test_media_types,
    test_rules,
    test_siblings,
    test_static_files,
)


def main() raises:
    var failures = List[String]()
    _run[test_attachment.TESTS](failures)
    _run[test_compressed_forms.TESTS](failures)
    _run[test_file_path.TESTS](failures)
    _run[test_media_types.TESTS](failures)
    _run[test_rules.TESTS](failures)
    _run[test_siblings.TESTS](failures)
    _run[test_static_files.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
