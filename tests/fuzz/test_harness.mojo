"""Tests the command line and the histogram of the fuzz harnesses."""

from std.testing import assert_raises

from fuzz.harness import Histogram, parse_options

from tests.asserting import assert_equal


def test_options_have_defaults() raises:
    var options = parse_options(List[String]())
    assert_equal(options.runs, 100_000)
    assert_equal(options.seed, 1)
    assert_equal(options.only_run, -1)
    assert_equal(options.run_seconds_max, 20)


def test_options_are_read_in_any_order() raises:
    var options = parse_options(
        [String("--seed"), "9", "--only-run", "0", "--runs", "5"]
    )
    assert_equal(options.runs, 5)
    assert_equal(options.seed, 9)
    assert_equal(options.only_run, 0)


def test_wrong_options_are_refused() raises:
    var rows: List[List[String]] = [
        ["--runs"],
        ["--runs", "many"],
        ["--only-run", "-1"],
        ["--turns", "5"],
        ["5"],
    ]
    for row in rows:
        with assert_raises():
            _ = parse_options(row)


def test_histogram_counts_each_outcome() raises:
    var histogram = Histogram()
    histogram.count("a")
    histogram.count("b")
    histogram.count("a")
    assert_equal(histogram.occurrences("a"), 2)
    assert_equal(histogram.occurrences("b"), 1)
    assert_equal(histogram.occurrences("c"), 0)


def test_histogram_lists_the_most_frequent_first_with_its_share() raises:
    var histogram = Histogram()
    histogram.count("refused")
    histogram.count("complete")
    histogram.count("complete")
    assert_equal(
        histogram.table(),
        "         2   66.7 %  complete\n         1   33.3 %  refused\n",
    )


def test_empty_histogram_is_an_empty_table() raises:
    assert_equal(Histogram().table(), "")


comptime TESTS = __functions_in_module()
