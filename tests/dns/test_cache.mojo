"""Tests for the cache of a resolver."""

from flare.dns.cache import DnsCache
from flare.dns.finding import Finding
from flare.net import IpAddr
from flare.proto.dns import RecordType

from tests.asserting import assert_equal, assert_false, assert_true


def test_an_answer_holds_until_its_end() raises:
    var cache = DnsCache(4)
    cache.keep("a", _found(1), 1000, 0)
    assert_true(Bool(cache.find("a", RecordType.A, 999)))
    assert_false(Bool(cache.find("a", RecordType.A, 1000)))
    assert_false(Bool(cache.find("a", RecordType.AAAA, 0)))
    assert_false(Bool(cache.find("b", RecordType.A, 0)))


def test_an_answer_without_time_is_not_kept() raises:
    var cache = DnsCache(4)
    cache.keep("a", _found(1), 5, 5)
    assert_equal(len(cache), 0)


def test_a_newer_answer_replaces_the_older_one() raises:
    var cache = DnsCache(4)
    cache.keep("a", _found(1), 1000, 0)
    cache.keep("a", _found(2), 2000, 0)
    assert_equal(len(cache), 1)
    var kept = cache.find("a", RecordType.A, 1500).value().copy()
    assert_true(kept.addresses[0] == IpAddr.v4(10, 0, 0, 2))


def test_the_one_that_would_end_first_makes_room() raises:
    var cache = DnsCache(3)
    cache.keep("a", _found(1), 3000, 0)
    cache.keep("b", _found(2), 1000, 0)
    cache.keep("c", _found(3), 2000, 0)
    cache.keep("d", _found(4), 9000, 0)
    assert_equal(len(cache), 3)
    assert_false(Bool(cache.find("b", RecordType.A, 0)))
    for name in ["a", "c", "d"]:
        assert_true(Bool(cache.find(name, RecordType.A, 0)), name)
    cache.clear()
    assert_equal(len(cache), 0)


def _found(last: UInt8) -> Finding:
    var finding = Finding(RecordType.A)
    finding.status = Finding.ADDRESSES
    finding.addresses.append(IpAddr.v4(10, 0, 0, last))
    return finding^


comptime TESTS = __functions_in_module()
