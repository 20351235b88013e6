"""Tests which requests of a key are too many."""

from flare.http.rate import RateKeys, RateTable
from flare.net import IpAddr

from tests.asserting import assert_equal, assert_false, assert_true

comptime _SECOND = 1_000_000_000
comptime _NOW = 1000 * _SECOND


def test_a_key_has_its_quota_at_once_and_regains_it_evenly() raises:
    var table = RateTable.create(64)
    # Ten requests in ten seconds.
    for i in range(10):
        var answer = table.admit(7, _NOW, _SECOND, 10 * _SECOND)
        assert_true(answer.is_admitted(), String(i))
        assert_equal(answer.used_ns, (i + 1) * _SECOND)
    for _ in range(3):
        # Refused requests do not count.
        var answer = table.admit(7, _NOW, _SECOND, 10 * _SECOND)
        assert_equal(answer.wait_ns, _SECOND)
        assert_equal(answer.used_ns, 10 * _SECOND)
    # Time since the burst, admitted?
    var rows: List[Tuple[Int, Bool]] = [
        (_SECOND - 1, False),
        (_SECOND, True),
        (_SECOND, False),
        (3 * _SECOND, True),
        (3 * _SECOND, True),
        (3 * _SECOND, False),
    ]
    for later, is_admitted in rows:
        assert_equal(
            table.admit(7, _NOW + later, _SECOND, 10 * _SECOND).is_admitted(),
            is_admitted,
            String(later),
        )
    # After a long time, the quota is whole, and no more than that.
    var admitted = 0
    for _ in range(30):
        admitted += Int(
            table.admit(7, 2 * _NOW, _SECOND, 10 * _SECOND).is_admitted()
        )
    assert_equal(admitted, 10)
    table.destroy()


def test_a_heavy_request_counts_for_several() raises:
    var table = RateTable.create(64)
    assert_true(table.admit(7, _NOW, 4 * _SECOND, 10 * _SECOND).is_admitted())
    assert_true(table.admit(7, _NOW, 4 * _SECOND, 10 * _SECOND).is_admitted())
    var heavy = table.admit(7, _NOW, 4 * _SECOND, 10 * _SECOND)
    assert_equal(heavy.wait_ns, 2 * _SECOND)
    for _ in range(2):
        assert_true(table.admit(7, _NOW, _SECOND, 10 * _SECOND).is_admitted())
    assert_false(table.admit(7, _NOW, _SECOND, 10 * _SECOND).is_admitted())
    # A key that was never seen may use its whole quota by one request.
    assert_true(table.admit(8, _NOW, 10 * _SECOND, 10 * _SECOND).is_admitted())
    table.destroy()


def test_keys_do_not_share_a_quota() raises:
    var table = RateTable.create(64)
    # Also the key that looks like an empty entry, and keys of one set.
    for key in [0, 2, 8, 16, 24, 1 << 63]:
        for i in range(3):
            assert_equal(
                table.admit(
                    UInt64(key), _NOW, _SECOND, 2 * _SECOND
                ).is_admitted(),
                i < 2,
                String(key),
            )
    table.destroy()


def test_keys_without_end_take_no_memory_and_displace_no_heavy_sender() raises:
    var table = RateTable.create(1000)
    assert_equal(table.entries(), 1024)
    var heavy = UInt64(0x1234_5678_9ABC_DEF0)
    for _ in range(10):
        _ = table.admit(heavy, _NOW, _SECOND, 10 * _SECOND)
    assert_false(table.admit(heavy, _NOW, _SECOND, 10 * _SECOND).is_admitted())
    var keys = RateKeys.random()
    for i in range(1_000_000):
        assert_true(
            table.admit(keys.of(i), _NOW, _SECOND, 10 * _SECOND).is_admitted()
        )
    assert_equal(table.entries(), 1024)
    assert_false(table.admit(heavy, _NOW, _SECOND, 10 * _SECOND).is_admitted())
    # A key that has its whole quota again makes room first.
    var later = _NOW + 100 * _SECOND
    for i in range(8):
        _ = table.admit(UInt64(128 * i + 1), later, _SECOND, 10 * _SECOND)
    for i in range(8):
        assert_equal(
            table.admit(
                UInt64(128 * i + 1), later, _SECOND, 10 * _SECOND
            ).used_ns,
            2 * _SECOND,
        )
    table.destroy()


def test_the_size_is_rounded_up() raises:
    for asked, entries in [(64, 64), (65, 128), (65536, 65536)]:
        var table = RateTable.create(asked)
        assert_equal(table.entries(), entries)
        table.destroy()


def test_addresses_of_one_client_have_one_key() raises:
    var keys = RateKeys.random()
    # Two addresses, one client?
    var rows: List[Tuple[String, String, Bool]] = [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "::192.0.2.1", False),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("2001:db8::1", "2001:db9::1", False),
        ("::1", "::2", True),
        ("0.0.0.1", "::1", False),
    ]
    for a, b, is_one in rows:
        assert_equal(
            keys.of(IpAddr.parse(a)) == keys.of(IpAddr.parse(b)),
            is_one,
            String(a, " ", b),
        )
    assert_false(keys.of(StaticString("a")) == keys.of(StaticString("b")))
    assert_true(keys.of(StaticString("a")) == keys.of(StaticString("a")))
    # Another process has other keys.
    var others = RateKeys.random()
    assert_false(keys.of(StaticString("a")) == others.of(StaticString("a")))


comptime TESTS = __functions_in_module()
