"""Tests for `flare.postgres.statement_cache`."""

from flare.postgres.parameter import encode_parameters
from flare.postgres.statement_cache import STATEMENTS_MAX, StatementCache
from flare.sys.pg_parameters import PgParameters, CStringTable

from tests.asserting import assert_equal, assert_false, assert_true


def test_text_and_types_make_a_statement() raises:
    var cache = StatementCache()
    var sql = CStringTable("SELECT $1")
    var number = cache.add(sql, encode_parameters(1))
    assert_equal(cache.find(sql, encode_parameters(7)).value(), number)
    assert_false(Bool(cache.find(sql, encode_parameters(True))))
    assert_false(Bool(cache.find(CStringTable("SELECT"), encode_parameters(1))))
    cache.remove(sql, encode_parameters(2))
    cache.remove(sql, encode_parameters(2))
    assert_false(Bool(cache.find(sql, encode_parameters(1))))
    assert_true(cache.add(sql, encode_parameters(1)) != number)


def test_types_that_differ_in_one_bit_are_different() raises:
    var cache = StatementCache()
    var ids = List[Int]()
    for bit in range(31):
        ids.append(1 << bit)
    for id in ids:
        _ = cache.add(CStringTable("x"), _typed(id))
    assert_equal(len(cache), len(ids))


def test_the_statement_used_longest_ago_makes_room() raises:
    var cache = StatementCache()
    var none = PgParameters()
    for i in range(STATEMENTS_MAX):
        assert_false(Bool(cache.evict()))
        assert_equal(cache.add(CStringTable(String(i)), none), i + 1)
    _ = cache.find(CStringTable("0"), none)
    assert_equal(cache.evict().value(), 2)
    assert_false(Bool(cache.evict()))
    assert_false(Bool(cache.find(CStringTable("1"), none)))
    assert_equal(cache.find(CStringTable("0"), none).value(), 1)


def _typed(id: Int) -> PgParameters:
    var parameters = PgParameters()
    parameters.types.append(Int32(id))
    return parameters^


comptime TESTS = __functions_in_module()
