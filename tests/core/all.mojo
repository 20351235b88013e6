"""Runs every test of `flare.core` in one binary."""

from std.testing import TestSuite

from tests.core import (
    test_buffer,
    test_message_digest,
    test_octet_block,
    test_octet_mask,
    test_octets,
    test_slab,
    test_sql_text,
)


def main() raises:
    var failures = List[String]()
    try:
        TestSuite.discover_tests[test_buffer.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_message_digest.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_octet_block.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_octet_mask.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_octets.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_slab.TESTS]().run()
    except e:
        failures.append(String(e))
    try:
        TestSuite.discover_tests[test_sql_text.TESTS]().run()
    except e:
        failures.append(String(e))
    if failures:
        raise Error("\n".join(failures))
