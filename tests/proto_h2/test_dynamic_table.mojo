"""Tests the dynamic table of HPACK against a list."""

from flare.proto.h2.hpack.dynamic_table import DynamicTable

from tests.asserting import assert_equal, assert_true


def test_the_table_is_a_list_with_a_limit() raises:
    var table = DynamicTable(4096)
    var names = List[String]()
    var size = 0
    for i in range(20_000):
        var octets = i * 7919 % 301
        if i % 1000 == 999:
            octets = 3000
        var name = String(i)
        assert_true(
            table.insert(
                name.as_bytes(), ("v" * octets).as_bytes(), UInt8(i & 63)
            )
        )
        names.append(String(i, " ", octets))
        size += name.byte_length() + octets + 32
        while size > 4096:
            var parts = names.pop(0).split(" ")
            size -= parts[0].byte_length() + Int(parts[1]) + 32
        assert_equal(table.count, len(names))
        assert_equal(table.size, size)
        if i % 97 == 0:
            _check(table, names)
    # The memory follows the limit, not what was ever inserted.
    assert_true(table.octets.capacity() <= 8192)
    assert_true(len(table.ring) <= 128)


def _check(table: DynamicTable, names: List[String]) raises:
    for k in range(len(names)):
        var parts = names[len(names) - 1 - k].split(" ")
        var entry = table.entry(k + 1)
        assert_true(table.unsafe_name(entry) == parts[0].as_bytes())
        assert_equal(Int(entry.value_octets), Int(parts[1]))
        assert_equal(entry.known, UInt8(Int(parts[0]) & 63))


def test_an_empty_table_has_no_memory() raises:
    var table = DynamicTable(4096)
    assert_equal(table.octets.capacity(), 0)
    assert_equal(len(table.ring), 0)
    for _ in range(128):
        assert_true(table.insert("".as_bytes(), "".as_bytes(), 0))
    assert_equal(table.count, 128)
    assert_true(table.insert("".as_bytes(), "".as_bytes(), 0))
    assert_equal(table.count, 128)


comptime TESTS = __functions_in_module()
