"""Checks the edges of buckets, and that each number is in its bucket."""

from flare.metrics.buckets import BUCKETS, EDGES, BucketTable

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_edges_are_decimal_and_in_order() raises:
    var table = BucketTable()
    assert_equal(len(table.edges), EDGES + 1)
    assert_equal(BUCKETS, EDGES + 1)
    assert_equal(table.edges[0], 1000)
    assert_equal(table.edges[1], 1100)
    assert_equal(table.edges[10], 2000)
    assert_equal(table.edges[11], 2250)
    assert_equal(table.edges[22], 5000)
    assert_equal(table.edges[23], 5500)
    assert_equal(table.edges[32], 10_000)
    assert_equal(table.edges[EDGES - 1], 100_000_000_000)
    for i in range(1, EDGES):
        var low = table.edges[i - 1]
        var high = table.edges[i]
        assert_true(low < high, String(low))
        # The middle is then within 6.25 % of each number in the bucket.
        assert_true(8 * (high - low) <= low, String(low))


def test_each_edge_belongs_to_the_bucket_below_it() raises:
    var table = BucketTable()
    for i in range(EDGES):
        var edge = table.edges[i]
        assert_equal(table.bucket_of(edge - 1), i, String(edge))
        assert_equal(table.bucket_of(edge), i, String(edge))
        assert_equal(table.bucket_of(edge + 1), i + 1, String(edge))


def test_numbers_beyond_the_edges_have_a_bucket() raises:
    var table = BucketTable()
    for number in [Int.MIN, -1, 0, 1, 999, 1000]:
        assert_equal(table.bucket_of(number), 0, String(number))
    for number in [100_000_000_001, 1 << 40, Int.MAX]:
        assert_equal(table.bucket_of(number), EDGES, String(number))


def test_a_bucket_is_what_a_search_finds() raises:
    var table = BucketTable()
    # Numbers of all lengths, by a generator that every run repeats.
    var state = UInt64(42)
    for _ in range(200_000):
        state = state * 6364136223846793005 + 1442695040888963407
        var number = Int(state >> 20) >> Int((state >> 8) & 31)
        var bucket = table.bucket_of(number)
        assert_true(bucket == EDGES or number <= table.edges[bucket])
        assert_true(bucket == 0 or number > table.edges[bucket - 1])


def test_usual_bounds_are_edges() raises:
    var table = BucketTable()
    for ms in [5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500]:
        var edge = table.edge_at(ms * 1_000_000)
        assert_true(edge, String(ms))
        assert_equal(table.edges[edge.value()], ms * 1_000_000)
    for ns in [0, 999, 1001, 5_100_000, 2_600_000, 200_000_000_000, Int.MAX]:
        assert_false(table.edge_at(ns), String(ns))


comptime TESTS = __functions_in_module()
